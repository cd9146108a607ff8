"""
Only distances are known: a map of cities
=========================================

The capitals of 48 states of the USA, and Washington, from the distances between them
alone (along great circles). With `metric="precomputed"`, `fit` takes distances instead
of columns.
"""

import matplotlib.pyplot as plt
import numpy as np

import patchfold as pf

cities = pf.datasets.us_capitals()
model = pf.PatchIsomap(
    n_neighbors=8, metric="precomputed", dissimilarity="euclidean"
).fit(cities.distances)

# Coordinates from distances may be turned or mirrored: lay them over the true map.
true = np.column_stack([cities.longitude, cities.latitude])
centred = model.embedding_ - model.embedding_.mean(axis=0)
turned = centred @ np.linalg.lstsq(centred, true - true.mean(axis=0), rcond=None)[0]

shown = {"Olympia", "Sacramento", "Helena", "Phoenix", "Denver", "Austin", "Lincoln"}
shown |= {"Saint Paul", "Nashville", "Tallahassee", "Raleigh", "Albany", "Augusta"}
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.3), layout="constrained")
for ax, title, points in (
    (left, "True places", true),
    (right, "From distances", turned),
):
    ax.scatter(*points.T, c=cities.longitude, cmap="viridis", s=50)
    ax.set_title(title, loc="left")
    ax.set_axis_off()
    for name, point in zip(cities.names, points, strict=True):
        if name in shown:
            ax.annotate(
                name, point, xytext=(4, 3), textcoords="offset points", fontsize=11
            )
