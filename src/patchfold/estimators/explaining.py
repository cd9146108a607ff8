"""What PatchPosterior says of one row: which scores spoke for which class."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.backend import NUMPY
from ..posterior.explanation import Explanation
from ..posterior.model import PosteriorModel
from ..posterior.rows import RowIndex


class ExplainsRows:
    """The part of `PatchPosterior` that explains a row."""

    classes_: np.ndarray
    score_names_: tuple[str, ...]
    _labelled: np.ndarray
    _model: PosteriorModel
    _rows: RowIndex

    def explain(self, x: Any) -> Explanation:
        """Say which scores and patches spoke for which class, and how strongly.

        Parameters
        ----------
        x : array-like (n_features,) or (1, n_features)
            One sample. A labelled training sample is left out of all patches, as it was
            for its coordinates (the first of them, if several are identical).

        Returns
        -------
        Explanation
            `print` it, or draw it with `patchfold.posterior.plotting.plot_explanation`.
        """
        x = NUMPY.bring(x)
        row = self._check_queries(x if np.ndim(x) == 2 else np.reshape(x, (1, -1)))
        if row.shape[0] != 1:
            raise ValueError(
                f"x must be one sample, and has {row.shape[0]} rows: explain them one "
                "by one."
            )
        own = self._own(row)
        model = self._model
        heard = model.of(row) if own is None else model.left_out([own])
        patches = model.scores.patches(row[0], own)
        return Explanation(
            classes=self.classes_,
            score_names=self.score_names_,
            contributions=heard.contributions[:, 0],
            offsets=model.stack.offsets,
            posterior=heard.posterior[0],
            coordinates=model.place(heard.posterior, heard.best)[0],
            patches={
                view: [self._labelled[rows] for rows in found]
                for view, found in patches.items()
            },
            left_out=None if own is None else int(self._labelled[own]),
        )

    def _own(self, row: np.ndarray) -> int | None:
        """Return which labelled row a row is, if any."""
        group = self._rows.find(row)
        if group[0] < 0:
            return None
        twins = self._rows.members(group[0])
        place = np.flatnonzero(np.isin(self._labelled, twins))
        return int(place[0]) if place.size else None

    def _check_queries(self, X: Any) -> np.ndarray:
        raise NotImplementedError
