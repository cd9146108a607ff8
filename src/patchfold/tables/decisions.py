"""What must be decided about columns: all of it in one error, or decided at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .judging import Finding
from .naming import join_names, listed, split_names, typed

READING = ("decimal", "dates", "missing")
"""Options that say how a table is read."""

OTHERWISE = {
    "drop": "leave it out (--drop {0}), or use it as it is (--keep {0})",
    "firm": "leave it out (--drop {0})",
    "infinite": "count them as missing and fill them in (--missing {1} --impute "
    "median), or leave it out (--drop {0})",
    "id": "it may name the samples (--id {2}); or leave it out (--drop {0}), or use it "
    "as it is (--keep {0})",
    "dates": "say which (--dates dmy or --dates mdy)",
    "decimal": "say which (--decimal , or --decimal .)",
    "missing": "count that as missing in every feature and fill it in (--missing {1} "
    "--impute median), leave the column out (--drop {0}), or use it as it is "
    "(--keep {0})",
}
"""What can be done about a doubt: {0} is the column as a list, {1} the value, {2} the
column."""

DONE = {
    "drop": "{0} left out: it {1}",
    "id": "{0} names the samples: it {1}",
    "dates": "dates read as {2}: {0} {1}",
    "decimal": "{0} read with the decimal mark {2!r}: it {1}",
    "missing": "{0}: {2} counted as missing, as in every feature that is not kept",
}
"""What was done about one: {0} is the column, {1} the reason, {2} the value."""


NOTHING_LEFT = "Without these columns none is left to embed: {0}."
"""What is said where no way to decide lets the command run: {0} is the way out."""

WRITE_OTHERWISE = "write what they hold in another way"
KEEP_SOME = "write what they hold as plain numbers or dates, or use some (--keep)"


class UndecidedColumnsError(ValueError):
    """Columns cannot be used before something is decided about them.

    Parameters
    ----------
    findings : sequence of Finding
        The columns.
    missing : mapping of str to int
        Missing cells by column, where nothing was said about filling them in.
    filled : bool, default=False
        Whether missing cells will be filled in.
    others : bool, default=True
        Whether columns are left if these are left out.

    Attributes
    ----------
    problems : list of str
        One line for each, with what can be done.
    decisions : dict
        One way to decide them all: those of `drop`, `id`, `impute`, `missing`,
        `dates` and `decimal` that are needed.
    remarks : sequence of str
        What is unusual about the file: it may be why.
    """

    def __init__(
        self,
        findings: Sequence[Finding],
        missing: Mapping[str, int],
        filled: bool = False,
        others: bool = True,
    ) -> None:
        super().__init__(findings, missing, filled, others)
        self._others = others
        self.remarks: Sequence[str] = ()
        self._keepable = any(f.doubt is not None and not f.doubt.firm for f in findings)
        self.problems = [_problem(finding) for finding in findings]
        self.decisions = decide(findings)
        if missing:
            counts = listed([f"{name} {count}" for name, count in missing.items()])
            self.problems.append(
                f"{sum(missing.values())} cells are missing ({counts}): fill them in "
                "(--impute median), or leave the columns out (--drop)."
            )
        if missing or ("missing" in self.decisions and not filled):
            self.decisions["impute"] = "median"

    def __str__(self) -> str:
        return self.tell(self.arguments())

    def arguments(self) -> str:
        """Return the decisions as arguments of `patchfold.compare`."""
        told = {name: repr(value) for name, value in self.decisions.items()}
        names = [name for name in READING if name in told]
        if names:
            known = ", ".join(f"{name}={told.pop(name)}" for name in names)
            told["reading"] = f"patchfold.tables.ReadOptions({known})"
        return ", ".join(f"{name}={value}" for name, value in told.items())

    def tell(self, remedy: str) -> str:
        """Return the problems, and one way to decide them all, as text."""
        nothing = NOTHING_LEFT.format(KEEP_SOME if self._keepable else WRITE_OTHERWISE)
        notes = "".join(f"\nNote: {remark}" for remark in self.remarks)
        if len(self.problems) == 1:
            end = f"Decide, for example, with: {remedy}"
            return f"{self.problems[0]} {end if self._others else nothing}{notes}"
        head = f"{len(self.problems)} things about the columns must be decided:"
        lines = "\n".join(f"  {problem}" for problem in self.problems)
        end = f"Decide all, for example, with:\n  {remedy}"
        return f"{head}\n{lines}\n{end if self._others else nothing}{notes}"


class MissingValuesError(UndecidedColumnsError):
    """Cells are missing, and nothing was said about filling them in."""


def _problem(finding: Finding) -> str:
    doubt = finding.doubt
    assert doubt is not None
    firm = "infinite" if doubt.option == "missing" else "firm"
    option = firm if doubt.firm else doubt.option
    column = finding.column
    words = (join_names([column]), doubt.value, column)
    advice = OTHERWISE[option].format(*map(typed, words))
    return f"column {finding.column!r} {doubt.reason}: {advice}."


def decide(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return one way to decide what is in doubt, as arguments."""
    decisions: dict[str, Any] = {}
    for finding in findings:
        doubt = finding.doubt
        assert doubt is not None
        if doubt.option in ("drop", "missing"):
            dropped = doubt.option == "drop"
            values = [finding.column] if dropped else split_names(doubt.value)
            known = decisions.setdefault(doubt.option, [])
            known += [value for value in values if value not in known]
        else:
            decisions[doubt.option] = doubt.value
    return decisions


def tell_decisions(findings: Sequence[Finding]) -> list[str]:
    """Say what was decided about columns."""
    lines = []
    for finding in findings:
        doubt = finding.doubt
        assert doubt is not None
        lines.append(
            DONE[doubt.option].format(finding.column, doubt.reason, doubt.value)
        )
    return lines
