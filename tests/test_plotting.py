"""Pictures: what is drawn, where, and what is refused."""

import sys

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from patchfold import plotting
from patchfold.plotting import plot_embedding, plot_neighbors_sweep, plot_order
from patchfold.selection import NeighborSelection

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
    assert isinstance(ax, Axes)
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


def test_legend_is_optional_and_takes_names(ax):
    plot_embedding(POINTS, LABELS, ax=ax, class_names=["red", "white", "rose"])
    assert legend(ax) == ["red", "white", "rose"]
    bare = plot_embedding(POINTS, LABELS, ax=Figure().subplots(), legend=False)
    assert bare.get_legend() is None


def test_unlabelled_samples_are_drawn_first_in_grey(ax):
    plot_embedding(POINTS, np.where(LABELS == 1, -1, LABELS), ax=ax)
    assert legend(ax) == ["unlabelled", "0", "2"]
    assert np.allclose(drawn(ax)[0], POINTS[LABELS == 1, :2])


def test_as_many_looks_as_classes_are_allowed():
    n = plotting.MAX_CLASSES
    groups = plotting._group(np.arange(n), None, n)
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
            r"has \d+ rows that are not finite",
        ),
        ((POINTS, LABELS[:5]), r"each of the 12 rows of embedding. Got shape \(5,\)"),
    ],
)
def test_wrong_shapes(ax, arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_embedding(*arguments, ax=ax)


def test_components_that_are_not_there(ax):
    with pytest.raises(ValueError, match=r"two of the 3 columns .* Got \(0, 3\)"):
        plot_embedding(POINTS, ax=ax, components=(0, 3))


def test_too_few_class_names(ax):
    with pytest.raises(ValueError, match=r"the 3 classes of labels. Got 1 names"):
        plot_embedding(POINTS, LABELS, ax=ax, class_names=["red"])


def test_measurements_are_not_classes(ax):
    points = np.random.default_rng(0).normal(size=(80, 2))
    with pytest.raises(ValueError, match="80 distinct values, and at most 56"):
        plot_embedding(points, points[:, 0], ax=ax)


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
