"""Check an installed patchfold: import, fit, transform, and the state of the loops.

    python .ci/smoke.py compiled|arrays

ends with an error unless the loops are in that state.
"""

import subprocess
import sys
import warnings

import numpy as np

import patchfold as pf
from patchfold.backends.environment import describe_speed
from patchfold.exceptions import MissingLoopsWarning


def main() -> None:
    """Run all checks."""
    (wanted,) = sys.argv[1:]
    state = describe_speed()["loops"]
    assert state.startswith(wanted), f"loops: {state}, not {wanted}"
    X = np.random.default_rng(0).normal(size=(300, 5))
    for model in (pf.CauchyMap(), pf.PatchIsomap(), pf.elap(kernel_width="auto")):
        embedding = model.fit_transform(X[:250])
        placed = model.transform(X[250:])
        assert np.isfinite(embedding).all()
        assert np.isfinite(placed).all()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        pf.CauchyMap(max_iter=1).fit(np.random.default_rng(0).normal(size=(20_001, 2)))
    missing = any(issubclass(one.category, MissingLoopsWarning) for one in told)
    assert missing == (wanted == "arrays"), [str(one.message) for one in told]
    command = [sys.executable, "-m", "patchfold", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first == f"patchfold {pf.__version__}"
    assert second.startswith(f"loops {wanted}"), second
    pf.show_versions()


if __name__ == "__main__":
    main()
