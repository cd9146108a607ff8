"""Does comparing patches help against noise and outliers? Each method and its twin.

    PATCHFOLD_DATA=... python benchmarks/robustness.py [--splits 3] [--every 5]

Robustness is the papers' main claim. Here every patch method stands beside its
Euclidean twin, which compares points instead of patches, under the `noise` and
`outliers` protocols of `patchfold reproduce`: the training half is made worse in
steps, the embedding fitted on it with K and kernel width chosen inside it, and the
clean other half placed by `transform` and scored by KNN 7. Cauchy graph embedding
compares points, so it has no twin. The sets are those of `neighbor_choice.py`, every
fifth by name: chosen before anything was run. Results go to build/robustness.csv, where
a stopped run goes on; a table is printed and docs/images/robustness_twins.png drawn.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from cases import read, run_missing
from neighbor_choice import choose_sets

from patchfold.datasets import load
from patchfold.studies.reproduction.papers import PAPERS, Table
from patchfold.studies.reproduction.protocols import PROTOCOLS, score

TWINS = {
    "ISOMAP-KL": "ISOMAP",
    "ELAP": "ELAP-POINTS",
    "PELLE": "LLE",
    "KLAP": "KLAP-POINTS",
    "POSTERIOR": "POSTERIOR-POINTS",
}
METRIC = "accuracy:KNN"
FIELDS = ("dataset", "split", "protocol", "method", "accuracy")
AXES = {
    "noise": "noise on training features (standard deviations)",
    "outliers": "share of training rows drawn anew",
}
LEVELS = {kind: PROTOCOLS[kind] for kind in AXES}
"""Protocols of each corruption, from little to much."""

Curves = dict[str, dict[str, dict[str, float]]]
"""Method -> protocol -> set -> mean accuracy over the splits."""


def steps(kind: str) -> tuple[str, ...]:
    """Return the protocols of one corruption, the clean one first."""
    return ("honest", *LEVELS[kind])


def score_case(name: str, split: int, protocol: str, method: str) -> list[tuple]:
    """Score one method on one split of one set; nothing is kept where it fails."""
    data = load(name, download=False)
    labelled = data.target >= 0
    X, y = data.data[labelled], data.target[labelled]
    X = np.where(np.isnan(X) & data.categorical, -1.0, X)
    table = Table("1", (METRIC,), METRIC)
    paper = PAPERS["honest"]
    try:
        found = score(
            paper, (table,), method, protocol, "equations", X, y, split=split
        )[0].value
    except (ValueError, np.linalg.LinAlgError) as error:
        print(f"{name}, split {split}, {protocol}, {method}: {error}", flush=True)
        return []
    return [(name, split, protocol, method, found)]


def curves(rows: list[dict[str, str]]) -> Curves:
    """Average over the splits, of cases that all methods have under all protocols."""
    values: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    for row in rows:
        case = values.setdefault((row["dataset"], row["split"]), {})
        case[row["method"], row["protocol"]] = float(row["accuracy"])
    most = max(len(case) for case in values.values())
    whole = {key: case for key, case in values.items() if len(case) == most}
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for (name, _), case in whole.items():
        for (method, protocol), value in case.items():
            sets = found.setdefault(method, {}).setdefault(protocol, {})
            sets.setdefault(name, []).append(value)
    return {
        method: {
            protocol: {name: float(np.mean(v)) for name, v in sets.items()}
            for protocol, sets in protocols.items()
        }
        for method, protocols in found.items()
    }


def table(found: Curves) -> str:
    """Return accuracies, and the gain of every method over its twin."""
    protocols = [*steps("noise"), *LEVELS["outliers"]]
    heads = [p.removeprefix("honest").strip() or "clean" for p in protocols]
    lines = [
        "| method | " + " | ".join(heads) + " |",
        "| --- " * (len(heads) + 1) + "|",
    ]
    for method, twin in TWINS.items():
        for name in (method, twin):
            cells = [f"{np.mean([*found[name][p].values()]):.3f}" for p in protocols]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        cells = []
        for protocol in protocols:
            own, other = found[method][protocol], found[twin][protocol]
            gain = np.array([own[name] - other[name] for name in own])
            error = gain.std(ddof=1) / np.sqrt(gain.size) if gain.size > 1 else np.nan
            cells.append(f"{gain.mean():+.3f} ± {error:.3f}")
        lines.append("| *gain* | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw(found: Curves, path: Path) -> None:
    """Draw a panel for each method and corruption: itself and its twin."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5.2), dpi=110, layout="constrained")
    panels = figure.subplots(2, len(TWINS), sharey=True, squeeze=False)
    for row, kind in zip(panels, AXES, strict=True):
        names = steps(kind)
        levels = [0.0, *(float(name.split()[-1]) for name in names[1:])]
        for ax, (method, twin) in zip(row, TWINS.items(), strict=True):
            for name, style in ((method, "o-"), (twin, "s--")):
                sets = [list(found[name][protocol].values()) for protocol in names]
                ax.plot(levels, [np.mean(values) for values in sets], style, label=name)
            ax.set_xticks(levels, [f"{level:g}" for level in levels])
            ax.grid(alpha=0.3)
            ax.spines[["top", "right"]].set_visible(False)
            ax.legend(frameon=False, fontsize=8)
        row[0].set_ylabel("held-out accuracy")
        row[len(TWINS) // 2].set_xlabel(AXES[kind])
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def main() -> None:
    """Run what is missing, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--sets", nargs="*", help="names instead of every fifth set")
    parser.add_argument("--out", type=Path, default=Path("build/robustness.csv"))
    parser.add_argument(
        "--image", type=Path, default=Path("docs/images/robustness_twins.png")
    )
    parser.add_argument("--toy", action="store_true", help="smallest sizes")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.toy:
        options.sets, options.splits = ["iris"], 1
        for method in [*TWINS][1:]:
            del TWINS[method]
        LEVELS.update({kind: levels[:1] for kind, levels in LEVELS.items()})
    names = options.sets
    if not names:
        names = sorted([*choose_sets(held_out=False), *choose_sets(held_out=True)])
        names = names[:: options.every]
    methods = [name for pair in TWINS.items() for name in pair]
    protocols = [*steps("noise"), *LEVELS["outliers"]]
    cases = [
        (name, split, protocol, method)
        for split in range(options.splits)
        for name in names
        for protocol in protocols
        for method in methods
    ]
    run_missing(options.out, FIELDS, cases, score_case)
    rows = [
        row
        for row in read(options.out)
        if row["dataset"] in names and int(row["split"]) < options.splits
    ]
    found = curves(rows)
    sets = next(iter(next(iter(found.values())).values()))
    print(f"{len(sets)} sets: {', '.join(sets)}\n\n{table(found)}")
    draw(found, options.image)


if __name__ == "__main__":
    main()
