"""Methods side by side on one table: scores, pictures, one page."""

from .run import Comparison, compare

__all__ = ["Comparison", "compare"]
