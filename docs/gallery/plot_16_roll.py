"""
A rolled sheet: what each map keeps
===================================

Points on a sheet that is rolled up in three dimensions. The colour is the position
along the sheet. PCA looks at the roll from one side, Isomap unrolls it, and `CauchyMap`
keeps neighbours. A title has the share of the 15 nearest neighbours that are kept.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_swiss_roll
from sklearn.decomposition import PCA

import patchfold as pf

X, along = make_swiss_roll(1200, noise=0.1, random_state=0)
maps = {
    "PCA": PCA(2),
    "Isomap": pf.PatchIsomap(n_neighbors=10, dissimilarity="euclidean"),
    "CauchyMap": pf.CauchyMap(),
}
figure, grid = plt.subplots(1, 3, figsize=(10.5, 3.7), layout="constrained")
for ax, (name, method) in zip(grid, maps.items(), strict=True):
    places = method.fit_transform(X)
    kept = pf.metrics.neighborhood_hits(X, places, n_neighbors=15)
    pf.plotting.plot_embedding(
        places, along, ax=ax, title=f"{name}: {kept:.0%} kept", size=8
    )

# %%
# On this clean sheet Isomap keeps both large distances and neighbours. `CauchyMap`
# keeps nearly as many neighbours, but bends the sheet: its large distances mean little.
