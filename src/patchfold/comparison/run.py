"""`compare`: a table in, every method's scores and pictures out."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import cpu_count
from joblib.parallel import get_active_backend

from ..backends.processes import run_pieces
from ..backends.progress import counted
from ..estimators.methods import Method
from ..tables import Columns, Source, make_encoder
from ..tables.columns import choose_from
from ..tables.encoding import describe_columns
from ..tables.judging import codes_among, is_measurement
from ..tables.reading import ReadOptions
from .choosing import CLASS_METHODS, choose_methods, kind_of
from .comparison import Comparison
from .folds import make_splits
from .planning import Outcome, Plan, conclude, plan, plan_control, run_calls
from .preparing import SMALL_TABLE, count_folds, find_far, find_groups, read_classes
from .record import check_installed, installed_versions
from .references import score_references
from .samples import draw_rows, read_data, sample_names
from .scoring import Problem, Result

LONGEST = 200
"""An argument that is longer is written down by its name."""


FEW_ROWS = 400
"""Below this many rows, starting processes takes longer than they save."""


def compare(
    data: Any,
    target: Any = None,
    *,
    methods: Iterable[Any] | None = None,
    n_neighbors: int = 20,
    drop: Iterable[str] = (),
    id: str | None = None,
    categories: str = "one-hot",
    scale: bool = True,
    impute: str | None = None,
    keep: Iterable[str] = (),
    auto: bool = False,
    reading: ReadOptions | None = None,
    n_splits: int = 5,
    sweep: bool = True,
    max_samples: int = 2000,
    groups: bool = False,
    n_jobs: int | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> Comparison:
    """Say which method shows a table best, and whether to trust that.

    Methods run side by side: PatchPosterior and LDA (with classes), CauchyMap, the
    papers' recipes, their Euclidean twins, PCA, t-SNE (by openTSNE, where it is
    installed) and UMAP (where it is installed).

    The held-out score comes from samples that were not in the fit: columns are encoded
    and the method is fitted without them, `transform` places them, and their 7 nearest
    training samples predict the target. It is the accuracy of classes, or R² of a
    measurement. A method that cannot place new samples has no such score. A supervised
    method is run again with shuffled labels. Without a target the methods are ranked by
    trustworthiness, of fits to parts of the samples.

    The best method is compared with every other method over the same held-out samples,
    by a t-test whose variance is corrected for folds that share training samples, with
    Holm's correction for the number of methods.

    Parameters
    ----------
    data : pandas.DataFrame, array-like (n, m), path or str
        A table, a file (CSV, Parquet, ARFF), or the name of a dataset.
    target : str or array-like (n,), default=None
        A column, or the values themselves: classes, or a measurement (numbers with more
        than 56 distinct values, or more than 10 if they have fractions). A dataset has
        its own. None leaves out what needs a target.
    methods : iterable, default=None
        What to run: names from `patchfold.estimators.methods.METHODS`, "lda", dotted
        names such as "sklearn.decomposition.FastICA", transformers or pipelines of
        scikit-learn, and pairs of a name and a transformer. "defaults" stands for
        the methods above, as does None.
    n_neighbors : int, default=20
        Neighbours of every method, except KLAP with its paper's .75 n.
    drop, id, categories, scale, impute, keep, auto
        What is done to the columns: see `patchfold.tables`. What must be decided is
        listed in one error, or decided (`auto`).
    reading : ReadOptions, default=None
        What is known of a table (`patchfold.tables.ReadOptions`): decimal mark, order
        of dates, words for a missing cell; of a file separator and encoding, too.
    n_splits : int, default=5
        Parts that are held out one after the other. Two or three show too little of
        how scores vary: equal methods are then more often called different.
    sweep : bool, default=True
        Whether to score other numbers of neighbours too, on one of the folds.
    max_samples : int, default=2000
        Rows to use at most; of a larger table, this many are drawn at random, always
        the same ones.
    groups : bool, default=False
        Whether to colour the pictures by groups that HDBSCAN finds in the columns.
    n_jobs : int, default=None
        Processes. None is what `joblib.parallel_config` says, else one for each core,
        or one alone for fewer than 400 rows.
    progress : callable, default=None
        Called with the work that is done, and the total. None shows a bar in a
        notebook.

    Returns
    -------
    Comparison
        It shows itself in a notebook; `figure` returns the pictures, `save` writes
        the page.

    Examples
    --------
    >>> import patchfold as pf
    >>> found = pf.compare("iris", methods=["elap", "pca"], sweep=False)
    >>> found
    Comparison('iris', 150 samples, 2 embeddings)
    >>> round(float(found.scores.loc["pca", "held_out"]), 2)
    0.9
    """
    command = _call(locals())
    check_installed()
    source = read_data(data, target, id, reading)
    remarks = [*source.remarks]
    chosen = choose_methods(methods, remarks)
    _check_counts(n_neighbors=n_neighbors, n_splits=n_splits, max_samples=max_samples)
    told = {"drop": drop, "id": id, "impute": impute, "keep": keep, "auto": auto}
    frame, columns = _choose(source, max_samples, remarks, **told)
    encoder = make_encoder(
        columns, categories=categories, scale=scale, impute=columns.impute
    )
    posed = _pose(columns, encoder, n_splits, n_neighbors, sweep, remarks)
    problem, n_classes = posed.problem, len(posed.class_names)
    chosen = _runnable(chosen, problem.task, remarks)
    if len(frame) < SMALL_TABLE:
        remarks.append(f"{len(frame)} rows are few: another sample may order anew.")
    found, group_names = find_groups(problem.X, remarks) if groups else (None, [])
    ids = sample_names(frame if columns.ids is None else columns.ids)
    return Comparison(
        name=source.name,
        results=_run(chosen, problem, n_classes, n_jobs, progress),
        labels=posed.labels,
        class_names=posed.class_names,
        ids=ids,
        frame=frame,
        columns=describe_columns(columns, categories=categories, scale=scale),
        remarks=remarks,
        n_splits=len(problem.splits),
        versions=installed_versions(),
        command=command,
        n_given=len(source.frame),
        target="" if columns.target is None else str(columns.target.name),
        values=posed.values,
        groups=found,
        group_names=group_names,
        distances=find_far(problem.X, ids, remarks),
    )


def _choose(
    source: Source, max_samples: int, remarks: list[str], **told: Any
) -> tuple[Any, Columns]:
    """Return the rows that are used, and what is done to their columns."""
    # Of all rows, as a part of them would not show a row counter.
    columns = choose_from(source, target=source.target, **told)
    remarks += [f"Decided: {line}." for line in columns.decided]
    codes = "" if columns.target is None else codes_among(columns.target)
    remarks += [f"The target has {codes}."] if codes else []
    rows = draw_rows(source.frame, source.target, max_samples, remarks)
    return source.frame.iloc[rows], columns.take(rows)


@dataclass(frozen=True)
class _Posed:
    """The problem, and its target: classes by their codes, or a measurement."""

    problem: Problem
    labels: np.ndarray | None
    class_names: list[str]
    values: np.ndarray | None


def _pose(
    columns: Columns,
    encoder: Any,
    n_splits: int,
    n_neighbors: int,
    sweep: bool,
    remarks: list[str],
) -> _Posed:
    """Read the target, cut the rows into folds, encode them."""
    labels, class_names, values = _read_target(columns.target)
    task = "classes" if class_names else "none" if values is None else "numbers"
    if labels is not None:
        n_splits = count_folds(labels, class_names, n_splits, remarks)
    else:
        n_splits = min(n_splits, len(columns.features) // 4)
    y = values if labels is None else labels
    splits = []
    if n_splits > 1:
        splits = make_splits(
            encoder, columns.features, y, n_splits, stratified=labels is not None
        )
    X = encoder.fit_transform(columns.features)
    problem = Problem(X, y, splits, n_neighbors, sweep, task)
    return _Posed(problem, labels, class_names, values)


def _read_target(
    target: Any,
) -> tuple[np.ndarray | None, list[str], np.ndarray | None]:
    """Return classes and their names, or the numbers of a measurement, or neither."""
    if target is None:
        return None, [], None
    if is_measurement(target):
        return None, [], target.to_numpy(dtype=float)
    codes, names = read_classes(target)
    return codes, names, None


def _call(given: dict[str, Any]) -> str:
    """Write the call down, with the arguments that are not the defaults."""
    words = []
    for name, parameter in inspect.signature(compare).parameters.items():
        value = given[name]
        if name == "progress" or value is parameter.default:
            continue
        if isinstance(value, (str, os.PathLike, int, list, tuple)):
            shown = repr(os.fspath(value) if isinstance(value, os.PathLike) else value)
            shown = shown if len(shown) <= LONGEST else name
        else:
            shown = name
        positional = parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        words.append(shown if positional else f"{name}={shown}")
    return f"patchfold.compare({', '.join(words)})"


def _run(
    chosen: list[Method],
    problem: Problem,
    n_classes: int,
    n_jobs: int | None,
    progress: Callable[[float, float], None] | None,
) -> list[Result]:
    plans = [plan(method, problem, kind_of(method)) for method in chosen]
    if n_classes:
        plans += [
            plan_control(method, problem) for method in chosen if method.supervised
        ]
    pieces = sorted(_cut(plans), key=lambda piece: -piece[0])  # the longest first
    total = math.fsum(weight for weight, _, _ in pieces)
    done: list[float] = []
    found: dict[tuple[int, int], Outcome] = {}
    calls = [[plans[p].calls[c] for c in places] for _, p, places in pieces]
    jobs = _count_jobs(n_jobs, len(problem.X))
    with counted("compare", "methods") as bar:
        tell = progress or bar
        tell(0.0, total)
        for place, outcomes in _interruptible(
            run_pieces(run_calls, calls, n_jobs=jobs)
        ):
            weight, number, places = pieces[place]
            found |= {(number, c): o for c, o in zip(places, outcomes, strict=True)}
            if weight:  # what cannot be done weighs nothing, and comes last
                done.append(weight)
                tell(math.fsum(done), total)
    results = [
        conclude(
            planned,
            [found[number, c] for c in range(len(planned.calls))],
            problem,
            n_classes,
        )
        for number, planned in enumerate(plans)
    ]
    return [
        *results[: len(chosen)],
        *score_references(problem, n_classes),
        *results[len(chosen) :],
    ]


def _interruptible(pieces: Iterator[Any]) -> Iterator[Any]:
    """Yield the pieces; an interrupt that ends in another error stays an interrupt.

    joblib fails to end processes that it has not started yet.
    """
    try:
        yield from pieces
    except RuntimeError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__context__
        if cause is not None:
            raise KeyboardInterrupt from None
        raise


def _cut(plans: list[Plan]) -> list[tuple[float, int, list[int]]]:
    """Return pieces of work: their weight, the plan, and which of its calls."""
    pieces = []
    for number, planned in enumerate(plans):
        places = list(range(len(planned.calls)))
        parts = [places] if planned.together else [[place] for place in places]
        weights = planned.weights
        pieces += [(sum(weights[c] for c in part), number, part) for part in parts]
    return pieces


def _count_jobs(n_jobs: int | None, n_rows: int) -> int | None:
    """Return the number of processes; None leaves it to joblib's own setting."""
    if n_jobs is not None:
        return n_jobs
    backend, configured = get_active_backend()
    if configured is not None or type(backend).__name__ != "LokyBackend":
        return None
    return 1 if n_rows < FEW_ROWS else cpu_count()


def _runnable(chosen: list[Method], task: str, remarks: list[str]) -> list[Method]:
    """Leave out methods that need a target of another kind."""
    left_out = [
        method
        for method in chosen
        if (task == "none" and method.supervised)
        or (task == "numbers" and method.name in CLASS_METHODS)
    ]
    if left_out:
        titles = ", ".join(method.title for method in left_out)
        need = "labels, and no target was named" if task == "none" else "classes"
        remarks.append(
            f"{titles} {'needs' if len(left_out) == 1 else 'need'} {need}: left out."
        )
    kept = [method for method in chosen if method not in left_out]
    if not kept:
        raise ValueError("none of the methods can run here: name a target, or others.")
    return kept


def _check_counts(**counts: int) -> None:
    for name, count in counts.items():
        if not isinstance(count, int) or count < 1:
            raise ValueError(f"{name} must be an int >= 1. Got {count!r} instead.")
    if counts["n_splits"] < 2:
        raise ValueError(f"n_splits must be 2 or more. Got {counts['n_splits']}.")
