"""The honest study in a few tables: the page docs/honest.md is written from them.

    PATCHFOLD_DATA=... python benchmarks/honest_summary.py

reads docs/records/honest.csv.gz, prints Markdown and draws docs/images/robustness.png.
Ranks are over sets where every method of a table has all its splits; they are given for
all sets, and for those that played no part in the design of PatchPosterior, or of
CauchyMap where it is the one that is compared.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean

import numpy as np

from patchfold.datasets import catalogue, load
from patchfold.metrics.rank_tests import friedman, mean_ranks, nemenyi, wilcoxon_holm
from patchfold.studies.reproduction import design
from patchfold.studies.reproduction.records import Record

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "benchmarks")]
from build_reproduction import load_records  # noqa: E402
from posterior_ablation import choose_sets, group_of  # noqa: E402

SUPERVISED = ("LDA", "NCA", "SPCA", "SUMAP")
OTHERS = (
    *("PCA", "KPCA", "ISOMAP", "LLE", "HLLE", "LTSA", "UMAP"),
    *("ISOMAP-KL", "ELAP", "PELLE", "KLAP", "CAUCHY"),
)

IMAGE = ROOT / "docs" / "images" / "robustness.png"
MIN_SETS = 5
OURS = {
    "POSTERIOR": "τ = 0",
    "POSTERIOR-BLEND": "τ = .5",
    "POSTERIOR-POINTS": "point twin",
}
BESIDE = ("PCA", "ISOMAP", "UMAP")
MAPS = (
    ("CAUCHYMAP", "without labels", BESIDE, design.CAUCHY_MAP),
    (
        "CAUCHYMAP",
        "without labels, beside t-SNE",
        (*BESIDE, "OPENTSNE"),
        design.CAUCHY_MAP,
    ),
    (
        "CAUCHYMAP",
        "without labels, beside all maps",
        (*BESIDE, "OPENTSNE", "PACMAP"),
        design.CAUCHY_MAP,
    ),
    (
        "CAUCHYMAP-LABELS",
        "with labels",
        ("POSTERIOR", *SUPERVISED),
        design.WITH_LABELS,
    ),
)
"""CauchyMap: its title, what it is compared with, sets that served for its design."""
PANEL, KNN, FOREST = "mean_accuracy_4", "accuracy:KNN", "accuracy:RFC"
SPLITS = 10

Scores = dict[str, dict[str, float]]


def means(records: Iterable[Record], metric: str, protocol: str, splits: int) -> Scores:
    """Return set -> method -> mean over the first splits, where all of them are."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for record in records:
        wanted = (record.metric, record.protocol) == (metric, protocol)
        if wanted and record.split < splits and record.value is not None:
            values[record.dataset, record.method].append(record.value)
    table: Scores = defaultdict(dict)
    for (dataset, method), found in values.items():
        if len(found) == splits:
            table[dataset][method] = fmean(found)
    return table


def complete(table: Scores, methods: Iterable[str], sets: set[str]) -> Scores:
    """Keep these methods, on those of the sets where all of them have a number."""
    names = list(methods)
    return {
        dataset: {method: row[method] for method in names}
        for dataset, row in sorted(table.items())
        if dataset in sets and all(method in row for method in names)
    }


def print_ranking(own: str, title: str, scores: Scores, where: str) -> None:
    """Print ranks and tests of one of ours among the others, if sets are enough."""
    if len(scores) < MIN_SETS:
        return
    ranks, tests = mean_ranks(scores).ranks, friedman(scores)
    holm = wilcoxon_holm(scores, own).p_values[own]
    pairs = nemenyi(scores).p_values[own]
    head = "method", "mean rank", "accuracy", "wins/losses of ours", "Wilcoxon-Holm"
    print(f"\n{title}, {where}: {len(scores)} sets, ", end="")
    print(f"Friedman p = {tests.p_value:.1g}\n")
    print("| " + " | ".join([*head, "Nemenyi"]) + " |")
    print("| --- | --- | --- | --- | --- | --- |")
    for method in sorted(ranks, key=ranks.__getitem__):
        rows = scores.values()
        mean = fmean(row[method] for row in rows)
        cells = [method, f"{ranks[method]:.2f}", f"{mean:.3f}"]
        if method != own:
            wins = sum(row[own] > row[method] for row in rows)
            losses = sum(row[own] < row[method] for row in rows)
            cells += [f"{wins}/{losses}", f"{holm[method]:.1g}", f"{pairs[method]:.1g}"]
        cells += [""] * (len(head) + 1 - len(cells))
        print("| " + " | ".join(cells) + " |")


def print_against_features(records: list[Record], groups: dict[str, set[str]]) -> None:
    """Print two coordinates beside all features, and beside a forest on these."""
    print(
        "\n| sets | n | coordinates | panel | KNN 7 | panel, all features | "
        "KNN 7, all features | forest, all features |"
    )
    print("| " + " | ".join(["---"] * 8) + " |")
    tables = {m: means(records, m, "honest", SPLITS) for m in (PANEL, KNN, FOREST)}
    for where, sets in groups.items():
        for own, name in OURS.items():
            both = {m: complete(t, (own, "RAW"), sets) for m, t in tables.items()}
            rows = {m: list(t.values()) for m, t in both.items()}
            cells = [
                *(fmean(row[own] for row in rows[m]) for m in (PANEL, KNN)),
                *(fmean(row["RAW"] for row in rows[m]) for m in (PANEL, KNN, FOREST)),
            ]
            line = [where, str(len(both[PANEL])), name, *(f"{c:.3f}" for c in cells)]
            print("| " + " | ".join(line) + " |")


def print_maps(table: Scores, every: set[str]) -> None:
    """Print CauchyMap, without and with labels, among the maps it stands beside."""
    for own, title, others, used in MAPS:
        for where, sets in (
            ("not used for design", every - set(used)),
            ("all sets", every),
        ):
            print_ranking(own, title, complete(table, (own, *others), sets), where)


def print_permuted(records: list[Record]) -> None:
    """Print what methods make of shuffled labels, beside the rate of one class."""
    protocol = "permuted honest"
    splits = 1 + max(r.split for r in records if r.protocol == protocol)
    table = means(records, PANEL, protocol, splits)
    methods = sorted({method for row in table.values() for method in row})
    print(f"\nPanel accuracy, {splits} splits; the rate is that of the largest class\n")
    print("| method | sets | accuracy | rate | accuracy - rate, least to most |")
    print("| --- | --- | --- | --- | --- |")
    rates = {name: majority(name) for name in table}
    for method in methods:
        rows = {n: row[method] for n, row in table.items() if method in row}
        gaps = sorted(value - rates[name] for name, value in rows.items())
        cells = [method, str(len(rows)), f"{fmean(rows.values()):.3f}"]
        cells += [f"{fmean(rates[name] for name in rows):.3f}"]
        cells += [f"{gaps[0]:+.3f} to {gaps[-1]:+.3f}"]
        print("| " + " | ".join(cells) + " |")


def majority(name: str) -> float:
    """Return the share of a set's largest class."""
    target = load(name, download=False).target
    return float(np.bincount(target[target >= 0]).max() / (target >= 0).sum())


def robustness(records: list[Record], kind: str) -> tuple[list[float], Scores]:
    """Return the levels of a corruption, and method -> level -> mean panel accuracy."""
    prefix = f"honest {kind} "
    found = {r.protocol for r in records if r.protocol.startswith(prefix)}
    levels = sorted(float(protocol.removeprefix(prefix)) for protocol in found)
    splits = 1 + max(r.split for r in records if r.protocol in found)
    names = ["honest", *(f"{prefix}{level:g}" for level in levels)]
    tables = {name: means(records, PANEL, name, splits) for name in names}
    worst = tables[names[-1]]
    methods = sorted({method for row in worst.values() for method in row})
    sets = set.intersection(
        *(set(complete(table, methods, set(table))) for table in tables.values())
    )
    print(f"\n{kind}: {len(sets)} sets, {splits} splits, panel accuracy\n")
    print("| method | " + " | ".join(["clean", *(f"{v:g}" for v in levels)]) + " |")
    print("| " + " | ".join(["---"] * (len(names) + 1)) + " |")
    curves: Scores = {}
    for method in methods:
        curves[method] = {
            name: fmean(tables[name][dataset][method] for dataset in sets)
            for name in names
        }
        cells = [method, *(f"{value:.3f}" for value in curves[method].values())]
        print("| " + " | ".join(cells) + " |")
    return [0.0, *levels], curves


def draw(curves: dict[str, tuple[list[float], Scores]], path: Path) -> None:
    """Draw accuracy against noise and against outliers."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), dpi=110, layout="constrained")
    words = {
        "noise": "noise on training features (standard deviations)",
        "outliers": "share of training rows drawn anew",
    }
    for ax, (kind, (levels, lines)) in zip(
        figure.subplots(1, 2, sharey=True), curves.items(), strict=True
    ):
        for number, (method, values) in enumerate(lines.items()):
            ours = method in OURS
            ax.plot(
                levels,
                list(values.values()),
                marker="os^Dvx"[number % 6],
                linewidth=2 if ours else 1,
                label=f"{method}" + (f" ({OURS[method]})" if ours else ""),
            )
        ax.set_xlabel(words[kind])
        ax.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("held-out panel accuracy")
    figure.axes[1].legend(frameon=False, fontsize=8)
    figure.savefig(path)


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--image", type=Path, default=IMAGE)
    parser.add_argument("--toy", action="store_true", help="the sets without files")
    options = parser.parse_args()
    if not (options.toy or os.environ.get("PATCHFOLD_DATA")):
        raise SystemExit(
            "set PATCHFOLD_DATA: the sets at hand say which were for tuning"
        )
    at_hand = None
    if options.toy:
        options.image = Path("robustness.png")
        sources = ("rule", "scikit-learn")
        at_hand = {row.name for row in catalogue() if row.source in sources}
    records = load_records("honest", at_hand)
    every = {record.dataset for record in records}
    tuned = {group_of(name) for name in choose_sets(held_out=False)}
    fresh = {name for name in every if group_of(name) not in tuned}
    groups = {"all sets": every, "not used for design": fresh}
    for metric in (PANEL, KNN):
        print(f"\n## {metric}")
        table = means(records, metric, "honest", SPLITS)
        for others in (SUPERVISED, (*SUPERVISED, *OTHERS)):
            for own in ("POSTERIOR", "POSTERIOR-BLEND"):
                for where, sets in groups.items():
                    scores = complete(table, (own, *others), sets)
                    print_ranking(own, OURS[own], scores, where)
    print("\n## Two coordinates against all features")
    print_against_features(records, groups)
    print("\n## CauchyMap")
    print_maps(means(records, PANEL, "honest", SPLITS), every)
    print("\n## Shuffled labels")
    print_permuted(records)
    print("\n## Robustness")
    draw(
        {kind: robustness(records, kind) for kind in ("noise", "outliers")},
        options.image,
    )


if __name__ == "__main__":
    main()
