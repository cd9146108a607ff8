"""The fuzzer of model files, for a few hundred cases; `benchmarks/fuzz_models.py`."""

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "fuzz_models.py"


def test_changed_files_are_refused_or_place_samples():
    words = [sys.executable, SCRIPT, "--cases=200", "--seed=20"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = dict(re.findall(r"(\d+)  (refused|loaded, finite)", done.stdout))
    ended = {outcome: int(count) for count, outcome in counts.items()}
    assert ended["refused"] > 80
    assert ended["loaded, finite"] > 20
