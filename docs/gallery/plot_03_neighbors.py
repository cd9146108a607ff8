"""
Choosing the number of neighbours
=================================

The result depends strongly on K, as the papers say too. With labels,
`select_n_neighbors` scores each K on samples that were not in the fit. It searches the
neighbours once for each fold.
"""

from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

import patchfold as pf

X, y = load_wine(return_X_y=True)
found = pf.select_n_neighbors(
    pf.isomap_kl(), scale(X), y, candidates=[5, 10, 15, 20, 30, 40, 60, 80]
)
pf.plotting.plot_neighbors_sweep(found, title="Wine, ISOMAP-KL")
print(f"best: {found.best_n_neighbors}")

# %%
# The band is one standard error of the mean over the folds. Where the bands of two K
# overlap, the difference between them may be chance.
