"""The rows of the bench, with their targets."""

from __future__ import annotations

from .kinds import KINDS
from .rows import Growth, Limit, Stages, Versus

VERSUS = (
    Versus(
        "elap, m=12, K=15",
        "elap, small",
        "elap, a loop",
        800,
        1 / 50,
        800,
        10,
        lasts=(8, 8),
    ),
    Versus(
        "klap, m=12, K=.75n",
        "klap",
        "klap, a loop",
        800,
        1 / 500,
        None,
        3,
        lasts=(125, 0),
    ),
    Versus("PatchIsomap", "PatchIsomap", "Isomap", 8000, 0.5, 3000, lasts=(24, 4.5)),
    Versus(
        "PatchEigenmaps",
        "PatchEigenmaps",
        "SpectralEmbedding",
        8000,
        0.7,
        8000,
        2,
        lasts=(4, 4),
    ),
    Versus(
        "PatchLLE", "PatchLLE", "LocallyLinearEmbedding", 8000, 0.5, 8000, lasts=(5, 5)
    ),
    Versus("elap", "elap", "umap", 100_000, 0.4, None, 1, "umap", 0.97, lasts=(70, 0)),
    Versus(
        "transform",
        "elap, transform",
        "umap, transform",
        100_000,
        0.1,
        None,
        3,
        "umap",
        lasts=(72, 0),
    ),
    Versus(
        "CauchyMap", "CauchyMap", "umap", 50_000, 0.15, None, 1, "umap", lasts=(50, 0)
    ),
    Versus(
        "CauchyMap", "CauchyMap", "umap", 100_000, 0.15, None, 1, "umap", lasts=(99, 0)
    ),
    Versus(
        "CauchyMap, transform",
        "CauchyMap, transform",
        "umap, transform",
        100_000,
        0.05,
        None,
        1,
        "umap",
        lasts=(90, 0),
    ),
    *(
        Versus(
            f"PatchLLE, {shape}",
            "PatchLLE, wide",
            "LocallyLinearEmbedding, wide",
            n,
            1.0,
            n if n < 1000 else None,
            10 if n < 1000 else 1,
            lasts=lasts,
        )
        for n, shape, lasts in (
            (72, "72 x 7,129", (2.5, 2.5)),
            (102, "102 x 5,966", (2.5, 2.5)),
            (10_000, "10,000 x 784", (176, 0)),
        )
    ),
    Versus(
        "PatchPosterior, 10 classes",
        "PatchPosterior",
        "NeighborhoodComponentsAnalysis",
        2000,
        0.5,
        None,
        lasts=(12, 0),
    ),
    Versus(
        "a sweep, K = 2 ... 40",
        "sweep",
        "separate fits",
        2000,
        0.6,
        2000,
        lasts=(8, 8),
    ),
    Versus(
        "import",
        "import patchfold",
        "import sklearn.manifold",
        1,
        1.1,
        1,
        5,
        lasts=(9, 9),
    ),
)

KIND_ROWS = tuple(
    Versus(
        f"elap, {name}",
        f"elap, {name}",
        f"normal data, {name}",
        kind.n,
        2.0,
        kind.quick,
        2,
        lasts=(12, 0 if kind.quick is None else 3),
    )
    for name, kind in KINDS.items()
)
"""No kind of data may take more than twice the time of normal data of its shape."""

STAGES = (Stages("stages", 8000, 3000, lasts=(25, 6)),)

LIMITS = (
    Limit("CauchyMap, 200 samples", "CauchyMap", 0.05, 10, 200, 200, lasts=(3, 3)),
    Limit("patchfold --help", "patchfold --help", 0.5, lasts=(2.5, 2.5)),
    Limit(
        "PatchPosterior, 10 classes",
        "PatchPosterior",
        20,
        1,
        10_000,
        2000,
        lasts=(5, 3),
    ),
    Limit(
        "PatchPosterior, a million",
        "PatchPosterior",
        120,
        1,
        1_000_000,
        3000,
        lasts=(80, 3),
    ),
    Limit(
        "PatchPosterior, predict",
        "PatchPosterior, predict",
        30,
        1,
        1_000_000,
        3000,
        lasts=(50, 3),
    ),
    Limit("klap, K=30", "klap, K=30", 10, 1, 100_000, 3000, lasts=(10, 3)),
)

GROWTH = (
    Growth(
        "elap",
        "elap",
        (10_000, 100_000, 1_000_000),
        1.15,
        (10_000, 100_000),
        lasts=(122, 13),
    ),
    Growth(
        "isomap_kl, 100 landmarks",
        "isomap_kl, landmarks",
        (10_000, 100_000, 1_000_000),
        1.15,
        (1000, 3000, 10_000),
        lasts=(99, 5.5),
    ),
    Growth(
        "PatchLLE", "PatchLLE", (10**5, 10**6), 1.15, (20_000, 40_000), 1, lasts=(99, 8)
    ),
    Growth(
        "CauchyMap", "CauchyMap", (10**5, 10**6), 1.15, (3000, 10_000), 1, lasts=(99, 5)
    ),
    Growth(
        "CauchyEmbedding",
        "CauchyEmbedding",
        (3000, 10_000, 100_000),
        1.15,
        (1000, 3000, 10_000),
        lasts=(11, 5.5),
    ),
    Growth(
        "PatchPosterior",
        "PatchPosterior",
        (3000, 10_000, 100_000),
        1.15,
        (1000, 3000),
        lasts=(48, 5),
    ),
    Growth(
        "",
        "SpectralEmbedding",
        (1000, 10_000, 30_000),
        0,
        (1000, 3000, 10_000),
        1,
        lasts=(36, 6),
    ),
    Growth("", "Isomap", (1000, 2000, 4000, 8000), 0, (), 1, lasts=(27, 0)),
)
"""Rows without a name are not judged: peers, for the picture."""
