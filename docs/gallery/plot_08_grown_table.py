"""
Today's picture beside yesterday's
==================================

A table grows. A new fit draws a new picture, which is hard to compare with the old one.
If it starts at the old map (`init`), groups stay where they were, and a new group finds
a free place.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import patchfold as pf

X, y = load_digits(n_class=7, return_X_y=True)
known = y < 6  # the sixes come later
old = pf.CauchyMap().fit(X[known][::2])
models = {
    "Yesterday, without sixes": (old, y[known][::2]),
    "Today, started there": (pf.CauchyMap(init=old).fit(X), y),
    "Today, drawn anew": (pf.CauchyMap().fit(X), y),
}
figure, grid = plt.subplots(1, 3, figsize=(10.5, 3.7), layout="constrained")
for ax, (title, (model, labels)) in zip(grid, models.items(), strict=True):
    pf.plotting.plot_embedding(
        model, labels, ax=ax, title=title, annotate=True, legend=False, size=8
    )
