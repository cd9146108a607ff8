"""Other libraries' maps behind scikit-learn's interface: t-SNE, PaCMAP, TriMap.

Each is run with its library's defaults, in one thread, with a seed. What a small set
does not allow is lowered: the perplexity of openTSNE to a third of the other samples,
as that library does by itself, and the inliers of TriMap so that every sample has
outliers to draw. PaCMAP lowers its own numbers.
"""

from __future__ import annotations

import importlib
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

PERPLEXITY = 30.0
INLIERS, OUTLIERS = 12, 4
"""Defaults of openTSNE, and of TriMap."""


def import_peer(module: str, package: str, extra: str) -> Any:
    """Import another library, or say which extra of patchfold brings it.

    Parameters
    ----------
    module, package : str
        What is imported, and the name by which it is installed.
    extra : str
        The extra of patchfold that has it.

    Returns
    -------
    module
    """
    try:
        with warnings.catch_warnings():  # about extras of theirs that are not used
            warnings.simplefilter("ignore", ImportWarning)
            warnings.filterwarnings("ignore", "IProgress not found")  # of tqdm
            return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"this baseline needs {package}, which is not installed; run "
            f'pip install "patchfold[{extra}]".'
        ) from error


class Peer(BaseEstimator):
    """What the maps of other libraries share.

    Parameters
    ----------
    n_components : int, default=2
        Coordinates.
    random_state : int, default=0
        Seed.

    Attributes
    ----------
    embedding_ : array (n_samples, n_components)
        Coordinates of the training samples.
    """

    _least_samples = 5

    def __init__(self, n_components: int = 2, random_state: int = 0) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the map; labels are not read."""
        X = validate_data(
            self, X, dtype=np.float64, ensure_min_samples=self._least_samples
        )
        self.embedding_ = np.asarray(self._draw(X), dtype=np.float64)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Draw the map and return the places of the training samples."""
        return self.fit(X, y).embedding_

    def _draw(self, X: np.ndarray) -> Any:
        raise NotImplementedError

    def _check_new(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return validate_data(self, X, dtype=np.float64, reset=False)


class OpenTSNE(Peer):
    """t-SNE by openTSNE."""

    def _draw(self, X: np.ndarray) -> Any:
        library = import_peer("openTSNE", "openTSNE", "peers")
        model = library.TSNE(
            n_components=self.n_components,
            perplexity=min(PERPLEXITY, (len(X) - 1) / 3),
            random_state=self.random_state,
        )
        self._fitted = model.fit(X)
        return self._fitted

    def transform(self, X: Any) -> np.ndarray:
        """Place new samples."""
        X = self._check_new(X)
        return np.asarray(self._fitted.transform(X), dtype=np.float64)


class PaCMAP(Peer):
    """PaCMAP; it places new samples as a batch, not one by one."""

    _least_samples = 10  # it does not return for 8

    def _draw(self, X: np.ndarray) -> Any:
        library = import_peer("pacmap", "pacmap", "peers")
        with _without_log("pacmap"), _one_thread():
            self._fitted = library.PaCMAP(
                n_components=self.n_components, random_state=self.random_state
            )
            self._basis = X
            return self._fitted.fit_transform(X)

    def transform(self, X: Any) -> np.ndarray:
        """Place new samples."""
        X = self._check_new(X)
        with _without_log("pacmap"), _one_thread():
            placed = self._fitted.transform(X, basis=self._basis)
        return np.asarray(placed, dtype=np.float64)


class TriMap(Peer):
    """TriMap; it cannot place new samples."""

    _least_samples = 8

    def _draw(self, X: np.ndarray) -> Any:
        library = import_peer("trimap", "trimap", "peers")
        model = library.TRIMAP(
            n_dims=self.n_components,
            n_inliers=min(INLIERS, len(X) - OUTLIERS - 3),
            verbose=False,
        )
        with _one_thread(self.random_state):
            return model.fit_transform(X)


@contextmanager
def _without_log(name: str) -> Iterator[None]:
    """Silence a library that logs a warning for each seed it is given."""
    log = logging.getLogger(name)
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)


@contextmanager
def _one_thread(seed: int | None = None) -> Iterator[None]:
    """Run Numba in one thread: with several, equal seeds give different maps.

    The seed is that of Numba's own generator, which TriMap draws from.
    """
    numba = importlib.import_module("numba")
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        if seed is not None:
            numba.njit(_seed_numba)(seed)
        yield
    finally:
        numba.set_num_threads(threads)


def _seed_numba(seed: int) -> None:
    np.random.seed(seed)  # noqa: NPY002 (compiled: Numba's generator, not NumPy's)
