"""What `import patchfold` loads, and that modules import only from earlier stages."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import patchfold

SOURCE = Path(patchfold.__file__).parent

FLOORS = [
    {"exceptions", "tensors", "tensors.jacobi", "_files", "_native", "_version"},
    {
        "_arrays",
        "_native_edges",
        "_native_pairs",
        "_native_search",
        "_native_vectors",
    },
    {"_homes", "_ranking", "tensors.devices", "tensors.kernels"},
    {"_validation", "tensors.graph", "tensors.paths", "tensors.search"},
    {"tensors.joining", "tensors.spectral", "tensors.tiles"},
    {"_blocks", "_pieces"},
    {
        "_types",
        "_distances",
        "_memory",
        "_working",
        "moments",
        "covariance",
        "robust",
        "span",
    },
    {"exact_search", "patches"},
    {"cell_search", "radius_search", "ragged"},
    {"neighbors"},
    {"divergences"},
    {"curvature", "gaussian_distances", "overlap"},
    {"tangents"},
    {"dissimilarity", "graph", "geodesics", "objectives"},
    {"edge_lengths"},
    {"labels", "on_demand", "precomputed", "connectivity", "patch_sizes"},
    {
        "solvers.arpack",
        "solvers.factors",
        "solvers.filtered",
        "solvers.lanczos",
        "solvers.nystrom",
    },
    {"solvers.inverse"},
    {"solvers.spectral"},
    {"posterior.rows"},
    {
        "posterior.anchors",
        "posterior.classes",
        "posterior.explanation",
        "posterior.kernel_ridge",
        "posterior.marginal",
        "posterior.pooled",
        "posterior.search",
        "posterior.stack",
        "posterior.whole",
    },
    {"posterior.local", "posterior.views"},
    {"posterior.scores"},
    {"posterior.model"},
    {
        "solvers.mds",
        "solvers.reconstruction",
        "solvers.gradient",
        "solvers.projection",
        "solvers.random_walk",
    },
    {"metrics.topology", "sweep"},
    {"selection"},
    {"estimators._parameters", "estimators._stages"},
    {"estimators._base"},
    {
        "estimators.cauchy",
        "estimators.eigenmaps",
        "estimators.isomap",
        "estimators.lle",
        "estimators.posterior",
        "estimators.projection",
    },
    {"estimators"},
    {"cluster.connection", "recipes"},
    {"cluster.placing", "cluster.tasks"},
    {"cluster.fitting"},
    {"cluster"},
    {"metrics._classifiers"},
    {"metrics.panels"},
    {"metrics"},
    {"evaluation.stats", "plotting._style"},
    {
        "plotting.critical_difference",
        "plotting.embedding",
        "plotting.graph",
        "plotting.order",
        "plotting.patches",
        "plotting.sweep",
    },
    {"plotting"},
    {"posterior.plotting"},
    {"evaluation.documents", "evaluation.published_tests"},
    {
        "datasets",
        "datasets._record",
        "evaluation.records",
        "evaluation.baselines",
        "evaluation.released",
    },
    {"evaluation.figure_records"},
    {"evaluation.papers", "evaluation.methods"},
    {"evaluation.corruption", "evaluation.scoring"},
    {"evaluation.honest"},
    {"evaluation.protocols"},
    {"evaluation.figure_panels"},
    {"evaluation.runner", "evaluation.study", "evaluation.tables"},
    {"evaluation.figures", "evaluation.rankings"},
    {"evaluation.figure_plots"},
    {"evaluation.report"},
    {"bench.loops"},
    {"bench.tasks"},
    {"bench.measure"},
    {"bench.rows"},
    {"bench.device"},
    {"bench.report"},
    {"tabular.delimited"},
    {"tabular.arff", "tabular.parquet"},
    {"tabular.columns", "tabular.reading", "tabular.writing"},
    {"tabular.encoding"},
    {"tabular"},
    {"methods", "persistence"},
    {"embedding", "comparison.scoring"},
    {"cluster.files", "atlas", "comparison.planning", "comparison.record"},
    {"comparison.figure"},
    {"comparison.report"},
    {"comparison.run"},
    {"comparison"},
    {"cli._columns"},
    {"cli._shared"},
    {"cli._placing"},
    {
        "cli._usage",
        "cli.bench",
        "cli.compare",
        "cli.datasets",
        "cli.embed",
        "cli.reproduce",
        "cli.view",
    },
    {"cli"},
]
"""The pipeline from the ground up: a module imports only from the floors below."""


def module_name(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imported_modules(path):
    """Names, relative to the package, of the sibling modules a file imports."""
    own = path.relative_to(SOURCE).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = own[: len(own) - node.level + 1]
            yield ".".join([*base, *(node.module or "").split(".")]).strip(".")


@pytest.mark.parametrize("floor", range(len(FLOORS)))
def test_modules_import_only_from_below(floor):
    below = set().union(*FLOORS[:floor])
    for name in FLOORS[floor]:
        file = SOURCE / Path(*name.split("."))
        path = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
        for imported in imported_modules(path):
            own_package = path.name == "__init__.py" and imported.startswith(name)
            assert imported in below or own_package, f"{name} imports {imported}"


def loaded_by(statement):
    code = f"import sys; {statement}; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in run.stdout.split()}


def test_import_loads_nothing_that_scikit_learn_does_not():
    extra = loaded_by("import patchfold") - loaded_by("import sklearn.manifold")
    assert {name for name in extra if not name.startswith("_")} <= (
        sys.stdlib_module_names | {"patchfold"}
    )


def test_everything_public_is_there_and_documented():
    for name in patchfold.__all__:
        assert getattr(patchfold, name).__doc__


def test_long_files_have_been_cut():
    for path in SOURCE.rglob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, path
