"""Other people's packages bring commands, readers, retrievers and statistics by entry points."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from labeler.testing import small_collection

MODULE = """
import typer
from labeler.agreement.statistics import Statistic
from labeler.cli.table import MORE, Command
from labeler.corpus.blocks import Block
from labeler.options import option
from labeler.runs.retrieve import Engine

def greet(name: str = option("you", "Whom to greet.")) -> None:
    '''Greet somebody.'''
    print(f"hello, {name}")

GREET = Command(
    "greet", "Greet somebody.", "labeler greet --name anna", function="brought:greet", group=MORE
)

def read_shouted(text):
    from labeler.corpus.readers.outline import read_plaintext
    return read_plaintext(text.replace("!", "."))

def search(searched, queries, depth, progress):
    return {query.id: {"cats": 1.0} for query in queries}

ALL_CATS = Engine(search, lambda: "all-cats")
ALWAYS_HALF = Statistic(
    "always-half", lambda tables, grades: 0 * tables.sum((-1, -2)) + 0.5, "a half", "never"
)
NO_COMMAND = 3
"""

ENTRIES = """
[ir_labeler.commands]
greet = brought:GREET
wrong = brought:NO_COMMAND
lost = nowhere_at_all:COMMAND

[ir_labeler.readers]
.shout = brought:read_shouted

[ir_labeler.retrievers]
all-cats = brought:ALL_CATS

[ir_labeler.statistics]
always-half = brought:ALWAYS_HALF
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder that holds an installed package with an entry point of each kind."""
    (tmp_path / "brought.py").write_text(MODULE)
    about = tmp_path / "brought-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRIES)
    return tmp_path


def labeler(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command line of a process that sees what is installed in a folder."""
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); from labeler.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
    )


EACH = """
import io, json, sys
from contextlib import redirect_stdout
sys.path.insert(0, sys.argv[1])
from labeler.cli import execute
shown = []
for words in json.loads(sys.argv[2]):
    with redirect_stdout(io.StringIO()) as out:
        assert execute(words) == 0, words
    shown.append(out.getvalue())
print(json.dumps(shown))
"""


def shown_by(folder: Path, *lines: list[str]) -> list[str]:
    """What command lines that end well show, one after the other in such a process."""
    command = [sys.executable, "-c", EACH, str(folder), json.dumps(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    shown: list[str] = json.loads(done.stdout)
    return shown


def test_a_command_is_listed_found_and_run(installed: Path) -> None:
    lines = ["--help"], ["greet", "--name", "anna"], ["greet"]
    listed, named, nameless = shown_by(installed, *lines)
    assert "greet" in listed
    assert (named, nameless) == ("hello, anna\n", "hello, you\n")


def test_what_cannot_be_loaded_is_a_line_that_names_its_package(installed: Path) -> None:
    done = labeler(installed, "--help")
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    assert len(lines) == 2
    assert all("package brought" in line and "commands" in line for line in lines)


def test_a_reader_a_retriever_and_a_statistic_are_used_by_their_names(installed: Path) -> None:
    (installed / "docs").mkdir()
    (installed / "docs" / "a.shout").write_text("Cats sleep! They dream of mice! " * 9)
    docs, made = str(installed / "docs"), str(installed / "made")
    coll = str(small_collection(installed / "coll").folder)
    for name in ("a", "b"):
        (installed / f"{name}.qrels").write_text("q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 0\n")
    files = [str(installed / f"{name}.qrels") for name in ("a", "b")]
    shown = shown_by(
        installed,
        ["corpus", "ingest", docs, "-o", made, "--json"],
        ["retrieve", coll, "--as", "cats", "--engine", "all-cats", "--json"],
        ["agree", *files, "-s", "always-half", "--json"],
    )
    read, run, agreed = map(json.loads, shown)
    assert (read["documents"], run["documents"]) == (1, 2)
    assert agreed["statistics"]["always-half"]["value"] == 0.5


SIDE_ROOMS = {"annotate", "collection_report", "lab", "monitoring", "scale"}
CORE = """
import json, sys
from labeler.cli import execute
from labeler.testing import small_collection
folder = str(small_collection(sys.argv[1]).folder)
codes = [execute(line.split()) for line in (
    "--help",
    f"judge {folder} --model similarity --as a --quiet",
    f"judge {folder} --model similarity --prompt basic --as b --quiet",
    f"diff {folder} a b",
    f"agree {folder} a b",
    "lab tune",
)]
side = [name for name in sys.modules if name.split(".")[1:2] and name.split(".")[1] in ROOMS]
print(json.dumps([codes, side]), file=sys.stderr)
""".replace("ROOMS", repr(SIDE_ROOMS))


def test_the_core_works_where_the_side_rooms_are_removed(tmp_path: Path) -> None:
    root = Path(__file__).parent.parent
    for name in ("prompts", "datasets", "pyproject.toml"):
        (tmp_path / name).symlink_to(root / name)
    (tmp_path / "labeler").mkdir()
    for path in (root / "labeler").iterdir():
        if path.name not in SIDE_ROOMS:
            (tmp_path / "labeler" / path.name).symlink_to(path)
    done = subprocess.run(
        [sys.executable, "-P", "-c", CORE, str(tmp_path / "coll")],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    codes, side = json.loads(done.stderr.splitlines()[-1])
    assert codes == [0, 0, 0, 0, 0, 2], done.stderr
    assert side == []
    assert "tune" not in done.stdout
