"""What TableEncoder buys on tables with categories: the tables in docs/mixed_tables.md.

    PATCHFOLD_DATA=FOLDER python benchmarks/mixed_tables.py

Every set at hand with a column of categories, three splits. A half of the rows, at most
500, is encoded in four ways and drawn by CauchyMap; the other half is placed. Scores:
trustworthiness of the drawn half in Gower's distance, and the accuracy of 5 nearest
neighbours on the placed half.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.manifold import trustworthiness
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import patchfold as pf
from patchfold.datasets import catalogue, load
from patchfold.studies.reproduction.honest import honest_split

SPLITS = 3
MOST_ROWS = 500
NAMES = 20
"""A column with more levels, and one for every other row, names rows: left out."""

ORDERED = {
    "car": ("buying", "doors", "lug_boot", "maint", "persons", "safety"),
    "aids": ("Age",),
}
"""Columns whose categories have an order, as listed in the data; a fifth row of the
table says what telling so is worth on these sets."""


def read(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a set as a data frame, with gaps, and its classes."""
    found = load(name, download=False)
    columns: dict[str, Any] = {}
    for place, column in enumerate(found.feature_names):
        values = found.data[:, place]
        if not found.categorical[place]:
            columns[column] = values
            continue
        codes = np.where(np.isnan(values), -1, values).astype(int)
        if np.unique(codes).size > max(NAMES, codes.size / 2):
            continue
        columns[column] = pd.Categorical.from_codes(codes, found.levels[column])
    labelled = found.target >= 0
    return pd.DataFrame(columns)[labelled], found.target[labelled]


def _numbers(frame: pd.DataFrame) -> list[str]:
    return [name for name in frame if frame[name].dtype.kind == "f"]


def by_codes(frame: pd.DataFrame) -> Any:
    """Positions of levels, scaled like numbers; a gap is -1, as in the papers."""
    words = [name for name in frame if name not in _numbers(frame)]
    levels = [[*frame[name].cat.categories, np.nan] for name in words]
    codes = OrdinalEncoder(categories=levels, encoded_missing_value=-1)
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), _numbers(frame)),
        (make_pipeline(codes, StandardScaler()), words),
    )


def by_one_hot(frame: pd.DataFrame) -> Any:
    """Numbers scaled, a column of 0 and 1 for each level; a gap has none."""
    words = [name for name in frame if name not in _numbers(frame)]
    levels = [list(frame[name].cat.categories) for name in words]
    dummies = OneHotEncoder(
        categories=levels, handle_unknown="ignore", sparse_output=False
    )
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), _numbers(frame)),
        (dummies, words),
    )


def by_gower(frame: pd.DataFrame) -> Any:
    """Gower's distance itself: judged by itself."""
    return pf.TableEncoder(distance="gower")


ENCODINGS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "codes": by_codes,
    "one-hot": by_one_hot,
    "TableEncoder": lambda frame: pf.TableEncoder(),
    "Gower's distance": by_gower,
}


def score(
    name: str, encoder: Any, train: pd.DataFrame, test: pd.DataFrame, y: Any
) -> tuple[float, float]:
    """Return trustworthiness of the training rows and accuracy on the others."""
    settings = {"dissimilarity": "precomputed"} if name.startswith("Gower") else {}
    n_neighbors = min(15, len(train) - 1)
    model = make_pipeline(encoder, pf.CauchyMap(n_neighbors, **settings)).fit(train)
    drawn = model[-1].embedding_
    apart = pf.TableEncoder(distance="gower").fit_transform(train)
    near = min(10, len(train) // 2 - 1)
    trust = trustworthiness(apart, drawn, n_neighbors=near, metric="precomputed")
    judge = KNeighborsClassifier(min(5, len(train))).fit(drawn, y[0])
    return trust, judge.score(model.transform(test), y[1])


def scores_of(name: str, n_splits: int) -> dict[str, np.ndarray]:
    """Return the mean scores of every encoding on one set."""
    frame, y = read(name)
    found: dict[str, list[tuple[float, float]]] = {}
    for split in range(n_splits):
        train, test = (rows[:MOST_ROWS] for rows in honest_split(y, split))
        halves = frame.iloc[train], frame.iloc[test], (y[train], y[test])
        makers = dict(ENCODINGS)
        if name in ORDERED:
            order = {c: list(frame[c].cat.categories) for c in ORDERED[name]}
            makers["TableEncoder, ordered"] = lambda _, order=order: pf.TableEncoder(
                ordered=order
            )
        for way, make in makers.items():
            found.setdefault(way, []).append(score(way, make(frame), *halves))
    return {way: np.mean(pairs, axis=0) for way, pairs in found.items()}


def report(found: dict[str, dict[str, np.ndarray]]) -> None:
    """Print the means, and the wins of TableEncoder with their p-values."""
    print("| encoding | trustworthiness in Gower's distance | accuracy |")
    print("| --- | --- | --- |")
    for way in ENCODINGS:
        means = np.mean([scores[way] for scores in found.values()], axis=0)
        print(f"| {way} | {means[0]:.3f} | {means[1]:.3f} |")
    print("\n| TableEncoder against | score | wins | losses | mean gain | p |")
    print("| --- | --- | --- | --- | --- | --- |")
    for way in ("codes", "one-hot", "Gower's distance"):
        for place, kind in enumerate(("trustworthiness", "accuracy")):
            pairs = [(s["TableEncoder"][place], s[way][place]) for s in found.values()]
            gains = np.subtract(*np.transpose(pairs))
            p = wilcoxon(gains).pvalue if np.count_nonzero(gains) > 5 else np.nan
            print(
                f"| {way} | {kind} | {(gains > 0).sum()} | {(gains < 0).sum()} | "
                f"{gains.mean():+.3f} | {p:.1g} |"
            )
    for name in ORDERED.keys() & found.keys():
        for way, scores in found[name].items():
            print(f"{name}, {way}: {scores[0]:.3f}, {scores[1]:.3f}")


def main() -> None:
    """Score every set, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--toy", action="store_true", help="smallest sizes")
    is_toy = parser.parse_args().toy
    warnings.simplefilter("ignore")
    if is_toy:
        names = ["tic-tac-toe", "corral"]
    elif os.environ.get("PATCHFOLD_DATA"):
        names = [row.name for row in catalogue() if row.source in ("folder", "rule")]
    else:
        parser.error("name the folder of the sets in PATCHFOLD_DATA, or run --toy")
    found = {}
    for name in names:
        dataset = load(name, download=False)
        if not dataset.categorical.any() or np.bincount(dataset.target + 1).size < 3:
            continue
        found[name] = scores_of(name, 1 if is_toy else SPLITS)
        trust = ", ".join(f"{way} {s[0]:.3f}" for way, s in found[name].items())
        print(f"{name}: {trust}", flush=True)
    print(f"\n{len(found)} sets\n")
    report(found)


if __name__ == "__main__":
    main()
