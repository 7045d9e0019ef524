"""Values of options and kinds of files that cannot be meant: one line that names the option."""

import gzip
import shutil
from contextlib import chdir
from pathlib import Path

import pytest
from workspace import make_workspace

from labeler.cli import execute

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_workspace(tmp_path_factory.mktemp("good"))


@pytest.fixture
def workspace(good: Path, tmp_path: Path) -> Path:
    """A folder of its own with one good file of every kind, and a collection."""
    folder = tmp_path / "w"
    shutil.copytree(good, folder, symlinks=True)
    return folder


def said(workspace: Path, command: str, capsys: Capture, code: int) -> str:
    """What a command says on stderr; it must end with that exit code, without a traceback."""
    capsys.readouterr()
    with chdir(workspace):
        assert execute(command.split()) == code, capsys.readouterr().err
    error = capsys.readouterr().err
    assert "Traceback" not in error
    return error


LONG = "9" * 5000


@pytest.mark.parametrize(
    ("command", "begin"),
    [
        ("explain coll q1 cats --as nobody", "--as: coll has no judgements 'nobody'"),
        ("relabel coll --from nobody --reparse --as x", "--from: coll has no judgements 'nobody'"),
        ("relabel coll --from ../x --reparse --as x", "--from: the name '../x' may hold only"),
        ("people sample coll --from nope -o s.csv", "--from: coll has no qrels 'nope'"),
        ("judge coll --as a/b --model similarity", "--as: the name 'a/b' may hold only"),
        ("people import sheet.csv coll --as ../x", "--as: the name '../x' may hold only"),
        ("agree a.qrels b.qrels -m foo", "--measure: no measure 'foo'"),
        ("agree a.qrels b.qrels -s foo", "--statistic: no statistic 'foo'"),
        ("agree a.qrels b.qrels -s kappa>=9", "--statistic: cannot cut at 9"),
        ("agree a.qrels b.qrels --cut 9", "--cut: cannot cut at 9"),
        ("agree a.qrels b.qrels --require foo:1", "--require: no statistic 'foo'"),
        ("agree a.qrels b.qrels --require kappa>=9:1", "--require: cannot cut at 9"),
        (f"agree a.qrels b.qrels --map-human 1={LONG}", "--map-human: expected a map of grades"),
        (f"agree a.qrels b.qrels --scale 0:{LONG}", "--scale: expected LOW:HIGH"),
        ("evaluate a.qrels a.trec -m foo", "--measure: no measure 'foo'"),
        ("evaluate a.qrels a.trec --require foo:1", "--require: no measure 'foo'"),
        ("evaluate a.qrels a.trec --baseline x", "--baseline: no run 'x'"),
        ("compare coll a.trec b.trec --no-worse-than x", "--no-worse-than: no run 'x'"),
        ("evaluate coll --qrels nope", "--qrels: coll has no qrels 'nope'"),
        ("evaluate coll --qrels ../x", "--qrels: coll has no qrels '../x'"),
        ("correct a.qrels b.qrels a.trec -m foo", "--measure: no measure 'foo'"),
        ("lab leaderboard a.qrels b.qrels a.trec b.trec -m foo", "--measure: no measure 'foo'"),
        ("power a.qrels a.trec b.trec -m foo", "--measure: no measure 'foo'"),
        ("qrels validate a.qrels --scale x", "--scale: expected LOW:HIGH"),
        (f"qrels validate a.qrels --scale {LONG}", "--scale: expected LOW:HIGH"),
    ],
)
def test_the_option_that_cannot_be_meant_stands_in_front(
    workspace: Path, capsys: Capture, command: str, begin: str
) -> None:
    line = said(workspace, command, capsys, 2).splitlines()[-1]
    assert line.startswith(f"labeler: {begin}")


@pytest.mark.parametrize(
    "command",
    [
        "runs fuse a.trec b.trec -o out.trec --tag \udcff",
        "judge coll --model \udcff",
        "judge coll --model similarity --as=\udcff",
        "explain coll \udcff cats",
        "people sample coll --pairs 2 --from \udcff -o \udcff.csv",
        "evaluate a.qrels \udcff",
    ],
)
def test_an_argument_that_is_not_utf_8_is_named_as_python_writes_it(
    workspace: Path, capsys: Capture, command: str
) -> None:
    error = said(workspace, command, capsys, 2)
    assert "\\udcff' is not UTF-8" in error or "\\udcff.csv' is not UTF-8" in error


def test_a_file_may_have_a_name_that_is_not_utf_8(workspace: Path, capsys: Capture) -> None:
    (workspace / "a.trec").rename(workspace / "\udcff.trec")
    said(workspace, "evaluate a.qrels \udcff.trec", capsys, 0)


@pytest.mark.parametrize("group", ["qrels", "runs", "store"])
def test_a_group_of_commands_alone_shows_them_and_says_that_one_was_expected(
    workspace: Path, capsys: Capture, group: str
) -> None:
    with chdir(workspace):
        assert execute([group]) == 2
    captured = capsys.readouterr()
    assert "Usage" in captured.out + captured.err
    line = f"labeler: expected one of these commands; see labeler {group} --help"
    assert captured.err.splitlines()[-1] == line


QRELS_IN_PLACE_OF_A_RUN = (
    "evaluate a.qrels b.qrels", "evaluate a.qrels a.trec b.qrels",
    "correct a.qrels b.qrels b.qrels",
    "lab leaderboard a.qrels b.qrels a.trec b.qrels", "power a.qrels a.trec b.qrels",
    "agree a.qrels b.qrels --run a.trec --run b.qrels", "trec-eval a.qrels b.qrels",
    "runs fuse a.trec b.qrels -o out.trec",
    "runs stats b.qrels", "runs validate b.qrels", "runs cut b.qrels --depth 1 -o out.trec",
    "runs sort b.qrels -o out.trec",
    "runs convert b.qrels -o out.json", "pool coll --run b.qrels",
)  # fmt: skip
A_RUN_IN_PLACE_OF_QRELS = (
    "evaluate a.trec b.trec", "correct a.trec b.qrels b.trec", "correct a.qrels a.trec b.trec",
    "lab leaderboard a.trec b.qrels a.trec b.trec", "lab leaderboard a.qrels a.trec a.trec b.trec",
    "power a.trec a.trec b.trec", "agree a.trec b.qrels", "agree a.qrels a.trec",
    "agree a.qrels b.qrels --human a.trec", "agree a.qrels b.qrels a.trec",
    "trec-eval a.trec b.trec",
    "qrels stats a.trec", "qrels validate a.trec", "qrels merge a.qrels a.trec -o out.qrels",
    "qrels map a.trec --map 1:1 -o out.qrels", "qrels subset a.trec --queries q1 -o out.qrels",
    "qrels compare a.qrels a.trec",
)  # fmt: skip
ANOTHER_KIND = (
    "people import docs.csv coll --as x", "people import a.qrels coll --as x",
    "prompts show mine.toml",
    "judge coll --model similarity --as x --prompt a.trec",
    "agree a.qrels docs.jsonl", "agree a.qrels coll/pool.jsonl", "evaluate docs.csv a.trec",
    "evaluate a.qrels coll/replies.db", "runs convert coll/card.json -o out.trec",
)  # fmt: skip


@pytest.mark.parametrize(
    "command", [*QRELS_IN_PLACE_OF_A_RUN, *A_RUN_IN_PLACE_OF_QRELS, *ANOTHER_KIND]
)
def test_a_file_of_another_kind_is_bad_input_everywhere(
    workspace: Path, capsys: Capture, command: str
) -> None:
    error = said(workspace, command, capsys, 65)
    assert sum(line.startswith("labeler: ") for line in error.splitlines()) == 1


@pytest.mark.parametrize("name", ["mine.run", "mine.txt", "mine.TREC", "mine.Run.GZ", "mine.trec"])
def test_a_run_of_a_collection_is_read_whatever_its_ending_and_letter_case(
    workspace: Path, capsys: Capture, name: str
) -> None:
    content = (workspace / "b.trec").read_bytes()
    packed = gzip.compress(content) if name.endswith("GZ") else content
    (workspace / "coll" / "runs" / name).write_bytes(packed)
    with chdir(workspace):
        assert execute(["evaluate", "coll"]) == 0
        assert "mine" in capsys.readouterr().out
        assert execute(["agree", "coll", "human", "first"]) == 0


def test_a_file_among_the_runs_that_is_not_read_is_named(workspace: Path, capsys: Capture) -> None:
    for name in ("mine.json", "input.bm25"):
        shutil.copy(workspace / "a.json", workspace / "coll" / "runs" / name)
    for command in ("evaluate coll", "correct coll --assessor first", "agree coll human first"):
        error = said(workspace, command, capsys, 0)
        names = "coll/runs/input.bm25, coll/runs/mine.json"
        assert f"warning: not read as runs: {names}; runs are called .trec" in error


def test_two_files_of_one_run_are_refused_by_both_names(workspace: Path, capsys: Capture) -> None:
    shutil.copy(workspace / "a.trec", workspace / "coll" / "runs" / "bm25.run")
    error = said(workspace, "evaluate coll", capsys, 2)
    assert "coll/runs/bm25.run and coll/runs/bm25.trec are both the run 'bm25'" in error


def test_qrels_of_three_columns_are_told_of_their_grade(workspace: Path, capsys: Capture) -> None:
    (workspace / "b.qrels").write_text("q1 0 cats\n")
    error = said(workspace, "agree a.qrels b.qrels", capsys, 65)
    assert "every line has three columns; expected query iteration document grade" in error
