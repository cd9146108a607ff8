"""Why a row is where it is: what every score, and every column, said for a class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from ..backends.environment import require_packages
from .columns import ColumnEffects, explain_columns
from .model import PosteriorModel

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Explanation:
    """Which scores speak for which class, and how strongly.

    The posterior is softmax(contributions.sum(axis=0) + offsets), and the coordinates
    are the mean of the anchors under it, with the typicality as the last where there
    is such an axis.

    Attributes
    ----------
    classes : array (C,)
        Class labels.
    score_names : tuple of str
        One for each score: its view, its kind, its patch.
    contributions : array (s, C)
        What each score adds to the log odds of each class; the sum over classes is 0.
    offsets : array (C,)
        What a class has before any score speaks.
    posterior : array (C,)
        p(c|x).
    coordinates : array (d,)
        Where the row lies; a training row, before `label_blend` moves it.
    patches : dict of str to list of int arrays
        For each view, the patch of every class: positions of its rows in the training
        data, nearest first.
    left_out : int or None
        The training row that x is, which was left out of all patches; else None.
    """

    classes: np.ndarray
    score_names: tuple[str, ...]
    contributions: np.ndarray
    offsets: np.ndarray
    posterior: np.ndarray
    coordinates: np.ndarray
    patches: dict[str, list[np.ndarray]]
    left_out: int | None
    share_out: Callable[[], ColumnEffects] | None = field(default=None, repr=False)

    @cached_property
    def columns(self) -> ColumnEffects:
        """What every column added to the score of every class; computed when asked."""
        if self.share_out is None:
            raise ValueError("columns are known for an explanation by `explain` only.")
        return self.share_out()

    @property
    def frame(self) -> pd.DataFrame:
        """What every score adds to the log odds of every class, a row per score."""
        require_packages("frame", ["pandas"])
        import pandas as pd

        rows = np.vstack([self.contributions, self.offsets])
        index = pd.Index([*self.score_names, "size of the class"], name="score")
        return pd.DataFrame(rows, index=index, columns=list(self.classes))

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        """List, for the likeliest class, its probability, strongest scores, columns."""
        best = int(np.argmax(self.posterior))
        lines = [f"{self.classes[best]}: p = {self.posterior[best]:.3f}"]
        for s in np.argsort(-np.abs(self.contributions[:, best]), kind="stable")[:5]:
            value = self.contributions[s, best]
            lines.append(f"  {value:+.3f}  {self.score_names[s]}")
        if self.share_out is not None:
            lines.append(f"columns, {self.columns}")
        return "\n".join(lines)


def explain_row(
    model: PosteriorModel,
    row: np.ndarray,
    own: int | None,
    labelled: np.ndarray,
    classes: np.ndarray,
    score_names: tuple[str, ...],
    names: tuple[str, ...],
) -> Explanation:
    """Explain one row.

    Parameters
    ----------
    model : PosteriorModel
        The fitted scores.
    row : array or csr_array (1, m)
        The row.
    own : int or None
        The labelled training row that it is, if any.
    labelled : int array
        Positions of the labelled rows in the training data.
    classes : array (C,)
        Class labels.
    score_names, names : tuples of str
        Names of the scores, and of the columns.

    Returns
    -------
    Explanation
    """
    evidence = model.of(row) if own is None else model.left_out([own])
    patches = model.scores.patches(row, own)
    return Explanation(
        classes=classes,
        score_names=score_names,
        contributions=evidence.contributions[:, 0],
        offsets=model.stack.offsets,
        posterior=evidence.posterior[0],
        coordinates=model.place(evidence.posterior, evidence.best)[0],
        patches={
            view: [labelled[rows] for rows in found] for view, found in patches.items()
        },
        left_out=None if own is None else int(labelled[own]),
        share_out=partial(
            explain_columns, model, row, [own], classes=classes, names=names
        ),
    )
