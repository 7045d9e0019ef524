"""Every command that takes a file, on files made wrong: never a traceback, never 1, one line."""

import csv
import shutil
from contextlib import chdir
from hashlib import sha256
from pathlib import Path

import pytest
from fuzzing import mutants

from labeler.cli import execute
from labeler.collection.lock import locked
from labeler.collection.queries import read_queries, write_queries
from labeler.data import Query
from labeler.people.sample import SampleDesign, draw_sheets
from labeler.testing import small_collection

Capture = pytest.CaptureFixture[str]

FEW = 3
MANY = 100

RUN = """q1 Q0 cats 1 2.5 x
q1 Q0 fish 2 1e-1 x
q2 Q0 fish 1 7 x
q2 Q0 cats 2 -7 x
q3 Q0 fish 1 3 x
"""
RUN_2 = """q1 Q0 fish 1 3 y
q1 Q0 cats 2 2 y
q2 Q0 fish 1 1 y
q3 Q0 cats 1 1 y
q3 Q0 fish 1 0.5 y
"""
QRELS = "q1 0 cats 3\nq1 0 fish 0\nq2 0 fish 2\nq2 0 cats 0\nq3 0 fish 1\n"
QRELS_2 = "q1 0 cats 2\nq1 0 fish 1\nq2 0 fish 2\nq2 0 cats 0\nq3 0 fish 1\n"
PROMPT = """+++
kind = "grade"
description = "d"
[scale]
0 = "no"
1 = "yes"
+++
# user
{query} {passage}
"""
COMMIT = "0" * 40
TABLE = "query,docid,name,text,rating\nwhere,d1,N,T,0\nwhy,d2,M,U,1\n"
RECIPE = f"""title = "t"
licence = "MIT"
citation = "c"
homepage = "https://example.com"
layout = "judged-table"
[sources.table]
repository = "own/er"
commit = "{COMMIT}"
path = "t.csv"
size = {len(TABLE)}
sha256 = "{sha256(TABLE.encode()).hexdigest()}"
[columns]
query = "query"
document = "docid"
title = "name"
text = "text"
[qrels]
human = "rating"
[grades]
0 = 0
1 = 1
[counts]
queries = 2
documents = 2
pairs = 2
"""
FILES = {
    "a.trec": RUN,
    "b.trec": RUN_2,
    "a.json": '{"q1": {"cats": 1.5, "fish": 2}, "q2": {"fish": 1}}',
    "a.qrels": QRELS,
    "b.qrels": QRELS_2,
    "verdicts.txt": "q1 yes\nq2 no\n",
    "ids.txt": "q1\nq2\n",
    "mine.md": PROMPT,
    "prices.toml": 'as_of = "2026"\n[hosts."h.com"]\nm = { tokens_in = 1.0, tokens_out = 2 }\n',
    "docs.jsonl": '{"_id": "d1", "title": "T", "text": "a text: here"}\n{"_id": 2, "text": "x"}\n',
    "docs.csv": "id,title,text\nd1,T,some text\nd2,,more\n",
    "docs.md": "# T\n\nSome *text*.\n\n## U\n\n- a\n- b\n",
    "docs.rst": "T\n=\n\nSome text.\n\n.. note:: x\n",
    "mine.toml": RECIPE,
    f"mirror/own/er/{COMMIT}/t.csv": TABLE,
    "queries.tsv": "1\twhere do cats sleep\n2\twhy do fish\n",
}

COMMANDS: tuple[tuple[str, str], ...] = (
    ("a.trec", "evaluate a.qrels a.trec b.trec"),
    ("a.qrels", "evaluate a.qrels a.trec b.trec --per-query --scenarios"),
    ("verdicts.txt", "evaluate a.qrels a.trec -m LGTM@2 --lgtm verdicts.txt"),
    ("a.qrels", "correct a.qrels b.qrels a.trec"),
    ("b.qrels", "correct a.qrels b.qrels a.trec"),
    ("a.trec", "correct a.qrels b.qrels a.trec b.trec"),
    ("a.qrels", "leaderboard a.qrels b.qrels a.trec b.trec"),
    ("b.trec", "leaderboard a.qrels b.qrels a.trec b.trec"),
    ("a.trec", "power a.qrels a.trec b.trec"),
    ("a.qrels", "agree a.qrels b.qrels"),
    ("b.qrels", "agree a.qrels b.qrels --details"),
    ("b.trec", "agree a.qrels b.qrels --run a.trec --run b.trec"),
    ("coll/judgements/first.jsonl", "agree a.qrels coll/judgements/first.jsonl --details"),
    ("a.qrels", "trec-eval -q -m all_trec a.qrels a.trec"),
    ("a.trec", "trec-eval -q -m all_trec a.qrels a.trec"),
    ("a.trec", "fuse a.trec b.trec -o out.trec"),
    ("a.json", "fuse a.json b.trec -o out.json"),
    ("a.trec", "mmr a.trec coll -o out.trec"),
    ("coll/corpus.jsonl", "mmr a.trec coll -o out.trec"),
    ("a.trec", "run stats a.trec"),
    ("a.trec", "run validate a.trec --in coll"),
    ("a.trec", "run cut a.trec --depth 1 -o out.trec"),
    ("a.trec", "run sort a.trec -o out.trec"),
    ("a.trec", "run convert a.trec -o out.json"),
    ("a.json", "run convert a.json -o out.trec"),
    ("a.json", "run convert a.json -o out.parquet"),
    ("a.parquet", "run convert a.parquet -o out.trec"),
    ("a.qrels", "qrels stats a.qrels"),
    ("a.qrels", "qrels validate a.qrels --scale 0,1,2,3 --in coll"),
    ("coll/queries.jsonl", "qrels validate a.qrels --in coll"),
    ("a.qrels", "qrels merge a.qrels b.qrels --conflict max -o out.qrels"),
    ("a.qrels", "qrels binarise a.qrels -o out.qrels"),
    ("a.qrels", "qrels map a.qrels --grades 0:0,1:1,2:1,3:1 -o out.qrels"),
    ("a.qrels", "qrels clip a.qrels --high 1 -o out.qrels"),
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
    (
        "prices.toml",
        "judge coll --model m --base-url http://h.com/v1 --prices prices.toml --dry-run",
    ),
    ("coll/card.json", "agree coll human first"),
    ("coll/qrels/first.qrels", "agree coll human first"),
    ("coll/people/human.jsonl", "agree coll human first"),
    ("coll/runs/bm25.trec", "agree coll human first"),
    ("coll/card.json", "evaluate coll"),
    ("coll/runs/bm25.trec", "evaluate coll"),
    ("coll/queries.jsonl", "evaluate coll --movers 1"),
    ("coll/card.json", "correct coll --assessor first"),
    ("sheet.csv", "import-labels sheet.csv coll --as human"),
    ("coll/card.json", "import-labels sheet.csv coll --as human --replace"),
    ("coll/people/human.jsonl", "import-labels sheet.csv coll --as human --replace"),
    ("coll/samples/SAMPLE.jsonl", "import-labels sheet.csv coll --as human"),
    ("coll/judgements/first.jsonl", "sample coll --from first --pairs 2 -o new.csv"),
    ("coll/card.json", "sample coll --from first --pairs 2 -o new.csv"),
    ("coll/pool.jsonl", "sample coll --from human --pairs 2 -o new.csv"),
    ("a.trec", "pool coll --run a.trec"),
    ("coll/pool.jsonl", "pool coll --run a.trec"),
    ("coll/card.json", "pool coll --run a.trec"),
    ("docs.jsonl", "ingest docs.jsonl -o new"),
    ("docs.csv", "ingest docs.csv -o new"),
    ("docs.md", "ingest docs.md -o new"),
    ("docs.rst", "ingest docs.rst -o new"),
    ("queries.tsv", "ingest docs.jsonl --queries-file queries.tsv -o new"),
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


def make_workspace(folder: Path) -> Path:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    collection, coll = small_collection(folder / "coll"), str(folder / "coll")
    queries = {**read_queries(collection.queries), "q3": Query("q3", "do cats close their eyes")}
    with locked(collection):
        write_queries(collection.queries, queries.values())
    run, sheet = str(folder / "a.trec"), folder / "sheet.csv"
    assert execute(["run", "convert", run, "-o", str(folder / "a.parquet")]) == 0
    assert execute(["pool", coll, "--run", run]) == 0
    for name in ("first", "second"):
        assert execute(["judge", coll, "--model", "similarity", "--as", name, "--quiet"]) == 0
    draw_sheets(collection, "first", SampleDesign(None), [sheet])
    header, *rows = csv.reader(sheet.read_text("utf-8-sig").splitlines())
    with sheet.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([header, *[[*r[:7], "1", *r[8:]] for r in rows]])
    assert execute(["import-labels", str(sheet), coll, "--as", "human"]) == 0
    (sample,) = (folder / "coll" / "samples").iterdir()
    sample.rename(sample.with_name("SAMPLE.jsonl"))
    (folder / "coll" / "samples" / sample.name).symlink_to("SAMPLE.jsonl")
    return folder


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
@pytest.mark.parametrize("name", COMMANDS, ids=" with ".join)
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
