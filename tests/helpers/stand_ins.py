"""Our estimators with the signatures of scikit-learn's, for scikit-learn's own tests.

They map names of parameters and attributes, and leave out switches of solvers
(`path_method`, `eigen_tol`, "lobpcg") that we do not have.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import patchfold as pf

SOLVERS = {"dense": "dense", "arpack": "arpack"}


class Isomap(pf.PatchIsomap):
    """PatchIsomap of samples, by the parameters of `sklearn.manifold.Isomap`."""

    def __init__(
        self,
        *,
        n_neighbors=5,
        radius=None,
        n_components=2,
        eigen_solver="auto",
        path_method="auto",
        neighbors_algorithm="auto",
        metric="minkowski",
        p=2,
        metric_params=None,
    ):
        self.path_method = path_method
        super().__init__(
            n_components,
            n_neighbors=n_neighbors,
            radius=radius,
            dissimilarity="euclidean",
            eigen_solver=eigen_solver,
            neighbors_algorithm=neighbors_algorithm,
            metric=metric,
            p=p,
            metric_params=metric_params,
        )


class LocallyLinearEmbedding(pf.PatchLLE):
    """PatchLLE of samples, by the parameters of `LocallyLinearEmbedding`."""

    def __init__(
        self,
        *,
        n_neighbors=5,
        n_components=2,
        eigen_solver="auto",
        method="standard",
        random_state=None,
    ):
        self.method = method
        super().__init__(
            n_components,
            n_neighbors=n_neighbors,
            dissimilarity="euclidean",
            eigen_solver=eigen_solver,
            random_state=random_state,
        )

    def fit(self, X, y=None):
        if self.method != "standard":
            pytest.skip(f"PatchLLE has the standard weights, not {self.method!r}")
        return super().fit(X, y)


class SpectralEmbedding:
    """PatchEigenmaps of samples, by the parameters of `SpectralEmbedding`."""

    def __init__(
        self,
        n_components=2,
        *,
        affinity="nearest_neighbors",
        gamma=None,
        random_state=None,
        eigen_solver=None,
        eigen_tol="auto",
        n_neighbors=None,
    ):
        if eigen_solver == "amg":
            pytest.skip("PatchEigenmaps has no solver of PyAMG")
        self.affinity, self.gamma, self.n_neighbors = affinity, gamma, n_neighbors
        self.ours = pf.PatchEigenmaps(
            n_components,
            dissimilarity="euclidean",
            eigen_solver=SOLVERS.get(eigen_solver, "auto"),
            random_state=random_state,
        )

    def fit(self, X, y=None):
        if callable(self.affinity):
            X = as_dissimilarities(self.affinity(X))
            self.ours.set_params(dissimilarity="precomputed", kernel_width=1.0)
        elif self.affinity == "precomputed":
            X = as_dissimilarities(X)
            self.ours.set_params(dissimilarity="precomputed", kernel_width=1.0)
        elif self.affinity == "precomputed_nearest_neighbors":
            # Theirs counts a sample among its own neighbours.
            self.ours.set_params(metric="precomputed", n_neighbors=self.n_neighbors - 1)
        elif self.affinity == "rbf":  # all pairs are edges
            width = X.shape[1] if self.gamma is None else 1 / self.gamma
            wide = {"n_neighbors": None, "radius": np.inf, "kernel_width": width}
            self.ours.set_params(**wide)
        else:
            self.ours.set_params(n_neighbors=self.n_neighbors - 1)
        self.ours.fit(X)
        self.embedding_ = self.ours.embedding_
        # Ours has no edge from a sample to itself, and is computed in float64.
        ours = self.ours.affinity_.toarray() + np.eye(X.shape[0])
        self.affinity_matrix_ = ours.astype(self.embedding_.dtype)
        return self

    def fit_transform(self, X, y=None):
        return self.fit(X).embedding_


def as_dissimilarities(affinity):
    """Return the d with exp(-d²) proportional to similarities; 0 is no edge."""
    edges = sp.coo_array(affinity)
    edges.eliminate_zeros()
    top = edges.data.max()
    lengths = np.sqrt(-np.log(edges.data / top)).astype(edges.dtype)
    return sp.csr_array((lengths, (edges.row, edges.col)), shape=edges.shape)
