"""Every case of bad input on every estimator: it works, or one error says why not."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from helpers.bad_input import TABLES
from helpers.estimators import ESTIMATORS

PAGE = Path(__file__).parents[2] / "docs" / "bad_input.md"

INTRODUCTION = """# Bad input

Look up what happens if you pass input that is broken or unusual.

- **works**: every coordinate is a finite number, both of the training samples and of
  those that `transform` places.
- **error**: one `ValueError` or `TypeError` that says what was passed and what to do.
  The last column has words of the message.

Estimators without labels ignore `y`. The tests try every cell, and write this page
from the same table.
"""

CASES = [
    pytest.param(case, name, id=f"{title}-{case.name}-{name}")
    for title, cases in TABLES.items()
    for case in cases
    for name in ESTIMATORS
    if name not in case.ignored_by
]


def attempt(case, name):
    """Fit and place; warnings are not what is tested here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ESTIMATORS[name](**{"n_neighbors": 8, **case.params})
        model.fit(case.X, case.y)
        queries = case.X if case.queries is None else case.queries
        return model.embedding_, model.transform(queries)


@pytest.mark.parametrize(("case", "name"), CASES)
def test_it_works_or_says_why_not(case, name):
    if case.needs:
        pytest.importorskip(case.needs)
    words = case.words(name)
    if not words:
        for coordinates in attempt(case, name):
            assert coordinates.shape[1] == 2
            assert np.isfinite(coordinates).all()
        return
    with pytest.raises((ValueError, TypeError)) as caught:
        attempt(case, name)
    message = str(caught.value)
    for word in words:
        assert word.lower() in message.lower()
    # An error of the linear algebra below is no answer.
    assert "converge" not in message
    assert "infs or NaNs" not in message


def page() -> str:
    """Write the table as a page."""
    text = [INTRODUCTION]
    columns = [f"`{name}`" for name in ESTIMATORS]
    for title, cases in TABLES.items():
        text += [f"## {title}\n", f"| input | {' | '.join(columns)} | error says |"]
        text.append("| --- " * (len(columns) + 2) + "|")
        for case in cases:
            cells, said = [], []
            for name in ESTIMATORS:
                words = case.words(name)
                if words and name not in case.ignored_by and words not in said:
                    said.append(words)
                known = "error" if words else "works"
                cells.append("" if name in case.ignored_by else known)
            words = "; ".join(", ".join(w) for w in said)
            text.append(f"| {case.name} | {' | '.join(cells)} | {words} |")
        text.append("")
    return "\n".join(text)


def test_the_page_shows_the_table():
    if os.environ.get("PATCHFOLD_WRITE_PAGES"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "docs/bad_input.md is old: run this test with PATCHFOLD_WRITE_PAGES=1"
    )
