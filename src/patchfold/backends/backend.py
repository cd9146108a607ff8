"""Where arrays live, and who works on them: NumPy and SciPy, or torch on a device.

This is the one place that decides it. A stage is a function written for NumPy; marked
`on_any_device` it takes tensors too. Where `TWINS` names an implementation for tensors,
that one is called; otherwise the tensors are brought to NumPy, and the results go back.
An estimator asks once for the backend of its samples (`backend_for`), and gives back
its results by it. Work that cannot fit in the memory there is refused, before it starts
and in words. torch is never imported unless a tensor is there already, or a device
is asked for.

The batched stages (patches, divergences, curvature, edge weights) take their functions
from `array_namespace`, and so run on any library that follows the array API standard.
NumPy is one; torch needs the `array-api-compat` package, which the `torch` extra
installs.
"""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..exceptions import MemoryBudgetError
from .tensors import devices
from .tensors.transfer import first_tensor, is_tensor, send

Array = Any
"""An array of any library that follows the array API standard."""

F = TypeVar("F", bound=Callable[..., Any])

TWINS = {
    "barycentric_weights": "reconstruction",
    "bottom_eigenpairs": "spectral",
    "check_samples": "validation",
    "choose_search": "tiles",
    "curve_order": "field.order",
    "edge_pattern": "graph",
    "entropic_weights": "reconstruction",
    "find_axes": "field.start",
    "find_pieces": "graph",
    "geodesics": "paths",
    "graph_of": "field.attraction",
    "hash_order": "field.order",
    "in_input_order": "field.attraction",
    "laplacian": "graph",
    "measure_candidates": "joining",
    "median": "graph",
    "middle_of_samples": "field.attraction",
    "mirror_edges": "graph",
    "nearest_others": "tiles",
    "nearest_rotation": "spectral",
    "nearest_samples": "tiles",
    "products_of_columns": "reconstruction",
    "project": "field.start",
    "pull_along": "graph",
    "quantile_of_last": "field.attraction",
    "recognise": "field.placing",
    "relation_matrix": "reconstruction",
    "row_keys": "field.order",
    "scale_both_sides": "graph",
    "settle_all": "field.placing",
    "take_steps": "field.descent",
    "unite": "field.attraction",
    "unite_relations": "graph",
    "weighted_means": "reconstruction",
    "weighted_pairs": "field.attraction",
    "weighted_sums": "reconstruction",
}
"""Stages that tensors have their own implementation of, and the module of `tensors`
where it is. It has the name and the parameters of the stage. Where it returns
NotImplemented, the stage is done in NumPy."""


GROUPS = Path("/sys/fs/cgroup")
"""Where Linux says how much a container may use, in either version of its groups."""

LIMITS = "memory.max", "memory/memory.limit_in_bytes"

BYTES_PER_EDGE = 150
"""What one neighbour of one sample costs at the peak: indices, sorting, weights."""

BYTES_IN_TABLE, BYTES_PER_SAMPLE = 55, 600
"""The same in memory where all samples have equally many, and what a sample costs
beside them and its features."""

BLAS_ROOM = 2**26
"""What must be free at least: BLAS ends the process, without an error that could be
caught, where it finds no room for its own buffers."""


@dataclass(frozen=True)
class Backend:
    """A place for arrays.

    Attributes
    ----------
    device : torch.device or None
        None is NumPy.
    dtype : dtype or None
        Floating type of what was given, of torch or NumPy; results are given back in
        it. None keeps theirs.
    """

    device: Any = None
    dtype: Any = None

    @property
    def is_numpy(self) -> bool:
        """Whether arrays here are of NumPy, not tensors."""
        return self.device is None

    def bring(self, value: Any) -> Any:
        """Return a value with every array in it here, to be worked on."""
        return send(value, self.device) if "torch" in sys.modules else value

    def give_back(self, value: Any) -> Any:
        """Return a result with every array in it here, in the precision of the input.

        Examples
        --------
        >>> import numpy as np
        >>> x = np.ones(3)
        >>> backend_for(x).give_back(x) is x
        True
        >>> backend_for(np.ones(3, np.float32)).give_back(x).dtype
        dtype('float32')
        """
        if self.device is None and self.dtype is not None:
            return NUMPY.bring(value).astype(self.dtype, copy=False)
        if "torch" not in sys.modules:  # nothing is a tensor, nor becomes one
            return value
        return send(value, self.device, self.dtype)

    def draws_maps(self) -> bool:
        """Say whether all of CauchyMap is computed here."""
        return not self.is_numpy and devices.draws_maps(self.device)

    @contextmanager
    def working_on(self, X: Any, remedy: str) -> Iterator[None]:
        """Cut work into blocks of the device's size, and say when it is full.

        In NumPy nothing changes.

        Parameters
        ----------
        X : array or tensor (n, m)
            What is worked on.
        remedy : str
            What to do if the device is full.
        """
        if self.device is None or self.device.type == "cpu":
            yield
            return
        what = f"work on {X.shape[0]} samples with {X.shape[-1]} features"
        with (
            devices.device_blocks(devices.block_bytes(self.device)),
            devices.plain_memory_errors(what, remedy),
        ):
            yield

    def copy_model(self, model: Any) -> Any:
        """Return a copy of a fitted model as if it had been fitted here."""
        moved = copy.copy(model)
        vars(moved).update(self.give_back(vars(model)))
        return moved

    def fit(self, model: Any, X: Any, y: Any) -> Any:
        """Fit a model to samples in NumPy here, and bring what is fitted to NumPy."""
        model.fit(self.give_back(np.asarray(X)), y)
        vars(model).update(NUMPY.bring(vars(model)))
        return model


NUMPY = Backend()

NUMPY_SINGLE = Backend(dtype=np.dtype(np.float32))
"""NumPy, for samples in single precision: work is done in double precision."""


def backend_for(X: Any) -> Backend:
    """Return where an array lives; anything but a tensor is NumPy's.

    A frame is in single precision if all of its columns are.

    Examples
    --------
    >>> import numpy as np
    >>> backend_for(np.ones(3)).is_numpy
    True
    """
    if "torch" in sys.modules and is_tensor(X):
        return Backend(X.device, X.dtype if X.dtype.is_floating_point else None)
    kinds = column_types(X) if hasattr(X, "columns") else [getattr(X, "dtype", None)]
    single = set(map(str.lower, map(str, kinds))) == {"float32"}
    return NUMPY_SINGLE if single else NUMPY


def column_types(X: Any) -> list[Any]:
    """Return the type of every column of a frame, or of an array or series the one.

    Examples
    --------
    >>> import numpy as np
    >>> column_types(np.ones((3, 2)))
    [dtype('float64')]
    """
    columns = X.dtypes if hasattr(X, "dtypes") and hasattr(X, "columns") else ()
    return list(columns) or [getattr(X, "dtype", None)]


def find_backend(device: str) -> Backend:
    """Return the torch device of that name, in double precision; NumPy if it is empty.

    Raises
    ------
    ImportError
        Without torch.
    ValueError
        If there is no such device here.
    """
    if not device:
        return NUMPY
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f'device={device!r} needs torch: pip install "patchfold[torch]"'
        ) from error
    try:
        found = torch.empty(0, device=device).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ValueError(
            f"device={device!r} cannot be used here: {reason}. Leave it out, or pass "
            "'cpu'."
        ) from error
    return Backend(found, torch.float64)


def on_any_device(stage: F) -> F:
    """Let a function that is written for NumPy take tensors, and return them.

    Without a tensor among its arguments it is called as it is. Its twin is called
    where it is; else results go where the first tensor was.

    Examples
    --------
    >>> import numpy as np
    >>> on_any_device(np.sort)(np.array([2, 1])).tolist()
    [1, 2]
    """
    name = stage.__name__

    @wraps(stage)
    def call(*args: Any, **kwargs: Any) -> Any:
        if "torch" not in sys.modules:
            return stage(*args, **kwargs)
        tensor = first_tensor((*args, *kwargs.values()))
        if tensor is None:
            return stage(*args, **kwargs)
        if name in TWINS:
            module = import_module(f".tensors.{TWINS[name]}", __package__)
            found = getattr(module, name)(*args, **kwargs)
            if found is not NotImplemented:
                return found
        args, kwargs = NUMPY.bring((args, kwargs))
        return backend_for(tensor).give_back(stage(*args, **kwargs))

    return call  # type: ignore[return-value]


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


def add_to_diagonals(matrices: Array, values: Array) -> Array:
    """Return a batch of square matrices, each with its value added on the diagonal.

    Arrays of NumPy are overwritten: matrices that are as many as patches are not to be
    read and written again for the sake of their diagonals.

    Examples
    --------
    >>> import numpy as np
    >>> add_to_diagonals(np.ones((1, 2, 2)), np.array([5.0])).tolist()
    [[[6.0, 1.0], [1.0, 6.0]]]
    """
    if isinstance(matrices, np.ndarray):
        np.einsum("nii->ni", matrices)[...] += values[:, None]  # a view
        return matrices
    return matrices + values[:, None, None] * identity_like(matrices)


def in_32_bits(indices: Array) -> Array:
    """Return indices of samples in half the memory; tensors index by 64 bits only."""
    return indices.astype(np.int32) if isinstance(indices, np.ndarray) else indices


def physical_memory() -> int:
    """Return the memory in bytes; a great deal where the machine does not say.

    A process in a container, or one whose address space is limited (`ulimit -v`), has
    no more than that.
    """
    try:
        import resource

        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    except (AttributeError, ImportError, ValueError, OSError):
        return 2**62
    limits = [machine] if limit == resource.RLIM_INFINITY else [machine, limit]
    for name in LIMITS:
        with suppress(OSError, ValueError):  # no such file, or "max"
            limits.append(int((GROUPS / name).read_text()))
    return min(limits)


def require_memory(n_bytes: float, what: str, remedy: str, *, like: Any = None) -> None:
    """Raise MemoryBudgetError if `what` needs more than the machine has.

    Parameters
    ----------
    n_bytes : float
        An estimate of the peak.
    what : str
        What needs it, with its numbers.
    remedy : str
        Which parameter to change.
    like : array or None
        Where the work will be done: of a tensor's device, what is free counts.
    """
    device = backend_for(like).device
    if device is not None and device.type != "cpu":
        free = devices.free_memory(device)
        if n_bytes > free:
            raise MemoryBudgetError(
                f"{what} would need about {n_bytes / 2**30:.1f} GiB, and the device "
                f"{device} has {free / 2**30:.1f} free. {remedy}"
            )
        return
    have = physical_memory()
    if n_bytes > have:
        raise MemoryBudgetError(
            f"{what} would need about {n_bytes / 2**30:.1f} GiB, and this machine has "
            f"{have / 2**30:.1f}. {remedy}"
        )
    try:
        np.empty(BLAS_ROOM, dtype=np.uint8)
    except MemoryError:
        raise MemoryBudgetError(
            f"{what}: less than {BLAS_ROOM >> 20} MiB of memory are left. {remedy}"
        ) from None
