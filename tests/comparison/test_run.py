"""`compare`: honest scores, failures and warnings told, one page that needs nothing."""

import base64
import gzip
import hashlib
import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier

import patchfold as pf
from patchfold.backends.environment import describe_speed
from patchfold.comparison import choosing
from patchfold.comparison.folds import make_splits
from patchfold.tables import choose_columns, make_encoder

small_data = pytest.mark.filterwarnings("ignore::patchfold.exceptions.PatchfoldWarning")


@pytest.fixture(scope="module")
def found():
    methods = ["isomap-kl", "klap", "isomap", "pca", "tsne"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choosing, "find_spec", lambda name: None)  # as without openTSNE
        return pf.compare("iris", methods=methods, n_neighbors=15)


def unpacked(page, name):
    """Return what is packed in an element of the page, as the browser unpacks it."""
    packed = re.search(rf"id='{name}'>([\w+/=]*)</script>", page)[1]
    return gzip.decompress(base64.b64decode(packed)).decode("utf-8")


def page_data(page):
    return json.loads(unpacked(page, "data"))


def parts_of(page):
    """Return every element of a page with each of its attributes."""
    found = set()

    class Parser(HTMLParser):
        def handle_starttag(self, tag, attributes):
            found.update((tag, name) for name, _ in [*attributes, (None, None)])

    Parser().feed(page)
    return found


def test_every_method_has_its_scores(found):
    scores = found.scores
    methods = ["isomap-kl", "klap", "isomap", "pca", "tsne"]
    assert sorted(scores.index[:5]) == sorted(methods)
    assert list(scores.index[5:]) == ["features", "guess", "klap-permuted"]
    assert list(scores["held_out"][:4]) == sorted(scores["held_out"][:4])[::-1]
    own = scores.loc[["isomap-kl", "klap", "isomap", "pca"]]
    control = scores.loc["klap-permuted"]
    assert np.isfinite(list(control[["held_out", "balanced", "silhouette"]])).all()
    assert np.isnan(list(control[["trustworthiness", "continuity", "triplets"]])).all()
    measured = own.drop(columns=["compile_seconds", "p_value"]).select_dtypes("number")
    assert np.isfinite(measured.drop(columns="n_neighbors").to_numpy()).all()
    assert scores.loc["isomap-kl", "n_neighbors"] == 15
    assert scores.loc["klap", "n_neighbors"] == 112
    assert (scores["failure"] == "").all()


def test_a_method_that_cannot_place_new_samples_has_no_held_out_score(found):
    row = found.scores.loc["tsne"]
    assert np.isnan(row["held_out"])
    assert "cannot place new samples" in row["remark"]
    assert np.isfinite(row["silhouette"])


@small_data
def test_held_out_accuracy_is_that_of_a_fit_without_the_part(found):
    columns = choose_columns(found.frame, target="target")
    splits = make_splits(
        make_encoder(columns), columns.features, found.labels, found.n_splits
    )
    scores = []
    for split in splits:
        model = pf.PatchIsomap(n_neighbors=15, dissimilarity="euclidean")
        train = model.fit_transform(split.train)
        knn = KNeighborsClassifier(7).fit(train, split.y_train)
        scores.append(knn.score(model.transform(split.test), split.y_test))
    row = found.scores.loc["isomap"]
    assert row["held_out"] == pytest.approx(np.mean(scores))
    assert row["held_out_error"] == pytest.approx(np.std(scores, ddof=1) / 5**0.5)


def test_columns_are_encoded_by_the_training_part_alone():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=40)})
    y = np.repeat([0, 1], 20)
    columns = choose_columns(frame)
    plain = make_splits(make_encoder(columns), columns.features, y, 4)
    assert len(plain) == 4
    for split in plain:
        assert split.train.mean() == pytest.approx(0, abs=1e-12)
        assert split.train.std() == pytest.approx(1)
        assert abs(split.test.mean()) > 1e-3


@small_data
def test_permuted_labels_are_the_control_of_a_supervised_method():
    found = pf.compare("wine", methods=["klap"], sweep=False, n_splits=3)
    honest, control = found.scores.loc["klap"], found.scores.loc["klap-permuted"]
    assert honest["held_out"] > 0.85
    assert control["silhouette"] > 0.8
    assert control["held_out"] < 0.55


def test_the_curve_is_that_of_the_first_fold(found):
    result = found.results[0]
    assert result.curve.sizes == [5, 10, 15, 20, 40]
    at = result.curve.sizes.index(15)
    assert result.curve.means[at] == result.folds[0]
    assert found.results[3].curve is None


def test_without_classes_there_is_trustworthiness_only():
    X = np.random.default_rng(0).normal(size=(60, 4))
    found = pf.compare(X, methods=["isomap", "klap", "pca"], n_neighbors=10)
    assert list(found.scores.index) == ["isomap", "pca", "features"]
    assert found.scores["held_out"].isna().all()
    assert found.results[0].curve.means[1] == found.results[0].trustworthiness
    assert "KLAP needs labels, and no target was named" in found.remarks[0]
    assert len(found.results[0].folds) == 5
    assert "Trustworthiness against K" in found.to_html()


def test_classes_can_be_given_beside_the_samples(iris):
    X, y = iris
    found = pf.compare(X, y, methods=["pca"], sweep=False)
    assert found.class_names == ["0", "1", "2"]
    assert found.ids[:2] == ["row 1", "row 2"]
    np.testing.assert_array_equal(found.labels, y)


def test_a_method_that_fails_says_why_and_the_others_go_on(monkeypatch, iris):
    def fail(self, X, y=None):
        raise np.linalg.LinAlgError("matrix is singular\nsecond line")

    monkeypatch.setattr(pf.PatchLLE, "fit", fail)
    monkeypatch.setattr(pf.PatchLLE, "fit_transform", fail)
    found = pf.compare(*iris, methods=["lle", "pca"], sweep=False)
    assert found.scores.loc["lle", "failure"] == "matrix is singular"
    assert (found.scores["failure"].drop("lle") == "").all()
    assert list(found.embeddings) == ["pca"]
    assert "failed: matrix is singular" in found.to_html()


def test_warnings_are_told_once_with_their_method():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(30, 3)), rng.normal(50, 1, size=(30, 3))])
    y = np.repeat([0, 1], 30)
    found = pf.compare(X, y, methods=["isomap"], n_neighbors=5, sweep=False)
    (remark,) = found.results[0].remarks
    assert remark.startswith("The neighbour graph has 2 connected components")
    assert remark.endswith("(And 5 more like this, in other fits.)")
    assert found.to_html().count("The neighbour graph has 2") == 1


def test_the_call_that_repeats_it_is_written_down(found, iris):
    methods = "['isomap-kl', 'klap', 'isomap', 'pca', 'tsne']"
    assert found.command == (
        f"patchfold.compare('iris', methods={methods}, n_neighbors=15)"
    )
    other = pf.compare(*iris, methods=("pca",), sweep=False)
    assert other.command == (
        "patchfold.compare(data, target, methods=('pca',), sweep=False)"
    )


def test_rows_without_a_class_and_rows_too_many_are_left_out_and_told():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=90), "b": rng.normal(size=90)})
    frame["kind"] = pd.Series(["x", "y", None] * 30)
    found = pf.compare(frame, "kind", methods=["pca"], max_samples=40, sweep=False)
    assert len(found.ids) == 40
    assert found.frame["kind"].notna().all()
    assert found.n_given == 90
    assert found.remarks[0].startswith("30 rows have no value")
    assert found.remarks[1].startswith("40 of 60 rows were drawn at random")
    again = pf.compare(frame, "kind", methods=["pca"], max_samples=40, sweep=False)
    assert again.ids == found.ids


def test_cells_that_are_missing_are_shown_as_such_whatever_their_kind():
    frame = pd.DataFrame({"a": np.random.default_rng(0).normal(size=40)})
    frame["b"] = frame["a"] ** 2
    frame["flag"] = pd.array([True, False, None, True] * 10, dtype="boolean")
    frame["when"] = pd.to_datetime(["2020-01-01", None] * 20)
    days = pd.ArrowDtype(pytest.importorskip("pyarrow").date32())
    frame["day"] = frame["when"].dt.date.astype(days)
    found = pf.compare(frame, methods=["pca"], auto=True, sweep=False)
    columns = {
        column["name"]: column for column in page_data(found.to_html())["columns"]
    }
    assert columns["flag"]["levels"] == ["False", "True", "missing"]
    assert columns["when"]["values"][:2] == [18262, None]  # days since 1970
    assert columns["day"]["values"] == columns["when"]["values"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"methods": ["elab"]}, "must be one of isomap-kl, elap"),
        ({"methods": []}, "methods must name one"),
        ({"target": "size"}, "there is no column 'size'"),
        ({"target": [0, 1]}, "a class for each of the 150 samples"),
        ({"target": [f"w{k}" for k in range(150)]}, "has 150 different values"),
        ({"methods": "pca"}, "must be a list of names"),
        ({"methods": [3]}, "must be a scikit-learn transformer"),
        ({"methods": ["sklearn.manifold.Nothing"]}, "cannot be imported"),
        ({"methods": ["sklearn.pipeline.Pipeline"]}, "needs arguments"),
        ({"target": np.zeros(150)}, "scores need two"),
        ({"n_splits": 1}, "n_splits must be 2 or more"),
        ({"n_neighbors": 0}, "n_neighbors must be an int >= 1"),
    ],
)
def test_bad_input_is_refused(iris, arguments, words):
    with pytest.raises(ValueError, match=words):
        pf.compare(iris[0], **arguments)


class TestPage:
    def test_needs_nothing_from_elsewhere(self, found):
        page = re.sub(r"(id='data'>)[^<]*", r"\1", found.to_html())
        assert len(page) < 70_000
        elements = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
        assert not re.search(r"""(src|href)\s*=|url\(|@import""", elements)
        assert not re.search(r"""fetch\(|XMLHttp|import\(|eval\(|innerHTML""", page)
        assert "http://www.w3.org/2000/svg" in page  # a name, the only address
        assert len(re.findall("https?://", page)) == 1

    def test_only_its_own_script_may_run(self, found):
        page = found.to_html()
        own = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
        policy = re.search(r'Content-Security-Policy" content="(.*?)"', page)[1]
        assert policy == (
            "default-src 'none'; style-src 'unsafe-inline'; "
            f"script-src 'sha256-{digest}'"
        )

    def test_is_made_when_every_method_failed(self, found):
        failed = replace(found.results[0], embedding=None, curve=None, failure="no")
        page = replace(found, results=[failed]).to_html()
        assert "failed: no" in page
        assert "No method could be scored" in page
        assert page_data(page)["panels"] == []

    def test_is_the_same_twice(self, found):
        assert found.to_html() == replace(found).to_html()

    def test_has_what_a_reader_needs(self, found):
        page = replace(found, command="patchfold compare 'my file.csv'").to_html()
        for words in (
            "scaled to mean 0, variance 1",
            "patchfold compare &#x27;my file.csv&#x27;",
            f"scikit-learn {found.versions['scikit-learn']}",
            ", ".join(f"{name} {state}" for name, state in describe_speed().items()),
            "labels shuffled",
            "Held-out accuracy against K",
        ):
            assert words in page

    def test_stays_below_1_mb_with_2000_samples_and_all_methods(self, found):
        rng = np.random.default_rng(0)
        n = 2000
        names = [f"method {k}" for k in range(13)]
        large = replace(
            found,
            results=[
                replace(
                    found.results[0],
                    name=name,
                    title=name,
                    embedding=rng.normal(size=(n, 2)),
                )
                for name in names
            ],
            labels=rng.integers(0, 3, n),
            ids=[f"sample {i}" for i in range(n)],
            frame=pd.DataFrame(rng.normal(size=(n, 12))),
            distances=rng.random(n),
        )
        page = large.to_html()
        assert len(page_data(page)["columns"]) == 14
        assert len(page.encode()) <= 1e6

    def test_names_of_a_table_are_text_wherever_they_stand(self, tmp_path):
        """As a parser reads the page: no element, no attribute but our own."""
        unsafe = (
            "</script>\u2028<script>alert(1)</script><img src=x onerror='x'>\"`&<!--"
        )
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(
            rng.normal(size=(30, 2)), columns=[unsafe, "b'><svg/onload"]
        )
        frame[f"kind {unsafe}"] = np.repeat([f"a {unsafe}", "<b>", "c"], 10)
        frame[f"id {unsafe}"] = [f"{i} {unsafe}" for i in range(30)]
        frame[f"same {unsafe}"] = unsafe
        frame[f"word {unsafe}"] = np.tile([unsafe, "'\"><a href=javascript:x>"], 15)
        table = tmp_path / "<img src=x onerror=alert(2)>.csv"
        frame.to_csv(table, index=False)
        found = pf.compare(
            str(table),
            f"kind {unsafe}",
            id=f"id {unsafe}",
            methods=["pca"],
            n_splits=2,
            sweep=False,
        )
        page = replace(found, command=f"patchfold compare '{unsafe}' \udcff").to_html()
        plain = pf.compare("iris", methods=["pca"], n_splits=2, sweep=False).to_html()
        hostile, usual = parts_of(page), parts_of(plain)
        assert hostile <= usual
        assert {tag for tag, _ in usual} >= {"script", "table", "code"}
        target, first = page_data(page)["columns"][:2]
        assert target["levels"] == ["<b>", f"a {unsafe}", "c"]
        assert first["name"] == unsafe
        assert page.encode("utf-8")  # bytes of a file's name that are no text

    def test_numbers_travel_exactly(self, found):
        """What is saved as CSV from the page is what was in the table."""
        values = np.array([0.1, 1 / 3, 2.0**53 - 1, -5, np.nan] * 30)
        data = page_data(replace(found, frame=pd.DataFrame({"a": values})).to_html())
        sent = [np.nan if v is None else v for v in data["columns"][-2]["values"]]
        np.testing.assert_array_equal(sent, values)

    def test_shows_itself_in_a_notebook_in_a_frame_of_its_own(self, found):
        shown = found._repr_html_()
        assert shown.startswith('<iframe data-patchfold srcdoc="&lt;!doctype html&gt;')
        assert shown.count("<") == 2
        assert len(shown) < 200_000  # once for every run of the cell

    def test_is_written_whole(self, found, tmp_path):
        found.save(tmp_path / "report.html")
        assert (tmp_path / "report.html").read_text("utf-8") == found.to_html()


class TestFigure:
    def test_has_a_subplot_for_each_method_and_a_trace_for_each_class(self, found):
        figure = found.figure()
        titles = [annotation.text for annotation in figure.layout.annotations]
        assert titles == ["ISOMAP-KL", "KLAP", "Isomap", "PCA", "t-SNE"]
        assert len(figure.data) == 5 * 3
        assert [trace.name for trace in figure.data[:3]] == found.class_names
        for first in range(0, 15, 3):
            traces = figure.data[first : first + 3]
            assert len({trace.xaxis for trace in traces}) == 1
            samples = np.concatenate([trace.customdata for trace in traces])
            np.testing.assert_array_equal(np.sort(samples), np.arange(150))
            for code, trace in enumerate(traces):
                assert (found.labels[trace.customdata] == code).all()
                assert trace.marker.color == figure.data[code].marker.color
                assert trace.legendgroup == figure.data[code].legendgroup
                assert trace.showlegend == (first == 0)
                assert trace.hovertext[0] == found.ids[trace.customdata[0]]

    def test_coordinates_are_whole_numbers_in_a_square(self, found):
        pca = found.embeddings["pca"]
        placed = np.empty((150, 2))
        far = np.zeros(150, bool)
        for trace in found.figure().data[9:12]:
            placed[trace.customdata] = np.column_stack([trace.x, trace.y])
            far[trace.customdata] = np.char.endswith(trace.marker.symbol, "-open")
        assert placed.min() == 0
        assert placed.max() == 9999
        for axis in (0, 1):  # one scale for both
            slope = np.polyfit(pca[~far, axis], placed[~far, axis], 1)[0]
            assert slope == pytest.approx(
                9999 / np.ptp(pca[~far], axis=0).max(), rel=1e-3
            )

    def test_far_samples_are_open_at_the_edge(self, found):
        places = np.random.default_rng(0).normal(size=(150, 2))
        places[[3, 60]] = [[-1e4, 0], [0, 1e4]]
        result = replace(found.results[3], embedding=places)
        away = replace(found, results=[result])
        placed, symbols = {}, {}
        for trace in away.figure().data:
            placed.update(
                zip(trace.customdata, zip(trace.x, trace.y, strict=True), strict=True)
            )
            shapes = np.broadcast_to(trace.marker.symbol, len(trace.x))
            symbols.update(zip(trace.customdata, shapes, strict=True))
        far = [i for i, symbol in symbols.items() if symbol.endswith("-open")]
        assert sorted(far) == [3, 60]
        assert placed[3][0] == 0
        assert placed[60][1] == 9999
        assert "2 far away: open marks at the edge" in away.to_html()

    def test_56_classes_look_different(self, found):
        names = [str(k) for k in range(56)]
        many = replace(found, labels=np.arange(150) % 56, class_names=names)
        looks = {(t.marker.color, t.marker.symbol) for t in many.figure().data[:56]}
        assert len(looks) == 56

    def test_names_are_escaped(self, found):
        names = ["<a href='x'>", "$x$ & y", "z"]
        figure = replace(found, class_names=names, ids=["<b>"] * 150).figure()
        shown = [trace.name for trace in figure.data[:3]]
        assert shown == ["&lt;a href='x'&gt;", "&#36;x&#36; &amp; y", "z"]
        assert set(figure.data[0].hovertext) == {"&lt;b&gt;"}

    def test_without_classes_there_is_no_legend(self, found):
        figure = replace(found, labels=None, class_names=[]).figure()
        assert len(figure.data) == 5
        assert not figure.layout.showlegend

    def test_without_plotly_the_error_names_the_extra(self, found, monkeypatch):
        monkeypatch.setitem(sys.modules, "plotly.subplots", None)
        with pytest.raises(ImportError, match=r'need Plotly.*"patchfold\[cli\]"'):
            found.figure()


def test_estimators_show_themselves_in_a_notebook():
    assert "PatchEigenmaps" in pf.elap()._repr_html_()
