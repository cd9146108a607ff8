"""Parquet files read block by block are the rows of the whole table, in order."""

import numpy as np
import pandas as pd
import pytest

from patchfold.tables.arrow import as_objects, to_frame
from patchfold.tables.parquet import (
    cut_rows,
    look_at,
    read_parquet,
    read_runs,
)


@pytest.fixture(params=["file", "folder"])
def table(request, tmp_path):
    """Return a path, and the 500 rows that are there, in uneven row groups."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=500),
            "hue": rng.choice(["red", "blue", None], size=500),
            "kind": pd.Categorical(rng.choice(["a", "b"], size=500)),
            "count": rng.integers(0, 9, size=500),
        }
    )
    path = tmp_path / "t.parquet"
    if request.param == "file":
        frame.to_parquet(path, row_group_size=130, index=False)
    else:
        path.mkdir()
        frame[:200].to_parquet(path / "part.0.parquet", row_group_size=70, index=False)
        frame[200:].to_parquet(path / "part.1.parquet", row_group_size=300, index=False)
        (path / "_about.json").write_text("{}")
    return path


@pytest.mark.parametrize(("part", "block"), [(170, 40), (64, 64), (500, 1000), (33, 1)])
def test_parts_and_blocks_are_the_table(table, part, block):
    contents = look_at(table)
    columns = ["kind", "size", "hue"]
    parts = cut_rows(contents, part)
    assert len(parts) == -(-500 // part)
    frames, lengths = [], []
    for runs in parts:
        blocks = list(read_runs(runs, columns, contents.words, block))
        lengths.append([len(rows) for rows in blocks])
        frames += [as_objects(to_frame(rows), contents.words) for rows in blocks]
    assert max(map(max, lengths)) <= block
    assert [sum(rows) for rows in lengths[:-1]] == [part] * (len(parts) - 1)
    whole = read_parquet(table)[0][columns].astype(object)
    joined = pd.concat([frame.astype(object) for frame in frames])
    pd.testing.assert_frame_equal(joined.reset_index(drop=True), whole)


def test_only_the_rows_of_a_run_are_decoded_into_a_table(table):
    """What stands before a part in its row group is passed by, and so is the rest."""
    contents = look_at(table)
    (run,) = cut_rows(contents, 50)[-1]
    (rows,) = read_runs([run], ["count"], contents.words, 64)
    assert len(rows) == 50
    assert rows.column_names == ["count"]
