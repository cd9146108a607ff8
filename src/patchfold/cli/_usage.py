"""Errors of usage end as other bad input: in one line and with status 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from typer.core import TyperGroup

from ._shared import TYPED, fail

WORDS = "patchfold.words"


class OneLineGroup(TyperGroup):
    """A group of commands that report errors of usage in one line."""

    def make_context(
        self, info_name: str | None, args: list[str], *rest: Any, **extra: Any
    ) -> Any:
        """Parse the options before the command; without any word, show the help."""
        words = list(args)
        if not words:
            return super().make_context(info_name, args, *rest, **extra)
        with _one_line(words):
            context = super().make_context(info_name, args, *rest, **extra)
        context.meta[WORDS] = words
        return context

    def invoke(self, ctx: Any) -> Any:
        """Parse the command's words, and run it."""
        TYPED.set(tuple(ctx.meta[WORDS]))
        with _one_line(ctx.meta[WORDS]):
            return super().invoke(ctx)


@contextmanager
def _one_line(words: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # Click's errors by what they can do: newer Typers have their own copy of it.
        if not hasattr(error, "format_message"):
            raise
        message = error.format_message()
        message += "" if message.endswith((".", "?")) else "."
        value = _given(words, getattr(getattr(error, "param", None), "opts", ()))
        if value is not None and repr(value) not in message:
            message += f" Got {value!r} instead."
        context: Any = getattr(error, "ctx", None)
        inner = context is not None and context.parent is not None
        command = f"{context.info_name} " if inner else ""
        raise fail(f"{message} See patchfold {command}--help.") from error


def _given(words: Sequence[str], names: Sequence[str]) -> str | None:
    """Return what was typed for an option, the last time it was."""
    given = None
    for word, following in zip(words, [*words[1:], None], strict=True):
        name, sign, value = word.partition("=")
        if name in names:
            given = value if sign else following
    return given
