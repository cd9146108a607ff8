"""`patchfold embed` and `compare`: from files to files, in plain words and as JSON."""

import json
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner

import patchfold as pf
from patchfold.cli import app
from patchfold.tables.models.saving import ModelFileError
from patchfold.tables.placing import load_pipeline, place_table


@pytest.fixture(scope="session")
def iris_file(tmp_path_factory):
    iris = load_iris(as_frame=True)
    frame = iris.data.assign(
        plant=[f"plant {i}" for i in range(150)],
        species=iris.target_names[iris.target],
    )
    path = tmp_path_factory.mktemp("cli") / "iris.csv"
    frame.to_csv(path, index=False)
    return path


def run(*arguments):
    return CliRunner().invoke(app, [str(word) for word in arguments])


def embed(path, *arguments):
    return run("embed", path, "--id=plant", "--target=species", *arguments)


class TestEmbed:
    def test_writes_coordinates_a_picture_and_a_model_that_places_samples(
        self, iris_file, tmp_path
    ):
        out, plot, model = (tmp_path / name for name in ("e.csv", "e.png", "m.skops"))
        words = [f"--out={out}", f"--plot={plot}", f"--model={model}"]
        done = embed(iris_file, "--method=isomap-kl", *words)
        assert done.exit_code == 0, done.output
        assert "150 samples; 4 numbers scaled" in done.output
        table = pd.read_csv(out)
        names = ["isomap_kl_1", "isomap_kl_2"]
        assert list(table.columns) == ["plant", "species", *names]
        assert plot.read_bytes().startswith(b"\x89PNG")

        X = load_iris().data
        expected = pf.isomap_kl().fit_transform((X - X.mean(0)) / X.std(0))
        np.testing.assert_allclose(table[names], expected, atol=1e-8)

        placed = tmp_path / "new.npy"
        done = run("embed", iris_file, f"--from={model}", f"--out={placed}", "--quiet")
        assert done.exit_code == 0, done.output
        assert done.output == ""
        np.testing.assert_allclose(np.load(placed), expected, atol=1e-8)

    def test_begins_with_a_map_that_has_read_the_classes(self, iris_file, tmp_path):
        out, model = tmp_path / "e.csv", tmp_path / "m.skops"
        done = embed(iris_file, f"--out={out}", f"--model={model}")
        assert done.exit_code == 0, done.output
        assert "CauchyMap with labels" in done.output
        names = ["cauchy_map_labels_1", "cauchy_map_labels_2"]
        table = pd.read_csv(out)
        assert list(table.columns) == ["plant", "species", *names]
        encoder = load_pipeline(model).pipeline["columns"]
        X = encoder.transform(pd.read_csv(iris_file)[encoder.feature_names_in_])
        expected = pf.CauchyMap().fit_transform(X, load_iris().target)
        np.testing.assert_allclose(table[names], expected, atol=1e-6)

        placed = tmp_path / "new.csv"
        done = run("embed", iris_file, f"--from={model}", f"--out={placed}")
        assert done.exit_code == 0, done.output
        assert list(pd.read_csv(placed).columns) == list(table.columns)

    @pytest.mark.parametrize("target", ["", "--target=petal width (cm)"])
    def test_begins_with_a_map_without_labels_where_there_are_no_classes(
        self, iris_file, tmp_path, target
    ):
        words = [target] if target else []
        out = f"--out={tmp_path / 'e.csv'}"
        done = run("embed", iris_file, "--drop=species", "--id=plant", *words, out)
        assert done.exit_code == 0, done.output
        assert "CauchyMap: " in done.output
        names = pd.read_csv(tmp_path / "e.csv").columns
        assert list(names[-2:]) == ["cauchy_map_1", "cauchy_map_2"]
        assert ("drawn without the target" in done.output) == bool(target)

    def test_parameters_reach_the_estimator_and_json_says_so(self, iris_file, tmp_path):
        done = embed(
            iris_file,
            "--method=elap",
            "--neighbors=0.2",
            "--components=3",
            "--param=kernel_width=auto",
            "--param=include_center=false",
            "--json",
            f"--out={tmp_path / 'e.parquet'}",
        )
        assert done.exit_code == 0, done.output
        record = json.loads(done.stdout)
        given = record["parameters"]
        assert given["n_neighbors"] == 0.2
        assert given["kernel_width"] == "auto"
        assert given["include_center"] is False
        assert record["coordinates"] == ["elap_1", "elap_2", "elap_3"]
        assert pd.read_parquet(tmp_path / "e.parquet").shape == (150, 5)

    def test_new_samples_may_have_other_columns_in_another_order(
        self, iris_file, tmp_path
    ):
        model = tmp_path / "m.skops"
        embed(iris_file, f"--out={tmp_path / 'e.csv'}", f"--model={model}", "--quiet")
        frame = pd.read_csv(iris_file).iloc[:5, ::-1].drop(columns="species")
        frame.assign(note="new").to_csv(tmp_path / "new.csv", index=False)
        out = tmp_path / "placed.csv"
        words = [f"--from={model}", "--id=plant", f"--out={out}"]
        done = run("embed", tmp_path / "new.csv", *words)
        assert done.exit_code == 0, done.output
        first = pd.read_csv(tmp_path / "e.csv").iloc[:5]
        placed = pd.read_csv(out)
        assert placed["plant"].tolist() == first["plant"].tolist()
        np.testing.assert_allclose(placed.iloc[:, 1:], first.iloc[:, 2:], atol=1e-8)

    def test_new_samples_are_counted_while_they_are_placed(
        self, iris_file, tmp_path, monkeypatch
    ):
        out, model = tmp_path / "e.npy", tmp_path / "m.skops"
        embed(iris_file, f"--out={out}", f"--model={model}", "--quiet")
        monkeypatch.setattr("patchfold.tables.placing.BATCH", 40)
        told = []
        batches = place_table(
            iris_file, model, progress=lambda done, total: told.append((done, total))
        )
        assert told == [(40, 150), (80, 150), (120, 150), (150, 150)]
        whole = place_table(iris_file, model)
        names = whole.coordinates
        np.testing.assert_allclose(
            batches.frame[names], whole.frame[names], rtol=1e-9, atol=1e-12
        )

    @pytest.mark.parametrize(
        "method",
        ["klap", "pelle", "cauchy", "posterior", "projection", "cauchy-map"],
    )
    def test_every_kind_of_model_can_be_saved_and_used(
        self, iris_file, tmp_path, method
    ):
        model, out = tmp_path / "m.skops", tmp_path / "e.npy"
        words = [f"--method={method}", "--categories=ordinal", f"--model={model}"]
        done = embed(iris_file, *words, f"--out={out}")
        assert done.exit_code == 0, done.output
        trained = np.load(out)
        done = run("embed", iris_file, f"--from={model}", f"--out={out}")
        assert done.exit_code == 0, done.output
        # Two irises are equal: a query like them is placed at their mean.
        found, expected = (np.delete(Y, [101, 142], 0) for Y in (np.load(out), trained))
        np.testing.assert_allclose(found, expected, atol=1e-4)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["--out=e.txt"], "--out must end in .csv, .parquet, .npy"),
            (["--out=no/e.csv"], "there is no folder"),
            (["--out=e.csv", "--plot=e.gif"], "--plot must end in .png, .pdf, .svg"),
            (["--out=e.csv", "--method=elab"], "must be one of isomap-kl"),
            (["--out=e.csv", "--method=pca"], "PCA is for `compare`"),
            (["--out=e.csv", "--target=kind"], "there is no column 'kind'"),
            (["--out=e.csv", "--param=K"], "--param must be NAME=VALUE"),
            (
                ["--out=e.csv", "--param=K=3"],
                "CauchyMap with labels has no parameter K.",
            ),
            (["--out=e.csv", "--neighbors=0"], "'n_neighbors' parameter"),
            (["--out=e.csv", "--categories=hot"], "categories must be"),
            (["--out=e.csv", "--from=m.skops"], "m.skops does not exist"),
        ],
    )
    def test_bad_input_ends_in_one_line_and_status_2(
        self, iris_file, tmp_path, monkeypatch, arguments, words
    ):
        monkeypatch.chdir(tmp_path)
        done = embed(iris_file, *arguments)
        assert done.exit_code == 2
        assert words in done.output
        assert len(done.output.strip().splitlines()) == 1
        assert list(tmp_path.iterdir()) == []

    def test_missing_cells_are_counted_and_filled_in_if_asked(
        self, iris_file, tmp_path
    ):
        frame = pd.read_csv(iris_file)
        frame.iloc[::10, 0] = np.nan
        frame.to_csv(tmp_path / "gaps.csv", index=False)
        out = tmp_path / "e.npy"
        done = embed(tmp_path / "gaps.csv", f"--out={out}")
        assert done.exit_code == 2
        assert "sepal length (cm) 15" in done.output
        assert "--impute median" in done.output
        done = embed(tmp_path / "gaps.csv", f"--out={out}", "--impute=median")
        assert done.exit_code == 0, done.output
        assert "15 missing cells filled in" in done.output
        assert np.isfinite(np.load(out)).all()


class TestDecisions:
    @pytest.fixture
    def messy(self, tmp_path):
        iris = load_iris(as_frame=True)
        frame = iris.data.iloc[::3].set_axis(["a", "b", "c", "d, e"], axis=1)
        frame = frame.reset_index(drop=True).assign(
            name=[f"plant {i}" for i in range(50)],
            day=[f"{1 + i % 28:02}/01/2020" for i in range(50)],
            age=["18-24", "25-34"] * 25,
        )
        frame.loc[3, "a"] = np.nan
        frame["b"] = frame["b"].astype(str)
        frame.loc[5, "b"] = "lost, sorry"
        path = tmp_path / "messy.csv"
        frame.to_csv(path, sep=";")
        return path

    @pytest.mark.parametrize("command", ["embed", "compare"])
    def test_the_suggested_command_works_as_printed(self, messy, tmp_path, command):
        out = tmp_path / ("e.csv" if command == "embed" else "report")
        words = [command, str(messy), f"--out={out}", "--drop", '"d, e"']
        if command == "compare":
            words += ["--methods=pca", "--no-sweep"]
        done = run(*words)
        assert done.exit_code == 2
        *problems, head, suggested = done.output.splitlines()
        assert head == "Decide all, for example, with:"
        assert len(problems) == 1 + 5
        assert not out.exists()
        first, *again = shlex.split(suggested)
        assert first == "patchfold"
        done = run(*again)
        assert done.exit_code == 0, done.output
        automatic = run(*words, "--auto")
        assert automatic.exit_code == 0, automatic.output
        assert automatic.output.lower().count("decided: ") == 5

    def test_names_of_any_kind_stand_in_it(self, tmp_path):
        """Bash reads it, a Parquet file has names that a text file cannot have."""
        names = ["-x", "", " w ", "a,b", '"', "$HOME", "it's\t`id`", "n\nl", "--out"]
        names += ["nb\u00a0sp", "\u202ertl", "\\", "naïve 名前", "!h", "=x", "*"]
        frame = pd.DataFrame({n: [f"{n}{i}" for i in range(40)] for n in names})
        frame.assign(v=np.arange(40.0) ** 2 % 7, u=np.arange(40.0) % 9).to_parquet(
            tmp_path / "t.parquet"
        )
        out = tmp_path / "e.csv"
        done = run("embed", f"--out={out}", "--", tmp_path / "t.parquet")
        assert done.exit_code == 2
        assert len(done.output.splitlines()) == 1 + len(names) + 2
        command = f"printf '%s\\0' {done.output.splitlines()[-1]}"
        split = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
        first, *again = split.stdout.decode().split("\0")[:-1]
        assert first == "patchfold"
        done = run(*again)
        assert done.exit_code == 0, done.output
        assert "; 2 numbers scaled; left out: " in done.output
        columns = list(pd.read_csv(out).columns)
        assert columns == ["-x", "cauchy_map_1", "cauchy_map_2"]

    def test_what_was_read_and_decided_is_told(self, messy, tmp_path):
        done = run("embed", messy, f"--out={tmp_path / 'e.csv'}", "--auto", "--json")
        assert done.exit_code == 0, done.output
        record = json.loads(done.stdout)
        assert "1 date as days, scaled" in record["columns"]
        assert "day: dates: day, month, year" in record["notes"]
        assert (
            "decided: name names the samples: it has 50 different texts in 50 rows"
            in (record["notes"])
        )
        assert "name" in pd.read_csv(tmp_path / "e.csv").columns

    def test_a_table_may_be_piped_in(self, messy, tmp_path):
        words = ["embed", "-", f"--out={tmp_path / 'e.csv'}", "--auto"]
        done = CliRunner().invoke(app, words, input=messy.read_bytes())
        assert done.exit_code == 0, done.output
        assert len(pd.read_csv(tmp_path / "e.csv")) == 50


class TestNewRows:
    @pytest.fixture
    def fitted(self, tmp_path):
        """Return a table, a model of it, and its coordinates."""
        iris = load_iris(as_frame=True)
        frame = iris.data.iloc[::2].set_axis(["a", "b", "c", "d"], axis=1)
        rng = np.random.default_rng(0)
        frame = frame.reset_index(drop=True).assign(
            hue=rng.choice(["red", "blue"], 75),
            ok=rng.choice(["yes", "no"], 75),
            day=pd.date_range("2020-01-01", periods=75).strftime("%m/%d/%Y"),
            name=[f"plant {i}" for i in range(75)],
            kind=iris.target_names[iris.target[::2]],
            count=range(75),
        )
        frame.to_csv(tmp_path / "t.csv", index=False)
        model, out = tmp_path / "m.skops", tmp_path / "e.csv"
        done = run(
            "embed",
            tmp_path / "t.csv",
            "--method=posterior",
            "--target=kind",
            "--id=name",
            "--drop=count",
            f"--model={model}",
            f"--out={out}",
        )
        assert done.exit_code == 0, done.output
        return frame, model, out

    def place(self, frame, model, tmp_path, *words):
        path, out = tmp_path / "new.csv", tmp_path / "n.csv"
        frame.to_csv(path, index=False, sep=";", decimal=",")
        done = run("embed", path, f"--from={model}", f"--out={out}", *words)
        return done, out

    def test_the_model_remembers_the_table(self, fitted, tmp_path):
        frame, model, first = fitted
        done, out = self.place(frame, model, tmp_path)
        assert done.exit_code == 0, done.output
        assert "warning" not in done.output
        table, before = pd.read_csv(out), pd.read_csv(first)
        assert list(table.columns) == list(before.columns)
        assert table["name"].tolist() == frame["name"].tolist()
        assert table["kind"].tolist() == frame["kind"].tolist()

    def test_a_posterior_writes_the_class_and_the_probabilities(self, fitted, tmp_path):
        frame, model, first = fitted
        done, out = self.place(frame.drop(columns="kind"), model, tmp_path)
        assert done.exit_code == 0, done.output
        for table, least in ((pd.read_csv(first), 0.85), (pd.read_csv(out), 0.9)):
            chances = table.filter(regex="^posterior_probability_")
            names = chances.columns.str.removeprefix("posterior_probability_")
            assert list(names) == ["setosa", "versicolor", "virginica"]
            np.testing.assert_allclose(chances.sum(axis=1), 1)
            likely = names[chances.to_numpy().argmax(axis=1)]
            assert likely.tolist() == table["posterior_class"].tolist()
            assert (table["posterior_class"] == frame["kind"]).mean() > least
        pipeline = load_pipeline(model).pipeline
        placed = place_table(tmp_path / "new.csv", model)
        np.testing.assert_allclose(
            placed.frame.filter(like="probability"), chances, rtol=1e-9, atol=1e-12
        )
        assert pipeline["embedding"].posterior_.shape == (75, 3)

    def test_what_is_new_is_counted_in_one_warning(self, fitted, tmp_path):
        frame, model, _ = fitted
        new = frame.iloc[:10].assign(note="x", ok="yes")
        new.loc[0, "hue"] = "mauve"
        new.loc[[1, 2], "a"] = np.nan
        new.loc[[3, 4, 5], "b"] = 1e4
        done, out = self.place(new, model, tmp_path)
        assert done.exit_code == 0, done.output
        assert "columns that the model does not know are ignored: note." in done.output
        (told,) = [line for line in done.output.splitlines() if "10 new rows" in line]
        assert "1 row has levels of 'hue' that the model has not seen" in told
        assert "2 missing cells were filled" in told
        assert "3 rows have values far outside the training range (b 3)" in told
        assert "3 rows have no training sample near" in told
        assert np.isfinite(pd.read_csv(out).iloc[:, -2:]).all(axis=None)

    def test_dates_are_read_as_in_training(self, fitted, tmp_path):
        """The new ones may have the month first, or the day: the model knows."""
        frame, model, _ = fitted
        few = frame[frame["day"].str[3:5].astype(int) <= 12].iloc[:5]
        _, out = self.place(frame, model, tmp_path)
        every = pd.read_csv(out).loc[few.index]
        done, out = self.place(few, model, tmp_path)
        assert done.exit_code == 0, done.output
        found = pd.read_csv(out)
        np.testing.assert_allclose(found.iloc[:, -2:], every.iloc[:, -2:], atol=1e-9)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"a": "2020-01-01"}, "column 'a' must have numbers only. Got dates"),
            ({"day": 5}, "column 'day' must have dates. Got '5'"),
            ({"ok": "perhaps"}, "column 'ok' must have numbers only. Got perhaps"),
            (
                {"a": "old", "c": "new", "day": 5},
                "'a' must have numbers only. Got old; column 'c' must have numbers "
                "only. Got new; column 'day' must have dates. Got '5' instead: mend "
                "these cells, or count words as missing (--missing old,new) or say "
                "how dates are written (--dates)",
            ),
            ({"a": np.inf}, "infinite cells; count them as missing (--missing inf,"),
        ],
    )
    def test_another_kind_of_column_is_refused(self, fitted, tmp_path, change, words):
        frame, model, _ = fitted
        done, out = self.place(frame.assign(**change), model, tmp_path)
        assert done.exit_code == 2
        assert words in done.output
        assert not out.exists()
        for refused in ("--drop", "--impute", "--keep", "--auto"):
            assert refused not in done.output

    def test_words_among_numbers_may_be_counted_as_missing(self, fitted, tmp_path):
        frame, model, _ = fitted
        frame = frame.astype({"a": object})
        frame.loc[frame.index[1], "a"] = "no idea"
        done, _ = self.place(frame, model, tmp_path)
        assert done.exit_code == 2
        assert "Got no idea instead" in done.output
        assert "count words as missing (--missing 'no idea')." in done.output
        done, _ = self.place(frame, model, tmp_path, "--missing", "no idea")
        assert done.exit_code == 0, done.output

    def test_the_model_remembers_the_codes_that_auto_took_for_missing(self, tmp_path):
        iris = load_iris(as_frame=True).data.iloc[::2].set_axis([*"abcd"], axis=1)
        frame = iris.reset_index(drop=True).astype({"a": object})
        frame["d"] += np.linspace(0, 0.07, 75)  # no two rows are the same
        frame.loc[::30, "a"] = "<4.4"
        frame.loc[::7, "b"] = -999
        path, model, out = (tmp_path / name for name in ("t.csv", "m.skops", "e.csv"))
        frame.to_csv(path, index=False)
        done = run("embed", path, "--auto", f"--model={model}", f"--out={out}")
        assert done.exit_code == 0, done.output
        assert "b: -999 counted as missing" in done.output
        before = pd.read_csv(out)
        done, out = self.place(frame, model, tmp_path)
        assert done.exit_code == 0, done.output
        assert "14 missing cells were filled" in done.output
        np.testing.assert_allclose(pd.read_csv(out), before, atol=1e-9)
        frame = frame.astype({"c": object})
        frame.loc[1, "c"] = "lost"
        done, _ = self.place(frame, model, tmp_path, "--missing=lost")
        assert done.exit_code == 0, done.output
        assert "15 missing cells were filled" in done.output

    def test_the_model_remembers_in_which_columns_codes_are_values(self, tmp_path):
        frame = load_iris(as_frame=True).data.iloc[::2].set_axis([*"abcd"], axis=1)
        frame["d"] = np.linspace(-1000, 1000, 75)
        frame.iloc[::7, 1] = frame.iloc[1, 3] = -999
        path, model, out = (tmp_path / name for name in ("t.csv", "m.skops", "e.csv"))
        frame.to_csv(path, index=False)
        told = ["--auto", "--keep=d", f"--model={model}", f"--out={out}"]
        done = run("embed", path, *told)
        assert done.exit_code == 0, done.output
        before = pd.read_csv(out)
        done, out = self.place(frame, model, tmp_path)
        assert done.exit_code == 0, done.output
        assert "11 missing cells were filled" in done.output
        np.testing.assert_allclose(pd.read_csv(out), before, atol=1e-9)
        done, _ = self.place(frame, model, tmp_path, "--missing=-999")
        assert "12 missing cells were filled" in done.output

    def test_only_the_words_that_are_no_truth_values_are_named(self, fitted, tmp_path):
        frame, model, _ = fitted
        frame = frame.astype({"ok": object})
        frame.loc[frame.index[1], "ok"] = "perhaps"
        done, _ = self.place(frame, model, tmp_path)
        assert done.exit_code == 2
        assert "Got perhaps instead" in done.output
        done, _ = self.place(frame, model, tmp_path, "--missing", "perhaps")
        assert done.exit_code == 0, done.output
        assert "a missing cell was filled" in done.output

    def test_how_new_columns_are_written_is_told(self, fitted, tmp_path):
        frame, model, _ = fitted
        frame = frame.assign(a=frame["a"].map("{} kg".format))
        done, _ = self.place(frame, model, tmp_path)
        assert done.exit_code == 0, done.output
        assert "a: numbers with 'kg' beside them" in done.output

    def test_what_a_file_says_of_its_table_is_checked(self, fitted, tmp_path):
        _, model, _ = fitted
        pipeline, about, _ = load_pipeline(model)
        held = about["table"]
        for change in (
            {"numbers": held["numbers"][1:]},
            {"numbers": [[0, 1, None]] * len(held["numbers"])},
            {"numbers": 3},
            {"words": [1]},
            {"id": 5},
            {"order": "dym"},
            {"more": 1},
        ):
            kept = {k: about[k] for k in ("method", "title", "coordinates")}
            pf.save_model(pipeline, model, **kept, table={**held, **change})
            with pytest.raises(ModelFileError, match="is damaged: what it says of"):
                load_pipeline(model)
        pf.save_model(pipeline, model, **kept)  # as earlier versions wrote it
        assert load_pipeline(model)[1]["method"] == "posterior"


class TestCompare:
    def test_writes_a_page_and_the_scores(self, iris_file, tmp_path, monkeypatch):
        words = ["compare", str(iris_file), "--target=species", "--id=plant"]
        words += ["--methods=isomap,pca", "--no-sweep", f"--out={tmp_path / 'r'}"]
        monkeypatch.setattr(sys, "argv", ["patchfold", *words])
        done = run(*words)
        assert done.exit_code == 0, done.output
        assert "Isomap" in done.output
        names = {path.name for path in (tmp_path / "r").iterdir()}
        assert names == {"report.html", "scores.csv"}
        scores = pd.read_csv(tmp_path / "r" / "scores.csv", index_col="method")
        assert scores.loc["isomap", "held_out"] > 0.8
        page = (tmp_path / "r" / "report.html").read_text("utf-8")
        assert f"patchfold compare {iris_file} --target=species" in page

    def test_json_is_the_same_table(self, tmp_path):
        words = ["iris", "--methods=pca,isomap", "--splits=2", "--no-sweep"]
        done = run("compare", *words, f"--out={tmp_path}", "--json")
        assert done.exit_code == 0, done.output
        told = pd.DataFrame(json.loads(done.stdout)["scores"]).set_index("method")
        kept = pd.read_csv(tmp_path / "scores.csv", index_col="method")
        assert kept.loc["pca", "held_out"] > 0.5
        assert "NaN" not in done.stdout
        numbers = ["held_out", "held_out_error", "silhouette", "trustworthiness"]
        told = told[numbers].astype(float)
        pd.testing.assert_frame_equal(told, kept[numbers].astype(float))

    def test_bad_input_ends_in_one_line_and_status_2(self, iris_file, tmp_path):
        for words, said in (
            (["--target=kind"], "there is no column 'kind'"),
            (["--target=species"], "--id plant"),
            (["--methods=elab"], "must be one of"),
        ):
            done = run("compare", iris_file, f"--out={tmp_path / 'r'}", *words)
            assert done.exit_code == 2
            assert said in done.output
            assert len(done.output.strip().splitlines()) == 1
        assert not (tmp_path / "r").exists()


def test_help_waits_for_no_heavy_import():
    code = "import sys, patchfold.cli; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"numpy", "scipy", "sklearn", "pandas", "matplotlib"}
