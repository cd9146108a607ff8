"""What this installation consists of: versions, loops, BLAS, threads and devices."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from joblib import cpu_count
from threadpoolctl import threadpool_info

from .native.loops import instruction_set, is_compiled
from .version import __version__

PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "joblib",
    "threadpoolctl",
    "matplotlib",
    "pandas",
    "polars",
    "pyarrow",
    "plotly",
    "rich",
    "skops",
    "typer",
    "umap-learn",
    "scikit-posthocs",
    "dask",
    "distributed",
    "torch",
    "array-api-compat",
)
"""Dependencies, those of the extras included."""


def show_versions() -> None:
    """Print what a report of a defect needs: versions, loops, BLAS, threads, devices.

    Examples
    --------
    >>> import patchfold as pf
    >>> pf.show_versions()
    patchfold: ...
    Python: ...
    """
    for name, value in describe_environment().items():
        print(f"{name}: {value}")


def describe_environment() -> dict[str, str]:
    """Return what `show_versions` prints, by name."""
    return {
        "patchfold": __version__,
        "Python": f"{platform.python_version()} ({sys.executable})",
        "system": f"{platform.platform()}, {platform.machine()}",
        **describe_speed(),
        "devices": ", ".join(_devices()) or "none",
        **{name: installed_version(name) or "not installed" for name in PACKAGES},
    }


def describe_speed() -> dict[str, str]:
    """Return what decides how fast a fit is: loops, BLAS and threads.

    Examples
    --------
    >>> list(describe_speed())
    ['loops', 'BLAS', 'threads']
    """
    if is_compiled():
        loops = f"compiled ({instruction_set()})"
    else:
        loops = "arrays (not compiled)"
    return {"loops": loops, "BLAS": _blas(), "threads": str(cpu_count())}


def speed_line() -> str:
    """Return what `describe_speed` says, in one line.

    Examples
    --------
    >>> speed_line()
    'loops ..., BLAS ..., threads ...'
    """
    return ", ".join(f"{name} {value}" for name, value in describe_speed().items())


def version_lines() -> str:
    """Return what `patchfold --version` prints: the version, then the speed line.

    Examples
    --------
    >>> print(version_lines())
    patchfold ...
    loops ..., BLAS ..., threads ...
    """
    return f"patchfold {__version__}\n{speed_line()}"


def installed_version(package: str) -> str | None:
    """Return the version of a package; None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _blas() -> str:
    """Name the BLAS that NumPy and SciPy loaded."""
    import scipy.linalg  # noqa: F401  # loads SciPy's BLAS

    found: list[dict[str, Any]] = threadpool_info()
    names = [
        " ".join(
            filter(None, (pool["internal_api"], pool["version"], _architecture(pool)))
        )
        for pool in found
        if pool["user_api"] == "blas"
    ]
    return ", ".join(sorted(set(names))) or "unknown"


def require_packages(what: str, packages: Sequence[str]) -> None:
    """Raise ImportError, with the extra to install, for what packages of `cli` do."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        needed = " and ".join(missing)
        raise ImportError(f'{what} needs {needed}: pip install "patchfold[cli]".')


def _architecture(pool: dict[str, Any]) -> str:
    return f"({pool['architecture']})" if pool.get("architecture") else ""


def _devices() -> list[str]:
    """Name the devices that torch can compute on; none without torch."""
    if find_spec("torch") is None:
        return []
    import torch

    found = [
        f"cuda:{number} ({torch.cuda.get_device_name(number)})"
        for number in range(torch.cuda.device_count())
    ]
    return found + ["mps"] * bool(torch.backends.mps.is_available())
