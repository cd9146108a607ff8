"""`python -m patchfold`: the command line."""

from .cli import main

main()
