"""Load model files, each in a process of its own, and say how that ended.

    python tests/tables/models/model_attacks.py FOLDER

Prints a JSON object: for every file a sentence that begins with "finite", "refused",
"error" (of the query), "FAILED" or "signal".
"""

import json
import os
import resource
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import skops.io  # noqa: F401  (here, not in every child)

import patchfold as pf
from patchfold.tables.models.saving import ModelFileError, about_model

SECONDS = 20
"""Processor time of a child: a busy machine does not use it up."""

MEMORY = 4 * 2**30

IS_SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
"""Whether loops are watched by ASan, which reserves terabytes of addresses."""


def use(path):
    """Load a model and place samples; return what happened."""
    try:
        model = pf.load_model(path)
    except ModelFileError as error:
        return f"refused: {error}"
    queries = about_model(path).get("queries")
    table = pd.DataFrame if isinstance(queries, dict) else np.array
    for name in ("predict_proba", "transform"):
        if hasattr(model, name):
            try:
                found = getattr(model, name)(table(queries))
            except ValueError as error:
                return f"error: {error}"
            if not np.isfinite(found).all():
                return f"FAILED: {name} is not finite"
    return "finite"


def use_apart(path):
    """Do that in a child process, with limits on time and memory."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        if not IS_SANITIZED:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        warnings.simplefilter("ignore")
        start = time.process_time()
        try:
            words = use(path)
        except BaseException as error:
            words = f"FAILED: {type(error).__name__}: {error}"
        seconds = time.process_time() - start
        os.write(writing, f"{words} [{seconds:.1f} s]".encode()[:60_000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        words = file.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    return words or f"signal: {os.WTERMSIG(status)}"


if __name__ == "__main__":
    files = sorted(Path(sys.argv[1]).glob("*.skops"))
    print(json.dumps({file.stem: use_apart(file) for file in files}))
