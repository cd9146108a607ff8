"""Model files as archives: the parts there are, and what an array promises to hold.

A part is checked before it is read as an array: its header must promise as many bytes
as there are, of numbers or letters in the byte order of this machine.
"""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections import Counter

import numpy as np
from numpy.lib import format as npy

from ...backends.files import check_growth
from ...estimators.stored.rules import FittedError

KINDS = "biufUS"
"""Kinds of what an array may hold: truth values, numbers and letters."""

_CSR_PARTS = {"indices", "indptr", "data", "shape", "format", "_is_array"}


def read_parts(data: bytes) -> dict[str, bytes]:
    """Return the parts of a model file by their names.

    Raises
    ------
    FittedError
        If a name is there twice or leads elsewhere, or a part is compressed: parts of
        a model file are stored as they are, so that nothing grows when it is read.
    zipfile.BadZipFile
        If it is no archive.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = archive.infolist()
        if sum(part.file_size for part in parts) > len(data):
            raise FittedError("its parts are larger than the file")
        if any(part.compress_type != zipfile.ZIP_STORED for part in parts):
            raise FittedError("its parts are compressed")
        names = [part.filename for part in parts]
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise FittedError(f"the part {twice[0]} is there twice")
        for name in names:
            if not re.fullmatch(r"[\w-][\w.-]*", name):
                raise FittedError(f"the name {name!r} of a part is not allowed")
        return {part.filename: archive.read(part) for part in parts}


def check_array(name: str, content: bytes) -> tuple[int, ...]:
    """Return the shape of an array in NumPy's format; raise FittedError."""
    file = io.BytesIO(content)
    try:
        version = npy.read_magic(file)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
        shape, _, dtype = read[version](file)
    except Exception as error:  # the header is text that Python parses
        raise FittedError(f"the part {name} is no array") from error
    plain = dtype.kind in KINDS and dtype.isnative and dtype.subdtype is None
    if not plain or dtype.names is not None:
        raise FittedError(f"the part {name} holds {dtype}, no plain numbers or letters")
    promised = math.prod(shape) * dtype.itemsize
    there = len(content) - file.tell()
    if promised != there or min(shape, default=0) < 0 or not dtype.itemsize:
        raise FittedError(
            f"the part {name} has {there} bytes for an array of {dtype} with shape "
            f"{shape}"
        )
    return shape


def check_sparse(name: str, content: bytes, size: int, grown: int) -> int:
    """Check that a part holds the arrays of a CSR matrix; raise FittedError.

    Parameters
    ----------
    name, content
        The part.
    size, grown : int
        Bytes of the file, and those that other parts have grown to.

    Returns
    -------
    int
        Bytes that this part grows to.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            inner = archive.infolist()
            growth = sum(part.file_size for part in inner)
            check_growth(size, grown + growth, "")
            arrays = {part.filename: archive.read(part) for part in inner}
    except Exception as error:
        raise FittedError(f"the part {name} is no sparse matrix") from error
    names = {array.removesuffix(".npy") for array in arrays}
    if len(arrays) != len(inner) or not names <= _CSR_PARTS or "format" not in names:
        raise FittedError(f"the part {name} is no sparse matrix")
    for array, values in arrays.items():
        check_array(f"{name}, {array}", values)
    form = np.load(io.BytesIO(arrays["format.npy"]), allow_pickle=False)
    if form.tolist() not in (b"csr", "csr"):
        raise FittedError(f"the part {name} is no CSR matrix")
    return growth
