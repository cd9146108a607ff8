"""Explanations by columns: parts that sum to the score, in words, frames, pictures."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_wine

import patchfold as pf
from patchfold.posterior.plotting import plot_columns, plot_explanation


@pytest.fixture(scope="module")
def wine():
    data = load_wine(as_frame=True)
    return data.data, np.array(["barolo", "grignolino", "barbera"])[data.target]


@pytest.fixture(scope="module")
def model(wine):
    X, y = wine
    return pf.PatchPosterior().fit(X[::2], y[::2])


@pytest.mark.parametrize("place", [1, 0, 101, 140])
def test_the_columns_sum_to_the_score_of_every_class(wine, model, place):
    """Of new rows (odd), and of training rows, which are left out (even)."""
    told = model.explain(wine[0].iloc[[place]])
    score = told.contributions.sum(axis=0) + told.offsets
    columns = told.columns
    total = columns.baseline + columns.effects.sum(axis=0) + columns.left_out
    np.testing.assert_allclose(total, score, rtol=0, atol=1e-10)
    np.testing.assert_allclose(columns.score, score, rtol=0, atol=1e-10)
    odds = np.exp(score - score.max())
    np.testing.assert_allclose(odds / odds.sum(), told.posterior, atol=1e-12)
    assert bool(columns.left_out.any()) == (place % 2 == 0)


def test_a_class_is_the_mean_of_some_of_its_rows(wine, model):
    told = model.explain_class("barbera")
    assert told.n_rows == 12
    assert told.classes[told.of] == "barbera"
    score = told.score
    rows = model._fitted.model.scores.rows
    held = model._fitted.model.left_out()
    every = held.contributions.sum(axis=0) + model._fitted.model.stack.offsets
    own = every[rows[1] == told.of]
    assert own.min(axis=0)[told.of] <= score[told.of] <= own.max(axis=0)[told.of]
    with pytest.raises(ValueError, match="label must be one of barbera, barolo"):
        model.explain_class("merlot")


def test_only_a_column_that_differs_moves_a_row():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 4))
    X[:, 2] += 4 * y
    model = pf.PatchPosterior().fit(X, y)
    told = model.explain(np.array([0.0, 0.0, 4.0, 0.0])).columns
    assert told.order()[0] == 2
    size = np.abs(told.effects[:, 1])
    assert size[2] > 3 * np.delete(size, 2).max()
    assert told.columns[2] == "column 3"


def test_words_and_frames_name_the_columns(wine, model):
    told = model.explain(wine[0].iloc[[1]])
    words = str(told)
    assert words.startswith("barolo: p = ")
    assert "proline" in words
    assert "(median " in words
    frame = told.columns.frame
    assert set(frame.index) == set(wine[0].columns)
    effect = frame["effect on barolo"].abs().to_numpy()
    assert (np.diff(effect) <= 0).all()
    assert frame.loc["proline", "value"] == wine[0].loc[1, "proline"]
    assert list(told.frame.columns) == list(model.classes_)
    np.testing.assert_allclose(told.frame.sum().to_numpy(), told.columns.score)


@pytest.fixture(scope="module")
def shops():
    """Towns, dates, gaps and numbers: the town decides, and the amount a little."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "town": rng.choice(["Lund", "Oslo", "Riga"], 90, p=[0.2, 0.5, 0.3]),
            "opened": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.permutation(90), "D"),
            "amount": rng.normal(20, 5, 90),
            "member": rng.choice(["no", "yes"], 90),
        }
    )
    y = np.where((frame["town"] == "Lund") | (frame["amount"] > 24), "left", "stayed")
    frame.loc[5, "town"] = None
    frame.loc[6, "amount"] = np.nan
    return frame, y


def test_a_mixed_frame_is_explained_in_its_own_columns_and_units(shops):
    X, y = shops
    model = pf.PatchPosterior().fit(X, y)
    for place in (0, 5, 6):
        told = model.explain(X.iloc[[place]])
        columns = told.columns
        assert columns.columns == tuple(X.columns)
        score = told.contributions.sum(axis=0) + told.offsets
        np.testing.assert_allclose(columns.score, score, rtol=0, atol=1e-10)
        row = X.iloc[place]
        assert columns.shown(1) == str(row["opened"].date())
        known = pd.notna(row["amount"])
        assert columns.shown(2) == (f"{row['amount']:.4g}" if known else "missing")
        assert columns.shown(0) == ("missing" if pd.isna(row["town"]) else row["town"])
        assert columns.shown(3) == row["member"]
    assert columns.usual(0) == "typical Oslo"
    assert columns.usual(2) == f"median {X['amount'].median():.4g}"
    assert f"{X['town'][6]} (typical Oslo)" in str(columns)
    assert columns.frame.loc["opened", "value"] == str(X["opened"][6].date())
    assert "town" in columns._repr_html_()
    ticks = plot_columns(columns, ax=Figure().subplots()).get_yticklabels()
    assert f"town = {X['town'][6]}" in [tick.get_text() for tick in ticks]


def test_numbers_of_a_mixed_frame_are_those_that_were_given(shops):
    """Also long ones, and small ones beside a large mean; without rounding errors."""
    X, y = shops
    X = X.assign(
        day=20240101.0 + np.arange(90),
        paid=np.linspace(1e8, 2e8, 90).round(2),
        share=np.where(np.arange(90) % 2, 0.1, 3e9),
        balance=np.where(np.arange(90) % 3, 0.0, 7.0),
    )
    model = pf.PatchPosterior().fit(X, y)
    for place in range(0, 90, 7):
        found = model.explain(X.iloc[[place]]).columns.frame["value"]
        for name in ("day", "paid", "share", "balance"):
            assert found[name] == X[name][place]


def test_a_class_of_a_mixed_frame_has_its_most_frequent_category(shops):
    told = pf.PatchPosterior().fit(*shops).explain_class("left")
    assert told.columns[told.order()[0]] == "town"
    assert told.shown(0) == "Lund"


def test_what_is_typical_is_a_median_or_the_most_frequent_category():
    """Of ordered categories it is the level of the median rank, if in no row too."""
    y = np.repeat(["a", "b"], 40)
    ends = np.resize(["low", "high"], 80)
    days = np.resize([0, 10, 20, 30, 90], 80)
    frame = pd.DataFrame(
        {
            "town": np.repeat(["Riga", "Oslo", "Lund"], [40, 35, 5]),
            "size": pd.Categorical(ends, ["low", "middle", "high"], ordered=True),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(days, "D"),
            "x": np.arange(80.0),
        }
    )
    told = pf.PatchPosterior().fit(frame, y).explain_class("b")
    table = told.frame
    assert list(table.columns[:2]) == ["value", "typical"]
    assert table["typical"].to_dict() == {
        "town": "Riga",
        "size": "middle",
        "day": "2020-01-21",
        "x": 39.5,
    }
    assert "(typical Riga)" in str(told)
    assert "(median 39.5)" in str(told)


def test_a_row_of_a_frame_may_be_a_series(shops, wine, model):
    for X, fitted in ((wine[0], model), (shops[0], pf.PatchPosterior().fit(*shops))):
        as_frame = fitted.explain(X.iloc[[1]])
        np.testing.assert_array_equal(
            fitted.explain(X.iloc[1]).contributions, as_frame.contributions
        )


def test_bars_run_from_a_typical_row_to_this_one(wine, model):
    told = model.explain(wine[0].iloc[[1]]).columns
    ax = plot_columns(told, ax=Figure().subplots())
    bars = ax.patches
    assert bars[0].get_x() == pytest.approx(told.baseline[told.of])
    assert bars[-1].get_x() + bars[-1].get_width() == pytest.approx(told.score[told.of])
    assert len(bars) == 13  # 12 columns, and the one that is left


def test_every_score_has_a_look_of_its_own(wine):
    X, y = wine
    scores = ("patch", "class", "pooled", "kernel", "marginal")
    model = pf.PatchPosterior(scores=scores).fit(X, y)
    ax = plot_explanation(model.explain(X.iloc[[0]]), ax=Figure().subplots())
    looks = {(bars[0].get_facecolor(), bars[0].get_hatch()) for bars in ax.containers}
    assert len(looks) == len(model.score_names_) + 1
