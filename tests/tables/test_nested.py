"""Columns of lists and records: named among all problems, and left out if asked."""

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import patchfold as pf
from patchfold.tables import choose_columns, read_source
from patchfold.tables.decisions import UndecidedColumnsError
from patchfold.tables.embedding import embed_table
from patchfold.tables.models.saving import save_model
from patchfold.tables.nested import read_frame
from patchfold.tables.placing import place_table

NESTED = ["tags", "place", "pairs"]


@pytest.fixture
def table():
    n = 40
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "x": rng.normal(size=n),
            "tags": [["a"] * (i % 3) for i in range(n)],
            "place": [None, *({"lat": 1.0 * i, "lon": 2.0} for i in range(1, n))],
            "hue": ["red", "blue"] * (n // 2),
            "pairs": pa.array([[("k", i)] for i in range(n)], pa.map_("str", "int8")),
        }
    )


@pytest.fixture(params=["parquet", "folder", "feather"])
def path(request, table, tmp_path):
    path = tmp_path / f"t.{'feather' if request.param == 'feather' else 'parquet'}"
    if request.param == "feather":
        pyarrow.feather.write_feather(table, path)
    elif request.param == "parquet":
        pq.write_table(table, path)
    else:
        pq.write_to_dataset(table, path, partition_cols=["hue"])
    return path


def test_they_are_problems_beside_the_others(path):
    source = read_source(path)
    assert set(source.frame.columns) == {"x", "hue", *NESTED}
    with pytest.raises(UndecidedColumnsError) as error:
        choose_columns(source.frame, doubts=source.doubts, keep=["tags"])
    assert sorted(error.value.decisions["drop"]) == sorted(NESTED)
    assert "column 'tags' holds list<" in str(error.value)
    decided = {"drop": NESTED}, {"auto": True}
    for said in decided:
        columns = choose_columns(source.frame, doubts=source.doubts, **said)
        assert set(columns.features) == {"x", "hue"}
        assert set(columns.left_out) == set(NESTED)


@pytest.mark.parametrize("kind", ["pandas", "arrow", "polars"])
def test_they_are_found_in_frames(table, kind):
    if kind == "polars":
        polars = pytest.importorskip("polars")
        frame = polars.from_arrow(table.drop_columns("pairs"))
    else:
        frame = table.to_pandas() if kind == "pandas" else table
    found = pf.tables.describe(frame)
    nested = found[found["kind"] == "nested"]
    assert set(nested.index) == set(NESTED) & set(found.index)
    assert nested.loc["place", "decision"] == "drop=['place']"
    before = [type(cell) for cell in table.to_pandas()["tags"]]
    data = table.to_pandas()
    read_frame(data)
    assert [type(cell) for cell in data["tags"]] == before


def test_a_model_does_not_take_one_for_missing_cells(table, tmp_path):
    flat = table.drop_columns(NESTED).to_pandas()
    flat.assign(place=np.arange(40.0) % 7).to_parquet(tmp_path / "flat.parquet")
    done = embed_table(str(tmp_path / "flat.parquet"), "projection", {})
    save_model(done.pipeline, tmp_path / "m.skops", **done.about)
    pq.write_table(table, tmp_path / "new.parquet")
    with pytest.raises(ValueError, match=r"'place' holds struct.*the model needs one"):
        place_table(str(tmp_path / "new.parquet"), tmp_path / "m.skops")


def test_one_can_be_neither_target_nor_id(table):
    with pytest.raises(ValueError, match=r"'tags' holds lists.*cannot be target or id"):
        pf.compare(table.to_pandas(), "tags", drop=NESTED[1:])


def test_an_index_is_no_column(table, tmp_path):
    frame = (
        table.drop_columns("pairs")
        .to_pandas()
        .set_axis([f"row {i}" for i in range(len(table))])
    )
    frame.to_parquet(tmp_path / "t.parquet")
    assert list(read_source(tmp_path / "t.parquet").frame) == list(frame)
