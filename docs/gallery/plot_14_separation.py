"""
Tight groups or true neighbours
===============================

`separation=0` keeps the most neighbours. `separation=1` draws tight groups with space
between them, as UMAP does. The number of samples in a group is a fact; the space
between groups is not. A title has the share of the 15 nearest neighbours that are kept.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import patchfold as pf

X, y = load_digits(return_X_y=True)
figure, grid = plt.subplots(1, 3, figsize=(10.5, 3.7), layout="constrained")
for ax, separation in zip(grid, (0, 0.5, 1), strict=True):
    model = pf.CauchyMap(separation=separation).fit(X)
    kept = pf.metrics.neighborhood_hits(X, model.embedding_, n_neighbors=15)
    title = f"separation={separation}: {kept:.0%} kept"
    pf.plotting.plot_embedding(
        model, y, ax=ax, title=title, annotate=True, legend=False, size=8
    )
