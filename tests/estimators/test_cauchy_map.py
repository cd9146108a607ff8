"""CauchyMap: the recipe, the same picture always, new samples, labels, odd input."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import reference_map as reference
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist
from scipy.stats import ortho_group
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import silhouette_score
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

import patchfold as pf
from patchfold.backends.native.neighbors import squared_distances
from patchfold.dissimilarity.table import DISSIMILARITIES
from patchfold.exceptions import (
    FarSampleWarning,
    MapConvergenceWarning,
    NeighborCountWarning,
)
from patchfold.metrics import trustworthiness
from patchfold.neighbors.choice import find_neighbors
from patchfold.solvers.field import attraction, descent, repulsion, start
from patchfold.solvers.field.order import curve_order, hash_order
from patchfold.solvers.field.parts import Crew, cut


def hits(X, Y, k=15):
    """Return the share of the k nearest neighbours that stay among the k nearest."""
    found = [NearestNeighbors(n_neighbors=k).fit(Z).kneighbors()[1] for Z in (X, Y)]
    return np.mean([np.isin(*pair).mean() for pair in zip(*found, strict=True)])


def clusters(n, m=5, seed=0):
    rng = np.random.default_rng(seed)
    centres = 4 * rng.normal(size=(5, m))
    return centres[rng.integers(0, 5, n)] + rng.normal(size=(n, m))


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:800], y[:800]


def parts_of(X, k=15):
    """Return attraction and start of the package, in its own order of the samples."""
    principal = start.principal_axes(X, 2)
    near = find_neighbors(X, k)
    near = attraction.near_pairs(near.indices, near.distances)
    gaps = lambda i, j: squared_distances(X, X, i, j)  # noqa: E731
    middle = attraction.middle_pairs(len(X), gaps)
    return near, middle, start.make_start(principal.shape, 2)


class TestRecipe:
    """Against `reference_map`, which sums over all pairs in double precision."""

    @pytest.mark.parametrize("n", [8, 178])
    def test_weights(self, wine, n):
        X = wine[0][:n]
        k = min(15, n - 1)
        near, middle, _ = parts_of(X, k)
        P = reference.near_weights(X, k)
        np.testing.assert_allclose(near.toarray(), P, atol=1e-9)
        np.testing.assert_allclose(middle.toarray(), reference.middle_weights(X))
        found = find_neighbors(X, k)
        apart = attraction.near_pairs(found.indices, found.distances, 1.0)
        P = reference.near_weights(X, k, even=0.5)
        np.testing.assert_allclose(apart.toarray(), P, atol=1e-9)

    @pytest.mark.parametrize("separation", [0.0, 0.4, 1.0])
    @pytest.mark.parametrize("on_grid", [False, True])
    def test_first_steps(self, wine, separation, on_grid, monkeypatch):
        if on_grid:
            monkeypatch.setattr(repulsion, "EXACT_LIMIT", 0)
        near, middle, Y = parts_of(wine[0])
        both = near.toarray(), middle.toarray()
        expected = reference.descend(Y.astype(float), *both, separation, steps=8)
        recipe = descent.Recipe(separation, max_iter=8)
        found = descent.descend(attraction.unite(near, middle), Y, recipe)
        part = 0.02 if on_grid else 1e-4
        size = np.abs(expected).max()
        np.testing.assert_allclose(found.Y, expected, atol=part * size)

    @pytest.mark.parametrize("on_grid", [False, True])
    def test_final_quality(self, wine, on_grid, monkeypatch):
        if on_grid:
            monkeypatch.setattr(repulsion, "EXACT_LIMIT", 0)
        X, _ = wine
        near, middle, Y = parts_of(X)
        both = near.toarray(), middle.toarray()
        literal = reference.descend(Y.astype(float), *both)
        found = descent.descend(attraction.unite(near, middle), Y, descent.Recipe()).Y
        assert hits(X, found) == pytest.approx(hits(X, literal), abs=0.03)
        values = [reference.objective(place, *both) for place in (found, literal)]
        assert values[0] == pytest.approx(values[1], abs=0.03)

    def test_objective(self, wine):
        near, middle, Y = parts_of(wine[0])
        united = attraction.unite(near, middle)
        found = descent.descend(united, Y, descent.Recipe(0.5, max_iter=150))
        both = near.toarray(), middle.toarray()
        expected = reference.objective(found.Y.astype(float), *both, 0.5)
        assert found.objective[-1] == pytest.approx(expected, abs=1e-4)

    def test_the_start_is_principal_components_where_nothing_is_far(self, wine):
        X, _ = wine
        scores = start.principal_axes(X, 2).shape
        U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
        expected = U[:, :2] * s[:2]
        expected *= np.sign((expected**3).sum(axis=0))
        np.testing.assert_allclose(scores, expected, atol=1e-8)


class TestField:
    @pytest.mark.parametrize("alpha", [1.0, 0.7, 0.5])
    @pytest.mark.parametrize(
        ("spacing", "of_sum", "of_slope"), [(0.6, 5e-3, 0.1), (0.15, 5e-5, 2e-3)]
    )
    def test_the_grid_against_the_sum_over_pairs(
        self, alpha, spacing, of_sum, of_slope
    ):
        rng = np.random.default_rng(0)
        Y = (rng.normal(size=(600, 2)) * [12, 5]).astype(np.float32)
        r = np.empty_like(Y)
        expected, Z = reference.repulsion(Y.astype(float), alpha)
        with Crew(None, len(Y)) as crew:
            field = repulsion.Field(alpha, crew, (spacing,))
            field.compute(Y, Y.min(axis=0), Y.max(axis=0))
            total = field.read(Y, r, cut(len(Y)))
        assert total - len(Y) == pytest.approx(Z, rel=of_sum)
        error = np.linalg.norm(r - expected) / np.linalg.norm(expected)
        assert error < of_slope

    def test_a_far_sample_does_not_make_the_grid_coarse(self):
        Y = np.random.default_rng(1).normal(size=(1500, 2)).astype(np.float32) * 8
        Y[7] = 1e5, -1e5
        r = np.empty_like(Y)
        expected, Z = reference.repulsion(Y.astype(float), 1.0)
        with Crew(None, len(Y)) as crew:
            field = repulsion.Repulsion(len(Y), 1.0, crew)
            found = field.push(Y, r, Y.min(axis=0), Y.max(axis=0))
        assert found == pytest.approx(Z, rel=2e-3)
        error = np.linalg.norm(r - expected) / np.linalg.norm(expected)
        assert error < 0.05  # all samples in one cell of a coarse grid would be wrong


class TestSamePicture:
    @pytest.mark.parametrize("n", [300, 1500])
    def test_any_order_of_rows_gives_the_same_bits(self, n):
        X = clusters(n)
        expected = pf.CauchyMap().fit(X)
        order = np.random.default_rng(0).permutation(n)
        found = pf.CauchyMap(n_jobs=2).fit(X[order])
        np.testing.assert_array_equal(found.embedding_, expected.embedding_[order])
        new = clusters(20, seed=1)
        np.testing.assert_array_equal(found.transform(new), expected.transform(new))
        graph = expected.graph_[order][:, order]
        np.testing.assert_array_equal(found.graph_.toarray(), graph.toarray())

    def test_any_number_of_threads_gives_the_same_bits(self):
        X, new = clusters(9000), clusters(9000, seed=1)
        fits = [pf.CauchyMap(max_iter=160, tol=0, n_jobs=jobs) for jobs in (None, 3)]
        with pytest.warns(MapConvergenceWarning):
            one, three = (model.fit(X) for model in fits)
        np.testing.assert_array_equal(one.embedding_, three.embedding_)
        np.testing.assert_array_equal(one.transform(new), three.transform(new))

    def test_turned_and_mirrored_samples_give_the_same_picture(self, wine):
        X, _ = wine
        expected = pf.CauchyMap().fit_transform(X)
        for seed in range(3):
            turn = ortho_group.rvs(X.shape[1], random_state=seed)
            found = pf.CauchyMap().fit_transform(X @ turn + seed)
            np.testing.assert_allclose(found, expected, atol=1e-3)

    def test_a_matrix_in_any_order(self, wine):
        D = cdist(wine[0], wine[0])
        order = np.random.default_rng(0).permutation(len(D))
        model = pf.CauchyMap(dissimilarity="precomputed")
        for matrix in (D, pf.CauchyMap().fit(wine[0]).graph_):
            expected = clone(model).fit(matrix).embedding_
            found = clone(model).fit(matrix[order][:, order]).embedding_
            np.testing.assert_array_equal(found, expected[order])

    def test_orders(self):
        X = np.random.default_rng(0).integers(0, 3, (200, 3)).astype(float)
        shuffled = X[np.random.default_rng(1).permutation(200)]
        np.testing.assert_array_equal(X[hash_order(X)], shuffled[hash_order(shuffled)])
        assert (hash_order(np.array([[0.0], [-0.0]])) == [0, 1]).all()
        along = X[:, :2][curve_order(X[:, :2])]
        jumps = np.linalg.norm(np.diff(along, axis=0), axis=1)
        assert (
            jumps.mean()
            < 0.5 * np.linalg.norm(np.diff(X[:, :2], axis=0), axis=1).mean()
        )


class TestQuality:
    def test_digits(self, digits):
        X, y = digits
        model = pf.CauchyMap().fit(X)
        assert hits(X, model.embedding_) > 0.6
        assert trustworthiness(X, model.embedding_, n_neighbors=15) > 0.98
        voters = KNeighborsClassifier(7).fit(model.embedding_, y)
        others, labels = load_digits(return_X_y=True)
        assert voters.score(model.transform(others[800:]), labels[800:]) > 0.92

    def test_separation_trades_hits_for_silhouette(self, digits):
        X, y = digits
        fits = [pf.CauchyMap(separation=s).fit_transform(X) for s in (0.0, 1.0)]
        assert hits(X, fits[0]) > hits(X, fits[1]) + 0.02
        assert silhouette_score(fits[1], y) > silhouette_score(fits[0], y) + 0.02

    def test_one_coordinate(self):
        X = np.linspace(0, 1, 200)[:, None] * [1.0, 2.0]
        Y = pf.CauchyMap(n_components=1).fit_transform(X)
        assert Y.shape == (200, 1)
        assert hits(X, Y, k=5) > 0.7

    @pytest.mark.parametrize("far", [1e3, 1e12])
    def test_outliers_spoil_nothing(self, wine, far):
        X, _ = wine
        expected = hits(X, pf.CauchyMap().fit_transform(X))
        spoilt = np.vstack([X, far * np.eye(2, X.shape[1])])
        found = pf.CauchyMap().fit_transform(spoilt)[: len(X)]
        assert hits(X, found) > expected - 0.03

    def test_steps_end_when_the_objective_has_settled(self, digits):
        model = pf.CauchyMap().fit(digits[0])
        assert model.n_iter_ < 1000
        assert model.objective_.size == (model.n_iter_ - 150) // 50 + 1
        assert model.objective_[-2] - model.objective_[-1] < 0.02

    def test_a_limit_that_comes_first_is_told(self, wine):
        with pytest.warns(MapConvergenceWarning, match="max_iter=30 steps: raise"):
            model = pf.CauchyMap(max_iter=30).fit(wine[0])
        assert model.n_iter_ == 30


class TestStart:
    def test_a_grown_table_looks_like_yesterday(self, digits):
        X, _ = digits
        yesterday = pf.CauchyMap().fit(X[:-20])
        today = pf.CauchyMap(init=yesterday).fit(X)
        before, after = yesterday.embedding_, today.embedding_[:-20]
        assert procrustes(before, after)[2] < 0.02
        fresh = pf.CauchyMap().fit_transform(X)
        assert hits(X, today.embedding_) > hits(X, fresh) - 0.02

    def test_given_coordinates_have_a_shape_but_no_size(self, wine):
        X, _ = wine
        Y = X[:, :2] - X[:, :2].mean(axis=0)
        one, other = (pf.CauchyMap(init=s * Y).fit_transform(X) for s in (1, 1024))
        np.testing.assert_array_equal(one, other)
        assert not np.allclose(one, pf.CauchyMap().fit_transform(X), atol=0.1)

    @pytest.mark.parametrize("n_components", [1, 2])
    def test_given_places_belong_to_samples_in_any_order(self, wine, n_components):
        X, _ = wine
        order = np.random.default_rng(0).permutation(len(X))
        model = pf.CauchyMap(n_components=n_components)
        last = clone(model).fit(X[:150])
        given = X[:, :n_components]
        for one, other in ((last, last), (given, given[order])):
            expected = clone(model).set_params(init=one).fit_transform(X)
            found = clone(model).set_params(init=other).fit_transform(X[order])
            np.testing.assert_array_equal(found, expected[order])

    @pytest.mark.parametrize(
        ("init", "words"),
        [
            ("random", "'init' parameter of CauchyMap must be 'pca'"),
            (None, "'init' parameter of CauchyMap must be 'pca'"),
            ([[1.0, 2.0]] * 178, r"^The 'init'.* Got \[\[1.0.{,200} \.\.\. instead"),
            (np.ones((3, 2)), r"init must have shape \(178, 2\)"),
            (pf.CauchyMap(), "init is a CauchyMap that is not fitted"),
            (pf.PatchIsomap(), r"init is a PatchIsomap.*init=model.embedding_"),
        ],
    )
    def test_what_init_cannot_be(self, wine, init, words):
        with pytest.raises(ValueError, match=words):
            pf.CauchyMap(init=init).fit(wine[0])

    def test_a_map_of_other_components(self, wine):
        line = pf.CauchyMap(n_components=1).fit(wine[0])
        with pytest.raises(ValueError, match="init is a map with n_components=1"):
            pf.CauchyMap(init=line).fit(wine[0])

    def test_a_map_of_other_columns_or_of_another_matrix(self, wine):
        X, _ = wine
        narrow = pf.CauchyMap().fit(X[:, :5])
        words = "^init is a map in which X cannot be placed; .* as init: X has 13 "
        with pytest.raises(ValueError, match=words):
            pf.CauchyMap(init=narrow).fit(X)
        D = cdist(X, X)
        small = pf.CauchyMap(dissimilarity="precomputed").fit(D[:99, :99])
        with pytest.raises(ValueError, match="pass coordinates of all samples as init"):
            clone(small).set_params(init=small).fit(D)


class TestNewSamples:
    def test_repeated_training_samples_return_to_their_mean(self, wine):
        X = np.vstack([wine[0], wine[0][:7], wine[0][:7]])
        model = pf.CauchyMap().fit(X)
        mean = model.embedding_[[3, 178 + 3, 185 + 3]].mean(axis=0)
        together = model.transform(np.vstack([wine[0] + 0.1, X]))[178:]
        np.testing.assert_allclose(together[3], mean, rtol=1e-12)
        assert (together[7:178] == model.embedding_[7:178]).all()
        assert (model.transform(X[3:4]) == together[3]).all()

    def test_places_do_not_change_from_call_to_call(self, wine):
        model = pf.CauchyMap().fit(wine[0])
        first = model.transform(wine[0] + 0.1)
        assert (model.transform(wine[0] + 0.1) == first).all()
        copy = pickle.loads(pickle.dumps(model))
        assert (copy.transform(wine[0] + 0.1) == first).all()

    def test_far_samples_are_put_at_the_rim_and_named(self, wine):
        X, _ = wine
        model = pf.CauchyMap().fit(X)
        queries = np.vstack([X[:2] + 0.01, X[:1] + 1e3, X[3:4] - 1e9])
        expected = r"^2 new samples \(2, 3\) are far .* Check their units\.$"
        with pytest.warns(FarSampleWarning, match=expected):
            placed = model.transform(queries)
        rim = np.linalg.norm(model.embedding_, axis=1).max()
        np.testing.assert_allclose(np.linalg.norm(placed[2:], axis=1), rim + 1)
        np.testing.assert_array_equal(placed[:2], model.transform(queries[:2]))
        with pytest.warns(FarSampleWarning, match="^new sample 1 is far .* its units"):
            model.transform(queries[1:3])
        with pytest.warns(FarSampleWarning, match=r"^8 .* \(0, 1, 2, 3, 4, \.\.\.\)"):
            model.transform(X[:8] + 1e3)

    def test_each_on_its_own(self, digits):
        X, _ = digits
        model = pf.CauchyMap().fit(X[:500])
        placed = model.transform(X[500:])
        for rows in (slice(0, 1), slice(7, 90), slice(90, 300)):
            np.testing.assert_array_equal(model.transform(X[500:][rows]), placed[rows])

    def test_wide_samples_return_to_their_places(self, wine):
        X, y = wine
        model = pf.CauchyMap(reduce=5).fit(X[:150])
        np.testing.assert_array_equal(model.transform(X[:150]), model.embedding_)
        model = pf.CauchyMap(reduce=5).fit(X[:150], y[:150])
        np.testing.assert_array_equal(model.transform(X[:150]), model.embedding_)
        placed = model.transform(X[150:])
        np.testing.assert_array_equal(model.transform(X[150:151]), placed[:1])

    @pytest.mark.parametrize("dissimilarity", DISSIMILARITIES)
    def test_every_dissimilarity(self, wine, dissimilarity):
        X, y = wine
        model = pf.CauchyMap(dissimilarity=dissimilarity).fit(X[::2])
        voters = KNeighborsClassifier(7).fit(model.embedding_, y[::2])
        placed = model.transform(X[1::2])
        assert voters.score(placed, y[1::2]) > 0.9
        np.testing.assert_array_equal(model.transform(X[::2]), model.embedding_)
        np.testing.assert_array_equal(model.transform(X[1:2]), placed[:1])

    @pytest.mark.parametrize("sparse", [False, True])
    def test_dissimilarities(self, wine, sparse):
        X, y = wine
        D = cdist(X, X)
        train, test = D[::2][:, ::2], D[1::2][:, ::2]
        if sparse:
            train, test = (
                sp.csr_array(np.where(np.sort(A, axis=1)[:, 15:16] >= A, A, 0))
                for A in (train, test)
            )
            train = train.maximum(train.T)
        model = pf.CauchyMap(dissimilarity="precomputed").fit(train)
        voters = KNeighborsClassifier(7).fit(model.embedding_, y[::2])
        assert voters.score(model.transform(test), y[1::2]) > 0.9
        if not sparse:
            np.testing.assert_array_equal(model.transform(train), model.embedding_)


class TestLabels:
    def test_labels_part_classes_and_help_new_samples(self):
        """Classes that overlap in most features: labels say which features matter."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 10))
        y = (X[:, 0] + X[:, 1] > 0).astype(int)
        scores = []
        for labels in (None, y[:300]):
            model = pf.CauchyMap().fit(X[:300], labels)
            voters = KNeighborsClassifier(7).fit(model.embedding_, y[:300])
            scores.append(voters.score(model.transform(X[300:]), y[300:]))
        assert scores[1] > scores[0] + 0.05
        assert scores[1] > 0.85

    def test_shuffled_labels_give_back_the_map_without_labels(self, wine):
        X, y = wine
        shuffled = np.random.default_rng(0).permutation(y)
        plain, model = pf.CauchyMap().fit(X), pf.CauchyMap().fit(X, shuffled)
        found, expected = (
            silhouette_score(m.embedding_, shuffled) for m in (model, plain)
        )
        assert found == pytest.approx(expected, abs=0.03)
        assert hits(X, model.embedding_) > 0.8 * hits(X, plain.embedding_)

    def test_without_weight_or_classes_it_is_the_map_without_labels(self, wine):
        X, y = wine
        expected = pf.CauchyMap().fit_transform(X)
        for model, labels in (
            (pf.CauchyMap(label_weight=0), y),
            (pf.CauchyMap(), np.zeros(len(X))),
            (pf.CauchyMap(), np.full(len(X), -1)),
        ):
            np.testing.assert_array_equal(model.fit_transform(X, labels), expected)
            assert not hasattr(model, "classes_")

    def test_more_weight_parts_classes_more(self, wine):
        X, y = wine
        fits = [pf.CauchyMap(label_weight=weight).fit(X, y) for weight in (0, 0.5, 4)]
        parted = [silhouette_score(model.embedding_, y) for model in fits]
        assert parted[0] + 0.02 < parted[1] < parted[2] - 0.02

    def test_some_labels(self, wine):
        X, y = wine
        names = np.array(["barolo", "grignolino", "barbera"], dtype=object)[y]
        names[::3] = -1
        model = pf.CauchyMap().fit(X, names)
        assert model.classes_.tolist() == ["barbera", "barolo", "grignolino"]
        voters = KNeighborsClassifier(7).fit(model.embedding_, y)
        assert voters.score(model.embedding_[::3], y[::3]) > 0.9
        model.fit(X)
        assert not hasattr(model, "classes_")

    def test_any_order_of_labelled_rows_gives_the_same_bits(self, wine):
        X, y = wine
        order = np.random.default_rng(0).permutation(len(X))
        expected = pf.CauchyMap().fit_transform(X, y)[order]
        found = pf.CauchyMap().fit_transform(X[order], 7 - y[order])
        np.testing.assert_array_equal(found, expected)

    def test_a_matrix_has_no_samples_to_label(self, wine):
        X, y = wine
        model = pf.CauchyMap(dissimilarity="precomputed")
        with pytest.raises(ValueError, match="labels need samples"):
            model.fit(cdist(X, X), y)


class TestOddInput:
    @pytest.mark.parametrize("n_components", [1, 2])
    @pytest.mark.parametrize("n", [*range(2, 14), 30])
    def test_few_samples(self, wine, n, n_components):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NeighborCountWarning)
            model = pf.CauchyMap(n_components=n_components).fit(wine[0][:n])
        assert np.isfinite(model.embedding_).all()
        assert np.unique(model.embedding_, axis=0).shape[0] == n
        assert np.isfinite(model.transform(wine[0][n : n + 3])).all()

    def test_equal_samples_part(self):
        Y = pf.CauchyMap().fit_transform(np.ones((40, 3)))
        assert np.unique(Y, axis=0).shape[0] == 40

    def test_a_line_is_embedded(self):
        X = np.random.default_rng(0).normal(size=(300, 1))
        assert hits(X, pf.CauchyMap().fit_transform(X)) > 0.7

    def test_three_components_are_refused(self, wine):
        with pytest.raises(ValueError, match=r"n_components=3 is more than 2.* 1 or 2"):
            pf.CauchyMap(n_components=3).fit(wine[0])

    def test_a_sample_without_an_edge(self):
        matrix = sp.csr_array(([1.0, 1.0], ([0, 1], [1, 0])), shape=(3, 3))
        with pytest.raises(ValueError, match="sample 2 has no stored dissimilarity"):
            pf.CauchyMap(n_neighbors=1, dissimilarity="precomputed").fit(matrix)


def test_sizes_of_neighbourhoods_are_chosen(wine):
    X, y = wine
    found = pf.select_n_neighbors(pf.CauchyMap(), X, y, [5, 15], cv=2)
    assert found.mean_scores.min() > 0.9
    fits = list(pf.fit_sweep(pf.CauchyMap(), X, n_neighbors=[5, 15]))
    expected = pf.CauchyMap(5).fit_transform(X)
    np.testing.assert_array_equal(fits[0].embedding_, expected)


def test_names_of_columns_and_copies(wine):
    model = pf.CauchyMap().set_output(transform="pandas").fit(wine[0])
    frame = model.transform(wine[0])
    assert list(frame.columns) == ["cauchymap0", "cauchymap1"]
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        copy.transform(wine[0] + 0.1), model.transform(wine[0] + 0.1)
    )


def test_a_matrix_is_not_kept():
    X = np.random.default_rng(3).normal(size=(300, 3))
    D = cdist(X, X)
    model = pf.CauchyMap(5, dissimilarity="precomputed").fit(D)
    assert len(pickle.dumps(model)) < D.nbytes / 2
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.transform(D[:9]), model.embedding_[:9])


def test_a_sample_with_the_hash_of_another_is_not_taken_for_it(monkeypatch):
    X = np.random.default_rng(3).normal(size=(40, 3))
    model = pf.CauchyMap().fit(X)
    new = X[:5] + 0.1
    expected = model.transform(new)
    keys = model._fitted.keys[np.argsort(model._fitted.order)]
    monkeypatch.setattr("patchfold.solvers.field.placing.row_keys", lambda _: keys[:5])
    np.testing.assert_array_equal(model.transform(new), expected)


def test_coordinates_that_no_map_has_are_not_saved(tmp_path):
    model = pf.CauchyMap().fit(np.random.default_rng(3).normal(size=(40, 3)))
    model.embedding_[3, 1] = 1e30
    with pytest.raises(ValueError, match="embedding_"):
        pf.save_model(model, tmp_path / "map.skops")
    assert not list(tmp_path.iterdir())
