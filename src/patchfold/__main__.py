"""`patchfold` and `python -m patchfold`: the command line, where it is installed."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from .backends.environment import version_lines

NEEDED = ("typer", "rich")
"""Packages of the extra `cli` without which no command can be read."""


def main() -> None:
    """Run the command line; without its packages, name the extra that has them."""
    if sys.argv[1:] == ["--version"]:
        print(version_lines())
        return
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        print(
            f"patchfold: the command line needs {' and '.join(missing)}: "
            'pip install "patchfold[cli]".',
            file=sys.stderr,
        )
        sys.exit(2)
    from .cli import app

    app()


if __name__ == "__main__":
    main()
