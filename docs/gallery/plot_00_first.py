"""
A first picture
===============

`CauchyMap` with its defaults on 1,797 handwritten digits. It has not seen the classes:
these only give the groups their names and colours.
"""

from sklearn.datasets import load_digits

import patchfold as pf

X, y = load_digits(return_X_y=True)
model = pf.CauchyMap().fit(X)
pf.plotting.plot_embedding(
    model, y, annotate=True, legend=False, size=9, title="Digits"
)
