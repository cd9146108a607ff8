"""
Samples that were not in the fit
================================

Every estimator places samples it has not seen, and the old ones do not move. Here 1,400
digits, in grey, make the map; the other 397, in colour, are placed in it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

import patchfold as pf

X, y = load_digits(return_X_y=True)
model = pf.CauchyMap().fit(X[:1400])
placed = model.transform(X[1400:])

figure, ax = plt.subplots(figsize=(10, 5), layout="constrained")
ax.scatter(*model.embedding_.T, c="#D5D9DE", s=12)
pf.plotting.plot_embedding(placed, y[1400:], ax=ax, size=24, title="New digits")
ax.set_aspect("auto")

nearest = KNeighborsClassifier(7).fit(model.embedding_, y[:1400])
print(f"right by 7 neighbours in the map: {nearest.score(placed, y[1400:]):.0%}")
