"""Tables of numbers and words: read, turn into samples and classes, write."""

from .columns import Columns, choose_columns
from .decisions import MissingValuesError, UndecidedColumnsError
from .description import describe
from .encoding import encode_classes, make_encoder
from .matching import match_columns
from .reading import ReadOptions, Source, read_source, read_table
from .writing import write_table

__all__ = [
    "Columns",
    "MissingValuesError",
    "ReadOptions",
    "Source",
    "UndecidedColumnsError",
    "choose_columns",
    "describe",
    "encode_classes",
    "make_encoder",
    "match_columns",
    "read_source",
    "read_table",
    "write_table",
]
