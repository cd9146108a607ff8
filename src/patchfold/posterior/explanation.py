"""Why a row is where it is: what every score said for every class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Explanation:
    """What spoke for which class, and how strongly.

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

    def __str__(self) -> str:
        """List, for the likeliest class, its probability and its strongest scores."""
        best = int(np.argmax(self.posterior))
        lines = [f"{self.classes[best]}: p = {self.posterior[best]:.3f}"]
        for s in np.argsort(-np.abs(self.contributions[:, best]), kind="stable")[:5]:
            value = self.contributions[s, best]
            lines.append(f"  {value:+.3f}  {self.score_names[s]}")
        return "\n".join(lines)
