"""Draw handwritten digits four ways: one picture and one table.

Run it with `python -m patchfold.studies.demo`, or `make demo` in a checkout.
"""

from __future__ import annotations

import argparse
import importlib.util
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
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from ..backends.files import write_bytes
from ..estimators import CauchyMap, PatchPosterior
from ..metrics import neighborhood_hits
from ..plotting import check_matplotlib, plot_embedding

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".pdf", ".svg")

FOOTNOTES = """\
neighbours kept: share of a sample's 15 nearest neighbours among all features that
    are among its 15 nearest in the picture.
held-out: the method is fitted on one half of the samples and places the other
    half; their 7 nearest neighbours in the picture classify them. t-SNE cannot
    place new samples.
seconds: one fit on all samples. UMAP compiles itself before, which is not counted.
PatchPosterior is fitted with labels. Its picture shows only the half of the samples
    that it has not seen, so no count of kept neighbours is given."""


@dataclass(frozen=True)
class Method:
    """A row of the table and a panel of the picture.

    Attributes
    ----------
    name : str
        Name of the method.
    estimator : estimator
        Not fitted.
    remark : str
        Goes under the title of the panel.
    has_labels : bool
        Whether it is fitted with labels, and drawn on samples it has not seen.
    """

    name: str
    estimator: Any
    remark: str = ""
    has_labels: bool = False


@dataclass(frozen=True)
class Result:
    """What was measured of a method.

    Attributes
    ----------
    embedding : array (n_drawn, 2)
        Coordinates of the samples that are drawn.
    labels : array (n_drawn,)
        Their classes.
    kept : float
        Share of nearest neighbours that are kept; NaN if not all samples are drawn.
    held_out : float
        Accuracy on samples that were not in the fit; NaN if they cannot be placed.
    seconds : float
        Time of one fit on all samples.
    """

    embedding: np.ndarray
    labels: np.ndarray
    kept: float
    held_out: float
    seconds: float


def methods() -> list[Method]:
    """Return t-SNE, UMAP where it is installed, and our two."""
    from sklearn.manifold import TSNE

    peers = [Method("t-SNE", TSNE(random_state=0), "scikit-learn")]
    if importlib.util.find_spec("umap"):
        from umap import UMAP

        peers.append(Method("UMAP", UMAP(random_state=0, n_jobs=1), "umap-learn"))
    return [
        *peers,
        Method("CauchyMap", CauchyMap()),
        Method("PatchPosterior", PatchPosterior(), "with labels", True),
    ]


def measure(method: Method, X: np.ndarray, y: np.ndarray) -> Result:
    """Measure one method on samples X with labels y.

    Parameters
    ----------
    method : Method
        Its estimator is fitted twice: on all samples, and on one half of them.
    X : array (n_samples, n_features)
        Samples.
    y : array (n_samples,)
        Class labels.

    Returns
    -------
    Result
    """
    model = method.estimator
    known, new, y_known, y_new = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=0
    )
    held_out, kept = np.nan, np.nan
    if hasattr(model, "transform"):
        places = model.fit_transform(known, y_known if method.has_labels else None)
        drawn = model.transform(new)
        classifier = KNeighborsClassifier(7).fit(places, y_known)
        held_out = float(classifier.score(drawn, y_new))
    start = time.perf_counter()
    embedding = model.fit_transform(X, y if method.has_labels else None)
    seconds = time.perf_counter() - start
    if method.has_labels:
        return Result(drawn, y_new, kept, held_out, seconds)
    kept = float(neighborhood_hits(X, embedding))
    return Result(embedding, y, kept, held_out, seconds)


def table_line(*cells: str) -> str:
    """Return one aligned line of the table."""
    name, *numbers = cells
    return f"{name:<20}" + "".join(f"{number:>18}" for number in numbers)


def table_row(method: Method, result: Result) -> str:
    """Return the line of one method."""
    numbers = (result.kept, result.held_out)
    cells = ("" if np.isnan(number) else f"{number:.3f}" for number in numbers)
    return table_line(method.name, *cells, f"{result.seconds:.2f}")


def draw(results: dict[str, Result], remarks: dict[str, str], title: str) -> Figure:
    """Return the picture: a panel per method, one legend.

    Parameters
    ----------
    results : dict of Result
        By the name of the method.
    remarks : dict of str
        What stands beside each name.
    title : str
        Title of the picture.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.2 * len(results), 4.2), dpi=125, facecolor="white")
    row = figure.subplots(1, len(results), squeeze=False)[0]
    figure.subplots_adjust(0.008, 0.02, 0.992, 0.74, wspace=0.04)
    for ax, (name, result) in zip(row, results.items(), strict=True):
        plot_embedding(result.embedding, result.labels, ax=ax, legend=False)
        _caption(ax, name, remarks[name], result)
    figure.text(0.008, 0.93, title, size=15, weight="bold")
    figure.legend(
        *row[0].get_legend_handles_labels(),
        loc="center right",
        bbox_to_anchor=(0.996, 0.95),
        ncols=10,
        frameon=False,
        fontsize=12,
        markerscale=2,
        handletextpad=0,
        columnspacing=0.8,
    )
    return figure


def _caption(ax: Any, name: str, remark: str, result: Result) -> None:
    """Write the name, the remark and the scores above a panel."""
    above = {"xycoords": "axes fraction", "textcoords": "offset points"}
    scores = [f"{result.seconds:.2f} s"]
    if not np.isnan(result.held_out):
        scores.insert(0, f"held-out {result.held_out:.3f}")
    if not np.isnan(result.kept):
        scores.insert(0, f"kept {result.kept:.2f}")
    ax.annotate(name, (0, 1), (0, 23), size=13, weight="bold", **above)
    ax.annotate(remark, (1, 1), (0, 23), size=9, color="#555", ha="right", **above)
    ax.annotate("   ".join(scores), (0, 1), (0, 6), size=11, color="#333", **above)


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
    X, y = load_digits(return_X_y=True)
    print(f"digits: {len(X):,} images, {X.shape[1]} pixels, 10 classes\n")
    head = table_line("method", "neighbours kept", "held-out", "seconds")
    print(head, "-" * len(head), sep="\n", flush=True)
    results, remarks = {}, {}
    for method in methods():
        with warnings.catch_warnings():
            # UMAP warns that a fixed seed means one thread.
            if method.name == "UMAP":
                warnings.simplefilter("ignore")
            results[method.name] = measure(method, X, y)
        remarks[method.name] = method.remark
        print(table_row(method, results[method.name]), flush=True)
    print(f"\n{FOOTNOTES}")
    if "UMAP" not in results:
        print('UMAP is not installed: pip install "patchfold[demo]" adds its panel.')
    return draw(results, remarks, f"{len(X):,} handwritten digits, 64 pixels each")


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
        description="Draw handwritten digits four ways: a picture and a table.",
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
