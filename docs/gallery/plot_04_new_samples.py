"""
Samples that were not in the fit
================================

Every estimator places samples it has not seen. Here `PatchPosterior` puts 200 digits
among 200 others; each of those was itself placed as if it had not been there.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import patchfold as pf

X, y = load_digits(n_class=6, return_X_y=True)
X, y = X[:400], y[:400]
model = pf.PatchPosterior().fit(X[::2], y[::2])
figure, grid = plt.subplots(1, 2, figsize=(11, 5.5), layout="constrained")
pf.plotting.plot_embedding(
    model.embedding_, y[::2], ax=grid[0], title="Training half, each without itself"
)
pf.plotting.plot_embedding(
    model.transform(X[1::2]), y[1::2], ax=grid[1], title="New half", legend=False
)
print(f"accuracy on the new half: {model.score(X[1::2], y[1::2]):.3f}")
