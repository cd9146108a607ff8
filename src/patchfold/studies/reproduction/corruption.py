"""Training data made worse in steps: noise on every feature, or rows that are outliers.

Only training rows are touched: the test half stays clean, so a score says how well a
method finds the structure beneath. Features are z-scored when they come here, so one
unit is one standard deviation.
"""

from __future__ import annotations

import numpy as np

NOISE_LEVELS = (0.5, 1.0, 2.0)
OUTLIER_SHARES = (0.05, 0.1, 0.2)
OUTLIER_SPREAD = 5.0


def add_noise(X: np.ndarray, level: float, seed: int) -> np.ndarray:
    """Return X with Gaussian noise of standard deviation `level` on every cell.

    Examples
    --------
    >>> import numpy as np
    >>> bool(np.std(add_noise(np.zeros((500, 4)), 2.0, seed=0)) > 1.9)
    True
    """
    return X + level * np.random.default_rng(seed).normal(size=X.shape)


def add_outliers(X: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Return X with a share of its rows drawn anew, far and wide.

    Such a row keeps its label and loses its features: they become Gaussian with
    standard deviation `OUTLIER_SPREAD`, the same for every class.

    Examples
    --------
    >>> import numpy as np
    >>> spoilt = add_outliers(np.zeros((50, 3)), 0.1, seed=0)
    >>> int((spoilt != 0).any(axis=1).sum())
    5
    """
    rng = np.random.default_rng(seed)
    rows = rng.permutation(X.shape[0])[: round(share * X.shape[0])]
    spoilt = X.copy()
    spoilt[rows] = OUTLIER_SPREAD * rng.normal(size=(rows.size, X.shape[1]))
    return spoilt


def corrupt(X: np.ndarray, how: str, seed: int) -> np.ndarray:
    """Return training rows as a protocol's name asks: "", "noise 1", "outliers 0.1".

    Examples
    --------
    >>> import numpy as np
    >>> X = np.zeros((4, 2))
    >>> corrupt(X, "", seed=0) is X
    True
    """
    if not how:
        return X
    kind, level = how.split()
    change = {"noise": add_noise, "outliers": add_outliers}[kind]
    return change(X, float(level), seed)
