"""
A table with words, dates and gaps
==================================

A data frame goes straight into `fit`: `TableEncoder` makes numbers in which every
column counts alike. The same picture can be coloured by any column, words or numbers.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import patchfold as pf

random = np.random.default_rng(0)
kind = random.choice(["flat", "house", "studio"], 600, p=[0.5, 0.3, 0.2])
size = random.normal(pd.Series(kind).map({"flat": 80, "house": 150, "studio": 30}), 9)
frame = pd.DataFrame(
    {
        "kind": kind,
        "size": np.where(random.random(600) < 0.05, np.nan, size),
        "rent": 8 * size + random.normal(0, 90, 600),
        "garden": np.where(kind == "house", "yes", random.choice(["yes", "no"], 600)),
        "since": pd.Timestamp("2020-01-01")
        + pd.to_timedelta(random.integers(0, 1500, 600), "D"),
    }
)
model = pf.CauchyMap().fit(frame)
print(model.encoder_.describe())

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.8), layout="constrained")
pf.plotting.plot_embedding(model, frame["kind"], ax=left, title="By kind")
pf.plotting.plot_embedding(
    model, frame["rent"], ax=right, title="By rent", label="rent"
)
