"""TableEncoder: mixed columns -> numbers in which every column counts alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from ..exceptions import UnknownCategoryWarning, warn
from ..validation import N_JOBS, check_parameters
from .encoding.gower import gower_distances, scale_to_range
from .encoding.layout import Learned, Unknown, check_sizes, decode, encode, tell
from .encoding.learning import learn
from .encoding.reading import read_columns, table_kind
from .encoding.returning import make_table
from .encoding.wishes import Levels, LevelsRule, Wishes
from .stored.table_encoder import FittedTable, StoredEncoder


class TableEncoder(StoredEncoder, TransformerMixin, BaseEstimator):
    """Turn a table into numbers in which Euclidean distance counts every column alike.

    A table may be a data frame of pandas, Polars or Arrow, or an array. Its columns may
    hold numbers, categories, ordered categories, booleans, dates, durations and gaps.
    The estimators of patchfold call it themselves for a data frame that has a column
    other than numbers.

    ================  ==============================================================
    column            becomes
    ================  ==============================================================
    number, boolean   its z-score: mean 0, variance 1
    date, duration    days, then the z-score; times of day are durations
    ordered category  the rank of its level, then the z-score
    category          of levels with shares p_k, for each a column
                      (dummy_k - p_k) / √(1 - Σp_k²); the variances add up to 1
    two categories    one column, the z-score of the second level
    gap               0, the mean of the column
    ================  ==============================================================

    Parameters
    ----------
    distance : {"euclidean", "gower"}, default="euclidean"
        "gower" makes `transform` return Gower's distances of the rows to those of
        `fit`, (n_queries, n_samples), for estimators with
        `dissimilarity="precomputed"`. It leaves gaps out exactly, and takes time and
        memory quadratic in the rows: 10,000 rows are 0.8 GB.
    ordered : mapping of str to list, default=None
        All categories of a column in their order, by its name, or by its position in
        an array. Columns that are declared as ordered by pandas or Arrow need no
        entry; Polars does not tell the two kinds apart.
    categories : mapping of str to list, default=None
        All categories of a column, by its name or position. It is taken for a category
        whatever it holds, numbers as well, and however many levels it has.
    scale : bool, default=True
        Whether columns count alike. If False, numbers stay as they are, ordered
        categories become ranks, and categories a column of 0 and 1 for each level. Only
        with Euclidean distance.
    impute : {"median"} or None, default=None
        "median" fills a gap before anything else is learned: with the median of
        numbers and dates, with the most frequent category. None leaves it at the mean.
        Only with Euclidean distance.
    add_indicator : bool, default=False
        Whether a column that has gaps in `fit` gets another column beside it, a
        boolean: missing or not. Only with Euclidean distance.
    n_jobs : int or None, default=None
        Threads for Gower's distances.

    Attributes
    ----------
    kinds_ : tuple of str
        Kind of every column: "number", "boolean", "date", "duration", "category",
        "ordered", or "empty" where no cell has a value.
    categories_ : tuple of tuple
        Categories of every column; none where it holds something else.
    n_features_in_, feature_names_in_ : int, array (n_features_in_,)
        Columns seen in `fit`, and their names where X had string names.

    Notes
    -----
    *Gaps* are not filled with a guess, but a distance needs a number: the mean. The
    mean squared distance of a gap is then 1 to a present cell and 0 to another gap,
    while that of two present cells is 2. So rows with gaps are nearer to all others
    than they should be. With `add_indicator` rows that lack the same cells are drawn
    together, and away from the others. Gower's distance compares two rows only in the
    columns that both have.

    *Categories that `fit` did not see* are taken for gaps, and an
    `UnknownCategoryWarning` counts them.

    *Text that looks like numbers or dates* is refused: convert it, or declare it a
    category. Names and free text are refused too: a category with more than 1,000
    levels, or with more than 20 levels and one level for every second row.

    `inverse_transform` cannot tell a gap from the mean: it returns the mean, or the
    most frequent category, unless `add_indicator` marks it.

    See Also
    --------
    CauchyMap : Draws a map of a table; calls this for mixed columns.

    Examples
    --------
    >>> import pandas as pd
    >>> import patchfold as pf
    >>> frame = pd.DataFrame({"size": [1.0, 2.0, None, 3.0],
    ...                       "hue": ["red", "blue", "red", "green"]})
    >>> encoder = pf.TableEncoder().fit(frame)
    >>> encoder.kinds_
    ('number', 'category')
    >>> encoder.transform(frame).round(2)
    array([[-1.22, -0.32, -0.32,  0.63],
           [ 0.  ,  0.95, -0.32, -0.63],
           [ 0.  , -0.32, -0.32,  0.63],
           [ 1.22, -0.32,  0.95, -0.63]])
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'hue_blue', 'hue_green', 'hue_red']
    """

    kinds_: tuple[str, ...]

    _parameter_rules: ClassVar[dict[str, Any]] = {
        "distance": ("euclidean", "gower"),
        "ordered": (LevelsRule(), None),
        "categories": (LevelsRule(), None),
        "scale": bool,
        "impute": ("median", None),
        "add_indicator": bool,
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        *,
        distance: str = "euclidean",
        ordered: Levels | None = None,
        categories: Levels | None = None,
        scale: bool = True,
        impute: str | None = None,
        add_indicator: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.distance = distance
        self.ordered = ordered
        self.categories = categories
        self.scale = scale
        self.impute = impute
        self.add_indicator = add_indicator
        self.n_jobs = n_jobs

    @property
    def categories_(self) -> tuple[tuple[Any, ...], ...]:
        """Categories of every column; none where it holds something else."""
        check_is_fitted(self)
        return tuple(column.levels for column in self._fitted.columns)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn kinds, means, scales and categories of the columns.

        Parameters
        ----------
        X : data frame or array-like (n_samples, n_features)
            The table.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted encoder.
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Learn the columns of a table, and return its numbers.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        numbers : array (n_samples, n_features_out)
            As `transform` returns them.
        """
        return self._numbers(self._fit(X))

    def transform(self, X: Any) -> np.ndarray:
        """Turn a table with the columns of `fit` into numbers.

        Parameters
        ----------
        X : data frame or array-like (n_queries, n_features)
            The table.

        Returns
        -------
        numbers : array (n_queries, n_features_out)
            With `distance="gower"`, distances to the rows of `fit`.
        """
        check_is_fitted(self)
        return self._numbers(self._read(X))

    def inverse_transform(self, X: Any) -> Any:
        """Turn numbers back into a table, of the kind that `fit` was given.

        Parameters
        ----------
        X : array-like (n_queries, n_features_out)
            Numbers, as `transform` returns them, or others: a category is the nearest.

        Returns
        -------
        table : data frame or array (n_queries, n_features)
            Integers come back as floats, dates to the microsecond and in UTC.
        """
        check_is_fitted(self)
        if self.distance == "gower":
            raise ValueError(
                "distance='gower' gives distances, which have no inverse: take "
                "distance='euclidean'."
            )
        X = check_array(X, dtype=np.float64)
        if X.shape[1] != self._width:
            raise ValueError(
                f"X has {X.shape[1]} columns, and TableEncoder makes {self._width}."
            )
        place, values = 0, []
        for column in self._fitted.columns:
            values.append(decode(column, X[:, place : place + column.width]))
            place += column.width
        for j, marked in enumerate(self._marked):
            column = self._fitted.columns[marked]
            spread, shift = self._mark(column)
            is_gap = X[:, place + j] * spread + shift > 0.5
            values[marked][is_gap] = np.nan
        fitted = self._fitted
        return make_table(fitted.kind, self._names(), fitted.columns, values)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Name the columns of the output.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns; by default those seen in `fit`, else x0, x1, ...

        Returns
        -------
        names : array of str
            A number keeps its name. A category has NAME_LEVEL for each level, an
            indicator NAME_missing, a distance to a row its number.
        """
        check_is_fitted(self)
        names = self._names()
        if input_features is not None:
            given = [str(name) for name in input_features]
            if len(given) != len(names):
                raise ValueError(
                    "input_features should have length equal to number of features "
                    f"({len(names)}), got {len(given)}."
                )
            if hasattr(self, "feature_names_in_") and given != names:
                raise ValueError("input_features is not equal to feature_names_in_.")
            names = given
        if self.distance == "gower":
            count = self._fitted.rows.shape[0]
            return np.array([f"tableencoder{j}" for j in range(count)], dtype=object)
        pairs = list(zip(self._fitted.columns, names, strict=True))
        out = [word for column, name in pairs for word in column.names_out(name)]
        if self.add_indicator:
            out += [f"{name}_missing" for column, name in pairs if column.has_gaps]
        return np.array(out, dtype=object)

    def describe(self) -> str:
        """Say in one line what the columns are and become.

        Returns
        -------
        str
            Counts of columns by kind, and the number of columns they become.
        """
        check_is_fitted(self)
        where = "at the mean" if self.impute is None else "filled with the usual value"
        return tell(self._fitted.columns, self._width, where)

    def _fit(self, X: Any) -> list[np.ndarray]:
        check_parameters(self)
        self._check_distance()
        wishes = Wishes(
            self.ordered, self.categories, not self.scale, self.impute is not None
        )
        columns = read_columns(X, wishes.declared)
        self._check_table(X, reset=True)
        learned, values = learn(columns, wishes)
        gower = self.distance == "gower"
        rows = scale_to_range(learned, values) if gower else None
        self._keep(FittedTable(learned, table_kind(X) or "array", rows))
        return values

    @classmethod
    def _of(cls, columns: Sequence[Learned]) -> Self:
        """Return a fitted encoder of what is known of the columns of a data frame."""
        made = cls()
        made._keep(FittedTable(tuple(columns), "pandas"))
        made.n_features_in_ = len(columns)
        made.feature_names_in_ = np.array([c.name for c in columns], dtype=object)
        return made

    def _check_distance(self) -> None:
        """Raise an error for parameters that have no meaning for Gower's distance."""
        usual = {"scale": True, "impute": None, "add_indicator": False}
        for name, value in usual.items():
            given = getattr(self, name)
            if self.distance == "gower" and given != value:
                raise ValueError(
                    f"{name}={given!r} is for Euclidean distance: Gower's takes "
                    f"ranges, and leaves gaps out. Set {name}={value!r}."
                )

    def _check_table(self, X: Any, *, reset: bool) -> None:
        """Check number and names of columns, as scikit-learn does."""
        if table_kind(X) is None:
            X = check_array(
                X if hasattr(X, "dtype") else np.asarray(X, dtype=object),
                dtype=None,
                ensure_all_finite=False,
            )
        elif min(X.shape) == 0:
            what = "sample" if X.shape[0] == 0 else "feature"
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 "
                "is required by TableEncoder."
            )
        validate_data(self, X, reset=reset, skip_check_array=True)

    def _read(self, X: Any) -> list[np.ndarray]:
        """Read new rows; count what `fit` did not see."""
        self._check_table(X, reset=False)
        unknown = Unknown()
        declared = {j for j, column in enumerate(self._fitted.columns) if column.levels}
        pairs = zip(self._fitted.columns, read_columns(X, declared), strict=True)
        values = [known.read(column, unknown) for known, column in pairs]
        check_sizes(self._fitted.columns, values)
        if unknown.counts:
            warn(unknown.words(), UnknownCategoryWarning)
        return values

    def _numbers(
        self, values: list[np.ndarray], *, keeps_gaps: bool = False
    ) -> np.ndarray:
        if self.distance == "gower":
            rows = scale_to_range(self._fitted.columns, values)
            is_category = np.array([kind == "category" for kind in self.kinds_])
            return gower_distances(rows, self._fitted.rows, is_category, self.n_jobs)
        numbers = encode(self._fitted.columns, values, keeps_gaps=keeps_gaps)
        marks = []
        for place in self._marked:
            spread, shift = self._mark(self._fitted.columns[place])
            marks.append((np.isnan(values[place]) - shift) / spread)
        return np.column_stack([numbers, *marks]) if marks else numbers

    def _mark(self, column: Learned) -> tuple[float, float]:
        """Return the divisor of the indicator of a column, and its shift."""
        if not self.scale:
            return 1.0, 0.0
        return float(np.sqrt(column.missing * (1 - column.missing))), column.missing

    @property
    def _marked(self) -> list[int]:
        """Positions of columns with an indicator."""
        if not self.add_indicator:
            return []
        return [j for j, column in enumerate(self._fitted.columns) if column.has_gaps]

    @property
    def _width(self) -> int:
        """Number of columns of the output."""
        if self.distance == "gower":
            return self._fitted.rows.shape[0]
        return sum(column.width for column in self._fitted.columns) + len(self._marked)

    def _names(self) -> list[str]:
        if hasattr(self, "feature_names_in_"):
            return [str(name) for name in self.feature_names_in_]
        return [f"x{place}" for place in range(self.n_features_in_)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
