"""Values with arrays in them -> the same values in NumPy, or on a device of torch.

Tuples, lists, dicts and our frozen records are walked through. Sparse matrices become
CSR tensors and back. What holds no array stays what it is. torch is never imported
unless something is sent to a device.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp


def is_tensor(value: Any) -> bool:
    """Say whether a value is a torch tensor, without importing torch.

    Examples
    --------
    >>> import numpy as np
    >>> is_tensor(np.ones(3))
    False
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def first_tensor(values: Iterable[Any]) -> Any:
    """Return the first tensor among values, or in a record among them; or None.

    Lists and tuples are not looked into: they are what a caller gives in place of an
    array.
    """
    for value in values:
        if is_tensor(value):
            return value
        if _is_record(value):
            found = first_tensor(getattr(value, field.name) for field in fields(value))
            if found is not None:
                return found
    return None


def send(value: Any, device: Any, dtype: Any = None) -> Any:
    """Return a value with every array in it on a device; None is NumPy.

    A record with a method `to_numpy` says itself what it is there; one that
    `stays_in_numpy` is of no use on a device, and is not sent.

    Parameters
    ----------
    value : object
        What is sent.
    device : torch.device or None
        Where to.
    dtype : torch.dtype or None
        Floating type on the device; None keeps the one there is.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.ones(3)
    >>> send((x, "a word"), None)[0] is x
    True
    """
    if is_tensor(value):
        return _as_array(value) if device is None else _send(value, device, dtype)
    if isinstance(value, np.ndarray) or sp.issparse(value):
        return value if device is None else _as_tensor(value, device, dtype)
    if isinstance(value, tuple | list):
        parts = [send(part, device, dtype) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {name: send(part, device, dtype) for name, part in value.items()}
    if not _is_record(value):
        return value
    if device is None and hasattr(value, "to_numpy"):
        return value.to_numpy()
    names = [field.name for field in fields(value)]
    return replace(value, **{n: send(getattr(value, n), device, dtype) for n in names})


def as_float64(tensor: Any, *, copied: bool = False) -> Any:
    """Return a tensor in double precision, outside of any gradient.

    Patches are inverted: in single precision their divergences lose their digits.
    """
    import torch

    return tensor.detach().to(torch.float64, copy=copied)


def csr_tensor(pointer: Any, column: Any, data: Any, shape: tuple[int, ...]) -> Any:
    """Return a sparse tensor; torch warns of a format that it calls new."""
    import torch

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
        warnings.filterwarnings("ignore", message="Sparse invariant checks")
        return torch.sparse_csr_tensor(pointer, column, data, size=shape)


def _is_record(value: Any) -> bool:
    if not is_dataclass(value) or isinstance(value, type):
        return False
    return not getattr(value, "stays_in_numpy", False)


def _as_array(tensor: Any) -> Any:
    if tensor.layout != sys.modules["torch"].strided:
        parts = (tensor.values(), tensor.col_indices(), tensor.crow_indices())
        return sp.csr_array(tuple(map(_as_array, parts)), shape=tuple(tensor.shape))
    tensor = tensor.detach().cpu()
    if tensor.dtype.is_floating_point and tensor.dtype.itemsize < 4:
        tensor = tensor.float()  # NumPy has no bfloat16
    return tensor.numpy()


def _as_tensor(value: Any, device: Any, dtype: Any) -> Any:
    import torch

    if sp.issparse(value):
        rows = value.tocsr()
        parts = rows.indptr, rows.indices, rows.data
        pointer, column, data = (_as_tensor(part, device, dtype) for part in parts)
        return csr_tensor(pointer, column, data, rows.shape)
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        return value  # words have no place on a device
    copied = np.array(array, order="C")  # torch shares memory, and may not write to it
    return _send(torch.from_numpy(copied), device, dtype)


def _send(tensor: Any, device: Any, dtype: Any) -> Any:
    if dtype is None or not tensor.dtype.is_floating_point:
        return tensor.to(device)
    sent = tensor.to(device, dtype)
    if dtype.itemsize < 4 and sent.isinf().any() and not tensor.isinf().any():
        raise ValueError(
            f"coordinates up to {float(tensor.abs().max()):.3g} do not fit in "
            f"{dtype}: pass samples in float32."
        )
    return sent
