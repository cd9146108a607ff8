"""The papers' figures as data, and how a folder comes to hold them.

Where a paper's picture comes from its script, the script's variant stands beside the
equations. A supervised method is shown with permuted labels too: clusters that appear
there as well say nothing about the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ...backends.processes import run_pieces
from ...backends.version import __version__
from ...datasets import DatasetUnavailableError, make_letter, make_shape
from .figure_panels import Shown, show_cities, show_classes, show_curves, show_digits
from .figure_records import FigureRecord, Panel, read_figure, write_figure
from .papers import Published, published_numbers


@dataclass(frozen=True)
class Figure:
    """One figure of a paper.

    Attributes
    ----------
    name : str
        As its file is called.
    paper, number : str
        A name of `PAPERS`, and the figure's number as printed.
    subject : str
        What is embedded.
    protocol : str
        How ours is made.
    claim : str
        What the paper says of its own.
    make : callable
        From the published numbers to the panels, one by one.
    columns : int
        Panels in a row.
    """

    name: str
    paper: str
    number: str
    subject: str
    protocol: str
    claim: str
    make: Callable[[Published], Iterator[Panel]]
    columns: int = 3


def run_figures(
    names: Iterable[str],
    folder: Path,
    *,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[FigureRecord]:
    """Make the figures that a folder does not hold yet.

    A figure that had no data is tried again.

    Parameters
    ----------
    names : iterable of str
        Names of `FIGURES`.
    folder : Path
        Where the results are; figures go to `folder`/figures.
    n_jobs : int or None
        Processes, as in joblib.
    progress : callable or None
        Called with the number of finished figures and of all figures.

    Returns
    -------
    list of FigureRecord
        Old and new ones, in the order of `names`.
    """
    wanted = list(names)
    records = {name: read_figure(folder, name) for name in wanted}
    missing = [
        n for n, record in records.items() if not record or record.status != "ok"
    ]
    finished = len(wanted) - len(missing)
    if progress is not None:
        progress(finished, len(wanted))
    published = published_numbers()
    for _, record in run_pieces(
        lambda name: make_figure(name, published), missing, n_jobs=n_jobs
    ):
        write_figure(record, folder)
        records[record.name] = record
        finished += 1
        if progress is not None:
            progress(finished, len(wanted))
    return [record for record in records.values() if record is not None]


def figures_of(paper: str) -> list[str]:
    """Return the names of a paper's figures."""
    return [figure.name for figure in FIGURES.values() if figure.paper == paper]


def make_figure(name: str, published: Published) -> FigureRecord:
    """Compute one figure.

    Parameters
    ----------
    name : str
        A name of `FIGURES`.
    published : Published
        The printed numbers, to stand beside ours.

    Returns
    -------
    FigureRecord
        With the status "no data" if its dataset cannot be had.

    Examples
    --------
    >>> from patchfold.studies.reproduction.papers import Published
    >>> figure = make_figure("cauchy-cities", Published({}, {}))
    >>> [round(panel.facts["kilometres"], -3) for panel in figure.panels]
    [25000.0, 24000.0]
    """
    try:
        panels = tuple(FIGURES[name].make(published))
    except DatasetUnavailableError:
        return FigureRecord(name, "no data", version=__version__)
    return FigureRecord(name, "ok", panels, __version__)


def _own(method: str, n_neighbors: int | float) -> tuple[Shown, Shown]:
    return (
        Shown(method, "equations", n_neighbors),
        Shown(method, "released", n_neighbors),
    )


def _klap(n_neighbors: float) -> tuple[Shown, ...]:
    names = ("ISOMAP", "TSNE", "UMAP", "SPCA", "LDA")
    control = Shown("KLAP", "released", n_neighbors, permuted=True)
    return (*map(Shown, names), *_own("KLAP", n_neighbors), control)


_TOGETHER = "published: all samples embedded together, z-scored features"
_NO_SCALE = (
    "the paper prints no σ, so two are shown: c=1 (of `decay_scale`) and 100 steps at "
    "most, as in the recipe, and c=2 run to its end, picked out of several values for "
    "the order it gives"
)


def _elap() -> Iterator[Figure]:
    yield Figure(
        "elap-parity5",
        "elap",
        "3",
        "parity5",
        f"{_TOGETHER}; K as in the figure",
        "the classes are easier to tell apart with ELAP than with LAP: less overlap",
        partial(
            show_classes,
            *("elap", "2", "mean_accuracy_4", "parity5"),
            (Shown("LAP"), *_own("ELAP", 2)),
        ),
    )


def _pelle() -> Iterator[Figure]:
    yield Figure(
        "pelle-corral",
        "pelle",
        "1",
        "corral",
        f"{_TOGETHER}; K as in the figure",
        "the classes are easier to tell apart with PELLE than with LLE: less overlap",
        partial(
            show_classes,
            *("pelle", "1", "mean_accuracy_4", "corral"),
            (Shown("LLE"), *_own("PELLE", 14)),
        ),
    )


def _isomap_kl() -> Iterator[Figure]:
    shown = (Shown("ISOMAP"), Shown("ISOMAP-KL", "equations", 40))
    for number, dataset in (("2", "mfeat-fourier"), ("3", "texture")):
        yield Figure(
            f"isomap-kl-{dataset}",
            "isomap-kl",
            number,
            dataset,
            f"{_TOGETHER}; K as in table 2, patches without their centre",
            "the clusters of ISOMAP-KL overlap less than those of ISOMAP",
            partial(show_classes, "isomap-kl", "1", "silhouette", dataset, shown),
        )


def _klap_figures() -> Iterator[Figure]:
    for number, dataset, fraction in (
        ("2", "mfeat-fourier", 0.9),
        ("3", "vehicle", 0.75),
    ):
        yield Figure(
            f"klap-{dataset}",
            "klap",
            number,
            dataset,
            f"{_TOGETHER}, and all labels given to KLAP, LDA and SPCA; K and t as in "
            "table 1; one panel has permuted labels, the control",
            "the clusters of KLAP suit the discrimination of the classes best",
            partial(show_classes, "klap", "1", "silhouette", dataset, _klap(fraction)),
            columns=4,
        )


def _cauchy() -> Iterator[Figure]:
    shapes = {
        "C": make_shape("C")[0],
        "S of 270°": make_shape("S")[0],
        "S of 200°": make_shape("S", sweep=200.0)[0],
    }
    yield Figure(
        "cauchy-shapes",
        "cauchy",
        "1",
        "57 points on a C and on an S",
        f"all pairs, one coordinate; {_NO_SCALE}; its S is not defined either, and the "
        "flatter one is here because it can be unrolled",
        "the Laplacian disorders the points of both shapes, Cauchy unrolls them",
        partial(show_curves, shapes),
        columns=len(shapes),
    )
    letters = {letter: make_letter(letter)[0] for letter in "ICML"}
    yield Figure(
        "cauchy-letters",
        "cauchy",
        "2",
        "150 points on each of the letters I, C, M, L",
        f"all pairs, one coordinate; {_NO_SCALE}",
        "Cauchy keeps more of the local topology, is perfect on M where the Laplacian "
        "disorders the points, and is the same on L",
        partial(show_curves, letters),
        columns=len(letters),
    )
    yield Figure(
        "cauchy-digits",
        "cauchy",
        "4 (b)",
        "digits 0, 3, 6 and 9",
        "scikit-learn's digits, as the paper's MNIST sample is not known; not scaled; "
        "the last panel is not in the paper; figure 4 (a), the letters of BinAlpha: no "
        "data",
        "the Laplacian lets the classes collapse, Cauchy shows them more clearly, and "
        "a minimum distance spreads them evenly",
        partial(show_digits, (0, 3, 6, 9)),
        columns=2,
    )
    yield Figure(
        "cauchy-cities",
        "cauchy",
        "5",
        "49 cities of the USA",
        "capitals of 48 states and Washington, all pairs of great-circle distances, "
        "one coordinate, run to its end",
        "the Laplacian path is long and ends in Olympia and Augusta; the Cauchy path "
        "is efficient and ends in Phoenix and Sacramento",
        show_cities,
        columns=2,
    )


FIGURES = {
    figure.name: figure
    for figures in (_elap(), _pelle(), _isomap_kl(), _klap_figures(), _cauchy())
    for figure in figures
}
"""All figures by name, in the order of the papers."""
