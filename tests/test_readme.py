"""The README: its tables are fresh, its commands exist with the options that it shows."""

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from labeler.cli import COMMANDS, execute
from labeler.models.prices import Price, example_of, price_of

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
    execute([words[1], *([words[2]] if words[1] in SUBCOMMANDS else []), "--help"])
    shown = capsys.readouterr().out
    for option in (word for word in words[2:] if re.match(r"--?[a-z]", word)):
        assert re.search(rf"(?<![\w-]){re.escape(option.split('=')[0])}(?![\w-])", shown), option


SUBCOMMANDS = {"prompts", "store", "qrels", "run"} & set(COMMANDS)


def test_every_file_that_is_linked_exists() -> None:
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", README):
        assert (ROOT / target).exists(), target


def test_the_server_for_tests_works_as_shown() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    (code,) = [block for block in blocks if "FakeServer" in block]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "text", re.findall(r"^```toml\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
)
def test_the_file_of_prices_shown_is_one(text: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    assert price_of("http://127.0.0.1:1/v1", "my-model", path) == Price(0.4, 1.6, "2026-11-01")


def test_the_lines_that_doctor_shows_are_such_a_file(tmp_path: Path) -> None:
    shown = example_of("http://127.0.0.1:1/v1", "my/model")
    path = tmp_path / "prices.toml"
    path.write_text(shown.replace("DAY", "2026-11-01").replace("X", "1.5").replace("Y", "2.0"))
    assert price_of("http://127.0.0.1:1/v1", "my/model", path) == Price(1.5, 2.0, "2026-11-01")
