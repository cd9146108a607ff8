"""PatchPosterior in files: which fitted attributes are written, and those made again.

Views, searches and class shapes follow from the labelled samples in little time. What
takes long is written: the scores of the training samples, and the kernel regressions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...backends.backend import NUMPY, Backend
from ...graph.labels import UNLABELLED
from ...patches.fitting import is_wide
from ...posterior.kernel_ridge import PENALTIES
from ...posterior.model import PosteriorModel, Solution
from ...posterior.rows import RowIndex, index_rows
from ...posterior.scores import Scored, Settings
from ...posterior.stack import Stack
from ...posterior.views import VIEWS
from .model import StoredModel
from .rules import (
    Count,
    FittedError,
    FittedRule,
    Labels,
    MayLack,
    Number,
    Numbers,
    Record,
    Sizes,
    Whole,
    Words,
    check_finite,
)
from .sparse_rules import Samples
from .table_encoder import Encoder, check_columns


@dataclass(frozen=True)
class Gappy(Numbers):
    """Floats in double precision; NaN is a gap, and no infinity is there.

    Sparse samples have no gaps.
    """

    def pack(self, value: Any) -> Any:
        """Return the array, or the parts of a sparse one in a dict."""
        return Samples().pack(value) if sp.issparse(value) else super().pack(value)

    def unpack(self, name: str, value: Any, sizes: Sizes) -> Any:
        """Check the samples."""
        if isinstance(value, dict):
            return self._unpack_sparse(name, value, sizes)
        array = Numbers(self.shape, any_value=True).unpack(name, value, sizes)
        check_finite(name, np.where(np.isnan(array), 0.0, array))
        return array

    def _unpack_sparse(self, name: str, value: Any, sizes: Sizes) -> Any:
        samples = Samples().unpack(name, value, sizes)
        if not is_wide(*samples.shape):
            raise FittedError(f"{name} must be dense, as its features are few")
        return samples


@dataclass(frozen=True)
class FittedPosterior:
    """What a fit of `PatchPosterior` leaves besides its public attributes.

    Attributes
    ----------
    labelled : int array
        Places of the labelled samples.
    model : PosteriorModel
        Their scores, and what places samples by these.
    rows : RowIndex
        All samples, to know them again.
    """

    labelled: np.ndarray
    model: PosteriorModel
    rows: RowIndex


class StoredPosterior(StoredModel):
    """The part of `PatchPosterior` that deals with model files."""

    n_components: int
    n_landmarks: int
    views: tuple[str, ...]
    scores: tuple[str, ...]
    score_names_: tuple[str, ...]

    _fitted_rules: ClassVar[dict[str, FittedRule]] = {
        "classes_": Labels(("classes",)),
        "_samples": Gappy(("samples", "features")),
        "_codes": Whole(("samples",), low=UNLABELLED, below="classes"),
        "_weights": MayLack(Numbers(("labelled",), low=1e-150, high=1e150)),
        "_left_out": Numbers(("scores", "labelled", "classes"), any_value=True),
        "_solution": Record(
            Solution,
            {
                "stack": Record(
                    Stack,
                    {
                        "weights": Numbers(("scores",), low=0.0),
                        "offsets": Numbers(("classes",)),
                        "scales": Numbers(("scores",), low=1e-300),
                    },
                ),
                "anchors": Numbers(("classes", "components")),
                "center": Number(),
                "spread": Number(0, open_low=True),
            },
        ),
        **{
            f"_kernel_{view}": MayLack(
                Numbers((len(PENALTIES), "landmarks", "classes"))
            )
            for view in VIEWS
        },
        "posterior_": Numbers(("samples", "classes"), low=0.0, high=1 + 1e-9),
        "embedding_": Numbers(("samples", "components")),
        "n_features_in_": Count(1),
        "encoder_": Encoder(),
        "feature_names_in_": MayLack(Words(("columns",))),
        "_n_features_out": Count("components", "components"),
    }
    _made_again: ClassVar[frozenset[str]] = frozenset(
        {"_fitted", "anchors_", "score_names_", "score_weights_"}
    )

    def _training_samples(self) -> Any:
        return self._fitted.model.scores._X

    def _packed(self, state: dict[str, Any]) -> dict[str, Any]:
        kept = state.get("_fitted")
        if kept is None:  # not fitted, or of an older file
            return super()._packed(state)
        model, labelled, samples = kept.model, kept.labelled, kept.rows.values
        codes = np.full(samples.shape[0], UNLABELLED)
        rows, codes[labelled] = model.scores.rows
        if not sp.issparse(samples):
            samples[labelled] = rows  # with their zeros as they were
        scored = model.scores.scored
        kernels = {f"_kernel_{view}": part for view, part in scored.kernels.items()}
        if model.scores.row_weights is not None:
            kernels["_weights"] = model.scores.row_weights
        fitted = {
            "_samples": samples,
            "_codes": codes,
            "_left_out": scored.left_out,
            "_solution": model.solution,
            **kernels,
        }
        return super()._packed({**state, **fitted})

    def _make_again(self, sizes: Sizes) -> None:
        check_columns(self, sizes["features"], sizes)
        stored = vars(self)
        X, codes = stored.pop("_samples"), stored.pop("_codes")
        left_out, solution = stored.pop("_left_out"), stored.pop("_solution")
        names = {view: f"_kernel_{view}" for view in VIEWS}
        kernels = {v: stored.pop(names[v]) for v in VIEWS if names[v] in stored}
        labelled = codes != UNLABELLED
        n_classes, count = sizes["classes"], int(labelled.sum())
        if n_classes < max(2, self.n_components) or sizes["labelled"] != count:
            raise FittedError(
                f"_codes has {count} labelled samples, of {n_classes} classes"
            )
        if np.bincount(codes[labelled], minlength=n_classes).min() == 0:
            raise FittedError("_codes has a class without samples")
        wanted = set(self.views) if "kernel" in self.scores else set()
        if kernels.keys() != wanted or (
            kernels and sizes["landmarks"] != min(self.n_landmarks, count)
        ):
            raise FittedError(
                "the weights of the kernel score do not fit its landmarks"
            )
        model = PosteriorModel(
            self._settings(NUMPY),
            X[labelled],
            codes[labelled],
            self.n_components,
            (Scored(left_out, kernels), solution),
            stored.pop("_weights", None),
        )
        self._fitted = FittedPosterior(np.flatnonzero(labelled), model, index_rows(X))
        self.anchors_ = solution.anchors
        self.score_names_ = model.scores.names
        self.score_weights_ = solution.stack.weights
        if len(self.score_names_) != sizes["scores"]:
            raise FittedError(f"_left_out must have {len(self.score_names_)} scores")

    def _settings(self, backend: Backend) -> Settings:
        raise NotImplementedError
