"""PatchEigenmaps: diffusion maps, and weights that are made again."""

import re

import numpy as np
import pytest
from helpers import reference
from scipy.spatial.distance import cdist

import patchfold as pf
from patchfold.estimators import eigenmaps

X = np.random.default_rng(3).normal(size=(25, 3))


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_distances_of_all_coordinates_are_diffusion_distances(steps):
    model = pf.PatchEigenmaps(
        24, n_neighbors=6, diffusion_time=steps, kernel_width=3.0
    ).fit(X)
    lengths = reference.kl_lengths(X, 6, 0.1, 1e-6)
    expected = reference.diffusion_distances(lengths, 25, 3.0, steps)
    found = cdist(model.embedding_, model.embedding_)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_each_step_multiplies_a_coordinate_by_its_eigenvalue():
    one = pf.PatchEigenmaps(n_neighbors=6, diffusion_time=1).fit(X)
    three = pf.PatchEigenmaps(n_neighbors=6, diffusion_time=3).fit(X)
    factor = (1 - one.eigenvalues_) ** 2
    np.testing.assert_allclose(three.embedding_, one.embedding_ * factor)


def test_new_samples_diffuse_as_training_samples_do():
    plain = pf.PatchEigenmaps(n_neighbors=6).fit(X)
    model = pf.PatchEigenmaps(n_neighbors=6, diffusion_time=4).fit(X)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    scale = np.sqrt(plain.affinity_.sum()) * (1 - plain.eigenvalues_) ** 4
    new = X[:8] + 0.05
    np.testing.assert_allclose(model.transform(new), plain.transform(new) * scale)


def test_only_a_random_walk_has_steps():
    model = pf.PatchEigenmaps(diffusion_time=2, laplacian="unnormalized")
    with pytest.raises(
        ValueError,
        match=re.escape(
            "diffusion_time=2 counts steps of a random walk, and "
            "laplacian='unnormalized' has none; set laplacian='random_walk', or "
            "diffusion_time=None."
        ),
    ):
        model.fit(X)


@pytest.mark.parametrize("laplacian", ["unnormalized", "random_walk"])
def test_weights_that_are_made_again_are_the_same(laplacian, monkeypatch):
    kept = pf.PatchEigenmaps(n_neighbors=6, laplacian=laplacian).fit(X)
    monkeypatch.setattr(eigenmaps, "MANY_EDGES", 0)
    again = pf.PatchEigenmaps(n_neighbors=6, laplacian=laplacian).fit(X)
    assert (again.affinity_ != kept.affinity_).nnz == 0
    np.testing.assert_array_equal(again.embedding_, kept.embedding_)
