"""How far apart the oldest and the newest supported dependencies come out.

    python benchmarks/versions.py [--folder build/versions]

makes two virtual environments, one with the lower bounds of pyproject.toml, one with
what pip finds newest, fits every estimator on scikit-learn's sets in both, and prints
how far apart the coordinates are, as a part of the largest, up to the signs of axes.
More than AGREEMENT is exit status 1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tomllib
import venv
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
AGREEMENT = 1e-6


def lower_bounds() -> list[str]:
    """Return the dependencies of pyproject.toml at their lower bounds."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        wanted = tomllib.load(file)["project"]["dependencies"]
    return [requirement.replace(">=", "==") for requirement in wanted]


def embed_all(*, few: bool = False) -> dict[str, list[list[list[float]]]]:
    """Fit every estimator on all sets or one; return embedding and placed samples."""
    from sklearn.datasets import load_breast_cancer, load_iris, load_wine
    from sklearn.preprocessing import scale

    import patchfold as pf

    models = {
        "isomap_kl": pf.isomap_kl,
        "elap": lambda: pf.elap(kernel_width="auto"),
        "pelle": pf.pelle,
        "klap": pf.klap,
        "cauchy": pf.CauchyEmbedding,
        "PatchProjection": pf.PatchProjection,
        "PatchPosterior": pf.PatchPosterior,
    }
    loaders = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer}
    found = {}
    for set_name, loader in [*loaders.items()][: 1 if few else None]:
        X, y = loader(return_X_y=True)
        X = scale(X)
        for name, make in models.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = make().fit(X[::2], y[::2])
                both = model.embedding_, model.transform(X[1::2])
            found[f"{name} {set_name}"] = [part.tolist() for part in both]
    return found


def run_in(folder: Path, requirements: list[str]) -> tuple[str, dict]:
    """Make an environment, and return its versions and its embeddings."""
    if not (folder / "done").exists():
        venv.create(folder, with_pip=True, clear=True)
        pip = [folder / "bin" / "python", "-m", "pip", "install", "-q"]
        subprocess.run([*pip, *requirements, str(ROOT)], check=True)
        (folder / "done").touch()
    words = (
        "import numpy, scipy, sklearn, sys; print(sys.version.split()[0], "
        "numpy.__version__, scipy.__version__, sklearn.__version__)"
    )
    python = folder / "bin" / "python"
    versions = subprocess.run(
        [python, "-c", words], check=True, capture_output=True, text=True
    ).stdout.strip()
    output = subprocess.run(
        [python, __file__, "--worker"], check=True, capture_output=True, text=True
    ).stdout
    return versions, json.loads(output)


def apart(one: list, other: list) -> float:
    """Return the largest difference of two embeddings, up to the signs of axes."""
    import numpy as np

    # One sign for an axis, of training and placed samples alike.
    one, other = np.concatenate(one), np.concatenate(other)
    signs = np.where((one * other).sum(axis=0) < 0, -1, 1)
    return float(np.abs(one - signs * other).max() / np.abs(one).max())


def main() -> None:
    """Compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("build/versions"))
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--toy", action="store_true", help="one set, this Python twice")
    options = parser.parse_args()
    if options.worker:
        json.dump(embed_all(), sys.stdout)
        return
    folder = options.folder.resolve()
    if options.toy:
        old = new = sys.version.split()[0]
        oldest, newest = embed_all(few=True), embed_all(few=True)
    else:
        old, oldest = run_in(folder / "oldest", lower_bounds())
        new, newest = run_in(folder / "newest", [])
    print(f"Python, NumPy, SciPy, scikit-learn: {old} and {new}\n")
    print("| | largest difference |\n| --- | --- |")
    found = {name: apart(oldest[name], newest[name]) for name in oldest}
    for name, difference in found.items():
        print(f"| {name} | {difference:.0e} |")
    if not max(found.values()) <= AGREEMENT:
        sys.exit(f"they differ by more than {AGREEMENT:g}.")


if __name__ == "__main__":
    main()
