"""The README: its tables are fresh, its commands exist with the options that it shows."""

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from labeler.cli import COMMANDS, run

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```console\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
LINES = sorted(
    {
        re.split(r"\s{3,}", line.removeprefix("$ "))[0]
        for block in BLOCKS
        for line in block.replace(" \\\n", " ").split("\n")
        if line.removeprefix("$ ").startswith(("labeler ", "scripts/"))
    }
    | {command.example for command in COMMANDS.values()}
)


def test_the_generated_tables_are_fresh() -> None:
    check = [sys.executable, str(ROOT / "scripts" / "readme.py"), "--check"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_shown_from_python_answers_as_shown() -> None:
    blocks = re.findall(r"^```python\n(>>> .*?)^```", README, re.DOTALL | re.MULTILINE)
    shown = doctest.DocTestParser().get_doctest("".join(blocks), {}, "README.md", None, 0)
    answered = doctest.DocTestRunner().run(shown)
    assert answered.attempted > 20
    assert not answered.failed


@pytest.mark.parametrize("line", LINES)
def test_every_command_line_shown_exists_with_its_options(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = shlex.split(line, comments=True)
    if words[0].startswith("scripts/"):
        assert (ROOT / words[0]).is_file()
        return
    assert words[0] == "labeler"
    if words[1].startswith("-"):
        assert words[1] in {"--version", "--help"}
        return
    assert words[1] in COMMANDS
    if words[1] == "trec-eval":
        return  # its arguments are trec_eval's, and have tests of their own
    run([words[1], *([words[2]] if words[1] in SUBCOMMANDS else []), "--help"])
    shown = capsys.readouterr().out
    for option in (word for word in words[2:] if re.match(r"--?[a-z]", word)):
        assert re.search(rf"(?<![\w-]){re.escape(option.split('=')[0])}(?![\w-])", shown), option


SUBCOMMANDS = {"prompts", "store", "qrels", "run"} & set(COMMANDS)


def test_every_file_that_is_linked_exists() -> None:
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", README):
        assert (ROOT / target).exists(), target
