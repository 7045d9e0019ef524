"""The pages beside the README: what they show runs, and what they link to exists."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from labeler.prompt import read_prompt

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_what_a_page_shows_from_python_answers_as_shown(page: Path) -> None:
    command = [sys.executable, "-m", "doctest", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_prompt_shown_is_one(tmp_path: Path) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```text\n(\+\+\+.*?)^```", text, re.DOTALL | re.MULTILINE)
    path = tmp_path / "strict.md"
    path.write_text(shown, encoding="utf-8")
    assert read_prompt(path).grades == (0, 1)


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_every_file_that_a_page_links_to_or_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", text):
        assert (page.parent / target).exists(), target
    for named in re.findall(r"`((?:labeler|tests|scripts|prompts)/[\w/.]+)`", text):
        assert "NOUN" in named or "VERB" in named or (ROOT / named).exists(), named


def test_every_module_named_in_the_architecture_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {path.name for path in (ROOT / "labeler").iterdir() if path.is_dir()}
    for named in re.findall(r"`([a-z_]+/[\w/]+\.py)`", text):
        if named.split("/")[0] in rooms:
            assert (ROOT / "labeler" / named).exists(), named
