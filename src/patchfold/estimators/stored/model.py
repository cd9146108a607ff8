"""Fitted estimators in files: what is written of them, checked and completed again.

A file holds the parameters and the attributes that `_fitted_rules` names, in compact
form. What follows from them (`_made_again`) is not written: it is computed when the
model is loaded. So a file cannot hold a description of patches, cells of a search or a
graph that contradicts the samples.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import NotFittedError

from ...backends.backend import NUMPY
from ...validation import check_parameters
from .output import OUTPUT, pack_output, unpack_output
from .rules import FittedError, FittedRule, Sizes, pack_state, unpack_state

FITTED = "_fitted"
"""The one attribute of an estimator in a file that holds all fitted ones."""

MOST_THREADS = 4096
"""Threads that a file may ask for."""

_is_saving: ContextVar[bool] = ContextVar("is_saving", default=False)


@contextmanager
def saving() -> Iterator[None]:
    """Let our estimators give their state as it is written to a file."""
    token = _is_saving.set(True)
    try:
        yield
    finally:
        _is_saving.reset(token)


NO_SEARCH = (
    "patchfold.",
    "sklearn.pipeline",
    "sklearn.preprocessing",
    "sklearn.compose",
)
"""Where types are that a file may hold, but not as a neighbour search: it is fitted."""


class StoredModel:
    """A mixin that lets an estimator be written to a model file.

    Subclasses have the two tables, `_parameter_rules`, and `_make_again`.
    """

    _parameter_rules: ClassVar[dict[str, Any]]
    _fitted_rules: ClassVar[dict[str, FittedRule]]
    _made_again: ClassVar[frozenset[str]]
    _later_parameters: ClassVar[dict[str, Any]] = {
        "verbose": False,
        "metric": "minkowski",
        "p": 2,
        "metric_params": None,
    }
    """Parameters that files of older versions lack, and what those versions did."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes; for a file, packed. Copies and pickles have all."""
        state: Any = super().__getstate__()
        return self._packed(state) if _is_saving.get() else state

    def _packed(self, state: dict[str, Any]) -> dict[str, Any]:
        """Return parameters, and the fitted attributes in compact form."""
        name = type(self).__name__
        known = {*self._parameter_rules, OUTPUT}
        fitted = {key: state[key] for key in state if key not in known}
        if not fitted:
            raise NotFittedError(
                f"this {name} is not fitted: call fit before it is saved."
            )
        unknown = fitted.keys() - self._fitted_rules.keys() - self._made_again
        if unknown:
            raise ValueError(
                f"this {name} has attributes that no model file holds: "
                f"{', '.join(sorted(unknown))}. Delete them first."
            )
        packed = pack_state(self._fitted_rules, NUMPY.bring(fitted))
        given = self._later_parameters | state
        parameters = {key: given[key] for key in self._parameter_rules}
        if callable(parameters.get("verbose")):
            parameters["verbose"] = False  # no file holds a function
        return {**parameters, FITTED: packed | pack_output(state)}

    def _complete(self, *, whole: bool = True) -> None:
        """Turn what a file holds into a fitted estimator; raise FittedError.

        Everything is checked before anything is computed from it. Unless it shall be
        `whole`, nothing is computed.
        """
        try:
            # Warnings were given when the model was fitted.
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                sizes = self._check_stored()
                if whole:
                    self._make_again(sizes)
        except FittedError:
            raise
        except Exception as error:  # of valid parts that contradict each other
            raise FittedError(
                f"what follows from the samples cannot be computed: "
                f"{str(error) or type(error).__name__}"
            ) from error

    def _check_stored(self) -> Sizes:
        """Check and unpack what a file holds; return the sizes."""
        state = vars(self)
        packed = state.pop(FITTED, None)
        if not isinstance(packed, dict):
            raise FittedError("its fitted attributes are missing")
        output = unpack_output(packed)
        packed = {name: packed[name] for name in packed if name != OUTPUT}
        self._add_later_parameters()
        self._check_stored_parameters()
        n_components = getattr(self, "n_components", None)
        sizes: Sizes = {} if n_components is None else {"components": n_components}
        state.update(unpack_state(self._fitted_rules, packed, sizes), **output)
        return sizes

    def _add_later_parameters(self) -> None:
        """Give parameters that a file of an older version lacks their values."""
        for name in self._later_parameters.keys() & self._parameter_rules.keys():
            vars(self).setdefault(name, self._later_parameters[name])

    def _check_stored_parameters(self) -> None:
        state, rules = vars(self), self._parameter_rules
        wrong = sorted(state.keys() ^ rules.keys())
        if wrong:
            raise FittedError(f"parameters are missing or unknown: {', '.join(wrong)}")
        try:
            check_parameters(self)
        except ValueError as error:
            raise FittedError(str(error)) from error
        if abs(state.get("n_jobs") or 0) > MOST_THREADS:
            raise FittedError(f"n_jobs={state['n_jobs']} is more than {MOST_THREADS}")
        search = state.get("neighbors_algorithm")
        if type(search).__module__.startswith(NO_SEARCH):
            raise FittedError(f"neighbors_algorithm is a {type(search).__name__}")
        seed = state.get("random_state")
        if isinstance(seed, np.random.RandomState):
            place = seed.get_state(legacy=False)["state"]["pos"]
            if not 0 <= place <= 624:  # NumPy would read beyond its own numbers
                raise FittedError(f"random_state is at position {place} of 624")

    def _training_samples(self) -> Any:
        """Return the training samples; None where they are not kept."""
        return None

    def _make_again(self, sizes: Sizes) -> None:
        """Compute the attributes that are not written."""
        raise NotImplementedError
