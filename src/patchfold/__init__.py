"""Manifold learning that compares neighbourhoods, not points."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .backends.version import __version__

if TYPE_CHECKING:
    from . import cluster, datasets, exceptions, metrics, plotting, tables
    from .backends.environment import show_versions
    from .comparison import Comparison, compare
    from .estimators import (
        CauchyEmbedding,
        CauchyMap,
        PatchEigenmaps,
        PatchIsomap,
        PatchLLE,
        PatchPosterior,
        PatchProjection,
        TableEncoder,
    )
    from .estimators.recipes import cauchy, elap, isomap_kl, klap, pelle
    from .estimators.selection import select_n_neighbors
    from .estimators.sweep import fit_sweep
    from .records import Patches
    from .tables.models.saving import load_model, save_model

__all__ = [
    "CauchyEmbedding",
    "CauchyMap",
    "Comparison",
    "PatchEigenmaps",
    "PatchIsomap",
    "PatchLLE",
    "PatchPosterior",
    "PatchProjection",
    "Patches",
    "TableEncoder",
    "__version__",
    "cauchy",
    "cluster",
    "compare",
    "datasets",
    "elap",
    "exceptions",
    "fit_sweep",
    "isomap_kl",
    "klap",
    "load_model",
    "metrics",
    "pelle",
    "plotting",
    "save_model",
    "select_n_neighbors",
    "show_versions",
    "tables",
]

_MODULES = {
    "backends.environment": ("show_versions",),
    "comparison": ("Comparison", "compare"),
    "estimators": (
        "CauchyEmbedding",
        "CauchyMap",
        "PatchEigenmaps",
        "PatchIsomap",
        "PatchLLE",
        "PatchPosterior",
        "PatchProjection",
        "TableEncoder",
    ),
    "patches": ("Patches",),
    "tables.models": ("load_model", "save_model"),
    "estimators.recipes": ("cauchy", "elap", "isomap_kl", "klap", "pelle"),
    "estimators.selection": ("select_n_neighbors",),
    "estimators.sweep": ("fit_sweep",),
}
"""The module of every public name that is not itself one."""


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for.

    The parts need SciPy and scikit-learn, which take seconds to load; `patchfold
    --help` needs neither.
    """
    value: Any
    if name in ("cluster", "datasets", "exceptions", "metrics", "plotting", "tables"):
        value = import_module(f".{name}", __name__)
    else:
        path = next((path for path, names in _MODULES.items() if name in names), None)
        if path is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f".{path}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
