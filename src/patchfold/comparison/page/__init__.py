"""Findings -> one page of HTML that needs nothing else."""

from .build import build_page

__all__ = ["build_page"]
