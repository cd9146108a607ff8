"""Fits on a device against the clock: the rows of `patchfold bench --device`.

Times are of `fit` alone, on samples that are on the device already, after a first fit
in which kernels are compiled; the best of a few runs.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...backends.backend import Backend, backend_for
from ...backends.tensors.search import search_all
from ...estimators.recipes import elap, klap
from ...neighbors.choice import find_neighbors
from .rows import Result, Row
from .tasks import N_NEIGHBORS, gaussians, noisy_roll


@dataclass(frozen=True)
class DeviceRow(Row):
    """One fit.

    Attributes
    ----------
    make : callable
        Returns the estimator.
    n, m : int
        Samples and features.
    seconds : float
        The most it may take.
    quick : int
        Samples in a quick run.
    supervised : bool
        Whether it takes labels; then the data are two normal classes.
    recall : float or None
        Least share of the true neighbours that must be found, where that is measured.
    lasts : (float, float)
        On the device of docs/gpu.md: three fits, the first one, data, recall.
    """

    make: Callable[[], Any]
    n: int
    m: int
    seconds: float
    quick: int
    supervised: bool = False
    recall: float | None = None


def _elap() -> Any:
    return elap(n_neighbors=N_NEIGHBORS, kernel_width="auto")


ROWS = (
    DeviceRow("elap, K=15", _elap, 100_000, 20, 0.4, 3000, recall=0.97, lasts=(4, 3)),
    DeviceRow(
        "elap, K=15", _elap, 1_000_000, 20, 4, 10_000, recall=0.97, lasts=(7, 0.5)
    ),
    DeviceRow(
        "elap, K=15", _elap, 1_000_000, 50, 6, 10_000, recall=0.97, lasts=(13, 0.5)
    ),
    DeviceRow(
        "klap, K=.75n", klap, 20_000, 50, 10, 1000, supervised=True, lasts=(9, 1)
    ),
)


def make_data(row: DeviceRow, n: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Return samples, and labels where the row has any."""
    if row.supervised:
        return gaussians(n, row.m)
    return noisy_roll(n, n_features=row.m), None


def device_recall(X: Any, n_neighbors: int = N_NEIGHBORS, n_rows: int = 2000) -> float:
    """Return the share of true neighbours that a fit on a device finds."""
    found = find_neighbors(X, n_neighbors).indices
    rows = np.sort(np.random.default_rng(1).permutation(X.shape[0])[:n_rows])
    rows = backend_for(X).bring(rows)
    true, _ = search_all(X[rows], X, n_neighbors, own=rows)
    same = found[rows][:, :, None] == true[:, None, :]
    return float(same.any(2).double().mean())


def time_row(row: DeviceRow, backend: Backend, *, n: int, repeats: int = 3) -> Result:
    """Time one row; a fit that fails is a verdict, not the end."""
    samples, y = make_data(row, n)
    X = backend.give_back(samples)
    best, verdict = float("inf"), ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row.make().fit(X[:3000], None if y is None else y[:3000])
            for _ in range(repeats):
                start = time.perf_counter()
                model = row.make().fit(X, y)
                float(model.embedding_[0, 0])  # waits for the device
                best = min(best, time.perf_counter() - start)
                del model
        met, found = best <= row.seconds, ""
        if row.recall is not None:
            recall = device_recall(X)
            met, found = met and recall >= row.recall, f"; recall {recall:.4f}"
        verdict = ("met" if met else "not met") + found
    except (RuntimeError, MemoryError, ValueError) as error:
        verdict = f"failed: {error}"
    seconds = best if best < float("inf") else None
    what = f"{row.what}, {row.m} features"
    return Result(what, "seconds", n, seconds, None, None, None, row.seconds, verdict)


def describe_device(backend: Backend) -> str:
    """Say on what device and with which versions the run was.

    Examples
    --------
    >>> from patchfold.backends.backend import NUMPY
    >>> describe_device(NUMPY).startswith("On NumPy")
    True
    """
    from importlib.metadata import version

    if backend.is_numpy:
        return f"On NumPy {version('numpy')}"
    import torch

    device = backend.device
    name = str(device)
    if device.type == "cuda":
        name = f"{torch.cuda.get_device_name(device)}, CUDA {torch.version.cuda}"
    date = time.strftime("%Y-%m-%d", time.gmtime())
    return f"{name}; torch {torch.__version__}, numpy {version('numpy')}; {date}."
