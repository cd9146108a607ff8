"""Fuzz model files: change saved models, and look how they are loaded and used.

    python benchmarks/fuzz_models.py --cases 20000 --seed 0 --found FOLDER

A case is a saved model of one estimator, or of `patchfold embed`, with a few changes to
its arrays, its schema, its note or the archive. Loading it must end in one
`ModelFileError` of one line, or in a model. The model must place samples at finite
coordinates, or say in a ValueError why it cannot. Cases run in child processes with a
limit on memory, in batches; a child that ends by a signal or takes too long is counted
with the case that it was at. A case depends only on its number and the seed. FOLDER
keeps the files of failures.
"""

from __future__ import annotations

import argparse
import copy
import io
import json
import os
import random
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline

import patchfold as pf
from patchfold.tables import match_columns
from patchfold.tables.embedding import embed_table
from patchfold.tables.models.saving import ModelFileError, save_model
from patchfold.tables.placing import load_pipeline

BATCH = 1000
"""Cases of one child process."""

SECONDS = 20.0
"""Most processor time that one case may take."""

PATIENCE = 600.0
"""Most time until a child tells of the next case, on a machine that is busy."""

OLD_FILES = Path(__file__).parents[1] / "tests/tables/models/model_files_1.zip"
"""Files of format 1."""

MEMORY = 6 * 2**30
"""Address space of a child, in bytes."""

VALUES: tuple[Any, ...] = (
    *(0, 1, -1, 2, 3, 7, 12, 39, 40, 41, 100, -(2**31), 2**31, 2**63, 10**30),
    *(0.0, 0.5, -0.5, 1e-320, 1e-300, 1e300, 1e308, float("nan"), float("inf")),
    *(None, True, False, "", "auto", "kl", "euclidean", "precomputed", "within"),
    *("exact", "approximate", "diagonal", "robust", "oas", "kde", "curvature"),
    *([], [1, 2], ["rank"], {}, {"a": 1}),
)
"""What numbers and words of a file are replaced with."""

Parts = dict[str, bytes]


def samples(seed: int, n: int = 40) -> np.ndarray:
    """Return samples with three features."""
    return np.random.default_rng(seed).normal(size=(n, 3))


@cache
def models() -> dict[str, bytes]:
    """Return saved models by name."""
    X, y = samples(0), np.arange(40) % 3
    gaps = np.linalg.norm(X[:, None] - X, axis=2)
    radius = {"n_neighbors": None, "radius": 1.5}
    fitted = {
        "isomap": pf.isomap_kl(n_neighbors=6).fit(X),
        "landmarks": pf.PatchIsomap(n_neighbors=6, n_landmarks=9).fit(X),
        "radius": pf.PatchIsomap(adaptive_patches=True, **radius).fit(X),
        "elap": pf.elap(n_neighbors=6).fit(X),
        "klap": pf.klap().fit(X, y),
        "pelle": pf.pelle(n_neighbors=6).fit(X),
        "lle": pf.PatchLLE(n_neighbors=6, dissimilarity="euclidean").fit(X),
        "cauchy": pf.cauchy().fit(X),
        "map": pf.CauchyMap().fit(X),
        "projection": pf.PatchProjection(n_neighbors=6).fit(X),
        "posterior": pf.PatchPosterior(n_landmarks=9).fit(X, y),
        "posterior gaps": pf.PatchPosterior(n_landmarks=9).fit(
            np.where(samples(4) > 1, np.nan, X), y, sample_weight=1 + y
        ),
        "cells": pf.elap(n_neighbors=2, neighbors_algorithm="approximate").fit(
            samples(1, 700)
        ),
        "precomputed": pf.PatchIsomap(dissimilarity="precomputed").fit(gaps),
        "map with labels": pf.CauchyMap().fit(X, np.where(y == 2, -1, y)),
        "metric": pf.PatchIsomap(
            n_neighbors=6, metric="cosine", dissimilarity="euclidean"
        ).fit(X),
        "sparse": pf.elap(n_neighbors=6).fit(texts(X)),
        "sparse map": pf.CauchyMap().fit(texts(X)),
        "sparse labelled map": pf.CauchyMap().fit(texts(X), y),
        "sparse posterior": pf.PatchPosterior().fit(texts(X), y),
        "mixed map": pf.CauchyMap().fit(queries()),
        "mixed pipeline": make_pipeline(
            pf.TableEncoder(add_indicator=True), pf.CauchyMap()
        ).fit(queries()),
        "mixed unscaled": make_pipeline(
            pf.TableEncoder(scale=False, impute="median"), pf.elap(n_neighbors=6)
        ).fit(queries()),
        "mixed gower": make_pipeline(
            pf.TableEncoder(distance="gower"), pf.CauchyMap(dissimilarity="precomputed")
        ).fit(queries()),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.skops"
        found = {}
        for name, model in fitted.items():
            save_model(model, path)
            found[name] = path.read_bytes()
        table = Path(folder) / "t.csv"
        queries().to_csv(table, index=False)
        for categories in ("one-hot", "ordinal"):
            done = embed_table(
                str(table), "elap", {}, categories=categories, impute="median"
            )
            save_model(done.pipeline, path, **done.about)
            found[f"embed {categories}"] = path.read_bytes()
    with zipfile.ZipFile(OLD_FILES) as archive:
        for name in ("cauchy", "cluster", "elap", "isomap_landmarks", "posterior"):
            found[f"old {name}"] = archive.read(f"{name}.skops")
    return found


def texts(X: np.ndarray) -> sp.csr_array:
    """Return sparse samples with as many features."""
    return sp.csr_array(np.where(np.abs(X) > 0.5, X, 0))


def queries() -> pd.DataFrame:
    """Return a table with numbers, categories and missing cells."""
    X = samples(2)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    frame["c"] = np.array(["red", "green", "blue"], dtype=object)[np.arange(40) % 3]
    frame.loc[3, "a"], frame.loc[5, "c"] = np.nan, None
    return frame


def read_parts(data: bytes) -> Parts:
    """Return the parts of a model file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_parts(parts: list[tuple[str, bytes]]) -> bytes:
    """Return a model file of parts."""
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w") as archive:
        warnings.simplefilter("ignore")  # of a name that is there twice
        for name, content in parts:
            archive.writestr(name, content)
    return buffer.getvalue()


def mutate(data: bytes, draw: random.Random) -> bytes:
    """Return a file with a few changes."""
    if draw.random() < 0.03:
        return _flip(data, draw)
    parts = read_parts(data)
    for _ in range(1 + int(draw.expovariate(1.5))):
        change = draw.choices(CHANGES, [5, 2, 3, 6, 5, 1])[0]
        with suppress(LookupError, TypeError, ValueError, AttributeError):
            change(parts, draw)  # those before may have left nothing to change
    listed = list(parts.items())
    if draw.random() < 0.02:
        listed = _rearranged(listed, draw)
    return write_parts(listed)


def _flip(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.randrange(1, 4)):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed[: draw.choice([len(changed), draw.randrange(len(changed))])])


def _rearranged(
    parts: list[tuple[str, bytes]], draw: random.Random
) -> list[tuple[str, bytes]]:
    place = draw.randrange(len(parts))
    name, content = parts[place]
    return draw.choice(
        [
            [*parts, (name, content)],
            parts[:place] + parts[place + 1 :],
            [*parts, (f"../{name}", content)],
            [*parts, (f"/{name}", b"")],
        ]
    )


def _arrays(parts: Parts) -> list[str]:
    return [name for name in parts if name.endswith(".npy")]


def _change_numbers(parts: Parts, draw: random.Random) -> None:
    """Replace some numbers of an array, or of a sparse matrix."""
    name = draw.choice([name for name in parts if name.endswith((".npy", ".npz"))])
    array = _loaded(parts[name])
    if name.endswith(".npz") and array is not None:
        arrays = array
        key = draw.choice(["indices", "indptr", "data", "shape"])
        _replace(arrays.get(key, np.empty(0)), draw)
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        parts[name] = buffer.getvalue()
    elif array is not None:
        _replace(array, draw)
        parts[name] = _saved(array)


def _replace(array: np.ndarray, draw: random.Random) -> None:
    """Replace some numbers of an array in place."""
    if not array.size:
        return
    for _ in range(draw.choice([1, 1, 2, array.size])):
        value = draw.choice([v for v in VALUES if isinstance(v, int | float)])
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                array.flat[draw.randrange(array.size)] = value
            except (ValueError, OverflowError):
                return


def _change_bytes(parts: Parts, draw: random.Random) -> None:
    """Replace some bytes of an array, of its header too."""
    name = draw.choice([name for name in parts if name.endswith((".npy", ".npz"))])
    content = bytearray(parts[name])
    for _ in range(draw.randrange(1, 9)):
        content[draw.randrange(len(content))] = draw.randrange(256)
    parts[name] = bytes(content)


def _change_shape(parts: Parts, draw: random.Random) -> None:
    """Give an array another shape, type or order, or exchange it."""
    name = draw.choice(_arrays(parts))
    array = _loaded(parts[name])
    if array is None:
        return
    kind = draw.choice(["f4", "i4", "i8", "u8", ">f8", "?", "c16", "U3", "S2", "M8[s]"])
    changes: list[Callable[[], np.ndarray]] = [
        lambda: array[: draw.randrange(array.shape[0] + 1)],
        lambda: np.concatenate([array, array]),
        lambda: array.T,
        lambda: np.asfortranarray(array),
        lambda: array.ravel(),
        lambda: array[None],
        lambda: array[..., None],
        lambda: array.reshape(-1)[0],
        lambda: array[:0],
        lambda: array[:, :0],
        lambda: array.astype(kind),
        lambda: np.zeros(draw.randrange(50)),
        lambda: _loaded(parts[draw.choice(_arrays(parts))]),  # type: ignore
    ]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            parts[name] = _saved(draw.choice(changes)())
        except (ValueError, IndexError, TypeError):
            return


def _change_values(parts: Parts, draw: random.Random) -> None:
    """Replace plain values in the schema."""
    schema = json.loads(parts["schema.json"])
    plain = [node for node in _nodes(schema) if node.get("__loader__") == "JsonNode"]
    if plain:
        draw.choice(plain)["content"] = json.dumps(draw.choice(VALUES))
    parts["schema.json"] = json.dumps(schema).encode()


def _change_nodes(parts: Parts, draw: random.Random) -> None:
    """Exchange, remove, rename and nest nodes of the schema."""
    schema = json.loads(parts["schema.json"])
    nodes = list(_nodes(schema))
    node, other = draw.choice(nodes), draw.choice(nodes)
    change = draw.randrange(7)
    if change == 0:
        new = copy.deepcopy(other)
        node.clear()
        node.update(new)
    elif change == 1 and node:
        del node[draw.choice(list(node))]
    elif change == 2 and node:
        node[draw.choice(list(node))] = draw.choice(VALUES)
    elif change == 3:
        node["__loader__"] = other.get("__loader__")
    elif change == 4:
        for key in ("__class__", "__module__", "__loader__"):
            node[key] = other.get(key)
    elif change == 5:
        number = draw.randrange(1, 5)
        node["__id__"] = other["__id__"] = number
    elif isinstance(node.get("content"), dict) and node["content"]:
        content = node["content"]
        key = draw.choice(list(content))
        content[draw.choice([f"{key}x", "_search", "__class__"])] = content.pop(key)
    parts["schema.json"] = json.dumps(schema).encode()


def _change_note(parts: Parts, draw: random.Random) -> None:
    """Change what is written down beside the model."""
    note = json.loads(parts["patchfold.json"])
    key = draw.choice([*note, "format", "version", "coordinates"])
    note[key] = draw.choice([*VALUES, ["a"], ["a", "a"], ["a", 1], "0.1", "1e9.2"])
    parts["patchfold.json"] = json.dumps(draw.choice([note, note, note[key]])).encode()


CHANGES = (
    _change_numbers,
    _change_bytes,
    _change_shape,
    _change_values,
    _change_nodes,
    _change_note,
)


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()
            yield value


def _loaded(content: bytes) -> Any:
    """Return an array, or the arrays of a sparse matrix; None if they are damaged."""
    try:
        found = np.load(io.BytesIO(content), allow_pickle=False)
        return found if isinstance(found, np.ndarray) else dict(found)
    except Exception:
        return None


def _saved(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def make_case(number: int, seed: int) -> tuple[str, bytes]:
    """Return the model and the file of a case."""
    draw = random.Random(f"{seed} {number}")
    name = draw.choice(list(models()))
    return name, mutate(models()[name], draw)


def new_samples(name: str, pipeline: Any) -> Any:
    """Return what a model is asked to place: as it was fitted, new and far away."""
    if name.startswith("embed"):
        return match_columns(queries(), pipeline["columns"])[0]
    if name.startswith("mixed"):
        return queries()
    near, far = samples(3, 5), np.full((1, 3), 1e6)
    X = np.concatenate([samples(0)[:3], samples(1)[:2], near, far])
    if name.startswith("sparse"):
        return texts(X)
    if name == "precomputed":
        return np.linalg.norm(X[:, None] - samples(0), axis=2)
    return X


def try_file(path: Path, name: str) -> str:
    """Load a file and place samples; return how that ended."""
    try:
        if name.startswith("embed"):
            pipeline = load_pipeline(path).pipeline
        else:
            pipeline = pf.load_model(path)
    except ModelFileError as error:
        if len(str(error).splitlines()) != 1 or len(str(error)) > 5000:
            raise AssertionError("not one line") from error
        return "refused"
    try:
        placed = pipeline.transform(new_samples(name, pipeline))
    except ValueError as error:
        if not str(error):
            raise AssertionError("an error without words") from error
        return "loaded, then an error of the query"
    if placed.ndim != 2 or not np.isfinite(placed).all():
        raise AssertionError("coordinates that are not finite")
    return "loaded, finite"


def limit_memory() -> None:
    """Limit the memory of this process, where the system can."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    except (ImportError, ValueError):
        pass


def run_child(first: int, last: int, seed: int, found: Path | None) -> None:
    """Run cases; the number of each is written before, and how it ended after it."""
    report = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a model may print
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # it reserves terabytes
        limit_memory()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.skops"
        models()
        for number in range(first, last):
            report.write(f"{number}\t")
            report.flush()
            name, data = make_case(number, seed)
            path.write_bytes(data)
            if found is not None:  # there if the process ends here
                (found / f"case {os.getpid()}.skops").write_bytes(data)
            _limit(SECONDS)
            try:
                ended = try_file(path, name)
            except Exception as error:
                words = str(error).splitlines() or [""]
                ended = f"FAILED {name}: {type(error).__name__}: {words[0][:200]}"
                if found is not None:
                    (found / f"{seed}-{number}.skops").write_bytes(data)
            _limit(0.0)
            report.write(f"{ended}\n")
    if found is not None:
        (found / f"case {os.getpid()}.skops").unlink(missing_ok=True)


def _limit(seconds: float) -> None:
    """End this process after that much processor time, also in C; 0 is never."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def run_batch(first: int, last: int, seed: int, found: Path | None) -> Iterator[str]:
    """Run cases in child processes; yield how each ended."""
    while first < last:
        words = [sys.executable, __file__, f"--child={first},{last}", f"--seed={seed}"]
        if found is not None:
            words.append(f"--found={found}")
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        child = subprocess.Popen(
            words, stdout=subprocess.PIPE, env=environment, text=True, bufsize=1
        )
        at = first
        for line in _lines(child):
            number, _, ended = line.rstrip("\n").partition("\t")
            at = int(number) + 1
            yield ended
        child.wait()
        if at >= last:
            return
        if child.returncode > 0:  # a mistake of this script
            raise RuntimeError(f"a child ended with {child.returncode}")
        yield f"FAILED {make_case(at, seed)[0]}: case {at} ended by {-child.returncode}"
        first = at + 1


def _lines(child: subprocess.Popen[str]) -> Iterator[str]:
    """Yield lines of a child; end it if it takes too long for one."""
    assert child.stdout is not None
    fd = child.stdout.fileno()
    waiting = b""
    with selectors.DefaultSelector() as selector:
        selector.register(fd, selectors.EVENT_READ)
        while True:
            if not selector.select(PATIENCE):
                child.kill()
                return
            piece = os.read(fd, 65536)
            if not piece:
                return
            *whole, waiting = (waiting + piece).split(b"\n")
            for line in whole:
                yield line.decode()


def main() -> int:
    """Run cases and count how they ended."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--found", type=Path, default=None)
    parser.add_argument("--child", default="")
    parser.add_argument("--toy", action="store_true", help="smallest sizes")
    chosen = parser.parse_args()
    if chosen.toy:
        chosen.cases, chosen.seed = 60, 20
    if chosen.found is not None:
        chosen.found.mkdir(parents=True, exist_ok=True)
    if chosen.child:
        first, last = map(int, chosen.child.split(","))
        run_child(first, last, chosen.seed, chosen.found)
        return 0
    ended: Counter[str] = Counter()
    stop = chosen.first + chosen.cases
    start = time.monotonic()
    for first in range(chosen.first, stop, BATCH):
        print(f"case {first}, {time.monotonic() - start:.0f} s", flush=True)
        last = min(first + BATCH, stop)
        for outcome in run_batch(first, last, chosen.seed, chosen.found):
            ended[outcome] += 1
            if outcome.startswith("FAILED"):
                print(outcome, flush=True)
    for outcome, count in ended.most_common():
        print(f"{count:7d}  {outcome}")
    return int(any(outcome.startswith("FAILED") for outcome in ended))


if __name__ == "__main__":
    sys.exit(main())
