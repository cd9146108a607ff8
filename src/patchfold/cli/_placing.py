"""`patchfold embed --from --cluster`: a table of any size, placed block by block."""

from __future__ import annotations

from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._shared import Progress, one_line_errors, tell

if TYPE_CHECKING:
    from ..cluster.files import Placed


def place_out_of_core(
    source: str,
    out: Path,
    fitted: Path,
    cluster: str,
    told: dict[str, Any],
    given: dict[str, Any],
    quiet: bool,
    as_json: bool,
) -> None:
    """Place a Parquet file by a saved pipeline, on a cluster, into a folder of parts.

    Parameters
    ----------
    source, out, fitted, cluster, quiet, as_json
        As the command has them.
    told : dict
        What the command says of the table: its target, its id, and how it is read.
    given : dict
        Options that have nothing to say here: refused where they have a value.
    """
    with one_line_errors("the parts that were finished are kept: start it again"):
        from ..cluster import connect
        from ..cluster.files import place_file

        _check(source, out, given)
        bar = Progress(quiet or as_json, "placing")
        with connect(cluster) as client, bar as advance:
            done = place_file(
                source,
                fitted,
                out,
                client,
                **told,
                progress=advance,
            )
    _tell(done, source, out, quiet, as_json)


def _check(source: str, out: Path, given: dict[str, Any]) -> None:
    """Raise an error, before connecting, for work that could not be done or written."""
    meaningless = [f"--{name}" for name, value in given.items() if value]
    if meaningless:
        raise ValueError(
            "--from with --cluster places samples by the columns and parameters of its "
            f"model and writes coordinates alone: leave out {', '.join(meaningless)}."
        )
    if out.suffix.lower() != ".parquet":
        raise ValueError(
            "with --cluster --out must end in .parquet: it will be a folder of parts. "
            f"Got {out} instead."
        )
    if out.exists() and not out.is_dir():
        raise ValueError(
            f"cannot write {out}: it is a file, and with --cluster it would be a "
            "folder of parts. Remove it, or give --out another name."
        )
    if not out.absolute().parent.is_dir():
        raise ValueError(f"cannot write {out}: there is no folder {out.parent}.")
    if realpath(out) == realpath(source):
        raise ValueError(f"{out} is the table itself: give --out another name.")


def _tell(done: Placed, source: str, out: Path, quiet: bool, as_json: bool) -> None:
    kept = f", {done.n_kept} of them there before" if done.n_kept else ""
    lines = [
        f"{source}: {done.n_rows:,} samples; columns as in the model",
        f"{done.about['title']}: {done.seconds:.2f} s",
        *(f"warning: {remark}" for remark in done.remarks),
        f"wrote {out}: {done.n_parts} parts{kept}",
    ]
    record = {
        "input": source,
        "n_samples": done.n_rows,
        "method": done.about["method"],
        "parameters": done.pipeline["embedding"].get_params(),
        "coordinates": done.about["coordinates"],
        "parts": done.n_parts,
        "parts_kept": done.n_kept,
        "seconds": round(done.seconds, 3),
        "warnings": done.remarks,
        "written": [str(out)],
    }
    tell(quiet, as_json, record, lines)
