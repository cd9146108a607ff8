"""
Spectra of different brightness: the cosine
===========================================

Four substances, each measured at many strengths, from weak to strong. With Euclidean
distance each substance becomes a line from weak to strong. `metric="cosine"` compares
only the shapes of the spectra: each substance becomes a group.
"""

import matplotlib.pyplot as plt
import numpy as np

import patchfold as pf

random = np.random.default_rng(0)
waves = np.linspace(0, 1, 60)
peaks = [(0.2, 0.7), (0.25, 0.6), (0.4, 0.8), (0.5, 0.75)]
shapes = [sum(np.exp(-(((waves - p) / 0.07) ** 2)) for p in pair) for pair in peaks]
kind = random.integers(0, 4, 800)
strength = random.lognormal(0, 1, 800)
X = strength[:, None] * (np.array(shapes)[kind] + random.normal(0, 0.05, (800, 60)))

figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(10.5, 3.6), layout="constrained"
)
left.plot(waves, np.transpose(shapes))
left.set_title("The four spectra", loc="left")
for ax, metric in ((middle, "euclidean"), (right, "cosine")):
    model = pf.CauchyMap(metric=metric).fit(X)
    pf.plotting.plot_embedding(
        model, kind, ax=ax, title=metric, legend=ax is right, size=9
    )
