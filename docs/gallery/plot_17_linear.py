"""
A linear map that can be read
=============================

`PatchProjection` finds a matrix, here for iris: every coordinate is a sum of the
columns, each multiplied by its loading. Old and new samples are mapped by the same
matrix.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.preprocessing import scale

import patchfold as pf

iris = load_iris()
X, y = scale(iris.data), iris.target_names[iris.target]
model = pf.PatchProjection(n_neighbors=60, dissimilarity="euclidean").fit(X)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
pf.plotting.plot_embedding(model, y, ax=left, title="Iris, by two sums of columns")
left.set_aspect("auto")
place = np.arange(X.shape[1])
for k, coordinate in enumerate(("across", "upwards")):
    right.barh(place + 0.2 - 0.4 * k, model.projection_[:, k], 0.4, label=coordinate)
right.set_yticks(place, iris.feature_names)
right.axvline(0, color="#888888", linewidth=0.8)
right.legend(frameon=False)
right.set_title("Loading of each column", loc="left")

# %%
# The way back: the four columns of a point in the picture, in standard deviations.

middle = model.embedding_[y == "setosa"].mean(axis=0, keepdims=True)
print(model.inverse_transform(middle).round(2))
