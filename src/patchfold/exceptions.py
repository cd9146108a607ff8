"""The named errors and warnings of patchfold: what went wrong, as a class to filter on.

Errors are also `ValueError` (or `MemoryError`), so that code written for scikit-learn
catches them.
"""

import sys
import warnings


class PatchfoldWarning(UserWarning):
    """Base class of all warnings of patchfold."""


class DisconnectedGraphWarning(PatchfoldWarning):
    """The neighbour graph fell into components; they were joined, or stay apart."""


class DegeneratePatchWarning(PatchfoldWarning):
    """Some patches consist of identical points and have no shape of their own."""


class NeighborCountWarning(PatchfoldWarning):
    """`n_neighbors` exceeded the number of other samples and was lowered."""


class MetricWarning(PatchfoldWarning):
    """`metric` finds neighbours only, as patches are compared by `dissimilarity`."""


class IsolatedSampleWarning(PatchfoldWarning):
    """A new sample has no training sample within `radius`."""


class VanishingWeightsWarning(PatchfoldWarning):
    """`kernel_width` is so small that weights vanish and the graph is in pieces."""


class NegativeEigenvalueWarning(PatchfoldWarning):
    """The geodesics have fewer Euclidean dimensions than were asked for."""


class LabelBlendWarning(PatchfoldWarning):
    """`label_blend` puts training labels into the training picture."""


class MapConvergenceWarning(PatchfoldWarning):
    """The steps of a map ended at `max_iter`, before its objective stopped falling."""


class FarSampleWarning(PatchfoldWarning):
    """A new sample is far from all training samples, and was put at the rim."""


class PatchfoldDeprecationWarning(PatchfoldWarning, FutureWarning):
    """A name or a parameter goes away in a later version."""


class MissingLoopsWarning(PatchfoldWarning):
    """The loops in C are not compiled, and a fit is large enough to need them."""


class UnknownCategoryWarning(PatchfoldWarning):
    """New rows have categories that `fit` did not see; they count as missing."""


class MemoryBudgetError(MemoryError):
    """The work does not fit in memory; if this is known before, it is not begun."""


class ClusterError(ConnectionError):
    """A cluster cannot be reached, or its workers cannot do the work."""


class SingularPatchError(ValueError):
    """A patch covariance cannot be inverted, as it is not regularised."""


class DisconnectedGraphError(ValueError, RuntimeError):
    """A precomputed graph is in pieces, and the distances between them are unknown."""


def warn(message: str, category: type[PatchfoldWarning]) -> None:
    """Give a warning that points at the user's line, not at ours or scikit-learn's."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        ("patchfold.", "sklearn.", "joblib.")
    ):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)
