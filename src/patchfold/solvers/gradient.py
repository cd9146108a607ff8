"""Objective and constraint -> embedding: projected ascent of Cauchy graph embedding.

Maximise J(R) = Σ_ij w_ij Γ(||r_i - r_j||²) over ordered pairs, with RᵀR = I and columns
of mean 0. With a_ij = -w_ij Γ'(s_ij) and L_A the Laplacian of A, the gradient is
∇J = -4 L_A R. A step is R + ∇J/L, centred and brought back by the nearest feasible
point U Vᵀ of its singular value decomposition.

A step is accepted on J itself, so J never falls. The paper's own test (its eq. 28)
never rejects with U Vᵀ. The useful answer is the local optimum next to the Laplacian
start: a higher J elsewhere is worse, so there are no restarts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from ..backends.backend import Array, array_namespace, backend_for, on_any_device
from ..graph.weights import laplacian
from ..records import EdgeList, Pairs
from .nystrom import capped_ratio, count_links
from .objectives import Decay

MAX_BACKTRACKS = 60


@dataclass(frozen=True)
class Objective:
    """J(R) on the edges of a graph, less an optional penalty on crowding.

    Attributes
    ----------
    pairs : Pairs
        Edges.
    weights : array (E,)
        Similarities w.
    decay : Decay
        Γ.
    sigma : float
        Its width.
    min_distance : float
        Points closer than this δ pay (1 - s/δ²)² per pair, in units of the mean
        weight; 0 for no penalty.
    """

    pairs: Pairs
    weights: Array
    decay: Decay
    sigma: float
    min_distance: float = 0.0

    @property
    def ceiling(self) -> float:
        """What J would be with all points at one place, Γ(0) Σw."""
        return 2 * self.decay.at_zero * float(self.weights.sum())

    def value(self, R: Array) -> float:
        """Return J(R), less the penalty."""
        s = _squared(R, self.pairs.source, self.pairs.target)
        value = 2 * float(self.weights @ self.decay.value(s, self.sigma))
        if self.min_distance:
            i, j = self._crowded(R)
            shortfall = 1 - _squared(R, i, j) / self.min_distance**2
            value -= 2 * self.weights.mean() * float(shortfall @ shortfall)
        return value

    def pull(self, R: Array) -> Any:
        """Return L_A: the gradient of J is -4 L_A R."""
        i, j = self.pairs.source, self.pairs.target
        s = _squared(R, i, j)
        a = -self.weights * self.decay.slope(s, self.sigma)
        pull = pull_along(self.pairs, self._pattern, a)
        if not self.min_distance:
            return pull
        i, j = self._crowded(R)
        n = self.pairs.n_samples
        shortfall = 1 - _squared(R, i, j) / self.min_distance**2
        push = 2 * self.weights.mean() * shortfall / self.min_distance**2
        half = sp.coo_array((push, (i, j)), shape=(n, n)).tocsr()
        return pull - laplacian(half + half.T)[0]

    @cached_property
    def _pattern(self) -> Any:
        return edge_pattern(self.pairs)

    def _crowded(self, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        near = cKDTree(R).query_pairs(self.min_distance, output_type="ndarray")
        near = near[np.lexsort((near[:, 1], near[:, 0]))]
        return near[:, 0], near[:, 1]


@on_any_device
def edge_pattern(pairs: Pairs) -> sp.csr_array:
    """Return which edge every entry of L_A is; on the diagonal, the number of edges."""
    n_edges, n = pairs.source.size, pairs.n_samples
    edges = EdgeList(pairs, np.arange(1, n_edges + 1)).graph
    whole = (edges + (n_edges + 1) * sp.eye_array(n, dtype=np.int64)).tocsr()
    whole.data -= 1
    return whole


@on_any_device
def pull_along(
    pairs: Pairs, pattern: sp.csr_array, strength: np.ndarray
) -> sp.csr_array:
    """Return the Laplacian of the graph whose edges have these weights."""
    i, j, n = pairs.source, pairs.target, pairs.n_samples
    data = -np.append(strength, 0.0)[pattern.data]
    degrees = np.bincount(i, strength, n) + np.bincount(j, strength, n)
    data[pattern.data == strength.size] = degrees
    return sp.csr_array((data, pattern.indices, pattern.indptr), shape=(n, n))


def _squared(R: Array, i: Array, j: Array) -> Array:
    gap = R[i] - R[j]
    return array_namespace(gap).einsum("ij,ij->i", gap, gap)


def project(M: Array) -> Array:
    """Return the nearest matrix with orthonormal columns of mean zero."""
    return nearest_rotation(M - M.mean(axis=0))


@on_any_device
def nearest_rotation(M: np.ndarray) -> np.ndarray:
    """Return the nearest matrix with orthonormal columns."""
    U, _, Vt = np.linalg.svd(M, full_matrices=False)
    return U @ Vt


def ascend(
    objective: Objective, start: Array, *, max_iter: int, tol: float
) -> tuple[Array, Array]:
    """Climb from a feasible start until the gap to the ceiling stops closing.

    Parameters
    ----------
    objective : Objective
        What to maximise.
    start : array (n, d)
        Feasible: orthonormal columns of mean zero.
    max_iter : int
        Steps at most.
    tol : float
        Stop when a step closes less than this part of the gap `ceiling - J`.

    Returns
    -------
    R : array (n, d)
        The embedding.
    trace : array
        J at the start and after every step; it never falls.
    """
    if objective.min_distance:  # SciPy finds the points that are crowded
        return on_any_device(_ascend)(objective, start, max_iter, tol)
    return _ascend(objective, start, max_iter, tol)


def _ascend(
    objective: Objective, start: Array, max_iter: int, tol: float
) -> tuple[Array, Array]:
    R, trace = start, [objective.value(start)]
    lipschitz = None
    for _ in range(max_iter):
        pull = objective.pull(R)
        if lipschitz is None:
            lipschitz = 8 * float(abs(pull.diagonal()).mean()) or 1.0
        gradient = -4 * (pull @ R)
        for _ in range(MAX_BACKTRACKS):
            candidate = project(R + gradient / lipschitz)
            value = objective.value(candidate)
            if value >= trace[-1]:
                break
            lipschitz *= 2
        else:
            break
        gap = max(objective.ceiling - trace[-1], np.finfo(float).tiny)
        closed = (value - trace[-1]) / gap
        R = candidate
        trace.append(value)
        lipschitz /= 2
        if closed < tol:
            break
    return R, backend_for(start).bring(np.array(trace))


def find_multiplier(objective: Objective, R: Array) -> Array:
    """Return Λ = Rᵀ L_A R: at a fit L_A R = R Λ."""
    return R.T @ (objective.pull(R) @ R)


@on_any_device
def place_by_fixed_point(
    log_weights: np.ndarray,
    neighbors: np.ndarray,
    embedding: np.ndarray,
    multiplier: np.ndarray,
    decay: Decay,
    sigma: float,
    *,
    strongest_edge: float = 1.0,
    max_iter: int = 100,
    tol: float = 1e-9,
) -> np.ndarray:
    """Place new samples where a training sample with the same links would stay.

    Maximising a new sample's own term alone would pull it inwards: at a fit
    L_A R = RΛ, and the multiplier Λ holds every sample out. So r = (Σ a_j r_j)
    (Σa_j I - Λ)⁻¹ is iterated, with Λ counting for at most half of Σa_j.

    Parameters
    ----------
    log_weights : array (q, k)
        Logarithm of w along each link.
    neighbors : int array (q, k)
        Training samples at the other end.
    embedding : array (n, d)
        R.
    multiplier : array (d, d)
        Λ = Rᵀ L_A R, symmetric.
    decay, sigma
        Γ and its width.
    strongest_edge : float, default=1.0
        Largest weight among the training samples.
    max_iter, tol
        A sample stops when it moves by no more than `tol` of the embedding's spread.

    Returns
    -------
    array (q, d)
    """
    theta, axes = np.linalg.eigh((multiplier + multiplier.T) / 2)
    turned = embedding @ axes
    there = turned[neighbors]
    strongest = log_weights.max(axis=1, keepdims=True)
    relative = np.exp(log_weights - strongest)
    r = np.einsum("qk,qkd->qd", relative, there) / relative.sum(axis=1, keepdims=True)
    counted = count_links(strongest, strongest_edge)
    spread = np.abs(turned).max()
    moving = np.ones(r.shape[0], dtype=bool)
    for _ in range(max_iter):
        s = ((r[:, None, :] - there) ** 2).sum(axis=2)
        a = -relative * decay.slope(s, sigma)
        total = a.sum(axis=1, keepdims=True)
        mean = np.einsum("qk,qkd->qd", a, there) / total
        pull = capped_ratio(np.maximum(theta, 0.0), counted * total)
        moved = mean / (1 - pull)
        step = np.abs(moved - r).max(axis=1)
        r = np.where(moving[:, None], moved, r)
        moving &= step > tol * spread  # each sample stops by itself, whatever its batch
        if not moving.any():
            break
    return r @ axes.T
