"""Pictures of models, of numbers, of many samples, in 3-D; diagnostics; Plotly."""

import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from scipy.spatial.distance import pdist

import patchfold as pf
from patchfold.metrics import sample_trustworthiness, trustworthiness
from patchfold.plotting import (
    MAX_CLASSES,
    interactive,
    plot_embedding,
    plot_graph,
    plot_stretch,
    plot_trustworthiness,
)

LEAST = 0.06
"""What two colours of classes differ by in RGB at least, channels from 0 to 1."""


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def fitted(iris):
    return pf.PatchEigenmaps(n_neighbors=20, dissimilarity="euclidean").fit(iris[0])


@pytest.fixture(scope="module")
def many():
    return np.random.default_rng(0).normal(size=(25_000, 2))


class TestEmbedding:
    def test_a_fitted_model_is_drawn_like_its_embedding(self, ax, fitted, iris):
        plot_embedding(fitted, iris[1], ax=ax)
        drawn = np.vstack([part.get_offsets() for part in ax.collections])
        order = np.argsort(iris[1], kind="stable")
        np.testing.assert_array_equal(drawn, fitted.embedding_[order])

    def test_marks_of_the_legend_can_be_seen_beside_tiny_points(self, ax, fitted, iris):
        plot_embedding(fitted, iris[1], ax=ax, size=1)
        assert all(part.get_sizes().max() < 3 for part in ax.collections)
        handles = ax.get_legend().legend_handles
        assert all(handle.get_sizes().min() >= 30 for handle in handles)

    def test_a_model_that_is_not_fitted_is_refused(self, ax):
        with pytest.raises(ValueError, match="CauchyMap has no embedding_: fit it"):
            plot_embedding(pf.CauchyMap(), ax=ax)

    def test_numbers_have_a_scale_with_a_bar(self, fitted, iris):
        figure = Figure()
        ax = figure.subplots()
        values = iris[0][:, 0] + np.linspace(0, 1e-3, 150)
        values[3] = np.nan
        plot_embedding(fitted, values, ax=ax, label="sepal length")
        grey, drawn = ax.collections
        assert len(grey.get_offsets()) == 1
        np.testing.assert_array_equal(drawn.get_array(), np.delete(values, 3))
        assert figure.axes[1].get_ylabel() == "sepal length"
        with pytest.raises(ValueError, match=r"each of the 150 rows.* Got shape \(90,"):
            plot_embedding(fitted, values[:90], ax=ax)

    def test_names_are_written_where_most_of_a_class_is(self, ax):
        points = np.random.default_rng(0).normal(size=(90, 2))
        points[30:60] += 20
        points[60:80] -= 20  # the last class is in two pieces
        points[80:] += [20, -20]
        names = ["$a$", "b", "c"]
        labels = np.repeat([0, 1, 2], 30)
        plot_embedding(points, labels, ax=ax, class_names=names, annotate=True)
        assert [text.get_text() for text in ax.texts] == names
        for text, place in zip(ax.texts, [(0, 0), (20, 20), (-20, -20)], strict=True):
            assert np.abs(np.subtract(text.get_position(), place)).max() < 2
        assert ax.get_legend() is None

    def test_three_components_are_drawn_in_3d(self, iris):
        figure = Figure()
        ax = figure.add_subplot(projection="3d")
        plot_embedding(iris[0], iris[1], components=(0, 2, 3), ax=ax)
        assert len(ax.collections) == 3
        assert ax.get_zlim()[0] <= iris[0][:, 3].min()

    def test_many_samples_are_a_picture_of_their_density(self, ax, many):
        labels = (many[:, 0] > 0).astype(int)
        plot_embedding(many, labels, ax=ax, class_names=["left", "right"])
        (image,) = ax.images
        pixels = image.get_array()
        assert max(pixels.shape[:2]) == 400
        filled = pixels[..., 3] > 0
        scaled = (many - many.min(axis=0)) * 400 / np.ptp(many, axis=0).max()
        expected = len(np.unique(scaled.astype(int), axis=0))
        assert filled.sum() == pytest.approx(expected, rel=0.01)
        middle = pixels.shape[1] * -many[:, 0].min() / np.ptp(many[:, 0])
        blue = pixels[..., 2] > pixels[..., 0]
        left = np.nonzero(filled & blue)[1]
        assert left.max() <= middle + 1
        names = [text.get_text() for text in ax.get_legend().get_texts()]
        assert names == ["left", "right"]

    def test_every_class_of_a_density_has_a_colour_of_its_own(self, ax, many):
        """Pixels have no markers: the twelfth class may not look like the first."""
        labels = np.arange(len(many)) % MAX_CLASSES
        labels[:99] = -1  # some have none
        plot_embedding(many, labels.astype(object), ax=ax)
        marks = [part.get_facecolor()[0, :3] for part in ax.collections]
        assert len(marks) == MAX_CLASSES + 1
        assert pdist(marks).min() > LEAST

    def test_a_legend_stands_beside_what_matplotlib_cannot_avoid(self, iris, many):
        figure = Figure()
        solid = figure.add_subplot(121, projection="3d")
        plot_embedding(iris[0], iris[1], components=(0, 1, 2), ax=solid)
        dense = figure.add_subplot(122)
        plot_embedding(many, many[:, 0] > 0, ax=dense)
        figure.canvas.draw()
        for ax in (solid, dense):
            assert ax.get_legend().get_window_extent().x0 >= ax.bbox.x1

    def test_many_numbers_are_means_of_pixels(self, ax, many):
        plot_embedding(many, many[:, 0], ax=ax)
        pixels = ax.images[0].get_array()
        rows, columns = np.nonzero(pixels[..., 3] > 0)
        green = pixels[rows, columns, 1]  # it grows along viridis
        assert np.corrcoef(green, columns)[0, 1] > 0.95


def test_a_graph_of_a_model_lies_on_its_embedding(ax, fitted):
    plot_graph(fitted, ax=ax)
    assert len(ax.collections[0].get_segments()) == fitted.graph_.nnz // 2
    np.testing.assert_array_equal(ax.collections[1].get_offsets(), fitted.embedding_)


class TestDiagnostics:
    def test_every_sample_has_its_share_of_the_trustworthiness(self, iris):
        X = iris[0]
        each = sample_trustworthiness(X, X[:, :1], n_neighbors=7)
        assert each.mean() == pytest.approx(trustworthiness(X, X[:, :1], n_neighbors=7))
        assert (sample_trustworthiness(X, X) == 1).all()

    def test_samples_with_false_neighbours_are_dark_and_on_top(self, ax):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(100, 2)) + np.repeat([[0, 0], [30, 0]], 50, axis=0)
        picture = X.copy()
        picture[0] = X[70] + 0.01
        plot_trustworthiness(X, picture, ax=ax)
        drawn = ax.collections[0]
        np.testing.assert_allclose(drawn.get_offsets()[-1], picture[0])
        assert drawn.get_array()[-1] == drawn.get_array().min()

    def test_edges_that_are_torn_are_counted_and_on_top(self, ax):
        X = np.arange(40.0)[:, None] * [1, 0]
        picture = X.copy()
        picture[20:] += 500
        plot_stretch(X, picture, n_neighbors=1, ax=ax)
        edges = ax.collections[0]
        ends = edges.get_segments()[-1][:, 0]
        assert sorted(ends) == [19, 520]
        assert edges.get_array()[-1] > 2
        assert ax.get_title(loc="left") == "3 % of edges are stretched tenfold"


class TestInteractive:
    def test_rows_are_shown_as_they_are(self, fitted, iris):
        frame = pd.DataFrame(iris[0], columns=["a", "<b>", "c", "$d$"])
        frame["kind"] = np.array(["<i>x", "y", "z"])[iris[1]]
        figure = interactive(fitted, frame, color="kind", title="<u>")
        assert [trace.name for trace in figure.data] == ["&lt;i&gt;x", "y", "z"]
        words = figure.data[0].hovertext[0]
        assert words.startswith("<b>0</b><br>a: -0.9007<br>&lt;b&gt;: 1.019<br>")
        assert "&#36;d&#36;" in words
        rows = np.concatenate([trace.customdata for trace in figure.data])
        np.testing.assert_array_equal(np.sort(rows), np.arange(150))
        assert figure.layout.title.text == "&lt;u&gt;"

    def test_numbers_have_a_bar_and_three_columns_are_solid(self, iris):
        values = iris[0][:, 0] + np.linspace(0, 1e-3, 150)
        figure = interactive(iris[0], color=values, components=(0, 1, 2))
        (trace,) = figure.data
        assert trace.type == "scatter3d"
        np.testing.assert_array_equal(trace.marker.color, values)
        sides = figure.layout.scene.aspectratio
        spans = np.ptp(iris[0][:, :3], axis=0)
        assert sides.y / sides.x == pytest.approx(spans[1] / spans[0])
        assert max(sides.x, sides.y, sides.z) < 1.5  # or the ends are not seen

    @pytest.mark.parametrize("components", [(0, 1), (0, 1, 2)])
    def test_every_class_has_a_look_of_its_own(self, components):
        points = np.random.default_rng(0).normal(size=(MAX_CLASSES, 3))
        figure = interactive(
            points, color=np.arange(MAX_CLASSES), components=components
        )
        looks = {(trace.marker.color, trace.marker.symbol) for trace in figure.data}
        assert len(looks) == MAX_CLASSES

    @pytest.mark.parametrize("components", [(0, 1), (0, 1, 2)])
    def test_every_class_of_many_samples_has_a_colour_of_its_own(
        self, many, components
    ):
        """All marks are circles then."""
        labels = np.arange(len(many)) % MAX_CLASSES
        points = np.column_stack([many, many[:, 0]])
        figure = interactive(points, color=labels, components=components)
        assert {trace.marker.symbol for trace in figure.data} == {"circle"}
        colors = [to_rgb(trace.marker.color) for trace in figure.data]
        assert len(colors) == MAX_CLASSES
        assert pdist(colors).min() > LEAST

    def test_what_does_not_fit_is_refused(self, fitted, iris, monkeypatch):
        frame = pd.DataFrame(iris[0][:9])
        with pytest.raises(ValueError, match="for each of the 150 samples"):
            interactive(fitted, frame)
        with pytest.raises(ValueError, match="color must be a column of frame"):
            interactive(fitted, color="kind")
        monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
        with pytest.raises(ImportError, match=r"patchfold\[cli\]"):
            interactive(fitted)
