"""
What labels do to a picture
===========================

A supervised embedding may draw clean classes that are not in the data. To test this,
shuffle the labels: then there is nothing to find. KLAP's picture of the training
samples is as clean as before. PatchPosterior shows nothing, because it leaves a
training row out of everything that places it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

import patchfold as pf

X, y = load_wine(return_X_y=True)
shuffled = np.random.default_rng(0).permutation(y)
figure, grid = plt.subplots(2, 2, figsize=(8, 8), layout="constrained")
for row, labels, said in zip(grid, (y, shuffled), ("true", "shuffled"), strict=True):
    for ax, model in zip(row, (pf.klap(), pf.PatchPosterior()), strict=True):
        name = "KLAP" if ax is row[0] else "PatchPosterior"
        embedding = model.fit(scale(X), labels).embedding_
        pf.plotting.plot_embedding(
            embedding, labels, ax=ax, title=f"{name}, {said} labels", legend=False
        )
