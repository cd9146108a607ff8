"""Neighborhoods -> smaller ones where the samples curve, for patches that fit.

The ISOMAP-KL paper ends with this: "Points with higher curvature should have a smaller
neighborhood whereas points with lower curvature could have larger neighborhoods." It
gives no formula. Ours:

* The curvature κ_i of a sample is how much tangent spaces turn around it: the mean,
  over its neighbours, of the mean sine of the principal angles between their tangent
  space and its own. All tangent spaces have the same number of dimensions, the median
  of what explains 90 % of a patch: where a surface is folded its patches look thicker
  than they are, and must not hide the fold.
* With κ̃ the median over samples, a patch keeps the part min(1, κ̃/κ_i) of its
  neighbours, the nearest, and never less than a third. So `n_neighbors` is the largest
  size, at least half of the patches have it, and constant curvature leaves all equal.
* A median under `FLAT` counts as that much: on flat samples curvature is rounding.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from ..patches.fitting import PatchFitter
from ..records import Neighborhoods
from .table import DISSIMILARITIES, compare_pairs
from .tangents import EXPLAINED

FLAT = 0.05
"""Tangents that turn by less than this sine, three degrees, do not turn."""

SMALLEST = 1 / 3
"""Part of its neighbours that every patch keeps."""


def tangent_turning(
    X: np.ndarray,
    near: Neighborhoods,
    *,
    include_center: bool = True,
    n_directions: float | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return the curvature κ (n,) of every sample, from 0 to 1.

    Parameters
    ----------
    X : array (n, m)
        Samples.
    near : Neighborhoods
        Their neighbours, at least one each.
    include_center : bool
        Whether a sample is a point of its own patch.
    n_directions : int, float or None
        Dimensions of the tangent spaces, or the part of the variance that half of them
        explain; None is 0.9.
    n_jobs : int or None
        Number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from patchfold.neighbors.choice import find_neighbors
    >>> line = np.arange(9.0)
    >>> X = np.column_stack([line, np.maximum(line - 4, 0)])  # bent at 4
    >>> int(tangent_turning(X, find_neighbors(X, 2)).argmax())
    4
    """
    row = DISSIMILARITIES["principal_angles"]
    settings: dict[str, Any] = {
        "include_center": include_center,
        "shrinkage": 0.0,
        "ridge": 0.0,
        "warn_identical": False,
        "n_jobs": n_jobs,
    }
    fitter = PatchFitter(X, int(near.counts.max()), settings)
    wanted = n_directions or EXPLAINED
    if not isinstance(wanted, Integral):
        patches = fitter.fit(X, near, n_directions=wanted)
        wanted = int(np.median(patches.n_directions))
    patches = fitter.fit(X, near, n_directions=int(wanted))
    # Of equal variances `n_directions` keeps all: here every space has as many.
    limit = np.minimum(patches.n_directions, wanted)
    described = row.describe(replace(patches, n_directions=limit))
    source, target = near.relation
    values = compare_pairs(row, described, described, source, target, n_jobs=n_jobs)
    turned = np.bincount(source, np.asarray(values.label_free), X.shape[0])
    return turned / near.counts


def sizes_by_curvature(curvature: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return how many of its nearest neighbours each patch keeps.

    Parameters
    ----------
    curvature : array (n,)
        From `tangent_turning`.
    counts : int array (n,)
        Neighbours there are.

    Returns
    -------
    int array (n,)

    Examples
    --------
    >>> import numpy as np
    >>> curvature = np.array([0.1, 0.2, 0.2, 0.4, 1.0])
    >>> sizes_by_curvature(curvature, np.full(5, 12)).tolist()
    [12, 12, 12, 6, 4]
    """
    usual = max(float(np.median(curvature)), FLAT)
    part = usual / np.maximum(curvature, usual)
    # The rounding before keeps equal curvatures at equal sizes.
    return np.ceil(np.round(counts * np.maximum(part, SMALLEST), 6)).astype(int)
