"""Datasets that scikit-learn carries: iris, wine and digits."""

from __future__ import annotations

import numpy as np

from ._record import Dataset

BUNDLED = ("iris", "wine", "digits")


def read(name: str) -> Dataset | None:
    """Return scikit-learn's copy of `name`, or None if it carries no such set here."""
    if name not in BUNDLED:
        return None
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    data = np.asarray(bunch.data, dtype=float)
    return Dataset(
        name=name,
        data=data,
        target=np.asarray(bunch.target, dtype=np.int64),
        feature_names=tuple(map(str, bunch.feature_names)),
        target_names=tuple(map(str, bunch.target_names)),
        categorical=np.zeros(data.shape[1], dtype=bool),
        source="scikit-learn",
        description=f"scikit-learn's load_{name}: all numeric, nothing missing.",
    )
