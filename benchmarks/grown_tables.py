"""A table that has grown, drawn by a CauchyMap that begins at the last map, and anew.

    PATCHFOLD_DATA=FOLDER python benchmarks/grown_tables.py

draws the ten sets of the design (of more than 1,500 samples as many) without the last
rows of a fixed order, and then all rows. Prints the Procrustes disparity to the first
map, of the samples that it has, and how many more of their 15 neighbours samples keep
than in a map drawn anew: means over the sets, the worst of them in brackets.
"""

from __future__ import annotations

import argparse

import numpy as np
from map_choices import read_sets
from scipy.spatial import procrustes

import patchfold as pf
from patchfold.metrics import neighborhood_hits
from patchfold.studies.reproduction.design import CAUCHY_MAP

ADDED = (0.01, 0.05, 0.2)
"""Rows that are added, as a part of all."""


def grow(X: np.ndarray, part: float, anew: np.ndarray) -> tuple[float, float, float]:
    """Return disparities of the map begun at the last, and of one anew; and hits."""
    known = len(X) - max(1, round(part * len(X)))
    last = pf.CauchyMap().fit(X[:known])
    begun = pf.CauchyMap(init=last).fit_transform(X)
    away = (procrustes(last.embedding_, Y[:known])[2] for Y in (begun, anew))
    return *away, neighborhood_hits(X, begun) - neighborhood_hits(X, anew)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--toy", action="store_true", help="one set")
    options = parser.parse_args()
    names = ("wine",) if options.toy else CAUCHY_MAP[:10]
    sets = [
        X[np.random.default_rng(0).permutation(len(X))] for X, _ in read_sets(names)
    ]
    drawn = [pf.CauchyMap().fit_transform(X) for X in sets]
    print("| rows added | disparity, begun | anew | hits, begun less anew |")
    print("| --- | --- | --- | --- |")
    for part in ADDED:
        both = zip(sets, drawn, strict=True)
        found = np.array([grow(X, part, Y) for X, Y in both])
        begun, anew, hits = found.mean(axis=0)
        worst = *found[:, :2].max(axis=0), found[:, 2].min()
        print(
            f"| {part:.0%} | {begun:.3f} ({worst[0]:.3f}) | {anew:.2f} "
            f"({worst[1]:.2f}) | {hits:+.3f} ({worst[2]:+.3f}) |"
        )


if __name__ == "__main__":
    main()
