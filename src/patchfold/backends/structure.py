"""Sparse matrices of a caller's: whether their arrays belong together."""

from __future__ import annotations

from typing import Any


def check_structure(D: Any, name: str = "X") -> None:
    """Raise ValueError for a sparse matrix whose arrays do not belong together.

    SciPy does not look, and what it computes with such a matrix ends in memory that is
    not the matrix's own. It is looked at before anything is computed.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> damaged = sp.csr_array([[0.0, 1], [1, 0]])
    >>> damaged.indices[1] = 7
    >>> check_structure(damaged)
    Traceback (most recent call last):
    ValueError: X is not a valid sparse matrix: indices holds 7, which is not 0 to 1...
    """
    look = {
        "coo": _wrong_list,
        "lil": _wrong_rows,
        "dok": _wrong_keys,
        "dia": _wrong_diagonals,
    }
    if D.ndim != 2:
        wrong: str | None = f"it has {D.ndim} dimensions instead of 2"
    else:
        wrong = look.get(D.format, _wrong_parts)(D)
    if wrong:
        raise ValueError(
            f"{name} is not a valid sparse matrix: {wrong}. Build it anew, for example "
            "with scipy.sparse.coo_array((values, (rows, columns)), shape=(n, n))."
        )


def _wrong_parts(D: Any) -> str | None:
    """Say what is wrong with a CSR, CSC or BSR matrix."""
    if D.data.ndim != (3 if D.format == "bsr" else 1):
        return f"data has {D.data.ndim} dimensions"
    n, n_others = D.shape if D.format != "csc" else D.shape[::-1]
    if D.format == "bsr":
        n, n_others = n // max(1, D.data.shape[1]), n_others // max(1, D.data.shape[2])
    pointer, n_entries = D.indptr, min(D.indices.size, D.data.shape[0])
    if pointer.shape != (n + 1,) or D.indices.ndim != 1:
        return f"indptr has shape {pointer.shape} instead of ({n + 1},)"
    if pointer.dtype.kind not in "iu":
        return f"indptr has type {pointer.dtype} instead of integers"
    if pointer[0] != 0 or (pointer[1:] < pointer[:-1]).any():
        return "indptr does not ascend from 0"
    if pointer[-1] > n_entries:
        return f"indptr ends at {pointer[-1]}, and {n_entries} entries are stored"
    return _wrong_places("indices", D.indices, n_others)


def _wrong_list(D: Any) -> str | None:
    """Say what is wrong with a COO matrix."""
    row, column = D.coords
    if not D.data.shape == row.shape == column.shape:
        return f"{D.data.size} values have {row.size} rows and {column.size} columns"
    return _wrong_places("row", row, D.shape[0]) or _wrong_places(
        "col", column, D.shape[1]
    )


def _wrong_rows(D: Any) -> str | None:
    """Say what is wrong with a LIL matrix."""
    if not D.rows.shape == D.data.shape == D.shape[:1]:
        return f"it has {D.shape[0]} rows, and lists of {D.rows.shape[0]}"
    for number, (columns, values) in enumerate(zip(D.rows, D.data, strict=True)):
        lists = isinstance(columns, list) and isinstance(values, list)
        if not lists or len(columns) != len(values):
            return f"row {number} has a list of columns that does not fit its values"
    return _wrong_keys(D)


def _wrong_keys(D: Any) -> str | None:
    """Say what SciPy finds wrong with a DOK or LIL matrix: it looks at every index."""
    try:
        D.tocoo()
    except (TypeError, ValueError) as error:
        return str(error)
    return None


def _wrong_diagonals(D: Any) -> str | None:
    """Say what is wrong with a DIA matrix."""
    if D.data.ndim != 2 or D.offsets.shape != D.data.shape[:1]:
        return f"offsets has shape {D.offsets.shape}, and data {D.data.shape}"
    return None


def _wrong_places(name: str, places: Any, n: int) -> str | None:
    """Say what is wrong with the rows or columns that entries stand in."""
    if places.dtype.kind not in "iu":
        return f"{name} has type {places.dtype} instead of integers"
    if places.size and not 0 <= places.min() <= places.max() < n:
        wrong = places.min() if places.min() < 0 else places.max()
        return f"{name} holds {wrong}, which is not 0 to {n - 1}"
    return None
