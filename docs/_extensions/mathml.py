"""Formulas as MathML, which browsers draw themselves: no script, no network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.errors import SphinxError


def render(tex: str, *, block: bool) -> str:
    """Return a formula in LaTeX as MathML; one that cannot be read is an error."""
    try:
        return tex2mathml(tex, as_block=block)
    except MathError as error:
        raise SphinxError(f"cannot read the formula {tex!r}: {error}") from error


def visit_inline(self: Any, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    self.body.append(render(node.astext(), block=False))
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    self.body.append(f'<div class="math">{render(node.astext(), block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer with Sphinx."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
