"""Call the public functions with odd arrays: finite numbers, or one clear error.

    python benchmarks/fuzz_calls.py [CASES] [FIRST]

Cases are numbered, and the same number is always the same call, so what is found can be
run again: `python benchmarks/fuzz_calls.py 1 NUMBER`. They run in a process apart. A
case fails if that dies, takes longer than five minutes, returns NaN or infinity, warns
of an overflow, or raises anything but a ValueError, a TypeError or an error of ours,
from our checks or scikit-learn's. The exit status is 1 if one fails.
"""

from __future__ import annotations

import argparse
import selectors
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.spatial.distance import cdist

import patchfold as pf
from patchfold.dissimilarity.table import DISSIMILARITIES
from patchfold.exceptions import MemoryBudgetError, PatchfoldWarning

SECONDS = 300
"""A case may take this long, on a machine that is busy: most take milliseconds."""

OURS = ("patchfold", "sklearn/utils", "sklearn/base.py", "sklearn/model_selection")
"""Where an error may come from: our lines, or the checks of scikit-learn."""

Change = Callable[[np.random.Generator, np.ndarray], Any]


def _with(rng: np.random.Generator, X: np.ndarray, value: float) -> np.ndarray:
    X = X.copy()
    X[rng.integers(X.shape[0]), rng.integers(X.shape[1])] = value
    return X


def _mapped(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    with tempfile.NamedTemporaryFile() as file:
        mapped = np.memmap(file, X.dtype, "w+", shape=X.shape)
        mapped[:] = X
        return np.memmap(file.name, X.dtype, "r", shape=X.shape)


def _unaligned(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    room = np.empty(X.nbytes + 1, np.uint8)[1:]
    moved = room.view(X.dtype).reshape(X.shape)
    moved[...] = X
    return moved


def _locked(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def _spread(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]


def _twins(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return X[rng.integers(0, max(1, X.shape[0] // rng.integers(2, 9)), X.shape[0])]


def _uneven(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return X * 10.0 ** rng.integers(-12, 13, X.shape[1])


def _damaged(rng: np.random.Generator, X: np.ndarray) -> Any:
    graph = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0))
    part = [graph.indices, graph.indptr][rng.integers(2)]
    if part.size:
        part[rng.integers(part.size)] = rng.choice([-1, 10**6, 2**31 - 1])
    return graph


VALUES: dict[str, Change] = {
    "nan": lambda rng, X: _with(rng, X, np.nan),
    "inf": lambda rng, X: _with(rng, X, -np.inf),
    "outlier": lambda rng, X: _with(rng, X, 1e7),
    "far outlier": lambda rng, X: _with(rng, X, 1e140),
    "largest": lambda rng, X: _with(rng, X, np.finfo(float).max),
    "huge": lambda rng, X: X * 10.0 ** rng.integers(100, 300),
    "tiny": lambda rng, X: X * 10.0 ** -rng.integers(100, 300),
    "subnormal": lambda rng, X: X * 5e-324 * 100,
    "uneven columns": _uneven,
    "duplicates": _twins,
    "all equal": lambda rng, X: np.full_like(X, rng.normal()),
    "all but one equal": lambda rng, X: _with(rng, np.zeros_like(X), 1.0),
    "constant column": lambda rng, X: X * (np.arange(X.shape[1]) > 0),
    "grid": lambda rng, X: X.round(),
    "0 and 1": lambda rng, X: (X > 0).astype(float),
    "far from 0": lambda rng, X: X + 1e12,
    "a line": lambda rng, X: np.outer(X[:, 0], np.ones(X.shape[1])),
}
"""What numbers may be."""

LAYOUTS: dict[str, Change] = {
    "rows backwards": lambda rng, X: X[::-1],
    "columns backwards": lambda rng, X: X[:, ::-1],
    "with gaps": _spread,
    "Fortran order": lambda rng, X: np.asfortranarray(X),
    "transposed": lambda rng, X: X.T,
    "one row again and again": lambda rng, X: np.broadcast_to(X[:1], X.shape),
    "read only": _locked,
    "mapped from a file": _mapped,
    "unaligned": _unaligned,
    "other byte order": lambda rng, X: X.astype(">f8"),
    "single precision": lambda rng, X: X.astype("f4"),
    "half precision": lambda rng, X: X.astype("f2"),
    "long doubles": lambda rng, X: X.astype(np.longdouble),
    "integers": lambda rng, X: X.astype("i8"),
    "small integers": lambda rng, X: X.astype("i1"),
    "big-endian integers": lambda rng, X: X.astype(">i4"),
    "truth values": lambda rng, X: X > 0,
    "objects": lambda rng, X: X.astype(object),
    "words": lambda rng, X: X.astype(str),
    "complex": lambda rng, X: X + 1j,
    "dates": lambda rng, X: X.astype("i8").astype("M8[s]"),
    "records": lambda rng, X: np.zeros(X.shape, [("a", "f8"), ("b", "i4")]),
    "one dimension": lambda rng, X: X.ravel(),
    "three dimensions": lambda rng, X: X[..., None],
    "no rows": lambda rng, X: X[:0],
    "no columns": lambda rng, X: X[:, :0],
    "one row": lambda rng, X: X[:1],
    "two rows": lambda rng, X: X[:2],
    "three rows": lambda rng, X: X[:3],
    "one column": lambda rng, X: X[:, :1],
    "lists": lambda rng, X: X.tolist(),
    "uneven lists": lambda rng, X: [[1.0, 2.0], [3.0]],
    "masked": lambda rng, X: np.ma.masked_greater(X, 1.0),
    "frame": lambda rng, X: pd.DataFrame(X),
    "frame of objects": lambda rng, X: pd.DataFrame(X.astype(object)),
    "sparse": lambda rng, X: sp.csr_array(X),
    "damaged sparse": _damaged,
    "nothing": lambda rng, X: None,
    "a number": lambda rng, X: 3.0,
}
"""How they may come; a layout that a value has no room for is left out."""

MODELS = {
    "PatchIsomap": pf.PatchIsomap,
    "PatchEigenmaps": pf.PatchEigenmaps,
    "PatchLLE": pf.PatchLLE,
    "PatchProjection": pf.PatchProjection,
    "CauchyEmbedding": pf.CauchyEmbedding,
    "PatchPosterior": pf.PatchPosterior,
    "isomap_kl": pf.isomap_kl,
    "elap": pf.elap,
    "klap": pf.klap,
    "pelle": pf.pelle,
    "cauchy": pf.cauchy,
}

CHOICES: dict[str, list[Any]] = {
    "n_components": [1, 2, 2, 3],
    "n_neighbors": [1, 2, 3, 5, 8, 15, 40, 200, 0.2, None],
    "radius": [None, None, None, 0.5, 2.0],
    "adaptive_patches": [False, False, True],
    "dissimilarity": [*DISSIMILARITIES],
    "include_center": [True, False],
    "covariance": ["full", "diagonal", "robust"],
    "shrinkage": [0.0, 0.1, 1.0, "auto"],
    "ridge": [0.0, 1e-6, 1.0],
    "neighbors_algorithm": ["auto", "exact", "approximate"],
    "eigen_solver": ["auto", "dense", "arpack"],
    "n_jobs": [None, 2],
}
"""What parameters may be; each is changed now and then."""


def odd_array(rng: np.random.Generator, m: int | None = None) -> tuple[str, Any]:
    """Return an array, or what is passed in its place, and its name."""
    n, m = int(rng.choice([4, 12, 30, 60, 150])), m or int(rng.integers(1, 9))
    X: Any = rng.normal(size=(n, m))
    names = []
    for table, part in ((VALUES, 0.5), (LAYOUTS, 0.5)):
        if rng.uniform() < part:
            name = str(rng.choice(list(table)))
            with np.errstate(all="ignore"):
                X = table[name](rng, X)
            names.append(name)
    return ", ".join(names) or "plain", X


def odd_labels(rng: np.random.Generator, n: int) -> Any:
    """Return classes of n samples, or what is passed in their place."""
    kinds: list[Callable[[], Any]] = [
        lambda: rng.integers(0, 3, n),
        lambda: rng.integers(0, 3, n),
        lambda: rng.integers(0, 2, n).astype(str),
        lambda: np.zeros(n),
        lambda: np.arange(n),
        lambda: rng.normal(size=n),
        lambda: np.full(n, np.nan),
        lambda: rng.integers(0, 3, n + 1),
        lambda: rng.integers(0, 3, (n, 2)),
        lambda: None,
    ]
    return kinds[rng.integers(len(kinds))]()


def some_model(rng: np.random.Generator) -> tuple[str, Any]:
    """Return a model with some parameters, and its name."""
    name = str(rng.choice(list(MODELS)))
    model = MODELS[name]()
    model.set_params(n_neighbors=int(rng.choice([3, 5, 8])))
    for key, values in CHOICES.items():
        if key in model.get_params() and rng.uniform() < 0.2:
            model.set_params(**{key: values[rng.integers(len(values))]})
    return repr(model), model


def rows_of(X: Any) -> int:
    """Return how many samples there seem to be."""
    return len(X) if isinstance(X, list) else (*getattr(X, "shape", ()), 1)[0]


def fit_and_place(rng: np.random.Generator) -> tuple[str, Callable[[], list[Any]]]:
    """Fit a model to an odd array, and place others with it."""
    (name, model), (kind, X) = some_model(rng), odd_array(rng)
    y = odd_labels(rng, rows_of(X))
    shape = getattr(X, "shape", ())
    columns = shape[1] if len(shape) == 2 and shape[1] else None
    other, queries = odd_array(rng, columns)

    def call() -> list[Any]:
        model.fit(X, y)
        try:
            return [model.embedding_, model.transform(queries)]
        except Exception as error:
            check_error(error)
            return [model.embedding_]

    return f"{name} on {kind}, transform on {other}", call


def fit_matrix(rng: np.random.Generator) -> tuple[str, Callable[[], list[Any]]]:
    """Fit a model to odd dissimilarities."""
    _, model = some_model(rng)
    if "dissimilarity" in model.get_params():
        model.set_params(dissimilarity="precomputed")
    kind, X = odd_array(rng)
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype == float:
        with np.errstate(all="ignore"):
            D = cdist(X, X)
        how = int(rng.integers(4))
        X = [D, sp.csr_array(D), sp.coo_array(np.where(D < 1, D, 0)), D][how]
        if how == 1:
            X = _damaged(rng, D)
    return f"{model!r} on a matrix of {kind}", lambda: [model.fit_transform(X)]


def sweep(rng: np.random.Generator) -> tuple[str, Callable[[], list[Any]]]:
    """Choose a number of neighbours, or fit several."""
    (name, model), (kind, X) = some_model(rng), odd_array(rng)
    y = odd_labels(rng, rows_of(X))
    sizes = [int(size) for size in rng.integers(1, 12, 3)]
    if rng.uniform() < 0.5:
        return f"select_n_neighbors of {name} on {kind}", lambda: [
            pf.select_n_neighbors(model, X, y, sizes).best_n_neighbors
        ]
    return f"fit_sweep of {name} on {kind}", lambda: [
        fitted.embedding_ for fitted in pf.fit_sweep(model, X, y, n_neighbors=sizes)
    ]


def score(rng: np.random.Generator) -> tuple[str, Callable[[], list[Any]]]:
    """Score an odd embedding of an odd array."""
    names = ["trustworthiness", "continuity", "local_topology_violations", "evaluate"]
    name = str(rng.choice(names))
    (kind, X), (other, Z) = odd_array(rng), odd_array(rng)
    if isinstance(X, np.ndarray) and X.ndim == 2 and rng.uniform() < 0.7:
        Z = rng.normal(size=(X.shape[0], 2))
    k = int(rng.choice([1, 3, 5, 50]))
    if name == "evaluate":
        y = odd_labels(rng, rows_of(Z))
        # NaN is what is not defined there.
        return f"evaluate on {other}", lambda: [
            value for value in pf.metrics.evaluate(Z, y).values() if value == value
        ]
    if name == "local_topology_violations":
        if type(X) is np.ndarray and X.ndim == 2 and X.dtype == float:
            with np.errstate(all="ignore"):
                X = [np.tanh(X @ X.T), _damaged(rng, X @ X.T)][rng.integers(2)]
        return f"{name} on products of {kind} and {other}", lambda: [
            pf.metrics.local_topology_violations(X, Z, n_pairs=k)
        ]
    function = getattr(pf.metrics, name)
    return f"{name} on {kind} and {other}", lambda: [function(X, Z, n_neighbors=k)]


CALLS = (fit_and_place, fit_and_place, fit_and_place, fit_matrix, sweep, score)


def check_error(error: Exception) -> None:
    """Raise what is no clear refusal."""
    frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    # Where numbers are infinite, scikit-learn's own look at them may warn of it.
    is_look = any("sklearn/utils/validation" in frame for frame in frames)
    if isinstance(error, MemoryBudgetError) or (
        isinstance(error, RuntimeWarning) and is_look
    ):
        return
    if not isinstance(error, (TypeError, ValueError)) or not str(error).strip():
        raise error
    if isinstance(error, np.linalg.LinAlgError):
        raise error
    inner = next((f for f in reversed(frames) if "fuzz_calls" not in f), "")
    while "site-packages" in inner and not any(part in inner for part in OURS):
        # NumPy and pandas may refuse what scikit-learn has them convert.
        frames.pop()
        inner = frames[-1] if frames else ""
        if "sklearn/utils" in inner or "_validation.py" in inner:
            return
        if "patchfold" in inner:
            raise error
    if not any(part in inner for part in OURS):
        raise error


def run_case(number: int) -> str:
    """Run a case, and say how it ended; raises if that is not allowed."""
    rng = np.random.default_rng(number)
    name, call = CALLS[rng.integers(len(CALLS))](rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PatchfoldWarning)
        for category in (UserWarning, FutureWarning, DeprecationWarning):
            warnings.simplefilter("ignore", category)
        try:
            results = call()
        except Exception as error:
            try:
                check_error(error)
            except Exception:
                error.add_note(f"case {number}: {name}")
                raise
            return "refused"
    for result in results:
        if not np.isfinite(np.asarray(result, dtype=float)).all():
            raise AssertionError(f"case {number}: {name}: not finite")
    return "finite"


def run_cases(first: int, last: int) -> None:
    """Run cases in this process; tells of each when it begins and how it ended."""
    for number in range(first, last):
        print("begin", number, flush=True)
        try:
            print("end", run_case(number), flush=True)
        except Exception as error:
            last_frame = traceback.extract_tb(error.__traceback__)[-1]
            notes = " ".join(getattr(error, "__notes__", ()))
            where = f"{Path(last_frame.filename).name}:{last_frame.lineno}"
            text = f"{type(error).__name__}: {error} [{where}] {notes}"
            print("failed", " ".join(text.split())[:600], flush=True)


def watch(first: int, last: int) -> list[str]:
    """Run cases in child processes; returns what failed."""
    failures, counts = [], Counter[str]()
    while first < last:
        words = [sys.executable, __file__, "--child", str(first), str(last)]
        with subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
        ) as child:
            assert child.stdout is not None
            with selectors.DefaultSelector() as ready:
                ready.register(child.stdout, selectors.EVENT_READ)
                number, is_late = first, False
                while True:
                    if not ready.select(SECONDS):
                        is_late = True
                        child.kill()
                        break
                    word, _, text = child.stdout.readline().strip().partition(" ")
                    if not word:
                        break
                    if word == "begin":
                        number = int(text)
                        continue
                    counts[text if word == "end" else word] += 1
                    if word == "failed":
                        failures.append(f"{number}: {text}")
                        print(failures[-1], flush=True)
            status = child.wait()
        if status or is_late:
            how = "took too long" if is_late else f"ended with status {status}"
            failures.append(f"{number}: the process {how}")
            print(failures[-1], flush=True)
            first = number + 1
        else:
            first = last
    print(dict(counts), f"{len(failures)} failures", flush=True)
    return failures


def main() -> int:
    """Run the cases that the command line asks for."""
    if sys.argv[1:2] == ["--child"]:
        run_cases(int(sys.argv[2]), int(sys.argv[3]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int, nargs="?", default=5000)
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("--toy", action="store_true", help="smallest sizes")
    given = parser.parse_args()
    count = 10 if given.toy else given.count
    return 1 if watch(given.first, given.first + count) else 0


if __name__ == "__main__":
    sys.exit(main())
