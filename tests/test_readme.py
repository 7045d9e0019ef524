"""The README is short and has the two commands; the parts read from the registries are fresh."""

import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
JUDGING = (ROOT / "docs" / "methods" / "judging.md").read_text(encoding="utf-8")


def test_it_is_read_in_a_few_minutes() -> None:
    assert len(README.splitlines()) <= 150


def test_it_has_the_two_commands_for_a_bare_machine() -> None:
    assert "scripts/demo\nscripts/test\n" in README


def test_the_generated_tables_are_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["reference.py", "--check"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "scripts" / "reference.py"), run_name="__main__")
    assert ended.value.code == 0


def test_the_server_for_tests_works_as_shown() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", JUDGING, re.DOTALL | re.MULTILINE)
    (code,) = [block for block in blocks if "FakeServer" in block]
    exec(compile(code, "judging.md", "exec"), {})


def test_each_picture_of_the_pages_is_small_and_shown() -> None:
    texts = [README, *(p.read_text(encoding="utf-8") for p in (ROOT / "docs").rglob("*.md"))]
    for picture in (ROOT / "docs" / "pictures").iterdir():
        assert picture.stat().st_size < 150_000, picture.name
        shown = re.compile(rf"!\[[^\]]{{20,}}\]\([\w./]*{re.escape(picture.name)}\)")
        assert any(shown.search(text) for text in texts), picture.name
