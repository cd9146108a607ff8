"""New samples, linked to training samples -> their places in the map."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...backends.backend import array_namespace, on_any_device
from ...backends.native.field import Grid, settle_samples
from ...exceptions import FarSampleWarning, warn
from ...records import Links
from .attraction import calibrated
from .order import row_keys
from .parts import Crew, cut
from .repulsion import Field

PERPLEXITY = 5.0
"""Effective neighbours of a new sample."""

CALM = 1.5
"""Repulsion of a new sample is this much weaker than in training."""

FAR = 5.0
"""New samples are far if their nearest training sample is this many times as far as
the last neighbour of nearly all training samples."""

NEARLY_ALL = 0.99

BUCKETS = 2**20
"""Buckets of keys: of many training samples few are in one with a new sample."""


@dataclass(frozen=True)
class Map:
    """A finished map, in our order of the samples.

    Attributes
    ----------
    Y : float32 array (n, 2)
        Coordinates.
    Z : float
        Sum of the repulsion's kernel over pairs.
    alpha : float
        Tail of the kernel.
    share : float
        Sum a + b of the weights of attraction.
    flat : bool
        Whether there is one coordinate only.
    reach : float
        Distance beyond which a new sample is far; infinite if none is.
    """

    Y: np.ndarray
    Z: float
    alpha: float
    share: float
    flat: bool
    reach: float

    @cached_property
    def field(self) -> tuple[Grid, np.ndarray, np.ndarray]:
        """Grid and values of the field of all samples, and their box (4,)."""
        box = np.concatenate([self.Y.min(axis=0), self.Y.max(axis=0)])
        with Crew(1, self.Y.shape[0]) as crew:
            found = Field(self.alpha, crew)
            found.compute(self.Y, box[:2], box[2:])
        return found.grid, found.values, box

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: a field is soon computed again."""
        return {key: value for key, value in vars(self).items() if key != "field"}


def reach_of(lengths: np.ndarray) -> float | None:
    """Return the distance beyond which new samples are far, from lengths (n, K).

    None if all lengths are 0.
    """
    reach = FAR * quantile_of_last(lengths, NEARLY_ALL)
    return reach if reach > 0 else None


@on_any_device
def quantile_of_last(lengths: np.ndarray, part: float) -> float:
    """Return the quantile of the longest finite length of each row."""
    last = np.where(np.isfinite(lengths), lengths, 0).max(axis=1)
    return float(np.quantile(last, part))


@on_any_device
def recognise(
    keys: np.ndarray, Y: np.ndarray, training: np.ndarray, X: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Say which samples (q, m) are training samples, and return where these are.

    Parameters
    ----------
    keys : uint64 array (n,)
        `hash_rows` of the training samples.
    Y : array (n, 2)
        Their coordinates.
    training : array (n, m)
        The training samples.
    X : array (q, m)
        Samples.

    Returns
    -------
    known : bool array (q,)
        Which are training samples.
    places : array (q, 2)
        Mean place of the training samples that are identical to each.
    """
    keys, wanted = keys.view(np.uint64), row_keys(X)  # of a device they are signed
    is_known, places = np.zeros(wanted.size, bool), np.zeros((wanted.size, 2))
    some = _in_buckets(keys, wanted)
    if some.size == 0:
        return is_known, places
    unique, first, group, sizes = np.unique(
        keys[some], return_index=True, return_inverse=True, return_counts=True
    )
    at = np.minimum(np.searchsorted(unique, wanted), unique.size - 1)
    found = np.flatnonzero(unique[at] == wanted)
    twins = training[some[first[at[found]]]]
    found = found[_are_equal(twins, X[found])]  # else another sample has the hash
    is_known[found] = True
    for axis, values in enumerate(Y[some].T):
        means = np.bincount(group, values) / sizes
        places[found, axis] = means[at[found]]
    return is_known, places


def _in_buckets(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return places of keys that have their last bits in common with a wanted one."""
    last, is_wanted = np.uint64(BUCKETS - 1), np.zeros(BUCKETS, bool)
    is_wanted[wanted & last] = True
    return np.flatnonzero(is_wanted[keys & last])


def _are_equal(left: Any, right: Any) -> np.ndarray:
    """Say which rows are equal, dense or sparse."""
    if not sp.issparse(left):
        return (left == right).all(axis=1)
    gaps = sp.csr_array(left - right)
    gaps.eliminate_zeros()
    return np.diff(gaps.indptr) == 0


def settle_links(Y: np.ndarray, links: Links) -> tuple[np.ndarray, np.ndarray]:
    """Do as `recognise` for links: samples at length 0 are identical."""
    same = links.lengths == 0
    count = same.sum(axis=1)
    shares = same / np.maximum(count, 1)[:, None]
    return count > 0, np.einsum("qk,qkd->qd", shares, Y[links.indices])


def place(chart: Map, links: Links, n_jobs: int | None = None) -> np.ndarray:
    """Return coordinates (q, 2) of new samples, each found on its own.

    A sample starts at the weighted mean of its neighbours and is balanced between
    their attraction and the field of all training samples. It stays in the box of its
    neighbours, or 1 outside of it; a far sample is put beyond all training samples,
    in the direction of its neighbours.

    Parameters
    ----------
    chart : Map
        The training samples.
    links : Links
        Neighbours (q, k) among them; infinite lengths are no links.
    n_jobs : int or None
        Number of threads.
    """
    coordinates = settle_all(chart, links, PERPLEXITY, CALM, n_jobs)
    far = is_far(chart, links)
    if far.any():
        coordinates[far] = _at_the_rim(coordinates[far], chart)
    return coordinates


@on_any_device
def settle_all(
    chart: Map, links: Links, perplexity: float, calm: float, n_jobs: int | None
) -> np.ndarray:
    """Return coordinates (q, 2) of new samples between attraction and the field.

    Repulsion is `calm` times weaker than in training.
    """
    known = np.isfinite(links.lengths)
    first = np.take_along_axis(links.indices, known.argmax(axis=1)[:, None], axis=1)
    near = np.ascontiguousarray(np.where(known, links.indices, first), np.int64)
    weights = calibrated(links.lengths, perplexity, n_jobs).astype(np.float32)
    n, q = chart.Y.shape[0], near.shape[0]
    grid, values, box = chart.field
    placed = np.empty((q, 2), np.float32)
    settle = partial(
        settle_samples,
        grid,
        values,
        chart.Y,
        near,
        weights,
        box=box,
        alpha=chart.alpha,
        push=n / (calm * chart.share * chart.Z),
        flat=chart.flat,
        placed=placed,
    )
    with Crew(n_jobs, q) as crew:
        crew.run(lambda rows: settle(rows=rows), cut(q))
    return placed.astype(np.float64)


def is_far(chart: Map, links: Links) -> np.ndarray:
    """Say which new samples (q,) are far from every training sample."""
    return array_namespace(links.lengths).min(links.lengths, axis=1) > chart.reach


def warn_of_far(samples: np.ndarray) -> None:
    """Warn of new samples that are far, by their numbers."""
    if samples.size == 1:
        warn(
            f"new sample {samples[0]} is far from all training samples and was put at "
            "the rim of the map. Check its units.",
            FarSampleWarning,
        )
    elif samples.size:
        shown = ", ".join(map(str, samples[:5])) + (", ..." if samples.size > 5 else "")
        warn(
            f"{samples.size} new samples ({shown}) are far from all training samples "
            "and were put at the rim of the map. Check their units.",
            FarSampleWarning,
        )


@on_any_device
def _at_the_rim(places: np.ndarray, chart: Map) -> np.ndarray:
    """Move places outwards, beyond all training samples."""
    size = np.linalg.norm(places, axis=1, keepdims=True)
    outwards = np.where(size > 1e-6, places / np.maximum(size, 1e-6), [1.0, 0.0])
    return (float(np.linalg.norm(chart.Y, axis=1).max()) + 1) * outwards
