"""Model files of format 1: which of their parts are read, and brought to format 2.

Such files hold everything that a fit leaves, as objects of classes that have changed
since. What follows from the samples is ignored. Of the records that are needed only the
attributes are read, into `OldRecord`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...backends.files import check_growth
from ...estimators.stored.rules import FittedError
from ...graph.labels import UNLABELLED
from .schema import objects_in, value_node

_RECORDS = (
    "posterior.kernel_ridge.KernelScores",
    "posterior.local.PatchScores",
    "posterior.marginal.MarginalScores",
    "posterior.model.PosteriorModel",
    "posterior.pooled.PooledScores",
    "posterior.rows.RowIndex",
    "posterior.scores.ClassScores",
    "posterior.stack.Stack",
    "posterior.whole.ClassPatchScores",
    "solvers.mds.MDSFit",
)

RECORD_ATTRIBUTES = frozenset(
    {
        *("embedding", "eigenvalues", "column_means"),
        *("scores", "stack", "anchors", "_centre", "_spread"),
        *("_X", "_codes", "left_out", "_parts"),
        *("weights", "offsets", "scales", "_weights"),
        *("_unique", "_group"),
    }
)
"""What is read of records."""

OLD_ATTRIBUTES = frozenset({"_labelled", "_model", "_rows"})
"""What is read of estimators besides what their rules name."""


class OldRecord:
    """A record of a file of format 1: attributes, without the methods it had."""


OLD_NAMES = {
    f"patchfold.{name}": f"{OldRecord.__module__}.{OldRecord.__qualname__}"
    for name in _RECORDS
}
"""Names of records in these files, all of which are read as `OldRecord`."""


def mark_stages(schema: Any) -> None:
    """Note in a schema how neighbours and patches were held; they are dropped."""
    for node in objects_in(schema):
        attributes = node.get("content")
        content = attributes.get("content") if isinstance(attributes, dict) else None
        if not isinstance(content, dict) or "_described" not in content:
            continue
        kinds = {
            name: content[name].get("__class__")
            for name in ("_described", "_search")
            if isinstance(content.get(name), dict)
        }
        on_demand = kinds.get("_described") == "PatchesOnDemand"
        cells = kinds.get("_search") == "Cells"
        content["_on_demand"] = value_node(on_demand)
        content["_cells_for"] = (
            content.get("n_neighbors_") if cells else value_node(None)
        )


def upgrade(model: Any) -> None:
    """Bring an estimator of ours to the form that files have today.

    Raises
    ------
    FittedError
        If a part that is needed is missing or of another kind.
    """
    model._add_later_parameters()
    state = dict(vars(model))
    try:
        if "_model" in state:
            state = _upgrade_posterior(state)
        packed = model._packed(state)
    except Exception as error:  # attributes of any kind may stand in for what is needed
        raise FittedError(f"its attributes cannot be read: {error}") from error
    vars(model).clear()
    vars(model).update(packed)


def _upgrade_posterior(state: dict[str, Any]) -> dict[str, Any]:
    model, rows = state.pop("_model"), state.pop("_rows")
    labelled, scores = state.pop("_labelled"), model.scores
    held = rows._unique.nbytes + scores._X.nbytes
    check_growth(held, rows._group.size * rows._unique[:1].nbytes, "fit it again")
    samples = rows._unique[rows._group]
    codes = np.full(samples.shape[0], UNLABELLED)
    samples[labelled], codes[labelled] = scores._X, scores._codes
    solution = OldRecord()
    vars(solution).update(
        stack=model.stack,
        anchors=model.anchors,
        center=model._centre,
        spread=model._spread,
    )
    kernels = {
        f"_kernel_{view}": parts["kernel"]._weights
        for view, parts in scores._parts.items()
        if "kernel" in parts
    }
    return {
        **state,
        "_samples": samples,
        "_codes": codes,
        "_left_out": scores.left_out,
        "_solution": solution,
        **kernels,
    }
