"""`compare`: a table in, every method's scores and pictures out."""

from __future__ import annotations

import html
import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.files import write_text
from ..backends.processes import run_pieces
from ..backends.progress import counted
from ..estimators.methods import (
    METHODS,
    OTHERS,
    PAPERS,
    TWINS,
    Method,
    find_method,
    is_installed,
)
from ..tables import choose_columns, encode_classes, make_encoder
from ..tables.encoding import describe_columns
from ..tables.reading import ReadOptions
from .figure import draw_embeddings
from .planning import Outcome, conclude, plan, plan_control, run_call
from .record import Findings, check_installed, installed_versions
from .report import build_page
from .samples import draw_rows, read_data, sample_names
from .scoring import Problem, Result, make_splits, reference

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

MAX_CLASSES = 56
"""So many looks a picture has for classes; beyond, a target is hardly one."""

SCORES = (
    *("title", "kind", "n_neighbors", "silhouette", "held_out", "held_out_error"),
    *("trustworthiness", "seconds", "remark", "failure"),
)
"""Columns of the table of scores."""

LONGEST = 200
"""An argument that is longer is written down by its name."""


class Comparison(Findings):
    """Every method's scores and pictures of one table; `Findings` has the attributes.

    In a notebook it shows itself: linked pictures and a table that sorts. `figure`
    returns the pictures alone, to go on with in Plotly.
    """

    def __repr__(self) -> str:
        return (
            f"Comparison({self.name!r}, {len(self.ids)} samples, "
            f"{len(self.embeddings)} embeddings)"
        )

    @property
    def scores(self) -> pd.DataFrame:
        """The table of scores, a row per method."""
        import pandas as pd

        rows = [[getattr(r, name) for name in SCORES] for r in self.results]
        index = pd.Index([r.name for r in self.results], name="method")
        return pd.DataFrame(rows, index=index, columns=list(SCORES))

    def figure(self) -> go.Figure:
        """Return the pictures alone, as one Plotly figure.

        Returns
        -------
        plotly.graph_objects.Figure
            A subplot for each method, and in it a trace for each class, which the
            legend hides everywhere. `customdata` is the position of the sample in
            `ids`. Open symbols at the edge are samples far outside.

        Examples
        --------
        >>> import patchfold as pf
        >>> found = pf.compare("iris", methods=["elap", "pca"], sweep=False)
        >>> figure = found.figure()
        >>> len(figure.data)
        6
        >>> [title.text for title in figure.layout.annotations]
        ['ELAP', 'PCA']
        """
        return draw_embeddings(self)

    def to_html(self) -> str:
        """Return the report: one page that needs nothing else."""
        return build_page(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report, whole or not at all."""
        write_text(Path(path), self.to_html())

    def _repr_html_(self) -> str:
        """Show the report in a frame of its own, so that notebooks stay as they are."""
        page = html.escape(self.to_html(), quote=True)
        return (
            f'<iframe srcdoc="{page}" style="width:100%;height:48rem;border:0" '
            f'title="patchfold: methods compared"></iframe>'
        )


def compare(
    data: Any,
    target: Any = None,
    *,
    methods: Iterable[str] | None = None,
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
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Run the methods side by side on a table.

    The five recipes, their Euclidean twins, PCA, t-SNE and UMAP, where it is installed.
    Held-out accuracy is honest: columns are encoded and the method is fitted without
    the samples that are then placed by `transform` and classified by their 7 nearest
    training samples. A method that cannot place new samples has none. A supervised
    method is run again under permuted labels.

    `joblib.parallel_config` spreads the work over processes or a cluster; the seconds
    are then those of fits that had neighbours.

    Parameters
    ----------
    data : pandas.DataFrame, array-like (n, m), path or str
        A table, a file (CSV, Parquet, ARFF), or the name of a dataset.
    target : str or array-like (n,), default=None
        The column of the classes, or the classes. A dataset knows its own. None leaves
        out what needs classes.
    methods : iterable of str, default=None
        Names from `patchfold.estimators.methods.METHODS`; None for those above.
    n_neighbors : int, default=20
        Neighbours of every method, except KLAP with its paper's .75 n.
    drop, id, categories, scale, impute, keep, auto
        What is done to the columns: see `patchfold.tables`. What must be decided is
        listed in one error, or decided (`auto`).
    reading : ReadOptions, default=None
        What is known of a file: separator, encoding, decimal mark, order of dates.
    n_splits : int, default=5
        Parts that are held out one after the other.
    sweep : bool, default=True
        Whether to score other numbers of neighbours too.
    max_samples : int, default=2000
        From a larger table so many samples are drawn at random, always the same ones.
    progress : callable, default=None
        Called with the pieces of work that are done, and all there are. None shows a
        bar in a notebook.

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
    name, frame, column = source.name, source.frame, source.target
    chosen = _choose_methods(methods)
    _check_counts(n_neighbors=n_neighbors, n_splits=n_splits, max_samples=max_samples)
    remarks = [*source.remarks]
    if n_splits < 2:
        raise ValueError(f"n_splits must be 2 or more. Got {n_splits} instead.")
    # Of all rows, as a part of them would not show a row counter.
    columns = choose_columns(
        frame,
        target=column,
        drop=drop,
        id=id,
        impute=impute,
        keep=keep,
        auto=auto,
        doubts=source.doubts,
    )
    remarks += [f"Decided: {line}." for line in columns.decided]
    rows = draw_rows(frame, column, max_samples, remarks)
    frame, columns = frame.iloc[rows], columns.take(rows)
    encoder = make_encoder(
        columns, categories=categories, scale=scale, impute=columns.impute
    )
    labels: np.ndarray | None = None
    class_names: list[str] = []
    if columns.target is not None:
        labels, class_names = _classes(columns.target)
        n_splits = _possible_splits(labels, class_names, n_splits, remarks)
    else:
        n_splits = 0
        remarks.append(
            "No target was named: there is no silhouette, no held-out accuracy, and "
            "supervised methods are left out."
        )
    chosen = _runnable(chosen, labels is not None, remarks)
    problem = Problem(
        X=encoder.fit_transform(columns.features),
        y=labels,
        splits=make_splits(encoder, columns.features, labels, n_splits)
        if labels is not None
        else [],
        n_neighbors=n_neighbors,
        sweep=sweep,
    )
    return Comparison(
        name=name,
        results=_run(chosen, problem, progress),
        labels=labels,
        class_names=class_names,
        ids=sample_names(frame if columns.ids is None else columns.ids),
        frame=frame,
        columns=describe_columns(columns, categories=categories, scale=scale),
        remarks=remarks,
        n_splits=n_splits,
        versions=installed_versions(),
        command=command,
    )


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
    chosen: list[Method], problem: Problem, progress: Callable[[int, int], None] | None
) -> list[Result]:
    plans = [plan(method, problem, _kind(method)) for method in chosen]
    plans += [plan_control(method, problem) for method in chosen if method.supervised]
    calls = [call for planned in plans for call in planned.calls]
    found: dict[int, Outcome] = {}
    with counted("compare", "methods") as bar:
        tell = progress or bar
        tell(0, len(calls))
        for place, outcome in run_pieces(run_call, calls):
            found[place] = outcome
            tell(len(found), len(calls))
    results, first = [], 0
    for planned in plans:
        last = first + len(planned.calls)
        results.append(
            conclude(planned, [found[place] for place in range(first, last)])
        )
        first = last
    results.insert(len(chosen), reference(problem))
    return results


def _kind(method: Method) -> str:
    if method.name in TWINS:
        return "twin"
    return "other" if method.name in OTHERS else "patch"


def _choose_methods(names: Iterable[str] | None) -> list[Method]:
    if names is None:
        return [METHODS[name] for name in (*PAPERS, *TWINS, *OTHERS)]
    chosen = list(dict.fromkeys(find_method(name).name for name in names))
    if not chosen:
        raise ValueError("methods must name one or more.")
    return [METHODS[name] for name in chosen]


def _check_counts(**counts: int) -> None:
    for name, count in counts.items():
        if not isinstance(count, int) or count < 1:
            raise ValueError(f"{name} must be an int >= 1. Got {count!r} instead.")


def _runnable(
    chosen: list[Method], has_labels: bool, remarks: list[str]
) -> list[Method]:
    missing = [method.title for method in chosen if not is_installed(method)]
    if missing:
        remarks.append(
            f"{', '.join(missing)} is left out: it is not installed "
            '(pip install "patchfold[eval]").'
        )
    kept = [
        method
        for method in chosen
        if is_installed(method) and (has_labels or not method.supervised)
    ]
    if not kept:
        raise ValueError("none of the methods can run here: name a target, or others.")
    return kept


def _classes(target: pd.Series) -> tuple[np.ndarray, list[str]]:
    codes, names = encode_classes(target)
    if len(names) > MAX_CLASSES:
        raise ValueError(
            f"the target {target.name!r} has {len(names)} different values in "
            f"{len(codes)} rows, and methods are compared by classes, at most "
            f"{MAX_CLASSES}. Is it a measurement? Then drop it, and name no target."
        )
    if len(names) < 2:
        raise ValueError(
            f"the target {target.name!r} has {len(names)} class, and scores need two: "
            "name another target, or none."
        )
    if np.bincount(codes).max() < 2:
        raise ValueError(
            f"the target {target.name!r} has another class in each of the "
            f"{len(codes)} rows, so none can be held out: name another target, or none."
        )
    return codes, names


def _possible_splits(
    labels: np.ndarray, names: Sequence[str], wanted: int, remarks: list[str]
) -> int:
    counts = np.bincount(labels)
    fewest = int(counts.min())
    if fewest < wanted:
        remarks.append(
            f"The class {names[int(counts.argmin())]!r} has {fewest} "
            f"{'sample' if fewest == 1 else 'samples'}, so not every part that is held "
            "out has one."
        )
    return max(2, min(wanted, int(counts.max())))
