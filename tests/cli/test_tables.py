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
from patchfold.tables.embedding import place_table


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
        done = embed(iris_file, f"--out={out}", f"--plot={plot}", f"--model={model}")
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
        monkeypatch.setattr("patchfold.tables.embedding.BATCH", 40)
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
            (["--out=e.csv", "--param=K=3"], "ISOMAP-KL has no parameter K. It has"),
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
