"""
Which columns decided
=====================

`explain` divides the score of a class into parts, one for each column, for one sample;
`explain_class` does so for the rows of a class. Blue bars raise the score.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

import patchfold as pf
from patchfold.posterior.plotting import plot_columns

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
model = pf.PatchPosterior().fit(X[::2], y[::2])
told = model.explain(X[1:2])
print(told)

figure, grid = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained")
plot_columns(told.columns, ax=grid[0])
plot_columns(model.explain_class("benign"), ax=grid[1])
