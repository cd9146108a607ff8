"""Tables of numbers and words: read, turn into samples and classes, write."""

from .columns import Columns, MissingValuesError, choose_columns, match_columns
from .encoding import encode_classes, make_encoder
from .reading import Source, read_source, read_table
from .writing import write_table

__all__ = [
    "Columns",
    "MissingValuesError",
    "Source",
    "choose_columns",
    "encode_classes",
    "make_encoder",
    "match_columns",
    "read_source",
    "read_table",
    "write_table",
]
