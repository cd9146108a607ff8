"""Datasets that a rule defines: generated here, row for row as the papers met them.

The papers split by position (50/50, random_state=42), so the order of the rows decides
their numbers. Four orders are themselves rules. Those of parity5 and mux6 are shuffles
by other hands, and the training part of monks-problems-1 and the noise of corral are
draws by other hands: these are written down below.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ._record import Dataset

_PARITY5_ORDER = (
    *(27, 6, 24, 21, 19, 28, 4, 17, 11, 9, 2, 26, 25, 30, 13, 0),
    *(16, 12, 22, 7, 8, 5, 31, 1, 14, 15, 29, 23, 20, 3, 10, 18),
)
_MUX6_ORDER = (
    *(17, 2, 8, 24, 59, 51, 26, 28, 44, 34, 27, 12, 1, 61, 40, 55),
    *(30, 33, 9, 18, 22, 54, 10, 58, 53, 43, 50, 62, 7, 57, 3, 6),
    *(15, 13, 0, 14, 11, 25, 21, 23, 32, 19, 16, 49, 48, 39, 29, 47),
    *(20, 46, 37, 4, 60, 41, 63, 36, 38, 52, 42, 45, 35, 56, 5, 31),
)
_MONKS_TRAINING = (  # one bit per cell of the grid, first cell first
    "0c0024300a40698d2110071c22225b1057a30cdb021909123804d5"
    "87200280884904e004c09010901410814100c400a2a10571870055"
)
_CORRAL_NOISY = 0x09A1837E  # feature Correlated in the first 32 rows, first row first

_LINES = (
    *((0, 1, 2), (3, 4, 5), (6, 7, 8)),
    *((0, 3, 6), (1, 4, 7), (2, 5, 8)),
    *((0, 4, 8), (2, 4, 6)),
)


def generate(name: str) -> Dataset | None:
    """Return the dataset that the rule called `name` defines, or None."""
    rule = RULES.get(name)
    return None if rule is None else rule()


def parity5() -> Dataset:
    """All 32 rows of five bits; the class is 1 where an odd number of bits is set.

    Row order: a fixed shuffle, the one of the copy that reproduces the papers' PCA.
    """
    data = _bits(np.array(_PARITY5_ORDER), 5)
    return _make(
        "parity5",
        data,
        data.sum(axis=1) % 2,
        tuple(f"Bit {i}" for i in range(1, 6)),
        ("0", "1"),
        parity5,
    )


def mux6() -> Dataset:
    """Six bits: two address bits choose which of the other four is the class.

    Row order: a fixed shuffle of the 64 cells, given twice (128 rows).
    """
    data = _bits(np.array(_MUX6_ORDER * 2), 6)
    address = (2 * data[:, 0] + data[:, 1]).astype(int)
    return _make(
        "mux6",
        data,
        data[np.arange(len(data)), 2 + address],
        ("Address bit 1", "Address bit 2", "Bit 0", "Bit 1", "Bit 2", "Bit 3"),
        ("0", "1"),
        mux6,
    )


def monks_problems_1() -> Dataset:
    """MONK's first problem: head and body have one shape, or the jacket is red (2).

    Row order: the original training sample, 124 cells of the grid in grid order, then
    the whole grid of 432 cells, last feature fastest. So 124 rows occur twice. Values
    are integer codes; along the grid they run head 1, 2, 0; body 1, 2, 0; smiling 1,
    0; holding 2, 0, 1; jacket 2, 3, 1, 0; tie 1, 0.
    """
    runs = ((1, 2, 0), (1, 2, 0), (1, 0), (2, 0, 1), (2, 3, 1, 0), (1, 0))
    grid = np.array(list(product(*runs)), dtype=float)
    chosen = [bit == "1" for bit in f"{int(_MONKS_TRAINING, 16):0432b}"]
    data = np.concatenate([grid[chosen], grid])
    return _make(
        "monks-problems-1",
        data,
        (data[:, 0] == data[:, 1]) | (data[:, 4] == 2),
        (
            *("Head shape", "Body shape", "Is smiling"),
            *("Holding", "Jacket color", "Has tie"),
        ),
        ("0", "1"),
        monks_problems_1,
    )


def tic_tac_toe() -> Dataset:
    """All 958 boards at the end of a game that x began; positive where x has a line.

    Row order: boards won by x, boards won by o, draws; within each, in the order
    x before o before blank, last square fastest. Codes: b (blank) 0, o 1, x 2.
    """
    places = ("top", "middle", "bottom"), ("left", "middle", "right")
    wins_x, wins_o, draws = [], [], []
    for board in product("xob", repeat=9):
        lead = board.count("x") - board.count("o")
        won = {p for p in "xo" for line in _LINES if all(board[i] == p for i in line)}
        if won == {"x"} and lead == 1:
            wins_x.append(board)
        elif won == {"o"} and lead == 0:
            wins_o.append(board)
        elif not won and "b" not in board and lead == 1:
            draws.append(board)
    boards = np.array(wins_x + wins_o + draws)
    return _make(
        "tic-tac-toe",
        np.searchsorted(["b", "o", "x"], boards).astype(float),
        np.arange(len(boards)) < len(wins_x),
        tuple(f"{row}-{column}-square" for row, column in product(*places)),
        ("negative", "positive"),
        tic_tac_toe,
        levels=("b", "o", "x"),
    )


def balance_scale() -> Dataset:
    """All 625 settings of a balance: it tips left (L), right (R) or stays (B).

    Row order: left weight, left distance, right weight, right distance from 1 to 5,
    last feature fastest.
    """
    data = np.array(list(product(range(1, 6), repeat=4)), dtype=float)
    torque = data[:, 0] * data[:, 1] - data[:, 2] * data[:, 3]
    return _make(
        "balance-scale",
        data,
        np.select([torque > 0, torque < 0], [1, 2], 0),
        ("left-weight", "left-distance", "right-weight", "right-distance"),
        ("B", "L", "R"),
        balance_scale,
    )


def corral() -> Dataset:
    """Six bits, class (A0 and A1) or (B0 and B1), in the 160 rows of the OpenML copy.

    Row order: three times the 32 settings of A0, A1, B0, B1 and Irrelevant, with
    Correlated equal to the class except in 8 rows of the first 32; then all 64 settings
    of the six bits. Last feature fastest throughout.
    """
    five = _bits(np.arange(32), 5)
    noisy = [float(bit) for bit in f"{_CORRAL_NOISY:032b}"]
    data = np.concatenate(
        [
            np.column_stack([five, noisy]),
            *[np.column_stack([five, _corral_class(five)])] * 2,
            _bits(np.arange(64), 6),
        ]
    )
    return _make(
        "corral",
        data,
        _corral_class(data),
        ("A0", "A1", "B0", "B1", "Irrelevant", "Correlated"),
        ("0", "1"),
        corral,
        levels=("0", "1"),
    )


RULES: dict[str, Callable[[], Dataset]] = {
    "parity5": parity5,
    "mux6": mux6,
    "monks-problems-1": monks_problems_1,
    "tic-tac-toe": tic_tac_toe,
    "balance-scale": balance_scale,
    "corral": corral,
}


def _bits(numbers: NDArray[np.int64], width: int) -> NDArray[np.float64]:
    """Write each number as a row of `width` bits, most significant first."""
    return (numbers[:, None] >> np.arange(width)[::-1] & 1).astype(float)


def _corral_class(data: NDArray[np.float64]) -> NDArray[np.bool_]:
    a0, a1, b0, b1 = (data[:, :4] == 1).T
    return (a0 & a1) | (b0 & b1)


def _make(
    name: str,
    data: NDArray[np.float64],
    target: NDArray,
    feature_names: tuple[str, ...],
    target_names: tuple[str, ...],
    rule: Callable[[], Dataset],
    levels: tuple[str, ...] = (),
) -> Dataset:
    text = " ".join((rule.__doc__ or "").split())
    return Dataset(
        name=name,
        data=data,
        target=np.asarray(target).astype(np.int64),
        feature_names=feature_names,
        target_names=target_names,
        categorical=np.full(data.shape[1], bool(levels)),
        source="rule",
        description=text,
        levels=dict.fromkeys(feature_names, levels) if levels else {},
    )
