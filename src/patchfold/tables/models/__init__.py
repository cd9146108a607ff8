"""Model files: written, read and checked."""

from .saving import load_model, save_model

__all__ = ["load_model", "save_model"]
