"""What `compare` runs, and on which targets."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA, FastICA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import patchfold as pf
from patchfold.comparison import choosing
from patchfold.comparison.choosing import choose_methods
from patchfold.comparison.folds import find_mistaken, make_splits, score_classes
from patchfold.comparison.preparing import find_far, find_groups
from patchfold.tables import choose_columns, make_encoder


def names(wanted):
    return [method.name for method in choose_methods(wanted, [])]


class TestMethods:
    def test_the_defaults_have_what_people_ask_for(self):
        assert {"posterior", "cauchy-map", "lda", "pca", "tsne"} <= set(names(None))
        assert names(["defaults", "pca"]) == names(None)

    @pytest.mark.parametrize(
        ("wanted", "words"),
        [
            (
                "elab",
                r"one of isomap-kl.*Got 'elab' instead\. lda, defaults and dotted",
            ),
            (PCA, r"methods: PCA is a class, .*: write PCA\(\)\."),
            ("sklearn.svm.SVC", "methods: sklearn.svm.SVC must be a scikit-learn tr"),
        ],
    )
    def test_what_is_no_method_is_refused(self, wanted, words):
        with pytest.raises(ValueError, match=words):
            choose_methods([wanted], [])

    @pytest.mark.parametrize("installed", [True, False])
    def test_tsne_is_by_opentsne_where_that_is_installed(self, monkeypatch, installed):
        def find(name):
            return installed if name == "openTSNE" else True

        monkeypatch.setattr(choosing, "find_spec", find)
        (method,) = choose_methods(["tsne"], [])
        kind = type(method.make()).__name__
        assert kind == ("OpenTSNE" if installed else "SizedBaseline")
        assert ("by openTSNE" if installed else "by scikit-learn") in method.remark

    def test_umap_that_is_not_installed_is_said(self, monkeypatch):
        monkeypatch.setattr(choosing, "find_spec", lambda name: None)
        remarks = []
        assert [m.name for m in choose_methods(["pca", "umap"], remarks)] == ["pca"]
        assert remarks[0].startswith("UMAP is left out: it is not installed")

    def test_transformers_join_with_and_without_a_name(self, iris):
        chain = make_pipeline(StandardScaler(), PCA(2))
        methods = [PCA(2), PCA(3), ("mine", chain), chain, "pca"]
        found = pf.compare(*iris, methods=methods, n_splits=3)
        assert set(found.embeddings) == {
            "PCA", "PCA-2", "mine", "StandardScaler + PCA", "pca",
        }  # fmt: skip
        scores = found.scores
        assert scores.loc["PCA", "held_out"] == scores.loc["pca", "held_out"]
        assert "first two of its 3 coordinates" in scores.loc["PCA-2", "remark"]
        assert found.embeddings["PCA-2"].shape == (150, 2)

    def test_a_transformer_that_needs_labels_gets_them_and_a_control(self, iris):
        lda = LinearDiscriminantAnalysis(n_components=2)
        found = pf.compare(*iris, methods=[("mine", lda), "lda"], n_splits=3)
        scores = found.scores
        assert scores.loc["mine", "held_out"] == scores.loc["lda", "held_out"]
        assert scores.loc["mine-permuted", "held_out"] < 0.6

    def test_dotted_names_have_two_coordinates_and_a_seed(self, iris):
        (method,) = choose_methods(["sklearn.decomposition.FastICA"], [])
        assert method.make().get_params()["n_components"] == 2
        assert isinstance(method.make(), FastICA)
        found = pf.compare(*iris, methods=["sklearn.decomposition.FastICA"], n_splits=2)
        assert list(found.embeddings) == ["FastICA"]


class TestTargets:
    def test_a_measurement_is_scored_by_the_r2_of_neighbours(self):
        frame = load_diabetes(as_frame=True).frame
        found = pf.compare(
            frame, "target", methods=["pca", "posterior"], n_splits=3, n_jobs=1
        )
        assert found.task == "numbers"
        assert "Patch posterior needs classes: left out." in found.remarks
        columns = choose_columns(frame, target="target")
        encoder, y = make_encoder(columns), frame["target"].to_numpy()
        expected = []
        for split in make_splits(encoder, columns.features, y, 3, stratified=False):
            pca = PCA(2, random_state=0)
            knn = KNeighborsRegressor(7).fit(
                pca.fit_transform(split.train), split.y_train
            )
            expected.append(knn.score(pca.transform(split.test), split.y_test))
        assert found.scores.loc["pca", "held_out"] == pytest.approx(np.mean(expected))
        assert found.scores.loc["guess", "held_out"] < 0.01
        page = found.to_html()
        assert "Held-out R²" in page
        assert "Silhouette" not in page

    def test_rare_classes_are_named_with_their_rows(self):
        rng = np.random.default_rng(0)
        kinds = ["oak"] * 40 + ["elm"] * 3 + ["ash"] * 2
        found = pf.compare(rng.normal(size=(45, 3)), kinds, methods=["pca"])
        text = next(remark for remark in found.remarks if "Rare" in remark)
        assert text.startswith("Rare classes: “ash” (2), “elm” (3) have fewer rows")
        assert any("89% of the rows are of the class “oak”" in r for r in found.remarks)
        assert found.recalls.shape == (3, 1)
        assert found.recalls.loc["oak", "pca"] > 0.9

    def test_recalls_count_every_held_out_sample_once(self):
        y = np.array([0, 0, 0, 1, 1, 2])
        balanced, f1, recalls = score_classes(y, np.array([0, 0, 1, 1, 1, 0]), 3)
        assert recalls == pytest.approx((2 / 3, 1, 0))
        assert balanced == pytest.approx(5 / 9)
        assert f1 == pytest.approx((2 / 3 + 0.8 + 0) / 3)

    def test_the_class_that_is_said_instead_has_a_name(self):
        y, said = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 2, 2, 1, 1, 0])
        assert find_mistaken(y, said, 3) == ((2, 2), (0, 0), (0, 1))
        rng = np.random.default_rng(0)
        X = rng.normal(size=(90, 3)) + np.repeat([[0], [0.3], [9]], 30, axis=0)
        found = pf.compare(X, np.repeat(["elm", "oak", "pine"], 30), methods=["pca"])
        assert "are taken for “" in str(found.verdict.reasons)
        page = found.to_html()
        assert "Taken for, by PCA" in page
        assert "<td class='words'>oak (" in page

    def test_groups_are_those_of_hdbscan_the_largest_first(self):
        rng = np.random.default_rng(0)
        X = np.vstack([rng.normal(size=(30, 3)), rng.normal(20, 1, size=(60, 3))])
        codes, found = find_groups(X, [])
        assert found[:2] == ["group 1", "group 2"]
        assert (codes[30:] == 0).mean() > 0.8
        shown = pf.compare(pd.DataFrame(X), methods=["pca"], groups=True).to_html()
        assert "no target" in shown

    def test_rows_far_from_the_others_are_named_and_measured(self):
        from patchfold.comparison.page.data import DISTANCE, page_data

        X = np.random.default_rng(0).normal(size=(120, 4))
        X[[7, 30]] = [[40.0] * 4, [-90.0] * 4]
        remarks = []
        distances = find_far(X, [f"row {k}" for k in range(120)], remarks)
        assert remarks[0].startswith("2 rows are far from the others: row 30, row 7.")
        gaps = np.sort(np.linalg.norm(X - X[30], axis=1))
        assert distances[30] == pytest.approx(gaps[10])
        quiet = []
        assert find_far(X[:7], list("abcdefg"), quiet).shape == (7,)
        assert quiet == []
        found = pf.compare(pd.DataFrame(X), methods=["pca"], sweep=False)
        assert (
            sum("far from the others: row 31, row 8." in r for r in found.remarks) == 1
        )
        shown = json.loads(page_data(found))["columns"][-1]
        assert shown["name"] == DISTANCE
        assert np.argmax(shown["values"]) == 30

    def test_without_groups_that_is_said_and_a_column_gives_the_colours(self):
        from patchfold.comparison.page.data import page_data

        X = np.random.default_rng(0).normal(size=(60, 8))
        found = pf.compare(pd.DataFrame(X), methods=["pca"], groups=True)
        assert any("found no groups" in remark for remark in found.remarks)
        names = [column["name"] for column in json.loads(page_data(found))["columns"]]
        assert names[0] == "0"

    def test_rows_of_no_group_and_missing_cells_are_grey(self):
        from patchfold.comparison.page.data import page_data

        rng = np.random.default_rng(0)
        X = np.vstack([rng.normal(k * 9, 0.3, size=(30, 2)) for k in range(2)])
        X = np.vstack([X, rng.uniform(-30, 30, size=(12, 2))])
        frame = pd.DataFrame(X).assign(hue=["red", None, "blue"] * 24)
        found = pf.compare(frame, methods=["pca"], groups=True, impute="median")
        groups, *columns = json.loads(page_data(found))["columns"]
        assert groups["levels"][groups["grey"]] == "no group"
        (hue,) = [column for column in columns if column["name"] == "hue"]
        assert hue["levels"] == ["blue", "red", "missing"]
        assert hue["grey"] == 2

    def test_without_a_target_no_column_is_empty(self):
        X = np.random.default_rng(0).normal(size=(60, 4))
        page = pf.compare(X, methods=["pca"]).to_html()
        table = page[page.index("<thead>") : page.index("</thead>")]
        for words in ("Held-out", "Silhouette", "F1", ">K<"):
            assert words not in table
