"""Pictures: what is drawn, where, and what is refused."""

import io
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import patchfold as pf
from patchfold.estimators.selection import NeighborSelection
from patchfold.plotting import (
    MAX_CLASSES,
    plot_embedding,
    plot_graph,
    plot_neighbors_sweep,
    plot_order,
    plot_patches,
)
from patchfold.plotting._style import group_classes

POINTS = np.random.default_rng(0).normal(size=(12, 3))
LABELS = np.repeat([0, 1, 2], 4)


@pytest.fixture
def ax():
    return Figure().subplots()


def drawn(ax):
    return [np.asarray(part.get_offsets()) for part in ax.collections]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_draws_on_the_given_axes_and_returns_them(ax):
    assert plot_embedding(POINTS, ax=ax, title="Twelve") is ax
    assert ax.get_title(loc="left") == "Twelve"
    assert np.allclose(drawn(ax)[0], POINTS[:, :2])
    assert ax.get_legend() is None
    assert len(ax.get_xticks()) == len(ax.get_yticks()) == 0


def test_makes_new_axes_without_any():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    ax = plot_embedding(POINTS)
    assert ax.figure.axes == [ax]
    assert np.allclose(drawn(ax)[0], POINTS[:, :2])
    plt.close(ax.figure)


def test_other_components(ax):
    plot_embedding(POINTS, ax=ax, components=(2, 0))
    assert np.allclose(drawn(ax)[0], POINTS[:, [2, 0]])


@pytest.mark.parametrize("labels", [LABELS, np.array(["a", "b", "c"])[LABELS]])
def test_a_colour_and_a_marker_per_class(ax, labels):
    plot_embedding(POINTS, labels, ax=ax)
    assert [len(part) for part in drawn(ax)] == [4, 4, 4]
    looks = {tuple(part.get_facecolor()[0]) for part in ax.collections}
    shapes = {part.get_paths()[0].vertices.tobytes() for part in ax.collections}
    assert len(looks) == len(shapes) == 3
    assert legend(ax) == sorted(set(map(str, labels)))


def test_a_legend_of_many_names_stands_beside_the_panel_within_the_figure():
    figure = Figure(figsize=(6, 5), layout="constrained")
    points = np.random.default_rng(0).normal(size=(100, 2))
    ax = plot_embedding(points, np.arange(100) % 50, ax=figure.subplots())
    figure.draw_without_rendering()
    box = ax.get_legend().get_window_extent()
    assert box.x0 >= ax.get_window_extent().x1
    assert figure.bbox.contains(box.x1, box.y0)
    assert ax.get_window_extent().width > 0.3 * figure.bbox.width


def test_legend_is_optional_and_takes_names(ax):
    plot_embedding(POINTS, LABELS, ax=ax, class_names=["red", "white", "rose"])
    assert legend(ax) == ["red", "white", "rose"]
    bare = plot_embedding(POINTS, LABELS, ax=Figure().subplots(), legend=False)
    assert bare.get_legend() is None


def test_unlabelled_samples_are_drawn_first_in_grey(ax):
    plot_embedding(POINTS, np.where(LABELS == 1, -1, LABELS), ax=ax)
    assert legend(ax) == ["unlabelled", "0", "2"]
    assert np.allclose(drawn(ax)[0], POINTS[LABELS == 1, :2])


def test_objects_as_labels_go_by_their_names(ax):
    labels = np.empty(12, dtype=object)
    labels[:] = ["b", -1, ("a", 1)] * 4
    plot_embedding(POINTS, labels, ax=ax)
    assert legend(ax) == ["unlabelled", "('a', 1)", "b"]
    assert np.allclose(drawn(ax)[0], POINTS[1::3, :2])
    numbers = np.array([10, 9, -1] * 4, dtype=object)
    bare = plot_embedding(POINTS, numbers, ax=Figure().subplots())
    assert legend(bare) == ["unlabelled", "9", "10"]


@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_labels_are_not_left_out_in_silence(ax, missing):
    labels = np.array([missing, *LABELS[1:]], dtype=object)
    with pytest.raises(ValueError, match=r"labels has 1 missing .* with -1"):
        plot_embedding(POINTS, labels, ax=ax)


def test_as_many_looks_as_classes_are_allowed():
    n = MAX_CLASSES
    groups = group_classes(np.arange(n), None, n)
    assert len({(color, marker) for _, _, color, marker in groups}) == n


def test_zoom_leaves_out_far_samples_and_says_how_many(ax):
    points = np.random.default_rng(0).normal(size=(100, 2))
    points[7] = 1000
    plot_embedding(points, np.repeat([0, 1], 50), ax=ax, zoom=True)
    assert [len(part) for part in drawn(ax)] == [49, 50]
    assert [text.get_text() for text in ax.texts] == ["1 far away, not shown"]
    whole = plot_embedding(points, ax=Figure().subplots())
    assert len(drawn(whole)[0]) == 100
    assert not whole.texts


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (POINTS[:, 0],),
            r"embedding must have .* two columns or more. Got shape \(12,",
        ),
        ((POINTS[:, :1],), r"Got shape \(12, 1\) instead: embed with n_components=2"),
        ((np.empty((0, 2)),), r"Got shape \(0, 2\)"),
        (
            (np.where(POINTS > 1.3, np.nan, POINTS),),
            r"has \d+ rows with numbers that are not finite",
        ),
        ((POINTS, LABELS[:5]), r"each of the 12 rows of embedding. Got shape \(5,\)"),
    ],
)
def test_wrong_shapes(ax, arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_embedding(*arguments, ax=ax)


def test_components_that_are_not_there(ax):
    with pytest.raises(
        ValueError, match=r"two or three of the 3 columns .* Got \(0, 3\)"
    ):
        plot_embedding(POINTS, ax=ax, components=(0, 3))


def test_too_few_class_names(ax):
    with pytest.raises(ValueError, match=r"the 3 classes of labels. Got 1 names"):
        plot_embedding(POINTS, LABELS, ax=ax, class_names=["red"])


def test_too_many_classes_are_refused(ax):
    points = np.random.default_rng(0).normal(size=(99, 2))
    with pytest.raises(ValueError, match="99 distinct values, and at most 88"):
        plot_embedding(points, [f"class {k}" for k in range(99)], ax=ax)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "patchfold\[plot\]"'):
        plot_embedding(POINTS)


# Orders


def test_samples_are_joined_in_the_order_given(ax):
    order = np.random.default_rng(0).permutation(12)
    assert plot_order(POINTS, order, ax=ax, title="Way") is ax
    assert ax.get_title(loc="left") == "Way"
    line, dots = ax.collections
    way = POINTS[order, :2]
    assert np.allclose([step[0] for step in line.get_segments()], way[:-1])
    assert np.allclose([step[1] for step in line.get_segments()], way[1:])
    assert np.allclose(dots.get_offsets(), way)
    ends = {text.get_text(): text.xy for text in ax.texts}
    assert np.allclose(ends["1"], way[0])
    assert np.allclose(ends["12"], way[-1])


def test_ends_of_an_order_can_be_named_and_stay_in_the_frame(ax):
    plot_order([[0, 0], [1, 3], [2, 9]], [2, 0, 1], ends=("Here", "There"), ax=ax)
    assert [text.get_text() for text in ax.texts] == ["Here", "There"]
    FigureCanvasAgg(ax.figure).draw()
    frame = ax.get_window_extent()
    for text in ax.texts:
        box = text.get_window_extent()
        assert frame.y0 <= box.y0
        assert box.y1 <= frame.y1


def test_an_order_calls_its_points_by_their_name(ax):
    with pytest.raises(ValueError, match="points must have one row per sample"):
        plot_order(POINTS[:, 0], range(12), ax=ax)
    with pytest.raises(ValueError, match="points must be a table of numbers: could"):
        plot_order([["a", "b"]], [0], ax=ax)


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [1, 2, 3], [[0, 1, 2]]])
def test_an_order_has_every_sample_once(ax, order):
    with pytest.raises(ValueError, match="each of the positions 0 to 2 once"):
        plot_order(POINTS[:3], order, ax=ax)


# --- Scores against K -----------------------------------------------------------------


def test_a_sweep_is_drawn_with_its_error_and_its_best():
    scores = np.array([[0.5, 0.7], [0.8, 1.0], [0.6, 0.6]])
    selection = NeighborSelection(np.array([5, 10, 20]), scores, "accuracy")
    ax = plot_neighbors_sweep(selection, ax=Figure().subplots(), title="wine")
    line, mark = ax.lines
    np.testing.assert_allclose(line.get_xydata(), [[5, 0.6], [10, 0.9], [20, 0.6]])
    np.testing.assert_allclose(mark.get_xydata(), [[10, 0.9]])
    (band,) = ax.collections
    edges = band.get_paths()[0].vertices
    at_ten = edges[edges[:, 0] == 10, 1]
    np.testing.assert_allclose([at_ten.min(), at_ten.max()], [0.8, 1.0])
    assert ax.texts[0].get_text() == "K = 10"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("n_neighbors", "accuracy")


def test_a_sweep_without_folds_has_no_error_to_draw():
    selection = NeighborSelection(np.array([5, 9]), np.array([[0.5], [0.7]]), "trust")
    ax = plot_neighbors_sweep(selection, ax=Figure().subplots())
    assert not ax.collections


# --- Graphs ---------------------------------------------------------------------------


def path_graph():
    """Three samples in a row: lengths 5 and 0, the zero stored."""
    entries = ([5.0, 5.0, 0.0, 0.0], ([0, 1, 1, 2], [1, 0, 2, 1]))
    return sp.coo_array(entries, shape=(3, 3)).tocsr()


def test_every_edge_is_drawn_once_the_most_unlike_last(ax):
    points = np.array([[0.0, 9, 0], [1, 9, 2], [3, 9, 1]])
    assert plot_graph(path_graph(), points, components=(0, 2), ax=ax, title="G") is ax
    assert ax.get_title(loc="left") == "G"
    lines, dots = ax.collections
    assert lines.get_segments()[0].tolist() == [[1, 2], [3, 1]]
    assert lines.get_segments()[1].tolist() == [[0, 0], [1, 2]]
    assert lines.get_array().tolist() == [0, 5]
    assert dots.get_offsets().tolist() == [[0, 0], [1, 2], [3, 1]]


def test_dark_edges_are_the_unlike_ones_and_a_few_do_not_fade_the_rest(ax):
    n = 101
    lengths = np.r_[np.arange(1.0, n - 1), 1e6]
    graph = sp.diags_array([lengths], offsets=[1], shape=(n, n)).tocsr()
    plot_graph(graph, np.random.default_rng(0).normal(size=(n, 2)), ax=ax)
    lines = ax.collections[0]
    assert lines.get_clim() == pytest.approx(np.quantile(lengths, [0.02, 0.98]))
    FigureCanvasAgg(ax.figure).draw()
    light = lines.get_edgecolor()[:, :3].sum(axis=1)
    assert light[0] > light[50] > light[-1]


@pytest.mark.parametrize(
    ("lengths", "extend"), [([1.0, 1.0], "neither"), ([1.0, 2.0], "both")]
)
def test_the_colour_bar_says_what_and_points_where_edges_lie_beyond(lengths, extend):
    graph = sp.diags_array([lengths], offsets=[1], shape=(3, 3)).tocsr()
    ax = plot_graph(graph, POINTS[:3], ax=Figure().subplots(), label="KL")
    (bar,) = (other for other in ax.figure.axes if other is not ax)
    assert bar.get_ylabel() == "KL"
    assert ax.collections[0].colorbar.extend == extend


def test_a_graph_without_a_colour_bar_takes_classes_on_top(ax):
    plot_graph(path_graph(), POINTS[:3], ax=ax, colorbar=False)
    assert ax.figure.axes == [ax]
    plot_embedding(POINTS[:3], [0, 1, 1], ax=ax)
    lines, dots, *classes = ax.collections
    assert min(part.get_zorder() for part in classes) > dots.get_zorder()
    assert dots.get_zorder() > lines.get_zorder()


def test_a_graph_of_a_fitted_estimator_on_its_features_and_new_axes(iris):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    X = iris[0]
    model = pf.PatchIsomap(n_neighbors=50).fit(X)
    ax = plot_graph(model.graph_, X)
    assert len(ax.collections[0].get_segments()) == model.graph_.nnz // 2
    assert np.allclose(ax.collections[1].get_offsets(), X[:, :2])
    plt.close(ax.figure)


@pytest.mark.parametrize(
    ("graph", "points", "message"),
    [
        (np.eye(3), POINTS[:3], "must be a sparse array .* Got ndarray instead"),
        (path_graph(), POINTS[:4], r"each of the 4 points. Got shape \(3, 3\)"),
        (path_graph(), POINTS[:3, :1], r"points must have .* Got shape \(3, 1\)"),
    ],
)
def test_graphs_that_do_not_fit_their_points(ax, graph, points, message):
    with pytest.raises(ValueError, match=message):
        plot_graph(graph, points, ax=ax)


# --- Patches --------------------------------------------------------------------------


def ellipses(ax):
    """Corners of all ellipses, class by class."""
    return [path.vertices for part in ax.collections[1::2] for path in part.get_paths()]


@pytest.mark.parametrize("n_features", [2, 3, 8])
def test_an_ellipse_is_the_covariance_of_a_sample_and_its_neighbours(ax, n_features):
    X = np.random.default_rng(1).normal(size=(40, n_features))
    assert plot_patches(X, n_neighbors=6, samples=[4, 31], n_std=2, shrinkage=0.0,
                        components=(1, 0), ax=ax, title="P") is ax  # fmt: skip
    assert ax.get_title(loc="left") == "P"
    assert np.allclose(drawn(ax)[0], X[:, [1, 0]])
    for i, corners in zip([4, 31], ellipses(ax), strict=True):
        near = np.argsort(((X - X[i]) ** 2).sum(axis=1))[:7]
        gap = corners - X[near][:, [1, 0]].mean(axis=0)
        inverse = np.linalg.inv(np.cov(X[near][:, [1, 0]].T))
        radii = np.sqrt(np.einsum("ci,ij,cj->c", gap, inverse, gap))
        assert np.allclose(radii, 2, rtol=1e-3)  # a ridge of 1e-6 is left


def test_settings_of_patches_are_those_of_the_estimators(ax):
    X = np.random.default_rng(1).normal(size=(40, 2)) @ [[3, 1], [0, 1]]
    plot_patches(X, samples=[0], covariance="diagonal", shrinkage=0.0, ax=ax)
    (corners,) = ellipses(ax)
    near = X[np.argsort(((X - X[0]) ** 2).sum(axis=1))[:16]]
    half = np.ptp(corners, axis=0) / 2
    assert np.allclose(half, 1.5 * near.std(axis=0, ddof=1), rtol=1e-2)
    with pytest.raises(TypeError, match="shrinkag"):
        plot_patches(X, shrinkag=0.0, ax=ax)


def test_patches_spread_over_the_data_and_take_the_colours_of_classes(ax):
    X = (
        np.random.default_rng(0).normal(size=(90, 2))
        + np.repeat([0, 20, 40], 30)[:, None]
    )
    plot_patches(X, np.repeat(["a", "b", "c"], 30), samples=9, n_neighbors=5, ax=ax)
    parts = ax.collections[1::2]
    assert sum(len(part.get_paths()) for part in parts) == 9
    for low, part in zip([-5, 15, 35], parts, strict=True):
        assert len(part.get_paths()) >= 2
        for path in part.get_paths():
            assert low < path.vertices.mean() < low + 10
    assert len({tuple(part.get_edgecolor()[0]) for part in parts}) == 3
    assert legend(ax) == ["a", "b", "c"]


def test_never_more_patches_than_samples(ax):
    plot_patches(POINTS, n_neighbors=3, samples=500, ax=ax)
    assert len(ellipses(ax)) == len(POINTS)
    assert ax.get_legend() is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"samples": 0}, "'samples' parameter of plot_patches .* >= 1. Got 0"),
        ({"samples": True}, "'samples' parameter of plot_patches .* Got True"),
        ({"samples": [3, 12]}, r"positions from 0 to 11. Got \[3, 12\]"),
        ({"samples": [0.5]}, "positions from 0 to 11"),
        ({"samples": []}, "positions from 0 to 11"),
        ({"components": (0, 3)}, "two of the 3 columns of X"),
        ({"components": (0, 0.5)}, r"two of the 3 columns of X. Got \(0, 0.5\)"),
        ({"components": 1}, "two of the 3 columns of X. Got 1"),
        ({"labels": [0, 1]}, "each of the 12 rows of X"),
        ({"n_neighbors": 0}, "'n_neighbors' parameter of plot_patches .* Got 0"),
        ({"n_neighbors": 1.5}, r"a float in \(0, 1\] .* Got 1.5"),
        ({"n_neighbors": "ten"}, "'n_neighbors' parameter .* Got 'ten'"),
        ({"n_std": 0}, "'n_std' parameter of plot_patches .* > 0. Got 0"),
        ({"n_std": np.nan}, "'n_std' parameter of plot_patches .* Got nan"),
        ({"ridge": -1}, "'ridge' parameter of plot_patches .* Got -1"),
        ({"shrinkage": 2.0}, "'shrinkage' parameter of plot_patches .* Got 2.0"),
        ({"covariance": "half"}, "'covariance' parameter .* Got 'half'"),
    ],
)
def test_patches_that_cannot_be_drawn(ax, arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_patches(POINTS, ax=ax, **{"n_neighbors": 3, **arguments})


def test_a_new_figure_has_the_shape_of_what_it_shows():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    shapes = []
    for stretch in ([100.0, 1.0], [1.0, 1.0], [1.0, 100.0]):
        X = np.random.default_rng(0).uniform(size=(200, 2))
        ax = plot_patches(X * stretch)
        width, height = ax.figure.get_size_inches()
        shapes.append(height / width)
        plt.close(ax.figure)
    assert shapes == pytest.approx([0.5, 1.0, 1.2], abs=0.03)


def test_the_critical_difference_diagram_is_found_with_the_others():
    assert pf.plotting.plot_critical_difference.__doc__


def test_names_with_dollar_signs_are_words():
    points = np.random.default_rng(0).normal(size=(6, 2))
    figure = Figure()
    ax = figure.subplots()
    plot_embedding(points, [r"$\frac$", "$"] * 3, ax=ax)
    figure.savefig(io.BytesIO())  # a formula that is none would be an error here
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(names) == ["$", r"$\frac$"]
