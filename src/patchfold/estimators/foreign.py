"""Parameters of UMAP, openTSNE and scikit-learn that ours have another name for."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., None])

_NO_SUCH = "CauchyMap has nothing like it: leave it out."
_STEPS = "it is part of the steps: leave it out."
_GRID = "all pairs repel each other, on a grid of its own: leave it out."
_TOLERANCE = "set tol; the steps end by themselves."
_CALLABLE = "set verbose: True, or a callable that gets each step."
_SOLVER = "it switches a solver that we do not have: leave it out."

FOREIGN: dict[str, dict[str, str]] = {
    "CauchyMap": {
        # umap-learn
        "min_dist": "set separation, from 0 (like t-SNE) to 1 (like UMAP).",
        "spread": "set separation, from 0 (like t-SNE) to 1 (like UMAP).",
        "n_epochs": "set max_iter; the steps end by themselves, at tol.",
        "metric_kwds": "set metric_params.",
        "precomputed_knn": (
            "pass a KNN transformer as neighbors_algorithm, or fit a sparse graph of "
            "distances with metric='precomputed'."
        ),
        "target_metric": (
            "labels are classes: leave it out, and cut numbers into classes, for "
            "example by numpy.digitize."
        ),
        "target_metric_kwds": "labels are classes: leave it out.",
        "target_n_neighbors": "labels are classes: leave it out.",
        "target_weight": "set label_weight, 4 by default, 0 for a map without labels.",
        "random_state": "the map is the same for any seed: leave it out.",
        "transform_seed": "the map is the same for any seed: leave it out.",
        "densmap": _NO_SUCH,
        "output_metric": _NO_SUCH,
        "local_connectivity": _NO_SUCH,
        "set_op_mix_ratio": _NO_SUCH,
        "repulsion_strength": "all pairs repel each other: set separation.",
        "negative_sample_rate": "all pairs repel each other: leave it out.",
        "low_memory": "memory grows with the samples alone: leave it out.",
        "a": "set separation, from 0 (like t-SNE) to 1 (like UMAP).",
        "b": "set separation, from 0 (like t-SNE) to 1 (like UMAP).",
        "disconnection_distance": "mid-near pairs hold pieces together: leave it out.",
        "angular_rp_forest": "set metric='cosine', or neighbors_algorithm.",
        "force_approximation_algorithm": "set neighbors_algorithm='approximate'.",
        "tqdm_kwds": _CALLABLE,
        **dict.fromkeys(("dens_lambda", "dens_frac", "dens_var_shift"), _NO_SUCH),
        **dict.fromkeys(("output_dens", "output_metric_kwds"), _NO_SUCH),
        **dict.fromkeys(("transform_mode", "transform_queue_size"), _NO_SUCH),
        "unique": "identical rows are told apart by themselves: leave it out.",
        # openTSNE, and TSNE of scikit-learn
        "perplexity": "set n_neighbors, 15 by default.",
        "n_iter": "set max_iter; the steps end by themselves, at tol.",
        "initialization": "set init, 'pca' or an array.",
        "exaggeration": "set separation, from 0 (like t-SNE) to 1 (like UMAP).",
        "early_exaggeration": _STEPS,
        "early_exaggeration_iter": _STEPS,
        "dof": "set separation, from 0 (like t-SNE) to 1 (like UMAP).",
        "learning_rate": _STEPS,
        "neighbors": "set neighbors_algorithm.",
        "knn_kwargs": "set neighbors_algorithm, or metric_params.",
        "negative_gradient_method": "all pairs repel each other: leave it out.",
        **dict.fromkeys(("callbacks", "callbacks_every_iters"), _CALLABLE),
        **dict.fromkeys(("initial_momentum", "final_momentum"), _STEPS),
        **dict.fromkeys(("max_grad_norm", "max_step_norm"), _STEPS),
        **dict.fromkeys(("min_grad_norm", "n_iter_without_progress"), _TOLERANCE),
        **dict.fromkeys(("n_interpolation_points", "min_num_intervals"), _GRID),
        "ints_in_interval": _GRID,
        "method": "all pairs repel each other: leave it out.",
        "theta": "all pairs repel each other: leave it out.",
        "angle": "all pairs repel each other: leave it out.",
    },
    "PatchIsomap": {"path_method": _SOLVER, "tol": _SOLVER, "max_iter": _SOLVER},
    "PatchLLE": {
        "method": "it has the standard weights only: leave it out.",
        "tol": _SOLVER,
        "max_iter": _SOLVER,
        "hessian_tol": "it has the standard weights only: leave it out.",
        "modified_tol": "it has the standard weights only: leave it out.",
    },
    "PatchEigenmaps": {
        "affinity": (
            "set n_neighbors for nearest neighbours, n_neighbors=None and radius=inf "
            "for 'rbf', and pass dissimilarities with dissimilarity='precomputed'."
        ),
        "gamma": "set kernel_width=1/gamma.",
        "eigen_tol": _SOLVER,
    },
}
"""By class: names that are not ours, and what to do instead."""


def names_others(init: F) -> F:
    """Let an `__init__` say what parameters of other libraries are called here.

    Examples
    --------
    >>> import patchfold as pf
    >>> pf.CauchyMap(min_dist=0.1)
    Traceback (most recent call last):
    TypeError: CauchyMap has no parameter 'min_dist': set separation, from 0 ...
    """
    owner = init.__qualname__.split(".")[0]
    advice = FOREIGN[owner]

    @wraps(init)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        wrong = [
            f"parameter {name!r}: {advice[name]}" for name in kwargs if name in advice
        ]
        if wrong:
            raise TypeError(f"{owner} has no {' It has no '.join(wrong)}")
        init(self, *args, **kwargs)

    return checked  # type: ignore[return-value]
