"""What PatchPosterior says of a row or a class: columns, scores, patches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..backends.backend import NUMPY
from ..posterior.columns import (
    ColumnEffects,
    choose_class_rows,
    explain_columns,
    name_columns,
)
from ..posterior.explanation import Explanation, explain_row
from .encoding.effects import in_given_columns
from .stored.posterior import FittedPosterior


class ExplainsRows:
    """The part of `PatchPosterior` that explains a row, or a class."""

    classes_: np.ndarray
    score_names_: tuple[str, ...]
    _fitted: FittedPosterior

    def explain(self, x: Any) -> Explanation:
        """Say which columns, scores and patches spoke for which class, how strongly.

        Parameters
        ----------
        x : array-like or sparse array, (n_features,) or (1, n_features)
            One sample; of a data frame, ``frame.iloc[i]`` or ``frame.iloc[[i]]``. A
            labelled training sample is left out of all patches, as it was for its
            coordinates (the first of them, if several are identical).

        Returns
        -------
        Explanation
            `print` it, or draw it with `patchfold.posterior.plotting.plot_explanation`.
            Its `columns` share the scores out among the columns.
        """
        x = NUMPY.bring(x)
        if np.ndim(x) == 1 and hasattr(x, "to_frame") and hasattr(x, "infer_objects"):
            x = (
                x.to_frame().T.infer_objects()
            )  # a row of a pandas frame, with its names
        if np.ndim(x) != 2:
            x = x.reshape((1, -1)) if sp.issparse(x) else np.reshape(x, (1, -1))
        row = self._check_queries(x)
        if row.shape[0] != 1:
            raise ValueError(
                f"x must be one sample, and has {row.shape[0]} rows: explain them one "
                "by one, or a class with explain_class."
            )
        names = name_columns(self, row.shape[1])
        found = (self._fitted.labelled, self.classes_, self.score_names_, names)
        told = explain_row(self._fitted.model, row, self._own(row), *found)
        assert told.share_out is not None
        return replace(told, share_out=partial(self._share_out, told.share_out))

    def explain_class(self, label: Any) -> ColumnEffects:
        """Say which columns move the rows of a class towards it, and how far.

        Parameters
        ----------
        label : label
            One of `classes_`.

        Returns
        -------
        ColumnEffects
            The mean of up to 12 training rows of the class, spread over it.
        """
        check_is_fitted(self)
        found = np.flatnonzero(self.classes_ == label)
        if not found.size:
            known = ", ".join(map(str, self.classes_))
            raise ValueError(f"label must be one of {known}. Got {label!r} instead.")
        model, code = self._fitted.model, int(found[0])
        rows = choose_class_rows(model, code)
        X = model.scores.rows[0][rows]
        names = name_columns(self, X.shape[1])
        own: list[int | None] = [int(row) for row in rows]
        return self._share_out(
            partial(
                explain_columns,
                model,
                X,
                own,
                classes=self.classes_,
                names=names,
                of=code,
            )
        )

    def _share_out(self, share_out: Callable[[], ColumnEffects]) -> ColumnEffects:
        """Compute the effects of columns; of a frame of mixed columns, of its own."""
        effects = share_out()
        encoder = vars(self).get("encoder_")
        if encoder is None:
            return effects
        return in_given_columns(effects, encoder._fitted.columns, encoder._names())

    def _own(self, row: np.ndarray) -> int | None:
        """Return which labelled row a row is, if any."""
        rows = self._fitted.rows
        group = rows.find(row)
        if group[0] < 0:
            return None
        twins = rows.members(group[0])
        place = np.flatnonzero(np.isin(self._fitted.labelled, twins))
        return int(place[0]) if place.size else None

    def _check_queries(self, X: Any) -> np.ndarray:
        raise NotImplementedError
