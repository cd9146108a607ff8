"""
Coloured by a measurement
=========================

442 patients with diabetes, ten columns each, which are all that `CauchyMap` gets. The
colour is the progress of the disease one year later, which it has not seen.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import patchfold as pf

data = load_diabetes(as_frame=True, scaled=False)
X, progress = data.data, data.target
scaled = (X - X.mean()) / X.std()
model = pf.CauchyMap().fit(scaled)

figure, grid = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
pf.plotting.plot_embedding(
    model, progress, ax=grid[0], title="Progress after a year", size=20
)
sex = X["sex"].map({1: "sex 1", 2: "sex 2"})
pf.plotting.plot_embedding(model, sex, ax=grid[1], title="Sex", size=20)

# %%
# The two halves of the map are the two sexes, except for a few points. Within a half,
# progress grows towards one side: neighbours have similar values, although the map did
# not use these values.
#
# Which columns set the patients with the fastest progress apart from the others?

fastest = progress > np.quantile(progress, 0.9)
print(pf.metrics.describe_group(X, fastest).head(4))
