"""Bad and unusual input of the commands: what is typed, and what is to happen.

`test_bad_input_commands.py` tries every case, and writes the page
docs/bad_input_commands.md from these tables.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

COMMANDS = {
    "embed": "embed {table} --target=target --neighbors=8 --out={out}/e.csv",
    "embed --no-scale": "embed {table} --target=target --neighbors=8 --method=elap "
    "--no-scale --out={out}/e.parquet",
    "embed --method=klap": "embed {table} --target=target --method=klap "
    "--out={out}/e.npy",
    "embed --method=posterior": "embed {table} --target=target --method=posterior "
    "--out={out}/e.csv",
    "embed --from": "embed {table} --from={model} --out={out}/e.csv",
    "compare": "compare {table} --target=target --neighbors=8 --methods=isomap-kl,pca "
    "--no-sweep --splits=2 --out={out}",
    "view": "view {table} --x=a --y=b",
    "view --data": "view {embedding} --data={table}",
    "reproduce": "reproduce --paper=klap --datasets=mux6 --methods=KLAP --out={out}",
}
"""What is done with a table. `reproduce` has it as mux6 in the folder of data."""

LABELLED = ("embed --method=klap", "embed --method=posterior", "compare", "reproduce")
"""Those that read the classes."""

ENCODED = (
    "embed",
    "embed --no-scale",
    "embed --method=klap",
    "embed --method=posterior",
    "compare",
)
"""Those that choose the columns themselves."""

iris = load_iris()
FEATURES = list("abcd")
PLAIN = pd.DataFrame(iris.data[::3], columns=FEATURES).assign(
    target=np.array(["setosa", "versicolor", "virginica"])[iris.target[::3]]
)
N = len(PLAIN)


@dataclass(frozen=True)
class Table:
    """One table.

    Attributes
    ----------
    name : str
        As the page calls it.
    content : pandas.DataFrame, str or bytes
        What the file holds; a frame is written as the ending says.
    error : tuple of str
        Words that the error must have. Empty: it works.
    differs : dict of str to tuple of str
        The same for the commands where something else happens.
    ending : str
        Of the file. Only CSV can be a dataset, for `reproduce`.
    """

    name: str
    content: pd.DataFrame | str | bytes
    error: tuple[str, ...] = ()
    differs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ending: str = ".csv"

    def words(self, command: str) -> tuple[str, ...]:
        """Return the words of the error that the command is to end with, if any."""
        return self.differs.get(command, self.error)


def _cell(value: object) -> pd.DataFrame:
    frame = PLAIN.astype(object)
    frame.loc[3, "b"] = value
    return frame


def _numbers(change: object) -> pd.DataFrame:
    frame = PLAIN.copy()
    frame[FEATURES] = change(frame[FEATURES])
    return frame


def _repeated(every: int) -> pd.DataFrame:
    rows = np.repeat(np.arange(0, N, every), every)
    return PLAIN.iloc[rows]


def _for(commands: tuple[str, ...], *words: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(commands, words)


WORKS: tuple[str, ...] = ()
TOO_LARGE = ("column 'a'", "1.54e+308", "another unit")
MISSING = ("cells are missing", "b 1", "--impute median", "--drop")
NO_COORDINATE = ("1 samples", "no coordinate in 'a' or 'b'", "leave these rows out")
INFINITE = ("column 'b'", "1 infinite cells", "--missing inf,-inf")
NO_MAGNITUDE = ("X has a value of size", "1e+150", "scale")
MIXED = ("column 'b' has numbers", "1 of 50 rows", "--drop b")
NO_NUMBERS = ("column 'b' must have numbers only", "Got")
TEXT = ("column 'b' has", "different texts", "--id b", "--drop b")
NOTHING = ("no column is left", "constant or left out")
OTHER_LENGTH = ("the embedding has 50 rows and the data", "--id")
ABSENT = ("the model was fitted with columns that are not here",)
NO_TARGET = ("target", "there is no column 'target'", "There are a, b, c, d")
NEEDS_ROWS = ("needs a header and at least one row",)
UNIQUE = ("a different class in each of the", "name another target, or none")

TABLES = [
    Table("plain", PLAIN),
    Table(
        "NaN in a cell",
        _cell("NaN"),
        MISSING,
        {"view": NO_COORDINATE, **_for(("embed --from", "view --data", "reproduce"))},
    ),
    Table(
        "an empty cell",
        _cell(None),
        MISSING,
        {"view": NO_COORDINATE, **_for(("embed --from", "view --data", "reproduce"))},
    ),
    Table(
        "infinity in a cell",
        _cell("-inf"),
        INFINITE,
        {"view --data": WORKS, "reproduce": NO_MAGNITUDE},
    ),
    # Newer versions of pandas take it for infinity, older ones for a word.
    Table(
        "1e400 in a cell",
        _cell("1e400"),
        ("column 'b'",),
        {"view --data": WORKS, "reproduce": NO_MAGNITUDE},
    ),
    Table(
        "a complex number in a cell",
        _cell("1+2j"),
        MIXED,
        {
            **_for(("view", "embed --from"), *NO_NUMBERS),
            **_for(("view --data", "reproduce")),
        },
    ),
    Table(
        "a word among numbers",
        _cell("many"),
        MIXED,
        {
            **_for(("view", "embed --from"), *NO_NUMBERS),
            **_for(("view --data", "reproduce")),
        },
    ),
    Table(
        "a column of words",
        PLAIN.assign(b=np.where(PLAIN["b"] > 3, "wide", "narrow")),
        WORKS,
        _for(("view", "embed --from"), *NO_NUMBERS),
    ),
    Table(
        "words only",
        pd.DataFrame(
            {c: np.where(PLAIN[c] > PLAIN[c].mean(), "long", "short") for c in FEATURES}
        ).assign(target=PLAIN["target"]),
        WORKS,
        _for(("view", "embed --from"), "column 'a' must have numbers only", "Got"),
    ),
    Table(
        "a text of its own in each row",
        PLAIN.assign(b=[f"plant {i}" for i in range(N)]),
        TEXT,
        {
            **_for(("view", "embed --from"), *NO_NUMBERS),
            **_for(("view --data", "reproduce")),
        },
    ),
    Table(
        "dates",
        PLAIN.assign(b=[f"2026-01-{1 + i % 28:02d}" for i in range(N)]),
        WORKS,
        {"embed --from": NO_NUMBERS},
    ),
    Table(
        "a row counter",
        PLAIN.assign(e=range(N))[[*FEATURES, "e", "target"]],
        ("column 'e' counts the rows", "--drop e", "--keep e"),
        _for(("embed --from", "view", "view --data", "reproduce")),
    ),
    Table(
        "an index, an identifier and a gap",
        _cell(None)
        .reset_index()
        .assign(name=[f"plant {i}" for i in range(N)], target=PLAIN["target"])[
            ["index", "name", *FEATURES, "target"]
        ],
        ("3 things", "'index' counts", "--drop index --id name --impute median"),
        {
            "embed --from": WORKS,
            "view": NO_COORDINATE,
            **_for(("view --data", "reproduce")),
        },
    ),
    Table("an empty file", "", ("it is empty",), {"reproduce": NEEDS_ROWS}),
    Table(
        "a header alone",
        "a,b,c,d,target\n",
        ("has no rows",),
        {"reproduce": NEEDS_ROWS},
    ),
    Table(
        "one row",
        PLAIN[:1],
        ("must have two rows or more", "Got 1"),
        {
            "embed --from": WORKS,
            "view --data": OTHER_LENGTH,
            "reproduce": ("1 class in 1 labelled rows", "needs two"),
        },
    ),
    Table(
        "two rows",
        PLAIN[::30],
        ("n_components=2", "n_samples=2", "Lower it"),
        {
            "embed": WORKS,
            "embed --method=posterior": WORKS,
            "embed --from": WORKS,
            "compare": UNIQUE,
            "view": WORKS,
            "view --data": OTHER_LENGTH,
        },
    ),
    Table(
        "three rows",
        PLAIN[::20],
        WORKS,
        {"compare": UNIQUE, "view --data": OTHER_LENGTH},
    ),
    Table(
        "one feature",
        PLAIN[["a", "target"]],
        WORKS,
        {"embed --from": (*ABSENT, "b, c, d"), "view": ("there is no column 'b'",)},
    ),
    Table(
        "no features",
        PLAIN[["target"]],
        NOTHING,
        {
            "embed --from": (*ABSENT, "a, b, c, d"),
            "view": ("there is no column 'a'",),
            "reproduce": ("at least one feature",),
        },
    ),
    Table(
        "all rows equal",
        _numbers(lambda numbers: 0 * numbers + 1),
        NOTHING,
        {"embed --from": WORKS, "view": WORKS, "reproduce": WORKS},
    ),
    Table("constant columns", PLAIN.assign(a=1, b=2.5)),
    Table("rows in pairs", _repeated(2)),
    Table("rows in tens", _repeated(10)),
    Table("scales 1e12 apart", _numbers(lambda numbers: numbers * [1, 1e6, 1, 1e-6])),
    Table(
        "values near the largest",
        _numbers(lambda numbers: numbers * 2e307),
        ("column 'a'", "1.54e+308", "another unit", "--drop"),
        {
            "embed --from": TOO_LARGE,
            "view": TOO_LARGE,
            "view --data": NOTHING,
            "reproduce": NO_MAGNITUDE,
        },
    ),
    Table(
        "values near the smallest",
        _numbers(lambda numbers: numbers * 1e-300),
        ("column 'a' varies by 3.3e-300", "another unit", "--drop"),
        {
            "embed --from": WORKS,
            "view": WORKS,
            "view --data": NOTHING,
            "reproduce": ("X varies by 5.4e-300", "scale"),
        },
    ),
    Table("large values", _numbers(lambda numbers: numbers * 1e140)),
    Table("integers", _numbers(lambda numbers: (10 * numbers).astype(int))),
    Table("booleans", _numbers(lambda numbers: numbers > numbers.mean())),
    Table(
        "other columns in another order",
        PLAIN.assign(note=1.5)[["d", "note", "c", "b", "a", "target"]],
    ),
    Table("a column missing", PLAIN.drop(columns="d"), WORKS, {"embed --from": ABSENT}),
    Table(
        "a column under another name",
        PLAIN.rename(columns={"d": "D"}),
        WORKS,
        {"embed --from": (*ABSENT, "d")},
    ),
    Table("a name twice", "a,a,target\n1,2,x\n3,4,y\n", ("column named 'a'",)),
    Table(
        "a row too short",
        "a,b,target\n1,2,x\n3,y\n",
        ("line 3 has 2 cells", "3 columns"),
        {"reproduce": ("row 2 has 2 cells",)},
    ),
]

CLASSES = [
    Table(
        "one class",
        PLAIN.assign(target="setosa"),
        WORKS,
        {
            "embed --method=posterior": ("two classes or more", "1 class"),
            "compare": ("'target' has 1 class", "name another target, or none"),
            "reproduce": ("1 class in 50 labelled rows", "needs two"),
        },
    ),
    Table(
        "some missing", PLAIN.assign(target=PLAIN["target"].where(PLAIN.index % 7 > 0))
    ),
    Table(
        "all missing",
        PLAIN.assign(target=np.nan),
        WORKS,
        {
            "embed --method=posterior": ("two classes or more",),
            "compare": ("no row has a value in 'target'", "name another target"),
            "reproduce": ("0 class in 0 labelled rows", "needs two"),
        },
    ),
    Table(
        "another in each row",
        PLAIN.assign(target=[f"class {i}" for i in range(N)]),
        WORKS,
        {"compare": UNIQUE},
    ),
    Table("measurements", PLAIN.assign(target=PLAIN["a"] + 0.05)),
    Table("whole numbers", PLAIN.assign(target=iris.target[::3])),
    Table("a class of one sample", PLAIN.assign(target=["one", *PLAIN["target"][1:]])),
    Table(
        "no such column",
        PLAIN[FEATURES],
        WORKS,
        {
            **_for(ENCODED, *NO_TARGET),
            "reproduce": ("a last column named 'target'", "named 'd'"),
        },
    ),
]

FRAME = PLAIN.assign(target=PLAIN["target"].astype("category"))
ARFF = "@relation r\n" + "".join(f"@attribute {c} real\n" for c in FEATURES)
ARFF += "@attribute target {setosa,versicolor,virginica}\n@data\n"
ARFF += PLAIN.to_csv(index=False, header=False)
KINDS = [
    Table("semicolons", PLAIN.to_csv(index=False, sep=";")),
    Table("tabs", PLAIN.to_csv(index=False, sep="\t"), ending=".tsv"),
    Table("decimal commas", PLAIN.to_csv(index=False, sep=";", decimal=",")),
    Table(
        "Windows-1252",
        PLAIN.replace("setosa", "sétosa").to_csv(index=False).encode("cp1252"),
    ),
    Table("a byte order mark", "\ufeff" + PLAIN.to_csv(index=False)),
    Table("ARFF", ARFF, ending=".arff"),
    Table("Parquet, categorical", FRAME, ending=".parquet"),
    Table(
        "Parquet, single precision",
        _numbers(lambda numbers: numbers.astype("float32")),
        ending=".parquet",
    ),
    Table(
        "Parquet, nullable integers",
        _numbers(lambda numbers: (10 * numbers).round().astype("Int64")),
        ending=".parquet",
    ),
    Table(
        "Parquet, named rows",
        PLAIN.set_index(pd.Index([f"plant {i}" for i in range(N)], name="plant")),
        ending=".parquet",
    ),
    Table(
        "Parquet, dates",
        PLAIN.assign(b=pd.date_range("2026-01-01", periods=N)),
        WORKS,
        {"embed --from": NO_NUMBERS},
        ending=".parquet",
    ),
    Table(
        "another ending",
        PLAIN.to_csv(index=False),
        ("the name must end in .csv",),
        ending=".sav",
    ),
    Table(
        "neither UTF-8 nor Windows-1252",
        b"a,b,target\n1,2,\x81\n3,4,y\n",
        ("byte 15 is 0x81", "UTF-8", "--encoding"),
    ),
]

TITLES = {"A table": TABLES, "The classes": CLASSES, "A kind of file": KINDS}

EMBED = "embed {table} --target=target --out={out}/e.csv"
COMPARE = (
    "compare {table} --target=target --methods=isomap,pca --no-sweep --splits=2 "
    "--out={out}/r"
)
VIEW = "view {table} --x=a --y=b"
REPRODUCE = "reproduce --paper=klap --datasets=mux6 --methods=PCA --out={out}/r"
DATASETS = "datasets"
BENCH = "bench --quick --out={out}/b"

SIZE = ("n_neighbors", "an int >= 1 or a float in (0, 1]")
PARSED = ("Invalid value for", "--help")

OPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    EMBED: {
        "--neighbors=0": (*SIZE, "Got 0"),
        "--neighbors=-1": (*SIZE, "Got -1"),
        "--neighbors=50": WORKS,
        "--neighbors=1.5": (*SIZE, "Got 1.5"),
        "--neighbors=0.0": (*SIZE, "Got 0.0"),
        "--neighbors=0.5": WORKS,
        "--neighbors=-0.5": (*SIZE, "Got -0.5"),
        "--neighbors=NaN": (*SIZE, "Got nan"),
        "--neighbors=ten": (*SIZE, "Got 'ten'"),
        "--neighbors=true": (*SIZE, "Got True"),
        "--neighbors=[3]": (*SIZE, "Got [3]"),
        "--components=0": (*PARSED, "--components", "'0'"),
        "--components=50": ("n_components=50", "Set n_components to 1 or 2"),
        "--components=two": (*PARSED, "--components", "'two'"),
        "--param=K": ("--param must be NAME=VALUE", "'K'"),
        "--param==3": ("--param must be NAME=VALUE", "'=3'"),
        "--param=K=3": ("no parameter K", "It has", "n_neighbors"),
        "--param=ridge=-1": ("ridge", "a float >= 0", "Got -1"),
        "--param=shrinkage=NaN": ("shrinkage", "Got nan"),
        "--method=isomap-kl --param=radius=-1": ("radius", "a float > 0", "Got -1"),
        "--param=n_jobs=0": ("n_jobs", "other than 0", "Got 0"),
        "--method=isomap-kl --param=n_landmarks=1": (
            "n_landmarks",
            "an int >= 2",
            "Got 1",
        ),
        "--param=dissimilarity=bures": ("dissimilarity", "'kl'", "Got 'bures'"),
        "--method=isomap-kl --param=random_state=-1": (
            "random_state",
            "an int >= 0",
            "Got -1",
        ),
        "--method=elab": ("the method must be one of isomap-kl", "'elab'"),
        "--method=pca": ("PCA is for `compare`", "embed with one of ours"),
        "--method=klap --target=": ("KLAP is supervised", "--target"),
        "--target=kind": ("target: there is no column 'kind'", "There are a"),
        "--id=zip": ("id: there is no column 'zip'", "There are a"),
        "--id=target": ("'target' cannot be both the target and the id",),
        "--drop=zip": ("drop: there is no column 'zip'", "There are a"),
        "--drop=a,b,c,d": NOTHING,
        "--drop=,": ("separate names by commas", "','"),
        "--categories=hot": ("categories must be 'one-hot' or 'ordinal'", "'hot'"),
        "--dates=dym": ("dates must be dmy or mdy or ymd", "'dym'"),
        "--decimal=;": ("decimal must be", "';'"),
        "--sep=ab": ("sep must be one character", "'ab'"),
        "--encoding=utf-9": ("encoding 'utf-9' is not known",),
        "--keep=zip": ("keep: there is no column 'zip'", "There are a"),
        "--impute=mean": ("impute must be None or 'median'", "'mean'"),
        "--out={out}/e.txt": ("--out must end in .csv, .parquet, .npy", "e.txt"),
        "--out={out}/no/e.csv": ("cannot write", "there is no folder"),
        "--out={out}": ("--out must end in .csv, .parquet, .npy",),
        "--out={table}": ("would be lost", "another name"),
        "--model={out}/e.csv": ("would be lost", "another name"),
        "--model={out}/no/m.skops": ("cannot write", "there is no folder"),
        "--plot={out}/e.gif": ("--plot must end in .png, .pdf, .svg", "e.gif"),
        "--plot={out}/e.png --components=1": ("--plot needs two", "--components 2"),
        "--from={out}/m.skops": ("m.skops does not exist",),
        "--from={table}": ("is not a model that patchfold saved",),
        "--from={estimator}": ("only an estimator", "load_model"),
        "--from={model} --neighbors=5": ("leave out --neighbors",),
        "--from={model} --method=klap": ("leave out --method",),
        "--from={model} --no-scale": ("leave out --no-scale",),
        "--param=verbose=true": ("--param verbose", "leave it out"),
        "--from={model} --id=zip": ("there is no column 'zip'",),
        "--device=toaster": ("device='toaster'",),
        "--nieghbors=5": ("No such option: --nieghbors", "--neighbors", "--help"),
        "more": ("unexpected extra argument", "more", "--help"),
    },
    "embed": {
        "": ("Missing argument 'INPUT'", "--help"),
        "{table}": ("Missing option '--out'", "--help"),
        "{out}/none.csv --out={out}/e.csv": ("none.csv does not exist",),
        "irises --out={out}/e.csv": ("neither a file nor a dataset", "datasets"),
        "../iris --out={out}/e.csv": ("neither a file nor a dataset", "datasets"),
        "{out} --out={out}/e.csv": ("neither a file nor a dataset", "datasets"),
    },
    COMPARE: {
        "--neighbors=0": (*PARSED, "--neighbors", "'0'"),
        "--neighbors=-1": (*PARSED, "--neighbors", "'-1'"),
        "--neighbors=1.5": (*PARSED, "--neighbors", "'1.5'"),
        "--neighbors=ten": (*PARSED, "--neighbors", "'ten'"),
        "--neighbors=1000": WORKS,
        "--splits=1": (*PARSED, "--splits", "'1'"),
        "--splits=20": WORKS,
        "--max-samples=5": (*PARSED, "--max-samples", "'5'"),
        "--max-samples=10": WORKS,
        "--methods=elab": ("the method must be one of isomap-kl", "'elab'"),
        "--methods=,": ("separate names by commas", "','"),
        "--methods=klap --target=": ("none of the methods can run", "name a target"),
        "--target=": WORKS,
        "--target=kind": ("target: there is no column 'kind'", "There are a"),
        "--id=target": ("'target' cannot be both the target and the id",),
        "--drop=a,b,c,d": NOTHING,
        "--categories=hot": ("categories must be 'one-hot' or 'ordinal'", "'hot'"),
        "--impute=mean": ("impute must be None or 'median'", "'mean'"),
        "--out={table}": ("--out must be a folder", "is a file"),
        "--out={table}/r": ("--out must be a folder", "is a file"),
        "--sweeps": ("No such option: --sweeps", "--sweep", "--help"),
    },
    "compare": {
        "": ("Missing argument 'INPUT'", "--help"),
        "{table}": ("Missing option '--out'", "--help"),
        "{scores} --out={scores.parent}": ("scores.csv", "lost", "another name"),
    },
    VIEW: {
        "--neighbors=0": (*PARSED, "--neighbors", "'0'"),
        "--neighbors=1000": WORKS,
        "--neighbors=ten": (*PARSED, "--neighbors", "'ten'"),
        "--port=70000": (*PARSED, "--port", "'70000'"),
        "--y=": ("--x and --y must be two columns", "Got 'a' and ''"),
        "--y=a": ("--x and --y must be two columns", "Got 'a' and 'a'"),
        "--y=z": ("there is no column 'z'",),
        "--y=target": ("column 'target' must have numbers only", "Got setosa"),
        "--data={out}/none.csv": ("none.csv does not exist",),
        "--data=iris": ("50 rows and the data 150", "--id"),
        "--data={embedding} --id=zip": ("--id: there is no column 'zip'",),
        "--data={embedding} --id=target": ("--id: column 'target'", "a name twice"),
        "--ports=1": ("No such option: --ports", "--port", "--help"),
    },
    "view": {
        "": ("Missing argument", "--help"),
        "{out}/e.npy": ("the name must end in .csv",),
        "{table}": ("no two columns are named as coordinates", "--x and --y"),
    },
    REPRODUCE: {
        "--paper=elab": ("--paper must be one of elap", "'elab'"),
        "--table=9": ("--table must be one of 1, 2", "'9'"),
        "--datasets=irises": ("dataset 'irises'", "They use"),
        "--datasets=,": ("separate names by commas", "','"),
        "--methods=PCB": ("method 'PCB'", "They use: PCA"),
        "--protocol=fair": ("--protocol must be one of published", "'fair'"),
        "--paper=honest --datasets=iris --protocol=published": (
            "'published' is not one",
            "Ask for honest",
        ),
        "--paper=pictures --protocol=honest": ("Ask for pictures, labelled",),
        "--protocol=labelled": ("'labelled' is not one", "Ask for published, honest"),
        "--paper=pictures --methods=SUMAP": ("method 'SUMAP'", "They use: PCA"),
        "--variant=mine": ("--variant must be one of equations", "'mine'"),
        "--splits=0": (*PARSED, "--splits", "'0'"),
        "--n-jobs=0": ("--n-jobs must not be 0", "-1 uses every core"),
        "--n-jobs=ten": (*PARSED, "--n-jobs", "'ten'"),
        "--figures --paper=honest": ("--figures: honest has none", "leave it out"),
        "--out={table}": ("--out must be a folder", "is a file"),
        "--out={table}/r": ("--out must be a folder", "is a file"),
        "--tabel=1": ("No such option: --tabel", "--table", "--help"),
    },
    "reproduce": {
        "--out={out}/r": ("Missing option '--paper'", "--help"),
        "--paper=klap": ("Missing option '--out'", "--help"),
    },
    DATASETS: {
        "": WORKS,
        "iris": ("unexpected extra argument", "iris", "--help"),
        "--all": ("No such option: --all", "--help"),
    },
    BENCH: {
        "--n-jobs=0": ("--n-jobs must not be 0", "-1 uses every core"),
        "--n-jobs=ten": (*PARSED, "--n-jobs", "'ten'"),
        "--out={table}": ("--out must be a folder", "is a file"),
        "--out={table}/b": ("--out must be a folder", "is a file"),
        "--device=toaster": ("device='toaster'",),
        "--fast": ("No such option: --fast", "--help"),
    },
    "": {
        "embde": ("No such command 'embde'", "--help"),
        "--verbose": ("No such option: --verbose", "--help"),
    },
}
"""What is added to a command, which is given by its first words, and what it says."""
