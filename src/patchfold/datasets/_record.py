"""The record a loaded dataset travels in, and the errors and warnings of loading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


class DatasetUnavailableError(LookupError):
    """No source at hand has the dataset; the message names the ways to supply it."""


class DatasetChangedError(ValueError):
    """A cached download no longer has the content it had when it was first fetched."""


class DatasetShapeWarning(UserWarning):
    """A download has another size than the copy the catalogue was counted on."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A dataset as numbers, with what the numbers stand for.

    Parameters
    ----------
    name : str
        The name it was found under.
    data : ndarray of shape (n_samples, n_features)
        Numbers as they are; a categorical cell is the position of its level in
        `levels`, counted from 0. **A missing cell is NaN**, in both kinds of
        column: nothing is filled in. See `filled` for what the papers did.
    target : ndarray of shape (n_samples,), dtype int
        Position of each sample's class in `target_names`; -1 where the class is
        missing, the mark of an unlabelled sample.
    feature_names : tuple of str
        One name per column of `data`.
    target_names : tuple of str
        Class names. The order is the one the source gives, else numeric where all
        names are numbers, else alphabetical.
    categorical : ndarray of shape (n_features,), dtype bool
        True where a column of `data` holds category codes.
    source : {"folder", "rule", "scikit-learn", "OpenML"}
        Where this copy came from.
    description : str
        What it is, and what is known about this copy.
    levels : mapping of str to tuple of str
        Level names of each categorical column, in code order. A level may be
        declared without occurring.
    """

    name: str
    data: NDArray[np.float64]
    target: NDArray[np.int64]
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    categorical: NDArray[np.bool_]
    source: str
    description: str
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        n, m = self.data.shape
        return (
            f"Dataset({self.name!r}, {n} x {m}, {len(self.target_names)} classes, "
            f"source={self.source!r})"
        )

    def filled(self) -> NDArray[np.float64]:
        """Return a copy of `data` without missing cells, coded as the papers did.

        A missing category becomes -1, the code pandas gives it: the PCA silhouette
        of anneal is then the published -0.123 (0 instead gives -0.264, the mean
        code -0.149). A missing number becomes the mean of its column, which is 0
        after a z-score; a column without any number becomes 0. The papers do not
        say what they did with missing numbers, so this second rule is ours. The
        mean is taken over all samples: in a train and test experiment, put an
        imputer into the pipeline and start from `data` instead.

        Returns
        -------
        ndarray of shape (n_samples, n_features)

        Examples
        --------
        >>> import numpy as np
        >>> from patchfold.datasets import Dataset
        >>> nan = np.nan
        >>> d = Dataset("toy", np.array([[1.0, nan], [nan, 0.0], [3.0, 1.0]]),
        ...             np.array([0, 0, 1]), ("size", "colour"), ("a", "b"),
        ...             np.array([False, True]), "folder", "three rows")
        >>> d.filled().tolist()
        [[1.0, -1.0], [2.0, 0.0], [3.0, 1.0]]
        """
        missing = np.isnan(self.data)
        present = np.maximum((~missing).sum(axis=0), 1)
        mean = np.where(missing, 0.0, self.data).sum(axis=0) / present
        return np.where(missing, np.where(self.categorical, -1.0, mean), self.data)


def as_number(text: str) -> float | None:
    """Return the number `text` writes, or None: float() without digits like 1_000."""
    if "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def order_levels(names: Sequence[str]) -> tuple[str, ...]:
    """Order distinct names: by value where all are numbers, else alphabetically."""
    values = {name: as_number(name) for name in set(names)}
    if any(v is None or v != v for v in values.values()):
        return tuple(sorted(values))
    return tuple(sorted(values, key=lambda name: (values[name], name)))
