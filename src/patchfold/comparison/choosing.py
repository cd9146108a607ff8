"""What a user names -> methods that `compare` can run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from ..estimators.methods import BASELINES, METHODS, TWINS, Method, find_method

DEFAULTS = (
    "cauchy-map",
    "cauchy-map-labels",
    "posterior",
    "lda",
    "isomap-kl",
    "elap",
    "pelle",
    "klap",
    "cauchy",
    *TWINS,
    "pca",
    "tsne",
    "umap",
)
"""The methods that run if none is named. In `methods`, "defaults" stands for them."""

OURS = (
    "cauchy-map",
    "cauchy-map-labels",
    "posterior",
    "projection",
    "isomap-kl",
    "elap",
    "pelle",
    "klap",
    "cauchy",
)

CLASS_METHODS = ("cauchy-map-labels", "posterior", "klap", "lda")
"""Methods whose labels must be classes."""

COMPILED = ("umap", "pacmap", "trimap")
"""Packages that compile themselves in the first fit."""

WEIGHTS = {"umap": 16.0, "tsne": 16.0, "klap": 3.0}
"""Time of one fit, relative to that of most methods: the pace of the progress bar.

Measured on 2,000 x 30, in processor time; UMAP's compilation is spread over its fits.
"""


def choose_methods(wanted: Any, remarks: list[str]) -> list[Method]:
    """Return the methods to run.

    Parameters
    ----------
    wanted : iterable or None
        Names of `METHODS`, "lda", "defaults", dotted names of classes
        (``"sklearn.manifold.MDS"``), transformers, and pairs of a name and a
        transformer. None is `DEFAULTS`.
    remarks : list of str
        What is left out is added here.

    Returns
    -------
    list of Method
        Each name once.
    """
    if isinstance(wanted, str) or (
        wanted is not None and not isinstance(wanted, Iterable)
    ):
        raise ValueError(
            "methods must be a list of names, transformers or pairs of both. Got "
            f"{wanted!r} instead."
        )
    asked = ["defaults"] if wanted is None else list(wanted)
    chosen: dict[str, Method] = {}
    for item in asked:
        for method in _methods_of(item):
            own = item if not isinstance(item, str) else None
            chosen[_free_name(method.name, chosen, own)] = method
    if not chosen:
        raise ValueError("methods must name one or more.")
    methods = [replace(method, name=name) for name, method in chosen.items()]
    missing = [m.title for m in methods if m.name == "umap" and not find_spec("umap")]
    if missing:
        remarks.append(
            'UMAP is left out: it is not installed (pip install "patchfold[eval]").'
        )
        methods = [method for method in methods if method.name != "umap"]
    return methods


def _free_name(name: str, taken: dict[str, Method], item: Any) -> str:
    """Return the name, with a number for a second transformer of the same name."""
    if item is None or name not in taken:
        return name
    number = 2
    while f"{name}-{number}" in taken:
        number += 1
    return f"{name}-{number}"


def _methods_of(item: Any) -> list[Method]:
    if isinstance(item, str):
        if item == "defaults":
            return [_known(name) for name in DEFAULTS]
        return [_imported(item) if "." in item else _known(item)]
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str):
        return [_joined(item[1], item[0])]
    return [_joined(item, None)]


def _known(name: str) -> Method:
    """Return a method of the table, t-SNE by openTSNE where that is installed."""
    if name.lower() == "lda":
        make = BASELINES["LDA"].make
        return Method("lda", "LDA", make, {}, "supervised, linear", supervised=True)
    try:
        method = find_method(name)
    except ValueError as error:
        raise ValueError(
            f"{error} lda, defaults and dotted names of transformers, such as "
            "sklearn.manifold.MDS, are methods here too."
        ) from None
    if method.name == "umap":
        return replace(method, remark="its own defaults")
    if method.name != "tsne":
        return method
    if find_spec("openTSNE"):
        make = BASELINES["OPENTSNE"].make
        return replace(method, make=make, remark="by openTSNE, perplexity 30")
    said = (
        "by scikit-learn, perplexity 30; openTSNE, which places new rows, is not here"
    )
    return replace(method, remark=said)


def _imported(path: str) -> Method:
    """Import a transformer by its dotted name, for two coordinates and seed 0."""
    module, _, name = path.rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"methods: {path!r} cannot be imported ({error}). Write the dotted name of "
            "a transformer, such as sklearn.decomposition.FastICA."
        ) from error
    try:
        estimator = found()
    except TypeError as error:
        raise ValueError(
            f"methods: {path} needs arguments ({error}). Pass it from Python, as "
            "methods=[transformer]."
        ) from error
    _check_transformer(estimator, path)
    known = estimator.get_params(deep=False)
    wanted = {"n_components": 2, "random_state": 0}
    estimator.set_params(**{k: v for k, v in wanted.items() if k in known})
    return _joined(estimator, None)


def _joined(estimator: Any, name: str | None) -> Method:
    """Return a user's transformer as a method."""
    title = name or _title(estimator)
    _check_transformer(estimator, title)
    supervised = bool(get_tags(estimator).target_tags.required)

    def make(**params: Any) -> Any:
        return clone(estimator).set_params(**params)

    said = "supervised: its picture has seen the labels" if supervised else "added"
    return Method(title, title, make, {}, said, supervised=supervised)


def _title(estimator: Any) -> str:
    steps = getattr(estimator, "steps", None)
    if steps:
        return " + ".join(type(step).__name__ for _, step in steps)
    return type(estimator).__name__


def _check_transformer(estimator: Any, name: str) -> None:
    if isinstance(estimator, type):
        raise ValueError(
            f"methods: {estimator.__name__} is a class, and must be a transformer: "
            f"write {estimator.__name__}()."
        )
    if not isinstance(estimator, BaseEstimator) or not (
        hasattr(estimator, "fit_transform") or hasattr(estimator, "transform")
    ):
        raise ValueError(
            f"methods: {name} must be a scikit-learn transformer, with fit_transform "
            f"or transform. Got {type(estimator).__name__} instead."
        )


def compiles(method: Method) -> bool:
    """Say whether the first fit of a method compiles its package."""
    if method.name == "umap":
        return True
    if method.name in METHODS or method.name == "lda":
        return False
    return type(method.make()).__module__.partition(".")[0] in COMPILED


def kind_of(method: Method) -> str:
    """Return the kind of a method's result: "patch", "twin" or "other"."""
    if method.name in TWINS:
        return "twin"
    return "patch" if method.name in OURS else "other"
