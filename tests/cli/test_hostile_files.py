"""Every command that takes a file, on files made wrong: never a traceback, never 1, one line."""

import shutil
from contextlib import chdir
from pathlib import Path

import pytest
from examples import tiers
from fuzzing import mutants
from workspace import make_workspace

from labeler.cli import execute

Capture = pytest.CaptureFixture[str]

FEW = 1
MANY = 100

COMMANDS: tuple[tuple[str, str], ...] = (
    ("a.trec", "evaluate a.qrels a.trec b.trec"),
    ("a.qrels", "evaluate a.qrels a.trec b.trec --per-query --scenarios"),
    ("facts.csv", "evaluate a.qrels a.trec --by kind --weights weight --queries facts.csv"),
    ("a.qrels", "correct a.qrels b.qrels a.trec"),
    ("b.qrels", "correct a.qrels b.qrels a.trec"),
    ("a.trec", "correct a.qrels b.qrels a.trec b.trec"),
    ("a.qrels", "lab leaderboard a.qrels b.qrels a.trec b.trec"),
    ("b.trec", "lab leaderboard a.qrels b.qrels a.trec b.trec"),
    ("a.trec", "power a.qrels a.trec b.trec"),
    ("a.qrels", "agree a.qrels b.qrels"),
    ("b.qrels", "agree a.qrels b.qrels --details"),
    ("b.trec", "agree a.qrels b.qrels --run a.trec --run b.trec"),
    ("coll/judgements/first.jsonl", "agree a.qrels coll/judgements/first.jsonl --details"),
    ("a.qrels", "trec-eval -q -m all_trec a.qrels a.trec"),
    ("a.trec", "trec-eval -q -m all_trec a.qrels a.trec"),
    ("a.trec", "runs fuse a.trec b.trec -o out.trec"),
    ("a.json", "runs fuse a.json b.trec -o out.json"),
    ("a.trec", "runs stats a.trec"),
    ("a.trec", "runs validate a.trec"),
    ("a.trec", "runs cut a.trec --depth 1 -o out.trec"),
    ("a.trec", "runs sort a.trec -o out.trec"),
    ("a.trec", "runs convert a.trec -o out.json"),
    ("a.json", "runs convert a.json -o out.trec"),
    ("a.json", "runs convert a.json -o out.parquet"),
    ("a.parquet", "runs convert a.parquet -o out.trec"),
    ("a.qrels", "qrels stats a.qrels"),
    ("a.qrels", "qrels validate a.qrels --scale 0:3"),
    ("a.qrels", "qrels merge a.qrels b.qrels --conflict max -o out.qrels"),
    ("a.qrels", "qrels map a.qrels --map 0:0,1:1,2:1,3:1 -o out.qrels"),
    ("ids.txt", "qrels subset a.qrels --queries ids.txt -o out.qrels"),
    ("b.qrels", "qrels compare a.qrels b.qrels"),
    ("coll/card.json", "status coll"),
    ("coll/pool.jsonl", "status coll"),
    ("coll/judgements/first.jsonl", "status coll"),
    ("coll/queries.jsonl", "status coll"),
    ("coll/replies.db", "status coll"),
    ("coll/judgements/first.jsonl", "explain coll q1 cats"),
    ("coll/replies.db", "explain coll q1 cats"),
    ("coll/corpus.jsonl", "explain coll q1 cats"),
    ("coll/judgements/first.jsonl", "diff coll first second"),
    ("coll/judgements/first.jsonl", "lab panel coll first second"),
    ("coll/judgements/first.jsonl", "relabel coll --from first --reparse --as third"),
    ("coll/card.json", "relabel coll --from first --reparse --as third"),
    ("coll/replies.db", "relabel coll --from first --reparse --as third"),
    ("coll/pool.jsonl", "judge coll --model similarity --as third --quiet"),
    ("coll/corpus.jsonl", "judge coll --model similarity --as third --quiet"),
    ("coll/queries.jsonl", "judge coll --model similarity --as third --quiet"),
    ("coll/card.json", "judge coll --model similarity --as third --quiet"),
    ("coll/judgements/first.jsonl", "judge coll --model similarity --as first --quiet"),
    ("coll/replies.db", "judge coll --model similarity --as first --quiet"),
    ("mine.md", "judge coll --model similarity --prompt mine.md --as third --dry-run"),
    ("mine.md", "prompts show mine.md"),
    ("mine.md", "prompts check mine.md"),
    ("coll/card.json", "agree coll human first"),
    ("coll/qrels/first.qrels", "agree coll human first"),
    ("coll/people/human.jsonl", "agree coll human first"),
    ("coll/runs/bm25.trec", "agree coll human first"),
    ("coll/card.json", "evaluate coll"),
    ("coll/runs/bm25.trec", "evaluate coll"),
    ("coll/queries.jsonl", "evaluate coll --by origin"),
    ("coll/card.json", "correct coll --assessor first"),
    ("sheet.csv", "people import sheet.csv coll --as human"),
    ("coll/card.json", "people import sheet.csv coll --as human --replace"),
    ("coll/people/human.jsonl", "people import sheet.csv coll --as human --replace"),
    ("coll/samples/SAMPLE.jsonl", "people import sheet.csv coll --as human"),
    ("coll/annotations/anna.jsonl", "people status coll"),
    ("coll/card.json", "people status coll"),
    ("coll/samples/SAMPLE.jsonl", "people status coll"),
    ("coll/judgements/first.jsonl", "people sample coll --from first --pairs 2 -o new.csv"),
    ("coll/card.json", "people sample coll --from first --pairs 2 -o new.csv"),
    ("coll/pool.jsonl", "people sample coll --from human --pairs 2 -o new.csv"),
    ("a.trec", "pool coll --run a.trec"),
    ("coll/pool.jsonl", "pool coll --run a.trec"),
    ("coll/card.json", "pool coll --run a.trec"),
    ("coll/pool.jsonl", "pool coll --expand first --model similarity"),
    ("coll/qrels/first.qrels", "pool coll --expand first --model similarity"),
    ("coll/corpus.jsonl", "pool coll --expand first --model similarity"),
    ("coll/runs/bm25.trec", "runs rerank coll bm25 --as new --model local --dry-run"),
    ("coll/queries.jsonl", "runs rerank coll a.trec --as new --model local --dry-run"),
    ("ranks.md", "runs rerank coll bm25 --as new --model local --prompt ranks.md --dry-run"),
    ("coll/qrels/first.qrels", "lab probe coll --qrels first --model similarity --dry-run"),
    (
        "coll/people/human.jsonl",
        "lab cascade coll first --people human --model similarity --dry-run",
    ),
    (
        "coll/judgements/first.jsonl",
        "lab cascade coll first --people human --model similarity --dry-run",
    ),
    ("coll/corpus.jsonl", "queries passages coll"),
    ("queries.tsv", "generate coll --model local --dry-run --like queries.tsv"),
    ("log.csv", "queries from-log log.csv -o sample.jsonl"),
    ("log.csv", "monitor coll --log log.csv"),
    ("docs.md", "monitor coll --documents docs.md --qrels first --require judge-drift"),
    ("coll/controls/first.1.jsonl", "monitor coll"),
    ("coll/card.json", "monitor coll"),
    ("docs.jsonl", "corpus ingest docs.jsonl -o new"),
    ("docs.csv", "corpus ingest docs.csv -o new"),
    ("docs.md", "corpus ingest docs.md -o new"),
    ("docs.rst", "corpus ingest docs.rst -o new"),
    ("queries.tsv", "corpus ingest docs.jsonl --queries-file queries.tsv -o new"),
    ("coll/replies.db", "store verify coll"),
    ("coll/replies.db", "store stats coll"),
    ("mine.toml", "fetch mine.toml -o new"),
)


ONE_OF_EACH_FILE = tuple({file: (file, command) for file, command in COMMANDS}.values())
OUTCOMES = {0, 2, 3, 4, 5, 65, 69, 74, 78}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one good file of every kind, and a collection with every part."""
    return make_workspace(tmp_path_factory.mktemp("good"))


def outcome(workspace: Path, folder: Path, command: str, file: str, mutant: bytes | None) -> int:
    """The exit code of a command in a copy of the workspace, with one file of it made wrong."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(workspace, folder, symlinks=True)
    if mutant is not None:
        (folder / file).write_bytes(mutant)
    with chdir(folder):
        return execute(command.split())


def check(code: int, said: str) -> None:
    """No bug of ours, and one line of error where there is one."""
    assert code in OUTCOMES, (code, said)
    assert "Traceback" not in said
    errors = [line for line in said.splitlines() if line.startswith("labeler: ")]
    assert len(errors) == (code != 0) or code in (3, 5), (code, said)


@pytest.fixture
def mirror(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file is fetched but from the workspace."""
    monkeypatch.setenv("LABELER_MIRROR", str(workspace / "mirror"))
    monkeypatch.setenv("LABELER_CACHE", str(workspace / "cache"))


def sweep(
    workspace: Path, folder: Path, capsys: Capture, name: tuple[str, str], count: int
) -> None:
    file, command = name
    good = outcome(workspace, folder, command, file, None)
    assert good in (0, 3), capsys.readouterr().err
    capsys.readouterr()
    for mutant in mutants((workspace / file).read_bytes(), count, seed=len(command)):
        code = outcome(workspace, folder, command, file, mutant)
        check(code, capsys.readouterr().err)


@pytest.mark.usefixtures("mirror")
@pytest.mark.parametrize("name", tiers(COMMANDS, *ONE_OF_EACH_FILE), ids=" with ".join)
def test_no_file_makes_a_command_fail_without_saying_why(
    workspace: Path, tmp_path: Path, capsys: Capture, name: tuple[str, str]
) -> None:
    sweep(workspace, tmp_path / "w", capsys, name, FEW)


def in_its_place(path: Path, kind: str) -> None:
    """Put something that is no such file where a file was."""
    path.unlink()
    if kind == "a folder":
        path.mkdir()
    elif kind == "a loop of links":
        path.symlink_to(path.name)
    elif kind == "an empty file":
        path.touch()


@pytest.mark.usefixtures("mirror")
@pytest.mark.parametrize("kind", ["nothing", "a folder", "a loop of links", "an empty file"])
def test_what_is_no_file_in_its_place_is_said_in_one_line(
    workspace: Path, tmp_path: Path, capsys: Capture, kind: str
) -> None:
    for name in ONE_OF_EACH_FILE:
        file, command = name
        folder = tmp_path / "w"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(workspace, folder, symlinks=True)
        in_its_place(folder / file, kind)
        with chdir(folder):
            code = execute(command.split())
        check(code, capsys.readouterr().err)


@pytest.mark.slow
@pytest.mark.usefixtures("mirror")
@pytest.mark.parametrize("name", COMMANDS, ids=" with ".join)
def test_no_file_of_many_makes_a_command_fail_without_saying_why(
    workspace: Path, tmp_path: Path, capsys: Capture, name: tuple[str, str]
) -> None:
    sweep(workspace, tmp_path / "w", capsys, name, MANY)
