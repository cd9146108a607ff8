"""Methods side by side on one table: scores, a verdict, pictures, one page."""

from .comparison import Comparison
from .run import compare

__all__ = ["Comparison", "compare"]
