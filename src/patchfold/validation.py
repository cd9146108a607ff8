"""Parameters and samples: what they must be, and one sentence that says what is wrong.

An estimator declares `_parameter_rules`, a mapping from parameter name to a rule or a
tuple of alternative rules. A rule is a word or None, which stand for themselves, `bool`
for True and False, or an instance of a class below. `check_parameters` walks the
mapping at the start of `fit`. `check_samples` is what `fit` and `transform` do with X.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from .backends.backend import Array, array_namespace, column_types, on_any_device
from .backends.native.loops import is_compiled
from .backends.structure import check_structure
from .exceptions import MissingLoopsWarning, warn

PRECOMPUTED = "precomputed"
"""The dissimilarity, or metric, of who passes a matrix in place of samples."""

LARGEST = 1e150
"""Squares of larger numbers are infinite; those of numbers below 1 / LARGEST are 0."""

MANY_SAMPLES = 20_000
"""With more samples a fit by arrays takes long enough for a warning."""

LONGEST_VALUE = 200
"""Characters of a wrong value that a message shows."""

_warned: set[type] = set()
"""Warnings that are given once in a process, and were."""


@dataclass(frozen=True)
class Float:
    """A real number between two bounds; `open_low` leaves out the lower one.

    It is finite, unless it `may_be_infinite`.
    """

    low: float
    high: float = np.inf
    open_low: bool = False
    may_be_infinite: bool = False
    kind: ClassVar[Any] = Real

    def accepts(self, value: Any) -> bool:
        """Say whether the value is acceptable; a bool is not a number here."""
        if not isinstance(value, self.kind) or isinstance(value, bool):
            return False
        try:
            number = float(value)
        except OverflowError:
            return False
        above = number > self.low if self.open_low else number >= self.low
        finite = bool(np.isfinite(number)) or self.may_be_infinite
        return finite and above and number <= self.high

    def __str__(self) -> str:
        sign = ">" if self.open_low else ">="
        upper = "" if np.isinf(self.high) else f" and <= {self.high:g}"
        return f"a float {sign} {self.low:g}{upper}"


class Integer(Float):
    """An integer of at least `low`."""

    kind = Integral

    def __str__(self) -> str:
        return f"an int >= {self.low}"


@dataclass(frozen=True)
class Fraction:
    """A float in (0, 1]; an integer is never a fraction."""

    def accepts(self, value: Any) -> bool:
        """Say whether the value is acceptable."""
        return (
            isinstance(value, Real)
            and not isinstance(value, (Integral, bool))
            and 0 < float(value) <= 1
        )

    def __str__(self) -> str:
        return "a float in (0, 1] (a fraction of the samples)"


@dataclass(frozen=True)
class ThreadCount:
    """A number of threads as joblib counts them: negative ones from the core count."""

    def accepts(self, value: Any) -> bool:
        """Say whether the value is acceptable."""
        is_number = isinstance(value, Integral) and not isinstance(value, bool)
        return is_number and value != 0

    def __str__(self) -> str:
        return "an int other than 0 (-1 uses every core)"


N_JOBS = (None, ThreadCount())
"""The rule of `n_jobs`."""


@dataclass(frozen=True)
class Several:
    """A tuple or list of some of these words, at least one, none twice."""

    words: tuple[str, ...]

    def accepts(self, value: Any) -> bool:
        """Say whether the value is acceptable."""
        return (
            isinstance(value, (tuple, list))
            and len(value) > 0
            and all(isinstance(item, str) and item in self.words for item in value)
            and len(set(value)) == len(value)
        )

    def __str__(self) -> str:
        words = " or ".join(map(repr, self.words))
        return f"a tuple of one or more, none twice, each {words}"


@dataclass(frozen=True)
class Having:
    """Anything that has the named methods, described in words."""

    methods: tuple[str, ...]
    words: str

    def accepts(self, value: Any) -> bool:
        """Say whether the value is acceptable; a class is not an instance."""
        return not isinstance(value, type) and all(
            callable(getattr(value, method, None)) for method in self.methods
        )

    def __str__(self) -> str:
        return self.words


def check_parameters(estimator: Any) -> None:
    """Raise ValueError for the first parameter that breaks its rule."""
    owner = type(estimator).__name__
    for name, rules in estimator._parameter_rules.items():
        check_parameter(name, getattr(estimator, name), rules, owner)


def check_parameter(name: str, value: Any, rules: Any, owner: str) -> None:
    """Raise ValueError if a value breaks the rule, or all rules, of a parameter."""
    alternatives = rules if isinstance(rules, tuple) else (rules,)
    for rule in alternatives:  # words and None stand for themselves: most values do
        is_word = isinstance(rule, str) and isinstance(value, str) and value == rule
        if is_word or value is rule is None:
            return
    for rule in alternatives:
        if rule is bool:
            accepted = isinstance(value, (bool, np.bool_))
        else:
            accepted = hasattr(rule, "accepts") and rule.accepts(value)
        if accepted:
            return
    words = {None: "None", bool: "True or False"}
    wanted = " or ".join(
        repr(rule) if isinstance(rule, str) else words.get(rule, str(rule))
        for rule in alternatives
    )
    shown = repr(value)
    if len(shown) > LONGEST_VALUE:
        shown = f"{shown[:LONGEST_VALUE]} ..."
    raise ValueError(
        f"The {name!r} parameter of {owner} must be {wanted}. Got {shown} instead."
    )


def is_precomputed(estimator: Any) -> bool:
    """Say whether an estimator is given dissimilarities in place of samples."""
    dissimilarity, metric = estimator.dissimilarity, estimator.metric
    by_matrix = isinstance(dissimilarity, str) and dissimilarity == PRECOMPUTED
    return by_matrix or (isinstance(metric, str) and metric == PRECOMPUTED)


def has_euclidean_metric(estimator: Any) -> bool:
    """Say whether samples are compared by the Euclidean distance."""
    metric, params = estimator.metric, estimator.metric_params or {}
    if not isinstance(metric, str):
        return False
    if metric == "minkowski":
        return params.keys() <= {"p"} and params.get("p", estimator.p) == 2
    return metric in ("euclidean", "l2") and not params


def check_metric(estimator: Any) -> None:
    """Raise ValueError for a metric that does not go with the dissimilarity."""
    metric, dissimilarity = estimator.metric, estimator.dissimilarity
    if isinstance(metric, str) and metric == PRECOMPUTED:
        if dissimilarity not in ("euclidean", PRECOMPUTED):
            raise ValueError(
                "metric='precomputed' has distances and no samples, and dissimilarity="
                f"{dissimilarity!r} compares patches of samples: set dissimilarity="
                "'euclidean' to take the distances as they are."
            )
    elif is_precomputed(estimator) and not has_euclidean_metric(estimator):
        shown = getattr(metric, "__name__", repr(metric))
        raise ValueError(
            f"metric={shown} measures samples, and dissimilarity='precomputed' has "
            "none: leave metric out."
        )


def check_neighborhoods(estimator: Any, *, all_pairs: bool = False) -> None:
    """Raise ValueError unless exactly one of `n_neighbors` and `radius` is given.

    `all_pairs` says that neither stands for all pairs.
    """
    n_neighbors, radius = estimator.n_neighbors, estimator.radius
    name = type(estimator).__name__
    if radius is None:
        if n_neighbors is None and not all_pairs:
            raise ValueError(
                f"{name} has neither n_neighbors nor radius: set one of them."
            )
        return
    if n_neighbors is not None:
        raise ValueError(
            f"{name} has both n_neighbors={n_neighbors!r} and radius={radius!r}: set "
            "n_neighbors=None to use the radius."
        )
    algorithm = estimator.neighbors_algorithm
    if not isinstance(algorithm, str) or algorithm == "approximate":
        raise ValueError(
            "neighbors_algorithm finds a number of neighbours, and radius="
            f"{radius!r} asks for all within reach: set neighbors_algorithm='exact', "
            "or n_neighbors instead of radius."
        )


@on_any_device
def check_samples(estimator: Any, X: Any, *, reset: bool, **settings: Any) -> Any:
    """Return X as float64, checked by scikit-learn; words get a sentence of their own.

    Parameters
    ----------
    estimator : estimator
        Whose features they are.
    X : array-like (n, m)
        Samples.
    reset : bool
        Whether the estimator learns the number and names of its features here.
    **settings
        As in scikit-learn's `check_array`.
    """
    if sp.issparse(X):
        check_structure(X)
    if not (isinstance(X, np.ndarray) and X.dtype.kind in "fiub"):
        _refuse_dates(X)
    # Sums over rows that lie in another order in memory differ in their last digits.
    settings = {"dtype": np.float64, "order": "C", **settings}
    try:
        checked = validate_data(estimator, X, reset=reset, **settings)
        if sp.issparse(checked):
            return sp.csr_array(checked)
    except (TypeError, ValueError) as error:
        if "could not convert" in str(error) or "float()" in str(error):
            raise type(error)(
                f"X must be numbers, and some cells are not: {error}. Leave such "
                "columns out, or encode them with patchfold.TableEncoder."
            ) from error
        if "Sparse data was passed" in str(error):
            raise TypeError(
                f"X is sparse, and {type(estimator).__name__} scales its columns: pass "
                "X.toarray(), or reduce the features first, for example by "
                "TruncatedSVD of scikit-learn in a pipeline."
            ) from error
        if "fill value must be 0" in str(error):
            raise ValueError(
                "X must be dense, and its columns are sparse: pass X.sparse.to_dense()."
            ) from error
        raise
    if reset and checked.shape[0] > MANY_SAMPLES:
        _warn_without_loops(checked.shape[0])
    return checked


def _warn_without_loops(n_samples: int) -> None:
    """Warn, once in a process, of a large fit without the loops in C."""
    if is_compiled() or MissingLoopsWarning in _warned:
        return
    _warned.add(MissingLoopsWarning)
    warn(
        "the loops in C are not compiled, and arrays take their place: a fit of "
        f"{n_samples} samples takes several times as long. Install a wheel, or a C "
        "compiler and then patchfold again; patchfold.show_versions() shows the state.",
        MissingLoopsWarning,
    )


def _refuse_dates(X: Any) -> None:
    """Raise TypeError for what would become numbers in silence, or be no table yet."""
    if type(X).__name__ == "LazyFrame":
        raise TypeError(
            "X must be a table, and a LazyFrame is none yet: pass X.collect()."
        )
    kinds = column_types(X)
    names = list(getattr(X, "columns", ())) or [""] * len(kinds)
    for name, kind in zip(names, map(str, kinds), strict=False):
        if kind.lower().startswith(("date", "time", "duration", "period")):
            where = f"column {name!r} has" if name != "" else "it has"
            raise TypeError(
                f"X must be numbers, and {where} dates or times ({kind}): leave them "
                "out, or turn them into numbers."
            )


def without_zeros(X: sp.csr_array) -> sp.csr_array:
    """Return sparse samples with every entry stored once, and no zeros."""
    if not (X.has_canonical_format and X.data.all()):
        X = X.copy()  # not the caller's
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


def as_sparse_as(X: Any, training: Any) -> Any:
    """Return new samples sparse if the training samples are, and else dense."""
    if sp.issparse(training) == sp.issparse(X):
        return X
    return X.toarray() if sp.issparse(X) else without_zeros(sp.csr_array(X))


def check_magnitude(X: Array, *, spread: bool = True) -> None:
    """Raise ValueError for samples whose squared distances are infinite or 0.

    New samples may all be equal: without `spread`, only the size is looked at.
    """
    if sp.issparse(X):
        X = X.data[:, None] if X.nnz else np.zeros((1, 1))
        spread = False
    largest = max(float(X.max()), -float(X.min()))
    if largest > LARGEST:
        raise ValueError(
            f"X has a value of size {largest:.3g}, and squares of more than "
            f"{LARGEST:g} overflow: scale the features."
        )
    xp = array_namespace(X)
    ranges = xp.max(X, axis=0) - xp.min(X, axis=0)
    widest = float(ranges.max()) if spread else 0.0
    if 0 < widest < 1 / LARGEST:
        raise ValueError(
            f"X varies by {widest:.3g} at most, and squares of less than "
            f"{1 / LARGEST:g} are 0: scale the features."
        )
