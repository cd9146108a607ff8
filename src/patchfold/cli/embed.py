"""`patchfold embed`: a table in, its coordinates out."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._placing import place_out_of_core
from ._shared import (
    AsJson,
    Auto,
    Categories,
    Cluster,
    Dates,
    Decimal,
    Device,
    Drop,
    Encoding,
    Id,
    Impute,
    Input,
    Keep,
    Missing,
    Progress,
    Quiet,
    Scale,
    Sep,
    Target,
    check_nothing_is_lost,
    one_line_errors,
    reading_options,
    show_parts,
    tell,
)

if TYPE_CHECKING:
    from ..backends.backend import Backend
    from ..tables.embedding import Embedded

PICTURES = (".png", ".pdf", ".svg")

SETTLED = {
    "method": None,
    "neighbors": None,
    "components": 2,
    "param": None,
    "drop": None,
    "categories": "one-hot",
    "scale": True,
    "impute": None,
    "keep": None,
    "auto": None,
}
"""Options that a model file decides, which --from refuses, and what each is if it is
not given (None for one that is empty)."""

Out = Annotated[Path, typer.Option(help="coordinates to write: .csv, .parquet or .npy")]
Method = Annotated[
    str,
    typer.Option(
        help="cauchy-map, cauchy-map-labels, posterior, isomap-kl, elap, pelle, klap, "
        "cauchy, projection; with Euclidean distances: isomap, eigenmaps, lle. If not "
        "given: cauchy-map-labels for a target of classes, else cauchy-map"
    ),
]
Neighbors = Annotated[
    str,
    typer.Option(
        help="number of neighbours, or a fraction of the samples, such as 0.75"
    ),
]
Components = Annotated[int, typer.Option(min=1, help="number of coordinates")]
Param = Annotated[
    list[str] | None,
    typer.Option(
        help="a parameter of the method, such as kernel_width=auto; may be repeated"
    ),
]
Plot = Annotated[Path | None, typer.Option(help="picture to write: .png, .pdf or .svg")]
Model = Annotated[Path | None, typer.Option(help="file for the fitted model: m.skops")]
From = Annotated[
    Path | None,
    typer.Option("--from", help="place the samples by a model that --model wrote"),
]


def embed(
    source: Input,
    out: Out,
    method: Method = "",
    target: Target = "",
    drop: Drop = "",
    id: Id = "",
    neighbors: Neighbors = "",
    components: Components = 2,
    param: Param = None,
    categories: Categories = "one-hot",
    scale: Scale = True,
    impute: Impute = "",
    keep: Keep = "",
    auto: Auto = False,
    sep: Sep = "",
    decimal: Decimal = "",
    encoding: Encoding = "",
    dates: Dates = "",
    missing: Missing = "",
    plot: Plot = None,
    model: Model = None,
    fitted: From = None,
    cluster: Cluster = "",
    device: Device = "",
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Embed a table: read it, encode its columns, fit, write the coordinates."""
    given = locals()
    settled = [name for name, none in SETTLED.items() if (given[name] or None) != none]
    settled = ["no-scale" if name == "scale" else name for name in settled]
    with one_line_errors():
        reading = reading_options(sep, decimal, encoding, dates, missing)
    roles: dict[str, Any] = {"target": target or None, "id": id or None}
    roles["reading"] = reading
    if cluster and fitted is not None:
        refused: dict[str, Any] = dict.fromkeys(settled, True)
        refused |= {"plot": plot, "model": model, "device": device}
        refused |= {"sep": sep, "encoding": encoding}
        place_out_of_core(source, out, fitted, cluster, roles, refused, quiet, as_json)
        return
    with one_line_errors():
        from ..tables.naming import split_names

        _check_places(out, plot, model, components)
        check_nothing_is_lost(source, out, plot, model)
        if fitted is not None:
            _check_left_out(settled)
            done = _place(source, fitted, roles, device, quiet or as_json)
        else:
            params = _parameters(components, neighbors, param or [])
            told = roles | {"drop": split_names(drop), "keep": split_names(keep)}
            told |= {"categories": categories, "scale": scale, "auto": auto}
            told |= {"impute": impute or None}
            where = (cluster, device)
            done = _fit(source, method, params, told, where, quiet or as_json)
        written = _write(done, out, plot, model)
    _tell(done, source, written, quiet, as_json)


def _place(
    source: str, fitted: Path, told: dict[str, Any], device: str, quiet: bool
) -> Embedded:
    """Place the rows of a table by a model, under a bar."""
    from ..backends.backend import find_backend
    from ..tables.placing import place_table

    backend, bar = find_backend(device), Progress(quiet, "placing", timed=True)
    with bar as advance, show_parts(bar):
        return place_table(source, fitted, **told, progress=advance, backend=backend)


def _fit(
    source: str,
    method: str,
    params: dict[str, Any],
    told: dict[str, Any],
    where: tuple[str, str],
    quiet: bool,
) -> Embedded:
    """Fit a method to a table, under a bar; `where` is a cluster and a device."""
    from ..backends.backend import find_backend
    from ..tables.embedding import embed_table

    cluster, device = where
    if cluster and not method:
        raise ValueError(
            "--cluster cannot fit CauchyMap, with which `embed` begins: name another "
            "method, such as --method elap, or leave out --cluster."
        )
    # Of a fit only the parts are timed. What those to come take depends on the data:
    # shares by n, m and K foretold, at half time, .5 to 9 times the truth.
    bar = Progress(quiet, method or "embedding", timed=False)
    backend = find_backend(device)
    with _fit_on(cluster, backend, bar) as fit, bar as advance, show_parts(bar):
        done = embed_table(source, method or None, params, **told, fit=fit)
        advance(1, 1)
        return done


@contextmanager
def _fit_on(cluster: str, backend: Backend, bar: Progress) -> Iterator[Any]:
    """Yield a function that fits on a cluster or a device; None if none is named."""
    if cluster and not backend.is_numpy:
        raise ValueError("--cluster and --device are two places: name one of them.")
    if not backend.is_numpy:
        yield backend.fit
        return
    if not cluster:
        yield None
        return
    from ..cluster import connect, fit

    with connect(cluster) as client:
        yield partial(fit, client=client, progress=partial(bar.part, "tasks"))


def _tell(
    done: Embedded,
    source: str,
    written: list[str],
    quiet: bool,
    as_json: bool,
) -> None:
    lines = [
        f"{source}: {len(done.frame):,} samples; {done.encoded}",
        *done.notes,
        f"{done.about['title']}: {done.seconds:.2f} s",
        *(f"warning: {remark}" for remark in done.remarks),
        f"wrote {', '.join(written)}",
    ]
    record = {
        "input": source,
        "n_samples": len(done.frame),
        "columns": done.encoded,
        "notes": done.notes,
        "method": done.about["method"],
        "parameters": done.pipeline["embedding"].get_params(),
        "coordinates": done.coordinates,
        "seconds": round(done.seconds, 3),
        "warnings": done.remarks,
        "written": written,
    }
    tell(quiet, as_json, record, lines)


def _parameters(components: int, neighbors: str, param: list[str]) -> dict[str, Any]:
    params: dict[str, Any] = {"n_components": components}
    if neighbors:
        params["n_neighbors"] = _value(neighbors)
    for pair in param:
        name, sign, text = pair.partition("=")
        if not sign or not name.strip():
            raise ValueError(f"--param must be NAME=VALUE. Got {pair!r} instead.")
        if name.strip() == "verbose":
            raise ValueError(
                "--param verbose: the command shows its parts itself; leave it out."
            )
        params[name.strip()] = _value(text.strip())
    return params


def _check_left_out(settled: list[str]) -> None:
    """Raise an error for options that a fitted model already determines."""
    if settled:
        listed = ", ".join(f"--{name}" for name in settled)
        raise ValueError(
            "--from places samples by the columns and parameters of its model: leave "
            f"out {listed}."
        )


def _value(text: str) -> Any:
    """Read a number, a truth value, null or a list as JSON does, else a word."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _write(
    done: Embedded, out: Path, plot: Path | None, model: Path | None
) -> list[str]:
    """Write each file whole; the drawing is done before the first of them."""
    from ..backends.files import write_bytes
    from ..tables import write_table
    from ..tables.models.saving import save_model

    picture = None if plot is None else _draw(done, plot.suffix)
    if model is not None:
        save_model(done.pipeline, model, **done.about)
    write_table(out, done.frame, done.coordinates)
    if plot is not None and picture is not None:
        write_bytes(plot, picture)
    return [str(path) for path in (out, model, plot) if path is not None]


def _check_places(
    out: Path, plot: Path | None, model: Path | None, components: int
) -> None:
    """Raise an error, before any work, for files that could not be written or drawn."""
    from ..backends.environment import require_packages
    from ..plotting import check_matplotlib
    from ..tables.writing import check_ending, check_folder

    check_ending(out)
    if model is not None:
        require_packages("--model", ["skops"])
        check_folder(model)
    if plot is None:
        return
    check_matplotlib()
    if plot.suffix.lower() not in PICTURES:
        raise ValueError(
            f"--plot must end in {', '.join(PICTURES)}. Got {plot} instead."
        )
    if components < 2:
        raise ValueError("--plot needs two coordinates: --components 2.")
    check_folder(plot)


def _draw(done: Embedded, ending: str) -> bytes:
    from matplotlib.figure import Figure

    from ..plotting import MAX_CLASSES, plot_embedding

    codes, names = done.classes or (None, None)
    if names is not None and len(names) > MAX_CLASSES:
        done.remarks.append(
            f"the picture shows no classes: {len(names)} cannot be told apart."
        )
        codes, names = None, None
    figure = Figure(figsize=(6, 6), dpi=150, layout="constrained")
    plot_embedding(
        done.frame[done.coordinates].to_numpy(),
        codes,
        ax=figure.subplots(),
        class_names=names,
        title=done.about["title"],
        zoom=True,
    )
    buffer = io.BytesIO()
    figure.savefig(buffer, format=ending.lower().lstrip("."))
    return buffer.getvalue()
