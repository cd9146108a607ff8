"""
Where a picture is wrong
========================

No flat picture of a sphere keeps all neighbours. PCA presses it flat: points of the
front and the back become false neighbours, which `plot_trustworthiness` draws dark.
`CauchyMap` cuts it open: `plot_stretch` draws lines between neighbours that were torn
apart.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

import patchfold as pf

X = np.random.default_rng(0).normal(size=(1200, 3))
X /= np.linalg.norm(X, axis=1, keepdims=True)
pressed = PCA(2).fit_transform(X)
model = pf.CauchyMap().fit(X)

figure, grid = plt.subplots(1, 3, figsize=(11, 3.5), layout="constrained")
pf.plotting.plot_trustworthiness(X, pressed, ax=grid[0], title="PCA: false neighbours")
pf.plotting.plot_trustworthiness(
    X, model, ax=grid[1], title="CauchyMap: false neighbours"
)
pf.plotting.plot_stretch(X, model, ax=grid[2], title="CauchyMap: torn apart")
