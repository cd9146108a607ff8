"""Every Python block of the pages a user reads runs as it stands."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "CONTRIBUTING.md"]
BLOCKS = [
    pytest.param(block, id=f"{page}-{number}")
    for page in PAGES
    for number, block in enumerate(
        re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
    )
]


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_runs_and_prints_what_it_says(block, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "block", "exec"), {"__name__": "block"})
    said = re.findall(r"print\(.*\)  # (.*)", block)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) >= len(said)
    for line, text in zip(printed, said, strict=False):
        assert line.startswith(text)
