"""Four ways to PatchLLE of more samples than factors of I - W can hold.

    OPENBLAS_NUM_THREADS=1 python benchmarks/lle_at_scale.py      # 20,000 samples
    OPENBLAS_NUM_THREADS=1 python benchmarks/lle_at_scale.py 100000 --without exact

prints the tables of docs/performance_history.md, "LLE of many samples": for each set
and way the processor seconds of a fit (of the solver alone where the weights are
given), the Procrustes disparity to the exact embedding, and the trustworthiness of
2,000 samples.

- exact: the factors of I - W.
- placed: an exact fit of 2,000 samples, and `transform` of the others.
- amg: LOBPCG on (I-W)ᵀ(I-W), preconditioned by pyamg with the constant vector as near
  null space; `pip install pyamg`, without which the way is left out.
- filter: what solves Laplacians, Chebyshev polynomials of the matrix.
- landmarks: what `n_landmarks="auto"` does.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lobpcg
from scipy.spatial import procrustes
from sklearn.datasets import make_swiss_roll
from sklearn.manifold import trustworthiness

import patchfold as pf
from patchfold.solvers.filtered import filtered_eigenpairs

N_LANDMARKS = 2000
N_SCORED = 2000
N_NEIGHBORS = 15
STEPS = 200
"""Of LOBPCG."""

Way = Callable[[pf.PatchLLE, np.ndarray, sp.csr_array], np.ndarray]


def roll(n: int) -> np.ndarray:
    """Return a swiss roll and 17 features of noise, as `patchfold bench` has."""
    noise = np.random.default_rng(0).normal(size=(n, 17))
    return np.hstack([make_swiss_roll(n, random_state=0)[0], noise])


def clean_roll(n: int) -> np.ndarray:
    """Return a swiss roll."""
    return make_swiss_roll(n, random_state=0)[0]


def sheet(n: int) -> np.ndarray:
    """Return a bent sheet in five dimensions, with a little noise."""
    rng = np.random.default_rng(0)
    u, v = rng.uniform(size=(2, n))
    X = np.stack([2 * u, v, np.sin(3 * u), v**2, u * v], axis=1)
    return X + 0.003 * rng.normal(size=X.shape)


SETS = {"noisy roll": roll, "roll": clean_roll, "bent sheet": sheet}


def exact(model: pf.PatchLLE, X: np.ndarray, weights: sp.csr_array) -> np.ndarray:
    """Solve with the factors of I - W."""
    return model.set_params(n_landmarks=None).fit(X).embedding_


def placed(model: pf.PatchLLE, X: np.ndarray, weights: sp.csr_array) -> np.ndarray:
    """Fit some samples exactly, and place all."""
    some = np.random.RandomState(0).permutation(X.shape[0])[:N_LANDMARKS]
    return model.set_params(n_landmarks=None).fit(X[some]).transform(X)


def amg(model: pf.PatchLLE, X: np.ndarray, weights: sp.csr_array) -> np.ndarray:
    """Iterate with the preconditioner of pyamg."""
    import pyamg

    n = X.shape[0]
    matrix = sp.csr_matrix(_product(weights))
    cycle = pyamg.smoothed_aggregation_solver(matrix, B=np.ones((n, 1)))
    start = np.random.RandomState(0).uniform(-1, 1, (n, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says how far it is from converged
        _, vectors = lobpcg(
            matrix,
            start,
            M=cycle.aspreconditioner(),
            Y=np.ones((n, 1)),
            largest=False,
            maxiter=STEPS,
            tol=1e-9,
        )
    return vectors[:, :2]


def filtered(model: pf.PatchLLE, X: np.ndarray, weights: sp.csr_array) -> np.ndarray:
    """Multiply vectors by polynomials of the matrix."""
    matrix, n = _product(weights), X.shape[0]
    seed, null = np.random.RandomState(0), np.full(n, n**-0.5)
    return filtered_eigenpairs(matrix, 2, null, 1e-10, seed=seed)[1]


def landmarks(model: pf.PatchLLE, X: np.ndarray, weights: sp.csr_array) -> np.ndarray:
    """Interpolate from landmarks."""
    return model.set_params(n_landmarks=min(N_LANDMARKS, len(X) // 2)).fit(X).embedding_


WAYS: dict[str, Way] = {
    "exact": exact,
    "placed": placed,
    "amg": amg,
    "filter": filtered,
    "landmarks": landmarks,
}


def _product(weights: sp.csr_array) -> sp.csr_array:
    residual = (sp.eye_array(weights.shape[0]) - weights).tocsr()
    return (residual.T @ residual).tocsr()


def trust(X: np.ndarray, embedding: np.ndarray) -> float:
    """Return the trustworthiness among some of the samples."""
    some = np.random.RandomState(0).permutation(X.shape[0])[:N_SCORED]
    return trustworthiness(X[some], embedding[some], n_neighbors=N_NEIGHBORS)


def compare(name: str, dissimilarity: str, X: np.ndarray, ways: list[str]) -> None:
    """Print the lines of a set."""

    def model() -> pf.PatchLLE:
        return pf.PatchLLE(n_neighbors=N_NEIGHBORS, dissimilarity=dissimilarity)

    weights = model().set_params(n_landmarks=20).fit(X).weights_
    truth = None
    for way in ways:
        begun = time.process_time()
        try:
            found = WAYS[way](model(), X, weights)
        except RuntimeError as error:
            print(f"| {name} | {dissimilarity} | {way} | {error} | | |", flush=True)
            continue
        seconds = time.process_time() - begun
        truth = found if way == "exact" else truth
        gap = "" if truth is None else f"{procrustes(truth, found)[2]:.3f}"
        print(
            f"| {name} | {dissimilarity} | {way} | {seconds:.1f} | {gap} | "
            f"{trust(X, found):.3f} |",
            flush=True,
        )


def main() -> None:
    """Run all ways on all sets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("n", type=int, nargs="?", default=20_000)
    parser.add_argument("--without", nargs="*", default=[], choices=WAYS)
    parser.add_argument("--toy", action="store_true", help="one set of 2,000 samples")
    given = parser.parse_args()
    ways = [way for way in WAYS if way not in given.without]
    if find_spec("pyamg") is None:
        ways = [way for way in ways if way != "amg"]
    print("| set | dissimilarity | way | CPU s | disparity | trustworthiness |")
    print("| --- | --- | --- | ---: | ---: | ---: |")
    for name, make in list(SETS.items())[: 1 if given.toy else None]:
        X = make(2000 if given.toy else given.n)
        for dissimilarity in ("kl", "euclidean"):
            compare(name, dissimilarity, X, ways)


if __name__ == "__main__":
    main()
