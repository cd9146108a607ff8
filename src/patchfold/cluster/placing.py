"""Fitted models and Dask arrays or frames -> coordinates, block by block."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from .connection import require_dask

if TYPE_CHECKING:
    import pandas as pd


def transform(model: Any, X: Any) -> Any:
    """Place any number of new samples in the embedding of a fitted model.

    Nothing is computed here: the result is as lazy as X, and each of its blocks is
    `model.transform` of the same block of X, in the same order. A worker holds the
    model and the blocks that it works on. With other blocks, coordinates change by
    rounding at most.

    Parameters
    ----------
    model : estimator
        Fitted; one of patchfold's, or a `Pipeline` that ends with one.
    X : dask.array.Array (n_queries, n_features) or dask.dataframe.DataFrame
        New samples. Samples that are no Dask collection are given to `model.transform`.

    Returns
    -------
    dask.array.Array (n_queries, n_components) or dask.dataframe.DataFrame
        Coordinates; of a frame, with its index and a column for each.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> import patchfold as pf
    >>> from patchfold.cluster import transform
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> model = pf.isomap_kl().fit(X[::2])
    >>> placed = transform(model, da.from_array(X, chunks=(50, 4)))
    >>> placed.chunks
    ((50, 50, 50), (2,))
    >>> np.allclose(placed.compute(), model.transform(X))
    True
    """
    require_dask()
    from dask import is_dask_collection

    if not is_dask_collection(X):
        return model.transform(X)
    names = [str(name) for name in model.get_feature_names_out()]
    held = _held(in_one_thread(model))
    if hasattr(X, "map_partitions"):
        import pandas as pd

        meta = pd.DataFrame(columns=names, dtype=np.float64)
        return X.map_partitions(place_frame, held, names, meta=meta)
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns. Got {X.ndim} axes instead.")
    X = X.rechunk({1: -1})
    return X.map_blocks(
        place_rows,
        held,
        dtype=np.float64,
        chunks=(X.chunks[0], (len(names),)),
        meta=np.empty((0, 0)),
    )


def in_one_thread(model: Any) -> Any:
    """Return the model for a worker: the cluster counts its threads itself."""
    if isinstance(model, Pipeline):
        return Pipeline([(name, in_one_thread(step)) for name, step in model.steps])
    if getattr(model, "n_jobs", None) is not None:
        model = copy.copy(model)
        model.n_jobs = None
    return model


def place_rows(X: Any, model: Any) -> np.ndarray:
    """Place a block of rows, which may be none."""
    if not len(X):
        return np.empty((0, len(model.get_feature_names_out())))
    return np.asarray(model.transform(X))


def place_frame(X: pd.DataFrame, model: Any, names: list[str]) -> pd.DataFrame:
    """Place a part of a frame."""
    import pandas as pd

    return pd.DataFrame(place_rows(X, model), columns=names, index=X.index)


def _held(model: Any) -> Any:
    """Return the model as tasks refer to it: held by every worker, if there are any."""
    from dask import delayed
    from dask.distributed import get_client

    try:
        client = get_client()
    except ValueError:
        return delayed(model, pure=False, traverse=False)
    return client.scatter([model], broadcast=True, hash=False)[0]
