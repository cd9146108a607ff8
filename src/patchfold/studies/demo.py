"""Embed wine with every method: one picture and one table.

Run it with `python -m patchfold.studies.demo`, or `make demo` in a checkout.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.metrics import silhouette_score
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..backends.files import write_bytes
from ..estimators import PatchEigenmaps, PatchIsomap, PatchLLE
from ..estimators.recipes import cauchy, elap, isomap_kl, klap, pelle
from ..plotting import check_matplotlib, plot_embedding

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_NEIGHBORS = 20
"""One size for every method but KLAP, which has its paper's."""

FORMATS = (".png", ".pdf", ".svg")


@dataclass(frozen=True)
class Method:
    """A row of the table and a panel of the picture.

    Attributes
    ----------
    name : str
        What it is called.
    estimator : estimator
        Not fitted.
    remark : str
        Goes under the title of the panel.
    mark : str
        Points to the footnote of the table that says more.
    """

    name: str
    estimator: Any
    remark: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Result:
    """What was measured of a method.

    Attributes
    ----------
    embedding : array (n_samples, 2)
        Coordinates of all samples.
    silhouette : float
        Silhouette of `embedding` under the true labels.
    held_out : float
        Mean accuracy on samples that were not in the fit.
    seconds : float
        Time of one fit on all samples.
    remarks : tuple of str
        Warnings that were given on the way.
    """

    embedding: np.ndarray
    silhouette: float
    held_out: float
    seconds: float
    remarks: tuple[str, ...] = ()


def methods() -> list[Method]:
    """Return the five papers' methods, then the three Euclidean classics."""
    near: dict[str, Any] = {"n_neighbors": N_NEIGHBORS}
    points: dict[str, Any] = {**near, "dissimilarity": "euclidean"}
    return [
        Method("ISOMAP-KL", isomap_kl(**near)),
        Method("ELAP", elap(**near, kernel_width="auto"), "t = median d²", "[a]"),
        Method("PELLE", pelle(**near)),
        Method("KLAP", klap(), "supervised", "[b]"),
        Method("Cauchy", cauchy(**near), "on the neighbour graph", "[c]"),
        Method("Isomap", PatchIsomap(**points), "Euclidean"),
        Method("Laplacian eigenmaps", PatchEigenmaps(**points), "Euclidean"),
        Method("LLE", PatchLLE(**points), "Euclidean"),
    ]


PANELS = (
    ("ISOMAP-KL", "ELAP", "PELLE", "KLAP"),
    ("Isomap", "Laplacian eigenmaps", "LLE", "Cauchy"),
)
"""Rows of the picture; a classic stands under the method that grew out of it."""


def measure(estimator: Any, X: np.ndarray, y: np.ndarray) -> Result:
    """Measure one method on samples X, not yet scaled, with labels y.

    Parameters
    ----------
    estimator : estimator
        It is cloned, not fitted.
    X : array (n_samples, n_features)
        Samples.
    y : array (n_samples,)
        Class labels.

    Returns
    -------
    Result
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pipeline = make_pipeline(StandardScaler(), estimator, KNeighborsClassifier(7))
        held_out = cross_val_score(pipeline, X, y, cv=5, error_score="raise").mean()
        scaled = StandardScaler().fit_transform(X)
        model = clone(estimator)
        start = time.perf_counter()
        embedding = model.fit_transform(scaled, y)
        seconds = time.perf_counter() - start
    remarks = dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught)
    silhouette = float(silhouette_score(embedding, y))
    return Result(embedding, silhouette, float(held_out), seconds, tuple(remarks))


def table_line(*cells: str) -> str:
    """Return one aligned line of the table."""
    name, *numbers = cells
    return f"{name:<24}" + "".join(f"{number:>12}" for number in numbers)


def table_row(method: Method, result: Result) -> str:
    """Return the line of one method."""
    return table_line(
        f"{method.name} {method.mark}".rstrip(),
        f"{result.silhouette:.3f}",
        f"{result.held_out:.3f}",
        f"{result.seconds:.3f}",
    )


def footnotes(control: Result, majority: float) -> str:
    """Return what a reader has to know about the columns and the settings.

    Parameters
    ----------
    control : Result
        KLAP under permuted labels.
    majority : float
        Share of the largest class.
    """
    return f"""\
silhouette: of the embedding of all samples, under the true labels.
held-out: mean accuracy over 5 stratified folds. The scaler and the method are
    fitted without the fold, `transform` places the fold's samples, and their 7
    nearest neighbours in the embedding classify them.
seconds: one fit on all samples.
Every method has {N_NEIGHBORS} neighbours, except KLAP with its paper's .75 n.
[a] t = median d². With the paper's t = 1 most edge weights vanish on wine.
[b] Supervised: its silhouette has seen the labels, its held-out figure has not
    seen those of the fold. The same with permuted labels, a control:
    silhouette {control.silhouette:.3f}, held-out {control.held_out:.3f} \
(the largest class is {majority:.3f}).
[c] On the neighbour graph: on all pairs, as in the paper, it does much worse
    on wine. Either way one outlier takes an axis for itself."""


def draw(
    results: dict[str, Result], y: np.ndarray, class_names: Sequence[str], title: str
) -> Figure:
    """Return the picture: a panel per method, one legend.

    The sign of a coordinate is arbitrary, so each is turned until the first class
    lies left of the last and below the others.

    Parameters
    ----------
    results : dict of Result
        By the names of `methods`.
    y : array (n_samples,)
        Class labels.
    class_names : sequence of str
        Their names.
    title : str
        Title of the picture.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    by_name = {method.name: method for method in methods()}
    figure = Figure(figsize=(12, 7.1), dpi=134, facecolor="white")
    grid = figure.subplots(*np.shape(PANELS))
    figure.subplots_adjust(0.012, 0.025, 0.988, 0.845, wspace=0.05, hspace=0.27)
    for ax, name in zip(grid.flat, np.ravel(PANELS), strict=True):
        method, result = by_name[name], results[name]
        plot_embedding(
            _turned(result.embedding, y),
            y,
            ax=ax,
            class_names=class_names,
            legend=False,
            zoom=True,
        )
        _caption(ax, method, result)
    figure.text(0.012, 0.957, title, size=16, weight="bold")
    figure.legend(
        *grid.flat[0].get_legend_handles_labels(),
        loc="center right",
        bbox_to_anchor=(0.993, 0.968),
        ncols=len(class_names),
        frameon=False,
        fontsize=12,
        markerscale=1.6,
        handletextpad=0.1,
        columnspacing=1.2,
    )
    return figure


def _turned(embedding: np.ndarray, y: np.ndarray) -> np.ndarray:
    means = np.array([embedding[y == c].mean(axis=0) for c in np.unique(y)])
    wrong = np.array(
        [means[0, 0] > means[-1, 0], means[0, 1] > means[1:, 1].mean(axis=0)]
    )
    return np.where(wrong, -embedding, embedding)


def _caption(ax: Any, method: Method, result: Result) -> None:
    """Write the name, the remark and the two scores above a panel."""
    above = {"xycoords": "axes fraction", "textcoords": "offset points"}
    scores = f"silhouette {result.silhouette:.2f}   held-out {result.held_out:.2f}"
    ax.annotate(method.name, (0, 1), (0, 22), size=12, weight="bold", **above)
    ax.annotate(
        method.remark, (1, 1), (0, 22), size=9.5, color="#666666", ha="right", **above
    )
    ax.annotate(scores, (0, 1), (0, 6), size=10.5, color="#333333", **above)


def check_target(path: Path) -> None:
    """Refuse a place where no picture can be written, before any work is done."""
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"--out must end in {', '.join(FORMATS)}. Got {path} instead.")
    if path.is_dir():
        raise ValueError(f"cannot write {path}: it is a folder.")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise ValueError(
            f"cannot write {path}: {error.strerror} ({path.parent})."
        ) from None


def run() -> Figure:
    """Measure every method, print the table as it grows, return the picture."""
    wine = load_wine()
    X, y = wine.data, wine.target
    n_samples, n_features = X.shape
    print(f"wine, z-scored: {n_samples} samples, {n_features} features, 3 classes\n")
    head = table_line("method", "silhouette", "held-out", "seconds")
    print(head, "-" * len(head), sep="\n", flush=True)
    results = {}
    for method in methods():
        results[method.name] = measure(method.estimator, X, y)
        print(table_row(method, results[method.name]), flush=True)
    control = measure(klap(), X, np.random.default_rng(0).permutation(y))
    print(f"\n{footnotes(control, np.bincount(y).max() / n_samples)}")
    for name, result in [*results.items(), ("KLAP, labels permuted", control)]:
        for remark in result.remarks:
            print(f"warning, {name}: {remark}")
    names = [str(name).replace("_", " ") for name in wine.target_names]
    title = f"Wine, {n_samples} samples, from {n_features} features to 2"
    return draw(results, y, names, title)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo from the command line.

    Parameters
    ----------
    argv : sequence of str, default=None
        Arguments; None takes those of the process.

    Returns
    -------
    int
        Exit status: 0, or 2 with one line on the standard error.
    """
    parser = argparse.ArgumentParser(
        prog="python -m patchfold.studies.demo",
        description="Embed wine with every method: a picture and a table.",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("demo.png"),
        help="the picture to write (default: %(default)s)",
    )
    out = parser.parse_args(argv).out
    try:
        check_matplotlib()
        check_target(out)
    except (ImportError, ValueError) as error:
        return _fail(str(error))
    figure = run()
    try:
        drawn = io.BytesIO()
        figure.savefig(drawn, format=out.suffix.lower().lstrip("."))
        write_bytes(out, drawn.getvalue())
    except OSError as error:
        return _fail(f"cannot write {out}: {error.strerror}.")
    print(f"\nPicture: {out}")
    return 0


def _fail(message: str) -> int:
    print(f"patchfold.studies.demo: {message}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
