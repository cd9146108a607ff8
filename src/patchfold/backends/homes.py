"""Where arrays live: in NumPy, or in torch on a device; and how they move.

Input decides where work is done. What has an implementation for tensors runs on their
device; a function marked `hosted` has none: its tensors are brought here, and what it
returns goes back to the device they came from. torch is never imported unless a tensor
is there already, or is asked for.
"""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import wraps
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from ..exceptions import MemoryBudgetError
from .arrays import Array

F = TypeVar("F", bound=Callable[..., Any])
Model = TypeVar("Model", bound=Any)


@dataclass(frozen=True)
class Home:
    """A place for arrays.

    Attributes
    ----------
    device : torch.device or None
        None is NumPy.
    dtype : torch.dtype or None
        Floating type of what was given; results are returned in it. None keeps theirs.
    """

    device: Any = None
    dtype: Any = None


HERE = Home()
"""NumPy."""


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


def home_of(value: Any) -> Home:
    """Return where an array lives; of anything but a tensor, `HERE`.

    Examples
    --------
    >>> import numpy as np
    >>> home_of(np.ones(3)) == HERE
    True
    """
    if not is_tensor(value):
        return HERE
    return Home(value.device, value.dtype if value.dtype.is_floating_point else None)


def move(value: Any, home: Home) -> Any:
    """Return a value with every array in it at home there.

    Walks through tuples, lists, dicts and our frozen records. Sparse matrices become
    CSR tensors and back. What holds no array stays what it is.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.ones(3)
    >>> move((x, "a word"), HERE)[0] is x
    True
    """
    if is_tensor(value):
        return _as_array(value) if home.device is None else _sent(value, home)
    if isinstance(value, np.ndarray) or sp.issparse(value):
        return value if home.device is None else _as_tensor(value, home)
    if isinstance(value, tuple | list):
        parts = [move(part, home) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {name: move(part, home) for name, part in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        moved = {f.name: move(getattr(value, f.name), home) for f in fields(value)}
        return replace(value, **moved)
    return value


def bring_here(model: Model) -> Model:
    """Return a model as if it had been fitted with NumPy: a copy if it has tensors.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> model = PCA()
    >>> bring_here(model) is model
    True
    """
    if hasattr(model, "steps"):  # a pipeline
        moved = copy.copy(model)
        moved.steps = [(name, bring_here(step)) for name, step in model.steps]
        return moved
    if not isinstance(model, BaseEstimator) or not any(_homes(vars(model))):
        return model
    return send_model(model, HERE)


def send_model(model: Model, home: Home) -> Model:
    """Return a copy of a fitted model as if it had been fitted there."""
    moved = copy.copy(model)
    vars(moved).update(move(vars(model), home))
    return moved


def fit_on(home: Home) -> Callable[[Any, Any, Any], Any]:
    """Return a function that fits a model on a device, and brings it back.

    Takes the model, samples in NumPy and labels or None; returns the model, fitted.
    """

    def fit(model: Any, X: Any, y: Any) -> Any:
        model.fit(move(np.asarray(X), home), y)
        vars(model).update(vars(bring_here(model)))
        return model

    return fit


def hosted(function: F) -> F:
    """Let a function that knows only NumPy take tensors, and return them.

    Without a tensor among its arguments it is called as it is. Results go where the
    first of them was.

    Examples
    --------
    >>> import numpy as np
    >>> hosted(np.sort)(np.array([2, 1])).tolist()
    [1, 2]
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        home = next(_homes((args, kwargs)), None)
        if home is None:
            return function(*args, **kwargs)
        args, kwargs = move((args, kwargs), HERE)
        return move(function(*args, **kwargs), home)

    return call  # type: ignore[return-value]


def _homes(value: Any) -> Iterator[Home]:
    """Yield the homes of the tensors in a value."""
    if is_tensor(value):
        yield home_of(value)
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _homes(part)
    elif isinstance(value, dict):
        yield from _homes(list(value.values()))
    elif is_dataclass(value) and not isinstance(value, type):
        yield from _homes([getattr(value, f.name) for f in fields(value)])


def as_float64(tensor: Array, *, copied: bool = False) -> Array:
    """Return a tensor in double precision, outside of any gradient.

    Patches are inverted: in single precision their divergences lose their digits.
    """
    import torch

    return tensor.detach().to(torch.float64, copy=copied)


def csr_tensor(
    pointer: Array, column: Array, data: Array, shape: tuple[int, ...]
) -> Array:
    """Return a sparse tensor; torch warns of a format that it calls new."""
    import torch

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
        warnings.filterwarnings("ignore", message="Sparse invariant checks")
        return torch.sparse_csr_tensor(pointer, column, data, size=shape)


def find_device(name: str) -> Home:
    """Return the torch device of that name, in double precision.

    Raises
    ------
    ImportError
        Without torch.
    ValueError
        If there is no such device here.
    """
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f'device={name!r} needs torch: pip install "patchfold[torch]"'
        ) from error
    try:
        device = torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ValueError(
            f"device={name!r} cannot be used here: {reason}. Leave it out, or pass "
            "'cpu'."
        ) from error
    return Home(device, torch.float64)


@contextmanager
def plain_memory_errors(what: str, remedy: str) -> Iterator[None]:
    """Turn a device that is out of memory into a MemoryError with words."""
    torch = sys.modules.get("torch")
    shortage: Any = () if torch is None else torch.OutOfMemoryError
    try:
        yield
    except shortage as error:
        raise MemoryBudgetError(
            f"{what} did not fit in the memory of the device"
            f"{_memory_in_words(torch)}. {remedy}"
        ) from error


def _memory_in_words(torch: Any) -> str:
    if not torch.cuda.is_available():
        return ""
    free, total = torch.cuda.mem_get_info()
    return f", {total / 2**30:.1f} GiB of which {free / 2**30:.1f} are free"


def _as_array(tensor: Any) -> Any:
    if tensor.layout != _strided():
        parts = (tensor.values(), tensor.col_indices(), tensor.crow_indices())
        return sp.csr_array(tuple(map(_as_array, parts)), shape=tuple(tensor.shape))
    tensor = tensor.detach().cpu()
    if tensor.dtype.is_floating_point and tensor.dtype.itemsize < 4:
        tensor = tensor.float()  # NumPy has no bfloat16
    return tensor.numpy()


def _as_tensor(value: Any, home: Home) -> Any:
    import torch

    if sp.issparse(value):
        rows = value.tocsr()
        pointer, column, data = (
            _as_tensor(part, home) for part in (rows.indptr, rows.indices, rows.data)
        )
        return csr_tensor(pointer, column, data, rows.shape)
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        return value  # words have no place on a device
    copied = np.array(array, order="C")  # torch shares memory, and may not write to it
    return _sent(torch.from_numpy(copied), home)


def _sent(tensor: Any, home: Home) -> Any:
    if home.dtype is None or not tensor.dtype.is_floating_point:
        return tensor.to(home.device)
    sent = tensor.to(home.device, home.dtype)
    if home.dtype.itemsize < 4 and sent.isinf().any() and not tensor.isinf().any():
        raise ValueError(
            f"coordinates up to {float(tensor.abs().max()):.3g} do not fit in "
            f"{home.dtype}: pass samples in float32."
        )
    return sent


def _strided() -> Any:
    return sys.modules["torch"].strided
