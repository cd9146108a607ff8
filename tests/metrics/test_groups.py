"""What sets a group apart, by numbers and by words."""

import numpy as np
import pandas as pd
import pytest

from patchfold.metrics import describe_group


def test_numbers_are_ranked_by_the_gap_in_deviations():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) * [1, 100, 1]
    X[:50, 1] += 300
    X[:50, 2] -= 1
    found = describe_group(X, np.arange(50))
    assert list(found.index) == ["column 2", "column 3", "column 1"]
    assert found["effect"].iloc[0] == pytest.approx(3, abs=0.5)
    a, b = X[:50, 2], X[50:, 2]
    spread = np.sqrt((49 * a.var(ddof=1) + 149 * b.var(ddof=1)) / 198)
    expected = (a.mean() - b.mean()) / spread * (1 - 3 / (4 * 198 - 1))
    assert found["effect"].iloc[1] == pytest.approx(expected)
    again = describe_group(X, np.arange(200) < 50)
    pd.testing.assert_frame_equal(found, again)


def test_words_are_compared_level_by_level():
    frame = pd.DataFrame(
        {
            "hue": ["red"] * 45 + ["blue"] * 5 + ["blue"] * 100 + ["red"] * 50,
            "size": np.tile([1.0, 2.0], 100),
            "gap": [None] * 200,
        }
    )
    found = describe_group(frame, np.arange(200) < 50)
    assert found.index[0] == "hue"
    assert found.loc["hue", "level"] in ("red", "blue")
    assert abs(found.loc["hue", "effect"]) == pytest.approx(
        2 * np.arcsin(0.9**0.5) - 2 * np.arcsin((1 / 3) ** 0.5)
    )
    assert found.loc["size", "effect"] == 0
    assert np.isnan(found.loc["gap", "effect"])
    assert found.loc["gap", "missing"] == 200


@pytest.mark.parametrize("zone", [None, "Europe/Oslo"])
def test_dates_and_durations_are_compared_like_numbers(zone):
    """They were words: a level for each day."""
    days = np.random.default_rng(0).permutation(40).astype(float)
    days[:10] += 30
    frame = pd.DataFrame(
        {
            "day": pd.Timestamp("2020-01-01", tz=zone) + pd.to_timedelta(days, "D"),
            "lasts": pd.to_timedelta(days, "D"),
            "number": days,
        }
    )
    frame.loc[20, "day"] = pd.NaT
    found = describe_group(frame, np.arange(10))
    known = np.arange(40) != 20
    expected = describe_group(days[known, None], np.arange(10))["effect"].iloc[0]
    assert found.loc["day", "effect"] == pytest.approx(expected)
    assert found.loc["lasts", "effect"] == pytest.approx(found.loc["number", "effect"])
    assert found.loc["day", "missing"] == 1
    mean = pd.Timestamp("2020-01-01", tz=zone) + pd.to_timedelta(days[:10].mean(), "D")
    assert abs(found.loc["day", "group"] - mean) < pd.Timedelta("2s")
    assert found.loc["day", "level"] == ""


def test_days_of_arrow_are_dates():
    pa = pytest.importorskip("pyarrow")
    days = pd.Series(pd.date_range("2020-01-01", periods=12).date, name="day")
    days[3] = None
    frame = days.astype(pd.ArrowDtype(pa.date32())).to_frame()
    expected = days.astype("datetime64[us]").to_frame()
    found, expected = (describe_group(X, np.arange(12) < 5) for X in (frame, expected))
    pd.testing.assert_frame_equal(found, expected)
    assert found.loc["day", "group"] == pd.Timestamp("2020-01-02 18:00")


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([0, 20], "positions from 0 to 9"),
        (np.ones(10, bool), "on both sides"),
        (np.ones(4, bool), "10 truth values, or positions"),
    ],
)
def test_a_group_that_is_none_is_refused(members, words):
    with pytest.raises(ValueError, match=words):
        describe_group(np.zeros((10, 2)), members)
