"""TableEncoder: kinds of columns and of tables, gaps, names, the inverse."""

import datetime
import pickle
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import pairwise_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale

import patchfold as pf
from patchfold.exceptions import UnknownCategoryWarning

N = 60
NAMES = [f"n{j}" for j in range(21)]
STEPS = ["low", "middle", "high"]


def make_frame(gaps=False):
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": draw.normal(5, 3, N),
            "count": draw.integers(0, 9, N),
            "hue": draw.choice(["red", "green", "blue", "grey"], N),
            "side": draw.choice(["left", "right"], N, p=[0.8, 0.2]),
            "sold": draw.random(N) < 0.3,
            "grade": pd.Categorical(draw.choice(STEPS, N), STEPS, ordered=True),
            "day": pd.date_range("2026-01-01", periods=N, freq="36h"),
            "wait": pd.to_timedelta(draw.integers(1, 99, N), unit="h"),
        }
    )
    if gaps:
        for place, name in enumerate(("size", "hue", "grade", "day", "wait", "side")):
            frame.loc[[place, 2 * place + 9], name] = None
    return frame


def as_table(kind, frame):
    if kind == "pandas":
        return frame
    if kind == "arrow":
        return pytest.importorskip("pyarrow").Table.from_pandas(frame)
    return pytest.importorskip("polars").from_pandas(frame)


over_tables = pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
def test_types_of_pandas_with_gaps_of_their_own_are_the_same_columns(backend):
    pytest.importorskip("pyarrow")
    frame = make_frame(gaps=True)
    typed = frame.convert_dtypes(dtype_backend=backend)
    encoder = pf.TableEncoder().fit(typed)
    assert encoder.kinds_ == pf.TableEncoder().fit(frame).kinds_
    expected = pf.TableEncoder().fit_transform(frame)
    np.testing.assert_allclose(encoder.transform(typed), expected, atol=1e-12)


def test_the_kinds_of_columns_are_told_apart():
    assert pf.TableEncoder().fit(make_frame()).kinds_ == (
        *("number", "number", "category", "category", "boolean"),
        *("ordered", "date", "duration"),
    )


def test_every_column_has_the_same_mean_squared_distance():
    frame = make_frame()
    for name in frame:
        numbers = pf.TableEncoder().fit_transform(frame[[name]])
        squared = pairwise_distances(numbers) ** 2
        assert squared.mean() == pytest.approx(2.0), name


def test_numbers_dates_ranks_and_two_categories_are_z_scores():
    frame = make_frame()
    columns = ["size", "count", "side", "sold", "grade", "day", "wait"]
    plain = np.column_stack(
        [
            frame["size"],
            frame["count"],
            frame["side"] == "right",
            frame["sold"],
            frame["grade"].cat.codes,
            (frame["day"] - frame["day"][0]) / pd.Timedelta(days=1),
            frame["wait"] / pd.Timedelta(days=1),
        ]
    ).astype(float)
    found = pf.TableEncoder().fit_transform(frame[columns])
    np.testing.assert_allclose(found, scale(plain), atol=1e-12)


def test_dummies_share_one_scale():
    hue = make_frame()[["hue"]]
    shares = hue["hue"].value_counts(normalize=True).sort_index()
    dummies = pd.get_dummies(hue["hue"]).to_numpy(float) - shares.to_numpy()
    expected = dummies / np.sqrt(1 - (shares**2).sum())
    np.testing.assert_allclose(pf.TableEncoder().fit_transform(hue), expected)


@over_tables
def test_all_kinds_of_tables_give_the_same_numbers(kind):
    frame = make_frame(gaps=True)
    order = {"grade": STEPS} if kind == "polars" else None
    expected = pf.TableEncoder().fit_transform(frame)
    table = as_table(kind, frame)
    encoder = pf.TableEncoder(ordered=order).fit(table)
    np.testing.assert_allclose(encoder.transform(table), expected, atol=1e-12)
    np.testing.assert_allclose(encoder.transform(frame), expected, atol=1e-12)
    assert list(encoder.feature_names_in_) == list(frame)


@over_tables
def test_the_inverse_gives_the_table_back(kind):
    frame = make_frame()
    table = as_table(kind, frame)
    encoder = pf.TableEncoder().fit(table)
    back = encoder.inverse_transform(encoder.transform(table))
    assert type(back) is type(table)
    back = back if kind == "pandas" else back.to_pandas()
    for name in ("hue", "side", "grade"):
        assert back[name].astype(str).tolist() == frame[name].astype(str).tolist()
    for name in ("sold", "day", "wait"):
        assert back[name].tolist() == frame[name].tolist()
    np.testing.assert_allclose(back[["size", "count"]], frame[["size", "count"]])


def test_the_inverse_of_an_array_is_an_array():
    plain = make_frame()[["size", "count"]].to_numpy()
    encoder = pf.TableEncoder().fit(plain)
    back = encoder.inverse_transform(encoder.transform(plain))
    np.testing.assert_allclose(back, plain)
    mixed = make_frame()[["size", "hue", "sold"]].to_numpy()
    encoder = pf.TableEncoder().fit(mixed)
    back = encoder.inverse_transform(encoder.transform(mixed))
    assert back[:, 1:].tolist() == mixed[:, 1:].tolist()


def test_a_gap_is_at_the_mean_of_its_column():
    frame = make_frame(gaps=True)
    encoder = pf.TableEncoder().fit(frame)
    numbers = pd.DataFrame(
        encoder.transform(frame), columns=encoder.get_feature_names_out()
    )
    np.testing.assert_allclose(numbers.mean(), 0, atol=1e-12)
    for name in frame:
        own = [c for c in numbers if c == name or c.startswith(f"{name}_")]
        gaps = frame[name].isna()
        assert (numbers.loc[gaps, own] == 0).all(axis=None)
        present = numbers.loc[~gaps, own]
        assert (present**2).mean().sum() == pytest.approx(1.0)


def test_an_indicator_marks_gaps_and_lets_the_inverse_return_them():
    frame = make_frame(gaps=True)
    encoder = pf.TableEncoder(add_indicator=True).fit(frame)
    names = encoder.get_feature_names_out().tolist()
    marked = [name.removesuffix("_missing") for name in names if "_missing" in name]
    assert marked == [name for name in frame if frame[name].isna().any()]
    numbers = encoder.transform(frame)
    last = numbers[:, -len(marked) :]
    np.testing.assert_allclose(last, scale(frame[marked].isna().to_numpy(float)))
    back = encoder.inverse_transform(numbers)
    pd.testing.assert_frame_equal(back.isna(), frame.isna())


def test_unknown_categories_are_gaps_and_are_counted():
    frame = make_frame()
    encoder = pf.TableEncoder().fit(frame)
    new, gap = frame.head(4).copy(), frame.head(4).copy()
    new["hue"] = ["teal", "red", "teal", "pink"]
    gap["hue"] = [None, "red", None, None]
    new["grade"] = ["low", "top", "low", "low"]
    gap["grade"] = ["low", None, "low", "low"]
    words = r"4 cells .* 3 in 'hue' \(such as 'teal'\), 1 in 'grade' \(such as 'top'\)"
    with pytest.warns(UnknownCategoryWarning, match=words):
        found = encoder.transform(new)
    np.testing.assert_array_equal(found, encoder.transform(gap))


def test_categories_keep_their_meaning_in_tables_with_fewer_of_them():
    frame = make_frame()
    encoder = pf.TableEncoder().fit(frame)
    expected = encoder.transform(frame)
    for row in range(5):
        one = frame.iloc[[row]].copy()
        one["grade"] = one["grade"].cat.remove_unused_categories()
        np.testing.assert_array_equal(encoder.transform(one), expected[[row]])


def test_columns_without_spread_or_values_are_zero():
    frame = pd.DataFrame({"a": 3.0, "b": "x", "c": [None] * 5, "d": np.nan})
    encoder = pf.TableEncoder().fit(frame)
    assert encoder.kinds_ == ("number", "category", "empty", "empty")
    assert (encoder.transform(frame) == 0).all()
    other = pd.DataFrame({"a": [4.0], "b": ["x"], "c": ["word"], "d": [2.0]})
    assert encoder.transform(other).tolist() == [[1.0, 0.0, 0.0, 0.0]]


def test_the_order_of_categories_can_be_given():
    frame = make_frame()
    text = frame.assign(grade=frame["grade"].astype(str))
    encoder = pf.TableEncoder(ordered={"grade": STEPS}).fit(text)
    np.testing.assert_array_equal(
        encoder.transform(text), pf.TableEncoder().fit_transform(frame)
    )
    with pytest.raises(ValueError, match="'grade': 'high'"):
        pf.TableEncoder(ordered={"grade": STEPS[:2]}).fit(text)
    with pytest.raises(ValueError, match="does not have: colour"):
        pf.TableEncoder(ordered={"colour": STEPS}).fit(text)


def test_a_column_can_be_declared_a_category_whatever_it_holds():
    frame = make_frame()
    codes = [list(range(9)), {"count": list(range(9))}]
    encoder = pf.TableEncoder(categories=codes[1]).fit(frame)
    assert encoder.kinds_[1] == "category"
    assert encoder.categories_[1] == tuple(range(9))
    by_place = pf.TableEncoder(categories={1: codes[0]}).fit(frame)
    np.testing.assert_array_equal(encoder.transform(frame), by_place.transform(frame))
    dummies = pd.get_dummies(frame["count"]).reindex(columns=range(9), fill_value=0)
    shares = dummies.mean().to_numpy()
    expected = (dummies.to_numpy(float) - shares) / np.sqrt(1 - shares @ shares)
    np.testing.assert_allclose(encoder.transform(frame)[:, 1:10], expected)
    names = pd.DataFrame({"a": NAMES})
    many = pf.TableEncoder(categories={"a": NAMES}).fit_transform(names)
    assert many.shape == (21, 21)
    text = pd.DataFrame({"a": ["1", "2", "30"]})
    encoder = pf.TableEncoder(categories={"a": ["1", "2", "30"]}).fit(text)
    assert encoder.transform(text).shape == (3, 3)
    with pytest.raises(ValueError, match=r"categories does not list a .* 'a': '30'"):
        pf.TableEncoder(categories={"a": ["1", "2"]}).fit(text)
    with pytest.raises(ValueError, match=r"categories names .* not have: b"):
        pf.TableEncoder(categories={"b": ["1", "2"]}).fit(frame)
    both = {"a": ["1", "2", "30"]}
    with pytest.raises(ValueError, match="'a' is named in ordered and in categories"):
        pf.TableEncoder(categories=both, ordered=both).fit(text)


def test_without_scales_columns_are_as_they_are():
    frame = make_frame(gaps=True)
    encoder = pf.TableEncoder(scale=False, add_indicator=True).fit(frame)
    out = pd.DataFrame(
        encoder.transform(frame), columns=encoder.get_feature_names_out()
    )
    size = frame["size"]
    np.testing.assert_allclose(out["size"], size.fillna(size.mean()))
    sides = out[["side_left", "side_right"]]
    assert sides[frame["side"].notna()].isin([0, 1]).all(axis=None)
    np.testing.assert_allclose(sides.sum(axis=1), 1)
    assert out["grade"].max() == 2
    assert out["size_missing"].tolist() == size.isna().tolist()
    back = encoder.inverse_transform(out)
    pd.testing.assert_frame_equal(back.isna(), frame.isna())
    assert back["side"].dropna().tolist() == frame["side"].dropna().tolist()


def test_gaps_can_be_filled_with_what_is_usual():
    frame = make_frame(gaps=True)
    usual = frame.median(numeric_only=True).to_dict()
    usual |= {name: frame[name].median() for name in ("day", "wait")}
    usual |= {name: frame[name].mode()[0] for name in ("hue", "side", "grade")}
    encoder = pf.TableEncoder(impute="median").fit(frame)
    filled = frame.fillna(usual)
    expected = pf.TableEncoder().fit_transform(filled)
    np.testing.assert_allclose(encoder.transform(frame), expected, atol=1e-12)
    np.testing.assert_allclose(encoder.transform(filled), expected, atol=1e-12)
    assert "filled with the usual value" in encoder.describe()


@pytest.mark.parametrize(
    "options",
    [
        {"scale": False},
        {"impute": "median", "add_indicator": True},
        {"categories": {"hue": ["red", "green", "blue", "grey"]}},
        {"scale": False, "impute": "median", "ordered": {"side": ["right", "left"]}},
    ],
)
def test_every_option_is_kept_in_a_file(options, tmp_path):
    frame = make_frame(gaps=True)
    encoder = pf.TableEncoder(**options).fit(frame)
    pf.save_model(encoder, tmp_path / "e.skops")
    again = pf.load_model(tmp_path / "e.skops")
    assert again.get_params() == encoder.get_params()
    assert again.categories_ == encoder.categories_
    np.testing.assert_array_equal(again.transform(frame), encoder.transform(frame))


@pytest.mark.parametrize("options", [{"scale": False}, {"impute": "median"}])
def test_gower_takes_no_option_of_euclidean_distance(options):
    (name,) = options
    with pytest.raises(ValueError, match=f"{name}=.* is for Euclidean distance"):
        pf.TableEncoder(distance="gower", **options).fit(make_frame())


def test_many_columns_are_learned_at_once(monkeypatch):
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(draw.normal(size=(30, 7)), columns=list("abcdefg"))
    frame.loc[3, "b"], frame["e"] = np.nan, draw.choice(["x", "y", "z"], 30)
    whole = pf.TableEncoder(impute="median").fit_transform(frame)
    monkeypatch.setattr("patchfold.estimators.encoding.layout.CELLS", 70)
    parts = pf.TableEncoder(impute="median").fit_transform(frame)
    np.testing.assert_array_equal(parts, whole)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2.5, None, Decimal("3.5")], "number"),
        ([True, None, False, True], "boolean"),
        ([datetime.date(2026, 1, 1), None, datetime.date(2026, 2, 1), None], "date"),
        ([datetime.timedelta(days=1), None, datetime.timedelta(1.5), None], "duration"),
        ([datetime.time(9, 30), None, datetime.time(18), None], "duration"),
        (["a", "b", None, "a"], "category"),
        (["0", "1", None, "1"], "category"),
        ([None] * 4, "empty"),
    ],
)
def test_objects_are_read_by_what_they_are(values, kind):
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    encoder = pf.TableEncoder().fit(frame)
    assert encoder.kinds_ == (kind,)
    assert np.isfinite(encoder.transform(frame)).all()


@pytest.mark.parametrize(
    "words",
    [["1.2.3", "1.2.4", "1.3.0"], ["18-24", "25-34", "35-49"], ["1a", "2b", "3"]],
)
def test_versions_ranges_and_codes_are_categories(words):
    frame = pd.DataFrame({"a": words * 4})
    assert pf.TableEncoder().fit(frame).kinds_ == ("category",)


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        (["1", "2", "3.5"], ValueError, "'a' holds numbers as text, such as '1'"),
        (["2026-01-0" + d for d in "123"], ValueError, "'a' holds dates as text"),
        (["1.2.2026", "2.2.2026", "13.2.2026"], ValueError, "'a' holds dates as text"),
        (["1/2/26", "2/2/26", "2/13/26"], ValueError, "'a' holds dates as text"),
        (["3. März 2020", "4. Mai 2020", "5. Juni 2020"], ValueError, "holds dates"),
        (["03MAR2020", "04MAY2020", "05JUN2020"], ValueError, "holds dates as text"),
        (["05-Jan-20", "06-Feb-20", "07-Mar-20"], ValueError, "holds dates as text"),
        (["March 3rd, 2020", "May 4, 2020", "Jun 2021"], ValueError, "holds dates"),
        (
            ["3 de mayo de 2020", "4 de enero de 2021", "5 mai 2020"],
            ValueError,
            "dates",
        ),
        (["2020Q1", "2020-Q2", "Q3 2020"], ValueError, "holds dates as text"),
        (["10:20", "11:30 PM", "12:40:05"], ValueError, "holds dates as text"),
        (["\u22123", "4", "5"], ValueError, "'a' holds numbers as text"),
        (["3 kg", "4,5 kg", "5"], ValueError, "'a' holds numbers as text"),
        (["CHF 1'200", "CHF 3", "CHF 4"], ValueError, "'a' holds numbers as text"),
        (["0,5", "1", "2,5"], ValueError, "'a' holds numbers as text"),
        (["45%", "7 %", "8.5%"], ValueError, "'a' holds numbers as text"),
        (["€ 3,50", "€ 1.200", "€ 7"], ValueError, "'a' holds numbers as text"),
        (["(1,200)", "300", "-4"], ValueError, "'a' holds numbers as text"),
        ([1, "a", 2], TypeError, "'a' holds a mixture of int and str"),
        (
            [datetime.time(1), datetime.time(2, tzinfo=datetime.UTC)],
            TypeError,
            "'a' holds times with an offset from UTC and others without one",
        ),
        ([(1,), (2,), (3,)], TypeError, "'a' holds tuple"),
        ([[1], [2], [3]], TypeError, "'a' holds objects that cannot be compared"),
        ([1.0, np.inf, 2.0], ValueError, "'a' has infinity"),
        ([1.0, 1e200, 2.0], ValueError, "'a' has a value of size 1e.200"),
        ([1e-200, 2e-200, 0.0], ValueError, "'a' varies by 2e-200"),
        ((NAMES * 2)[:-2], ValueError, "'a' has 21 categories in 40 rows"),
        (pd.period_range("2026", periods=3), TypeError, "'a' holds period"),
        (np.array([1j, 2, 3]), TypeError, "'a' holds complex"),
        (pd.cut([1, 2, 3], 3), TypeError, r"type Interval.*rename_categories\(str\)"),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(values, error, words):
    with pytest.raises(error, match=words):
        pf.TableEncoder().fit(pd.DataFrame({"a": values}))


def test_numbers_as_text_can_be_declared_a_category():
    frame = pd.DataFrame({"code": ["101", "205", "307", "101"]}, dtype="category")
    assert pf.TableEncoder().fit(frame).kinds_ == ("category",)


def test_columns_that_change_their_kind_are_refused():
    frame = make_frame()
    encoder = pf.TableEncoder().fit(frame)
    with pytest.raises(TypeError, match="'size' held numbers in fit, and holds cat"):
        encoder.transform(frame.assign(size="tall"))
    with pytest.raises(TypeError, match="'hue' held categories in fit, and holds date"):
        encoder.transform(frame.assign(hue=frame["day"]))
    with pytest.raises(ValueError, match="feature names should match"):
        encoder.transform(frame.rename(columns={"size": "width"}))
    with pytest.raises(ValueError, match="7 features, but TableEncoder is expecting 8"):
        pf.TableEncoder().fit(frame.to_numpy()).transform(frame.to_numpy()[:, :7])


def test_dates_with_zones_are_read_in_utc():
    times = pd.date_range("2026-01-01", periods=5, freq="7h")
    plain = pf.TableEncoder().fit(pd.DataFrame({"t": times}))
    for zone in ("UTC", "Asia/Tokyo"):
        local = times.tz_localize("UTC").tz_convert(zone)
        for values in (local, list(local.to_pydatetime())):
            frame = pd.DataFrame({"t": pd.Series(values, dtype=None)})
            np.testing.assert_allclose(
                plain.transform(frame), plain.transform(pd.DataFrame({"t": times}))
            )


@over_tables
def test_times_of_day_are_durations_since_midnight(kind):
    clocks = [datetime.time(9, 30), datetime.time(18, 0, 0, 250), None]
    frame = pd.DataFrame({"t": clocks, "side": ["left", "right", "left"]})
    waits = frame.assign(
        t=pd.to_timedelta([str(clock) if clock else None for clock in clocks])
    )
    expected = pf.TableEncoder().fit_transform(waits)
    encoder = pf.TableEncoder().fit(as_table(kind, frame))
    assert encoder.kinds_ == ("duration", "category")
    found = encoder.transform(as_table(kind, frame))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    back = encoder.inverse_transform(found)["t"]
    back = back.to_pylist() if kind == "arrow" else list(back)
    assert back[1] == datetime.timedelta(hours=18, microseconds=250)


def test_times_of_day_with_zones_are_read_in_utc():
    east = datetime.timezone(datetime.timedelta(hours=2))
    there = [datetime.time(hour, tzinfo=east) for hour in (5, 9, 22)]
    here = [datetime.time(hour) for hour in (3, 7, 20)]
    frames = [pd.DataFrame({"t": clocks}) for clocks in (there, here)]
    encoder = pf.TableEncoder().fit(frames[0])
    np.testing.assert_allclose(*(encoder.transform(frame) for frame in frames))


def test_gower_is_the_mean_over_the_columns_that_both_rows_have():
    frame = make_frame(gaps=True)
    found = pf.TableEncoder(distance="gower").fit_transform(frame)
    parts = []
    for name, column in frame.items():
        if name in ("hue", "side"):
            words = column.astype(object).to_numpy()
            apart = (words[:, None] != words).astype(float)
        else:
            values = column.cat.codes if name == "grade" else column
            values = pd.to_numeric(values).to_numpy(float, copy=True)
            values[column.isna()] = np.nan
            span = 2 if name == "grade" else np.nanmax(values) - np.nanmin(values)
            apart = np.abs(values[:, None] - values) / span
        gaps = column.isna().to_numpy()
        apart[gaps], apart[:, gaps] = np.nan, np.nan
        parts.append(apart)
    np.testing.assert_allclose(found, np.nanmean(parts, axis=0), atol=1e-12)
    assert (np.diag(found) == 0).all()


def test_rows_that_share_no_column_are_as_far_apart_as_can_be():
    frame = pd.DataFrame({"a": [1.0, None, 2.0], "b": [None, "x", "y"]})
    found = pf.TableEncoder(distance="gower").fit_transform(frame)
    assert found[0, 1] == 1
    assert found[0, 2] == 1  # by their numbers
    assert found[1, 2] == 1  # by their categories


def test_gower_goes_through_a_pipeline():
    frame = make_frame(gaps=True)
    pipe = make_pipeline(
        pf.TableEncoder(distance="gower"), pf.CauchyMap(dissimilarity="precomputed")
    )
    placed = pipe.fit_transform(frame)
    np.testing.assert_array_equal(pipe.transform(frame), placed)
    assert pipe.transform(make_frame().tail(3)).shape == (3, 2)
    encoder = pipe[0]
    assert encoder.get_feature_names_out().size == N
    with pytest.raises(ValueError, match="no inverse"):
        encoder.inverse_transform(np.zeros((1, N)))
    with pytest.raises(ValueError, match="add_indicator=True is for Euclidean"):
        pf.TableEncoder(distance="gower", add_indicator=True).fit(frame)


def test_frames_come_out_where_they_are_asked_for():
    frame = make_frame()
    encoder = pf.TableEncoder().set_output(transform="pandas").fit(frame)
    out = encoder.transform(frame)
    assert list(out.columns) == encoder.get_feature_names_out().tolist()
    assert list(out.columns)[2:7] == [
        *(f"hue_{hue}" for hue in ("blue", "green", "grey", "red")),
        "side_right",
    ]


def test_copies_and_pickles_transform_alike():
    frame = make_frame(gaps=True)
    encoder = pf.TableEncoder(add_indicator=True).fit(frame)
    again = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(again.transform(frame), encoder.transform(frame))
    assert clone(encoder).get_params() == encoder.get_params()


def test_one_line_says_what_was_done():
    words = pf.TableEncoder().fit(make_frame(gaps=True)).describe()
    assert words == (
        "2 numbers, 2 categories, 1 boolean, 1 ordered category, 1 date, 1 duration "
        "encoded as 11 numbers; gaps in 6 of them are at the mean"
    )


def test_known_tables_give_no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = make_frame(gaps=True)
        pf.TableEncoder().fit(frame).transform(frame)


def test_names_and_numbers_of_another_table_are_refused():
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": ["x", "y", "x"]})
    encoder = pf.TableEncoder().fit(frame)
    with pytest.raises(ValueError, match=r"number of features \(2\), got 1"):
        encoder.get_feature_names_out(["a"])
    with pytest.raises(ValueError, match="is not equal to feature_names_in_"):
        encoder.get_feature_names_out(["a", "c"])
    width = encoder.transform(frame).shape[1]
    with pytest.raises(ValueError, match=f"7 columns, and TableEncoder makes {width}"):
        encoder.inverse_transform(np.zeros((1, 7)))
    gower = pf.TableEncoder(distance="gower").fit(frame)
    with pytest.raises(ValueError, match="distances, which have no inverse"):
        gower.inverse_transform(gower.transform(frame))


@pytest.mark.parametrize(
    "cells",
    [
        ["May", "June", "July"],
        ["MAR-01", "SEP-02", "DEC-01"],
        ["Windows 2000", "Windows 2003", "Windows 2008"],
        ["3 kg", "4 cm", "5 s"],
        ["A1", "B2", "C3"],
        ["3-room", "4-room", "5-room"],
        ["v1.2.3", "v1.2.4", "v2.0.0"],
        ["1A", "2B", "3C"],
    ],
    ids=lambda cells: cells[0],
)
def test_words_with_numbers_in_them_are_categories(cells):
    frame = pd.DataFrame({"a": cells * 5})
    names = pf.TableEncoder().fit(frame).get_feature_names_out()
    assert names.tolist() == [f"a_{cell}" for cell in sorted(cells)]
