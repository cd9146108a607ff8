"""Records -> the pages in docs/reproduction: every table, rank and figure of the study.

    PATCHFOLD_DATA=FOLDER python docs/build_reproduction.py

reads docs/records, which holds what the runs measured, and writes one page per paper.
The page docs/reproduction.md, which says what follows from them, is written by hand.
"""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Container
from pathlib import Path

from patchfold.backends.files import write_bytes, write_text
from patchfold.studies.reproduction.documents import Image, as_markdown
from patchfold.studies.reproduction.figure_records import read_figure
from patchfold.studies.reproduction.figures import FIGURES
from patchfold.studies.reproduction.papers import PAPERS, published_numbers
from patchfold.studies.reproduction.records import Record, read_records
from patchfold.studies.reproduction.report import build_report
from patchfold.studies.reproduction.study import STUDY, as_paper_records

DOCS = Path(__file__).parent
RECORDS = DOCS / "records"
PAGES = DOCS / "reproduction"


def load_records(paper: str, datasets: Container[str] | None = None) -> list[Record]:
    """Read the records of one paper, or nothing where none were kept.

    Of all datasets, or of these: 200,000 rows take seconds.
    """
    packed = RECORDS / f"{paper}.csv.gz"
    if not packed.exists():
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "results.csv")
        with gzip.open(packed) as rows, path.open("wb") as kept:
            kept.write(next(rows))
            for row in rows:
                name = row.split(b",", 3)[2].decode()
                if datasets is None or name in datasets:
                    kept.write(row)
        return read_records(path)


def main() -> None:
    """Write every page."""
    published = published_numbers()
    if not published.values:
        raise SystemExit("set PATCHFOLD_DATA to the folder that holds published.csv.")
    study = load_records(STUDY)
    honest = list(as_paper_records(study, published))
    PAGES.mkdir(exist_ok=True)
    for paper in PAPERS:
        records = study if paper == STUDY else load_records(paper)
        own = {record.key for record in records}
        records += [r for r in honest if r.paper == paper and r.key not in own]
        kept = [read_figure(RECORDS, name) for name in FIGURES]
        figures = [f for f in kept if f is not None and FIGURES[f.name].paper == paper]
        blocks = build_report(records, figures, published)
        for block in blocks:
            if isinstance(block, Image) and block.file:
                target = PAGES / block.file
                target.parent.mkdir(exist_ok=True)
                write_bytes(target, block.png)
        write_text(PAGES / f"{paper}.md", as_markdown(blocks, pages="../"))
        print(f"{paper}: {len(records)} records, {len(figures)} figures")


if __name__ == "__main__":
    main()
