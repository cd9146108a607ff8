"""
The methods side by side
========================

Four of the papers' methods on wine, and PatchPosterior. Below each of the first three
is the classic method that it extends, with Euclidean distances. The two on the right
got labels; another example shows what labels do to a picture.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

import patchfold as pf

wine = load_wine()
X, y = scale(wine.data), wine.target
near = {"n_neighbors": 40}
points = {**near, "dissimilarity": "euclidean"}
methods = {
    "ISOMAP-KL": pf.isomap_kl(**near),
    "ELAP, t = median d²": pf.elap(**near, kernel_width="auto"),
    "PELLE": pf.pelle(**near),
    "KLAP (labels)": pf.klap(),
    "Isomap": pf.PatchIsomap(**points),
    "Laplacian eigenmaps": pf.PatchEigenmaps(**points),
    "LLE": pf.PatchLLE(**points),
    "PatchPosterior (labels)": pf.PatchPosterior(),
}
figure, grid = plt.subplots(2, 4, figsize=(10.5, 5.4), layout="constrained")
for ax, (name, model) in zip(grid.flat, methods.items(), strict=True):
    embedding = model.fit(X, y).embedding_
    pf.plotting.plot_embedding(
        embedding, y, ax=ax, title=name, legend=ax is grid.flat[0], zoom=True
    )
