"""Pictures in matplotlib; functions take an `ax` and return it. One is in Plotly.

Matplotlib is optional and imported only when something is drawn.
"""

from ._style import COLORS, GREY, MARKERS, MAX_CLASSES, check_matplotlib
from .critical_difference import plot_critical_difference
from .diagnostics import plot_stretch, plot_trustworthiness
from .embedding import plot_embedding
from .graph import plot_graph
from .interactive import interactive
from .order import plot_order
from .patches import plot_patches
from .sweep import plot_neighbors_sweep

__all__ = [
    "COLORS",
    "GREY",
    "MARKERS",
    "MAX_CLASSES",
    "check_matplotlib",
    "interactive",
    "plot_critical_difference",
    "plot_embedding",
    "plot_graph",
    "plot_neighbors_sweep",
    "plot_order",
    "plot_patches",
    "plot_stretch",
    "plot_trustworthiness",
]
