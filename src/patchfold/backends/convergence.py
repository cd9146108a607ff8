"""Which eigenpairs are accepted: the one rule of all eigensolvers, on every device."""

from __future__ import annotations

import numpy as np

DENSE_LIMIT = 600
"""Up to this many samples a dense eigensolver is used by `eigen_solver="auto"`."""

RESIDUAL = 1e-4
"""Largest residual of an accepted eigenpair, relative to its eigenvalue ..."""

ROUNDING = 1e-10
"""... or, if that is more, relative to the size of the matrix."""

TOLERANCE = 1e-10
"""Where an iteration with the matrix itself stops, relative to its size."""


def check_residuals(residual: np.ndarray, values: np.ndarray, size: float) -> None:
    """Raise RuntimeError unless every eigenpair has converged.

    Parameters
    ----------
    residual, values : arrays (d,)
        Length of M v - λ v, and λ, of each eigenpair.
    size : float
        Size of the matrix: its largest sum of magnitudes in a row.
    """
    allowed = np.maximum(RESIDUAL * np.abs(values), ROUNDING * size)
    if not (residual <= allowed).all():
        worst = int(np.argmax(residual / allowed))
        raise RuntimeError(
            f"the eigenvector at {values[worst]:.3g} has a residual of "
            f"{residual[worst]:.2g}, over the {allowed[worst]:.2g} allowed; set "
            "eigen_solver='dense'."
        )
