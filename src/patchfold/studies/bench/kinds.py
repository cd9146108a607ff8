"""Kinds of data, each beside well-behaved data of its shape: no kind may be slow."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...backends.files import write_bytes

Maker = Callable[[int, int, np.random.Generator], Any]


@dataclass(frozen=True)
class Kind:
    """One kind of data.

    Attributes
    ----------
    make : callable
        Takes numbers of samples and of features, and a source of random numbers.
    n, m : int
        Samples and features.
    quick : int or None
        Samples in a quick run; None leaves it out.
    """

    make: Maker
    n: int = 20_000
    m: int = 20
    quick: int | None = 3000


def normal(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Return the data that the others are compared with: normal, independent."""
    return rng.normal(size=(n, m))


def tall(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Return many points of a curved sheet, in few features."""
    a, b = rng.uniform(0, 3, (2, n))
    return np.column_stack([np.cos(3 * a), np.sin(3 * a), b])[:, :m]


def wide(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Return a plane of 10 dimensions with noise, in many features."""
    return rng.normal(size=(n, 10)) @ rng.normal(size=(10, m)) + rng.normal(size=(n, m))


def clusters(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Return ten clusters far from each other."""
    return 30 * rng.normal(size=(10, m))[rng.integers(0, 10, n)] + normal(n, m, rng)


def clumps(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Return clumps of 20 samples, 1e-7 wide."""
    X = np.repeat(normal(-(-n // 20), m, rng), 20, axis=0)[:n]
    return rng.permutation(X + 1e-7 * rng.normal(size=X.shape))


def scales(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Return eight clusters, each ten times as wide as the last."""
    which = rng.integers(0, 8, n)
    middles = 3 * rng.normal(size=(8, m))
    return middles[which] + 10.0 ** (which - 7)[:, None] * rng.normal(size=(n, m))


def one_hot(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Return categories as columns of 0 and 1, five for each."""
    return np.hstack([np.eye(5)[rng.integers(0, 5, n)] for _ in range(m // 5)])


def identity(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Return an identity matrix whose columns have variance 1: all rows are as far."""
    X = np.eye(n)
    return X / X.std(axis=0)


def ties(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Return thirds of small integers, as of ratings that are means."""
    return rng.integers(0, 4, (n, m)) / 3


def repeats(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Return every sample three times."""
    return rng.permutation(normal(n // 3 + 1, m, rng)[np.arange(n) // 3])


def heavy_tails(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Return samples of Cauchy's distribution."""
    return rng.standard_cauchy((n, m))


def constant_columns(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Return normal data of which half of the columns are constant."""
    X = normal(n, m, rng)
    X[:, ::2] = 1.5
    return X


def float32(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Return normal data in single precision."""
    return normal(n, m, rng).astype(np.float32)


def memory_mapped(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Return normal data in a file that is read where it lies."""
    buffer = io.BytesIO()
    np.save(buffer, normal(n, m, rng))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npy"
        write_bytes(path, buffer.getvalue())
        return np.load(path, mmap_mode="r")  # lives on after its name is gone


KINDS = {
    "tall": Kind(tall, 100_000, 3, 10_000),
    "wide": Kind(wide, 2000, 1000, 500),
    "ten clusters": Kind(clusters),
    "fine clumps": Kind(clumps),
    "fine clumps, approximate": Kind(clumps, 40_000, 20, None),
    "mixed scales": Kind(scales),
    "one-hot": Kind(one_hot, m=40),
    "scaled identity": Kind(identity, 3000, 3000, 1000),
    "ties": Kind(ties),
    "repeated rows": Kind(repeats),
    "heavy tails": Kind(heavy_tails),
    "constant columns": Kind(constant_columns),
    "float32": Kind(float32),
    "memory-mapped": Kind(memory_mapped),
}
"""By name, as the bench prints them."""


def make_kind(name: str, n: int, *, well_behaved: bool = False) -> Any:
    """Return n samples of a kind, or normal data of the same shape.

    Examples
    --------
    >>> make_kind("constant columns", 5).std(axis=0)[::2].max()
    np.float64(0.0)
    >>> make_kind("constant columns", 5, well_behaved=True).shape
    (5, 20)
    """
    kind = KINDS[name]
    make = normal if well_behaved else kind.make
    m = n if kind.m == kind.n else kind.m  # a square stays one
    return make(n, m, np.random.default_rng(0))
