"""
What an edge can measure
========================

The same neighbour graph of a noisy S, measured in six ways. Distances are long where
points are sparse. Divergences are long where the local mean and spread change.
Curvatures are long only where the patches turn.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_s_curve

import patchfold as pf

X = make_s_curve(250, noise=0.12, random_state=0)[0][:, [0, 2]]

pf.plotting.plot_patches(X, n_neighbors=12, samples=40, title="Patches, K = 12")

# %%
# Dark edges join neighbours that differ much.

names = "euclidean", "kl", "hellinger", "wasserstein", "fisher_rao", "curvature"
figure, grid = plt.subplots(2, 3, figsize=(9, 6.6), layout="constrained")
for ax, name in zip(grid.flat, names, strict=True):
    model = pf.PatchIsomap(n_neighbors=12, dissimilarity=name).fit(X)
    pf.plotting.plot_graph(model.graph_, X, ax=ax, title=name, label="")
