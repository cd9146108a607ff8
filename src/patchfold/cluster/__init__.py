"""Work that outgrows a machine, on a Dask cluster: fit, place new samples, score.

`fit` and `transform` take what the methods of an estimator take, and Dask arrays and
frames besides; `connect` lends a client of a cluster, or starts workers here. What is
many independent pieces (sweeps, `compare`, cross-validation) needs none of these:
`joblib.parallel_config(backend="dask")` spreads it.
"""

from .connection import connect
from .fitting import fit
from .placing import transform

__all__ = ["connect", "fit", "transform"]
