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
figure, grid = plt.subplots(1, 4, figsize=(10.5, 3), layout="constrained")
panels = iter(grid)
for name, model in (("KLAP", pf.klap()), ("PatchPosterior", pf.PatchPosterior())):
    for said, labels in (("true", y), ("shuffled", shuffled)):
        model.fit(scale(X), labels)
        pf.plotting.plot_embedding(
            model,
            labels,
            ax=next(panels),
            title=f"{name}, {said}",
            legend=False,
            size=30,
        )
