"""
A map with labels, and its control
==================================

Labels draw the classes of `CauchyMap` together, here malignant and benign tumours. The
control shuffles the labels: there is nothing to find now, and the map shows nothing.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import patchfold as pf

data = load_breast_cancer()
X, y = scale(data.data), data.target_names[data.target]
shuffled = np.random.default_rng(0).permutation(y)
figure, grid = plt.subplots(1, 3, figsize=(10.5, 3.7), layout="constrained")
titles = "No labels", "With labels", "With shuffled labels"
for ax, title, labels in zip(grid, titles, (None, y, shuffled), strict=True):
    model = pf.CauchyMap().fit(X, labels)
    shown = y if labels is None else labels
    pf.plotting.plot_embedding(
        model, shown, ax=ax, title=title, legend=ax is grid[0], size=12
    )
