"""Which array library an array belongs to, by the array API standard.

The batched stages (patches, divergences, curvature, edge weights) take their functions
from here and so run on any library that follows the standard. NumPy is one; torch
needs the `array-api-compat` package, which the `torch` extra installs.
"""

from __future__ import annotations

from typing import Any

Array = Any
"""An array of any library that follows the array API standard."""


def array_namespace(array: Array) -> Any:
    """Return the module whose functions work on `array`.

    Examples
    --------
    >>> import numpy as np
    >>> array_namespace(np.ones(3)).__name__
    'numpy'
    """
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    try:
        from array_api_compat import array_namespace as compatible_namespace
    except ImportError as error:
        raise ImportError(
            f"arrays of type {type(array).__name__} need the array-api-compat "
            'package: pip install "patchfold[torch]"'
        ) from error
    return compatible_namespace(array)


def identity_like(matrices: Array) -> Array:
    """Return the identity matrix for a batch of square matrices, on its device."""
    xp = array_namespace(matrices)
    size = matrices.shape[-1]
    return xp.eye(size, dtype=matrices.dtype, device=matrices.device)
