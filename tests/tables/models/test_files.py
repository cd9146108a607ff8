"""Saved models: read back to the same bits, refused when newer, foreign or damaged."""

import io
import json
import os
import pickle
import random
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

import patchfold as pf
from patchfold.cli import app
from patchfold.tables.models.saving import FORMAT, ModelFileError, about_model


@pytest.fixture(scope="session")
def model(wine):
    return pf.isomap_kl(n_neighbors=20).fit(wine[0][:100])


@pytest.fixture
def saved(model, tmp_path):
    path = tmp_path / "m.skops"
    pf.save_model(model, path, made_for="a test")
    return model, path


def rewrite(path, *, compression=zipfile.ZIP_STORED, **parts):
    """Replace parts of a file, named as they are but for their ending."""
    with zipfile.ZipFile(path) as archive:
        old = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in old.items():
            archive.writestr(name, parts.pop(Path(name).stem, content))


def rewrite_note(path, **changes):
    """Change what is written down beside a model."""
    rewrite(path, patchfold=json.dumps(about_model(path) | changes))


def test_a_saved_model_places_samples_with_the_same_bits(saved, wine):
    model, path = saved
    again = pf.load_model(path)
    np.testing.assert_array_equal(again.transform(wine[0]), model.transform(wine[0]))
    assert about_model(path) == {
        "format": FORMAT,
        "version": pf.__version__,
        "made_for": "a test",
    }
    assert [file.name for file in path.parent.iterdir()] == ["m.skops"]


@pytest.mark.parametrize(
    "newer", [{"format": FORMAT + 1, "version": "99.0"}, {"version": "99.0"}]
)
def test_a_file_of_a_newer_version_is_refused(saved, newer):
    _, path = saved
    rewrite_note(path, **newer)
    for read in (pf.load_model, about_model):
        with pytest.raises(ModelFileError, match=r"patchfold 99\.0, which is newer"):
            read(path)


def test_a_note_with_half_a_letter_is_refused(saved):
    _, path = saved
    rewrite_note(path, table={"id": ["\ud800"]})
    for read in (pf.load_model, about_model):
        with pytest.raises(ModelFileError, match="half a letter"):
            read(path)


def test_messages_are_one_line_whatever_the_name_of_the_file(saved, tmp_path):
    path = saved[1].rename(tmp_path / "two\nlines.skops")
    rewrite_note(path, version="99.0")
    for name in (path, tmp_path, tmp_path / "none\n"):
        with pytest.raises(ModelFileError) as error:
            pf.load_model(name)
        assert len(str(error.value).splitlines()) == 1


def mahalanobis(left, right):
    return np.linalg.norm(left.mean - right.mean, axis=1)


def test_unknown_types_are_named_and_can_be_trusted(wine, tmp_path):
    path = tmp_path / "m.skops"
    model = pf.PatchIsomap(dissimilarity=mahalanobis).fit(wine[0])
    pf.save_model(model, path)
    name = f"{mahalanobis.__module__}.mahalanobis"
    with pytest.raises(ModelFileError, match=f"does not know: .*{name}"):
        pf.load_model(path)
    again = pf.load_model(path, trusted=[name])
    np.testing.assert_array_equal(again.embedding_, model.embedding_)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "m.skops"
    with pytest.raises(ModelFileError, match="does not exist"):
        pf.load_model(path)
    with pytest.raises(ModelFileError, match="is not a file"):
        pf.load_model(tmp_path)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(ModelFileError, match="not a model that patchfold saved"):
        pf.load_model(path)
    skops.io.dump(LogisticRegression(), path)
    with pytest.raises(ModelFileError, match="not a model that patchfold saved"):
        pf.load_model(path)


class Malicious:
    """What a pickle can do: call anything when it is read."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def json_node(value):
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
        "is_json": True,
    }


def calling(name, *arguments):
    """Return a schema that asks for a function to be called."""
    module, _, function = name.rpartition(".")
    words = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode"}
    return {
        "__class__": function,
        "__module__": module,
        "__loader__": "ConstructorFromReduceNode",
        "content": words | {"content": [json_node(word) for word in arguments]},
        "protocol": skops.io._protocol.PROTOCOL,
        "_skops_version": skops.__version__,
    }


class TestNothingOfAFileIsRun:
    @pytest.fixture
    def trace(self, tmp_path):
        """Return a path where what is run leaves a trace; none must be there."""
        path = tmp_path / "trace"
        yield path
        assert not path.exists()

    def test_a_pickle_with_the_ending_of_a_model(self, tmp_path, trace):
        path = tmp_path / "m.skops"
        path.write_bytes(pickle.dumps(Malicious(f"touch {trace}")))
        with pytest.raises(ModelFileError, match="not a model that patchfold saved"):
            pf.load_model(path)

    def test_a_pickle_in_place_of_a_part(self, saved, trace):
        _, path = saved
        payload = pickle.dumps(Malicious(f"touch {trace}"))
        with zipfile.ZipFile(path) as archive:
            arrays = [Path(n).stem for n in archive.namelist() if n.endswith(".npy")]
        rewrite(path, **dict.fromkeys(arrays, payload))
        with pytest.raises(ModelFileError, match="damaged"):
            pf.load_model(path)

    def test_a_pickle_in_an_array_of_objects(self, saved, trace):
        _, path = saved
        buffer = io.BytesIO()
        payload = np.array([Malicious(f"touch {trace}")], dtype=object)
        np.save(buffer, payload, allow_pickle=True)
        with zipfile.ZipFile(path) as archive:
            arrays = [Path(n).stem for n in archive.namelist() if n.endswith(".npy")]
        rewrite(path, **dict.fromkeys(arrays, buffer.getvalue()))
        with pytest.raises(ModelFileError, match="damaged"):
            pf.load_model(path)

    def test_a_partial_and_a_lambda(self, tmp_path, trace, wine):
        path = tmp_path / "m.skops"
        model = pf.PatchIsomap(n_neighbors=5).fit(wine[0][:50])
        model.dissimilarity = partial(os.system, f"touch {trace}")
        pf.save_model(model, path)
        with pytest.raises(ModelFileError, match=r"does not know: .*posix\.system"):
            pf.load_model(path)

    @pytest.mark.parametrize(
        ("function", "arguments"),
        [
            ("os.system", ["touch {trace}"]),
            ("builtins.eval", ["open('{trace}', 'w')"]),
            # Ours and those of SciPy can be put to bad use too.
            ("patchfold.tables.models.saving.save_model", [1, "{trace}"]),
            ("patchfold.tables.models.saving.zipfile.ZipFile", ["{trace}", "w"]),
            ("patchfold.backends.files.open", ["{trace}", "w"]),
            ("patchfold.solvers.mds.np.save", ["{trace}", 1]),
            ("patchfold.estimators.isomap.np", []),
            ("scipy.sparse.save_npz", ["{trace}", 1]),
            ("patchfold.__main__.main", []),
            ("patchfold.estimators.isomap.PatchIsomap", []),  # a class of ours, called
            ("patchfold.posterior.model.PosteriorModel", [1, 2, 3, 4]),
        ],
    )
    def test_a_call_in_the_schema(self, saved, trace, function, arguments):
        _, path = saved
        words = [
            word.format(trace=trace) if isinstance(word, str) else word
            for word in arguments
        ]
        rewrite(path, schema=json.dumps(calling(function, *words)))
        with pytest.raises(ModelFileError) as error:
            pf.load_model(path)
        assert f"does not know: {function}" in str(error.value)

    def test_the_command_line_says_so_in_a_line(self, saved, trace, tmp_path):
        _, path = saved
        rewrite_note(path, coordinates=["a_1", "a_2"])
        rewrite(path, schema=json.dumps(calling("os.system", f"touch {trace}")))
        out = tmp_path / "e.csv"
        words = ["embed", "iris", f"--from={path}", f"--out={out}"]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2
        assert "does not know: os.system" in done.output
        assert not out.exists()


class TestDamage:
    def test_a_file_cut_anywhere_is_refused(self, saved, tmp_path):
        _, path = saved
        whole, cut = path.read_bytes(), tmp_path / "cut.skops"
        for part in np.linspace(0, len(whole) - 1, 40).astype(int):
            cut.write_bytes(whole[:part])
            with pytest.raises(ModelFileError, match="damaged"):
                pf.load_model(cut)

    def test_a_flipped_bit_is_noticed_or_changes_nothing(self, saved, tmp_path, wine):
        model, path = saved
        whole, flipped = bytearray(path.read_bytes()), tmp_path / "flipped.skops"
        expected, draw, refused = model.transform(wine[0]), random.Random(0), 0
        for _ in range(150):
            place, bit = draw.randrange(len(whole)), 1 << draw.randrange(8)
            whole[place] ^= bit
            flipped.write_bytes(whole)
            whole[place] ^= bit
            try:
                again = pf.load_model(flipped)
            except ModelFileError:
                refused += 1
            else:  # a bit that says nothing, such as the time of a part
                np.testing.assert_array_equal(again.transform(wine[0]), expected)
        assert refused > 100

    def test_a_file_that_would_grow_is_refused(self, saved):
        _, path = saved
        bomb = b"\x93NUMPY" + bytes(50_000_000)
        rewrite(path, compression=zipfile.ZIP_DEFLATED, patchfold=bomb)
        assert path.stat().st_size < 1_000_000
        with pytest.raises(ModelFileError, match="damaged"):
            about_model(path)

    @pytest.mark.parametrize(
        "note",
        [
            *("[]", "{}", '{"format": "x"}', "1", "null", "", "NaN"),
            '{"format": null, "version": "0.1"}',
            '{"format": 1, "version": null}',
            '{"format": 1}',
            '{"format": true, "version": "0.1"}',
            '{"format": NaN, "version": "0.1"}',
            '{"format": 1e999, "version": "0.1"}',
            '{"format": -1, "version": "0.1"}',
            '{"format": 2, "version": "0.' + "1" * 9999 + '"}',
            '{"format": ' + "1" * 9999 + ', "version": "0.1"}',
            '{"format": 2, "version": ["0", "1"]}',
            '{"format": 2, "version": "99.0.\\n"}',
        ],
    )
    def test_a_note_of_another_kind_is_refused(self, saved, note):
        _, path = saved
        rewrite(path, patchfold=note)
        with pytest.raises(ModelFileError, match="damaged"):
            pf.load_model(path)

    def test_a_schema_without_end_is_refused(self, saved):
        _, path = saved
        deep = '{"content": ' * 100_000 + "1" + "}" * 100_000
        rewrite(path, schema=deep)
        with pytest.raises(ModelFileError, match="damaged"):
            pf.load_model(path)
