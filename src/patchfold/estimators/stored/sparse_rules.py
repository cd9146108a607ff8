"""Training samples in model files, dense or sparse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .rules import (
    Count,
    FittedError,
    FittedRule,
    Numbers,
    Sizes,
    Whole,
    in_double_precision,
    narrow,
    unpack_state,
)

MOST_FEATURES = 2**24
"""Features of sparse samples in a file: a small file must not take much memory."""

DENSE = Numbers(("samples", "features"))


@dataclass(frozen=True)
class Samples:
    """Samples (samples, features), finite; sparse ones without stored zeros.

    Those are written as the number of features and of entries in each row, their
    columns and their values.
    """

    def pack(self, value: Any) -> Any:
        """Return the array, or the parts of a sparse one in a dict."""
        if not sp.issparse(value):
            return DENSE.pack(value)
        value = sp.csr_array(value)
        if value.shape[1] > MOST_FEATURES:
            raise ValueError(
                f"sparse samples with {value.shape[1]} features are not written to a "
                f"file, as loading one takes memory for each: {MOST_FEATURES} are the "
                "most. Hash the features, or reduce them first."
            )
        return {
            "features": int(value.shape[1]),
            "counts": narrow(np.diff(value.indptr)),
            "columns": narrow(value.indices),
            "values": in_double_precision(value.data),
        }

    def unpack(self, name: str, value: Any, sizes: Sizes) -> Any:
        """Check the samples."""
        if not isinstance(value, dict):
            return DENSE.unpack(name, value, sizes)
        entries = f"entries of {name}"
        rules: dict[str, FittedRule] = {
            f"{name}.features": Count(1, MOST_FEATURES),
            f"{name}.counts": Whole(("samples",), below=2**31),
            f"{name}.columns": Whole((entries,), below=2**31),
            f"{name}.values": Numbers((entries,)),
        }
        parts = {f"{name}.{part}": content for part, content in value.items()}
        features, counts, column, data = unpack_state(rules, parts, sizes).values()
        if sizes.setdefault("features", features) != features:
            raise FittedError(f"{name}.features must be {sizes['features']}")
        if counts.sum() != column.size:
            raise FittedError(
                f"{name}.counts must sum to the {column.size} entries. Its sum is "
                f"{counts.sum()}"
            )
        row = np.repeat(np.arange(counts.size), counts)
        falls = (column[1:] <= column[:-1])[row[1:] == row[:-1]]
        if falls.any() or column.max(initial=0) >= features or not data.all():
            raise FittedError(
                f"{name} must have ascending columns below {features}, and no zeros"
            )
        pointer = np.concatenate([[0], np.cumsum(counts)])
        # Of 32 bits where they suffice: scikit-learn's loops take no others.
        kind = np.int32 if max(column.size, features) < 2**31 else np.int64
        places = column.astype(kind), pointer.astype(kind)
        return sp.csr_array((data, *places), shape=(counts.size, features))
