"""Encoders of earlier model files -> the TableEncoder that makes the same numbers.

Until `TableEncoder`, `embed` made its encoder of parts of scikit-learn: first the
numbers, imputed and scaled, then the categories, as dummies or positions of levels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from ..estimators.encoding.layout import Learned
from ..estimators.table_encoder import TableEncoder

KINDS = ("numbers", "categories")
"""Parts of such an encoder."""


def renew(
    encoder: Any, dates: Collection[str] = ()
) -> tuple[TableEncoder, dict[str, Any]]:
    """Return a TableEncoder in place of an earlier encoder, and what filled its gaps.

    A category that `fit` did not see is then none of the known ones, as it was.

    Parameters
    ----------
    encoder : ColumnTransformer
        Fitted, as earlier versions made it.
    dates : collection of str
        Numbers that are days since 1970.

    Returns
    -------
    encoder : TableEncoder
        With the numbers first, then the categories.
    usual : dict of str to float or str
        Medians and most frequent levels by column; empty if gaps were refused.

    Raises
    ------
    ValueError
        If it has another form.
    """
    if not isinstance(encoder, ColumnTransformer):
        raise ValueError("its columns are not encoded by patchfold")
    columns: list[Learned] = []
    usual: dict[str, Any] = {}
    for kind, steps, names in _parts(encoder):
        make = _numbers if kind == "numbers" else _categories
        columns += make(steps.named_steps, names, dates)
        filler = steps.named_steps.get("impute")
        if isinstance(filler, SimpleImputer):
            usual |= dict(zip(names, filler.statistics_.tolist(), strict=True))
    return TableEncoder._of(columns), usual


def _parts(encoder: ColumnTransformer) -> Iterator[tuple[str, Pipeline, list[str]]]:
    """Yield name, steps and columns of each part."""
    known = encoder.feature_names_in_
    found = {part[0]: part for part in encoder.transformers_ if part[0] != "remainder"}
    if not found or not set(found) <= set(KINDS):
        raise ValueError("its encoder has other parts than numbers and categories")
    for kind in (kind for kind in KINDS if kind in found):
        _, steps, columns = found[kind]
        if not isinstance(steps, Pipeline):
            raise ValueError(f"its encoder of {kind} is no pipeline")
        # Earlier models hold names, later ones positions.
        yield kind, steps, [c if isinstance(c, str) else str(known[c]) for c in columns]


def _numbers(steps: Any, names: list[str], dates: Collection[str]) -> Iterator[Learned]:
    kinds = ["date" if name in dates else "number" for name in names]
    for moments, name, kind in zip(_moments(steps, names), names, kinds, strict=True):
        yield Learned(name, kind, **moments)


def _categories(
    steps: Any, names: list[str], dates: Collection[str]
) -> Iterator[Learned]:
    coder = steps.get("encode")
    if isinstance(coder, OneHotEncoder):
        for name, levels in zip(names, coder.categories_, strict=True):
            words = tuple(levels.tolist())
            shares = (0.0,) * len(words)
            yield Learned(name, "category", levels=words, shares=shares, plain=True)
    elif isinstance(coder, OrdinalEncoder):
        ranks = zip(_moments(steps, names), names, coder.categories_, strict=True)
        for moments, name, levels in ranks:
            yield Learned(name, "ordered", levels=tuple(levels.tolist()), **moments)
    else:
        raise ValueError("its encoder of categories is not known")


def _moments(steps: Any, names: list[str]) -> Iterator[dict[str, Any]]:
    """Yield mean and scale of each column; without a scaler neither is known."""
    scaler = steps.get("scale")
    if isinstance(scaler, StandardScaler):
        for center, scale in zip(scaler.mean_, scaler.scale_, strict=True):
            yield {"center": float(center), "scale": float(scale)}
        return
    for _ in names:
        yield {"plain": True}
