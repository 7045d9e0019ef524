"""The page of promises: every line names a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

from every_row import every_row

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "methods" / "promises.md"
ROWS = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if "`tests/" in line]
NAMED = sorted(set(re.findall(r"`(tests/[^`]+)`", "\n".join(ROWS))))


def test_every_promise_names_a_test():
    promises = [
        line
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and line.count(" | ") == 2 and not line.startswith("| promise |")
    ]
    assert promises == ROWS
    assert len(ROWS) > 30


@every_row("named", NAMED)
def test_a_promise_s_test_is_there(named):
    path, _, name = named.partition("::")
    text = (ROOT / path).read_text(encoding="utf-8")
    assert re.search(rf"^(async )?def {name or 'test_'}", text, re.MULTILINE)
