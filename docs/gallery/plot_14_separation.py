"""
Tight groups or true neighbours
===============================

`separation` goes from 0, which keeps the most neighbours, to 1, which draws tight
groups with space between them, as UMAP does. How many samples a group has is a fact;
the space between groups is not.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import patchfold as pf

X, y = load_digits(return_X_y=True)
figure, grid = plt.subplots(1, 3, figsize=(14, 4.8), layout="constrained")
for ax, separation in zip(grid, (0, 0.5, 1), strict=True):
    model = pf.CauchyMap(separation=separation).fit(X)
    kept = pf.metrics.neighborhood_hits(X, model.embedding_, n_neighbors=15)
    title = f"separation={separation}: {kept:.0%} of 15 neighbours kept"
    pf.plotting.plot_embedding(
        model, y, ax=ax, title=title, legend=ax is grid[2], size=14
    )
