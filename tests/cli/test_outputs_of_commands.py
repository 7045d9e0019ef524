"""No command with an output destroys an input, a collection's file or somebody else's."""

import json
import os
import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import pytest
from made import fill_sheet, judged_partitions

from labeler.cli import COMMANDS, execute
from labeler.cli.options import parser_of
from labeler.collection.annotations import JournalRow, journal_path
from labeler.collection.layout import Collection
from labeler.corpus.ingest import ingest
from labeler.corpus.rechunk import rechunk
from labeler.data import Query
from labeler.judging.judge import judge
from labeler.pools.pool import pool
from labeler.store import open_store
from labeler.testing import FakeServer, small_collection

QRELS = "q1 0 d1 2\nq1 0 d2 0\nq2 0 d1 1\nq2 0 d3 0\nq3 0 d2 3\nq3 0 d3 1\n"
OTHER = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 1\nq2 0 d3 1\nq3 0 d2 2\nq3 0 d3 0\n"
RUN = "".join(f"q{q} Q0 d{d} {d} {4 - d}.5 a\n" for q in (1, 2, 3) for d in (1, 2, 3))
SECOND = "".join(f"q{q} Q0 d{4 - d} {d} {4 - d}.25 b\n" for q in (1, 2, 3) for d in (1, 2, 3))


@dataclass(frozen=True)
class Case:
    """A command that writes to `OUT`, and the inputs that it reads."""

    words: str
    inputs: tuple[str, ...]
    ending: str = ""


CASES = {
    "evaluate": Case("evaluate a.qrels a.trec b.trec -o OUT", ("a.qrels", "a.trec")),
    "evaluate plot": Case("evaluate a.qrels a.trec b.trec --plot OUT", (), ".png"),
    "compare": Case("compare coll a=a.trec b=b.trec --qrels human -o OUT", ("a.trec", "b.trec")),
    "compare html": Case("compare coll a=a.trec b=b.trec --qrels human --html OUT", ()),
    "evaluate coll": Case("evaluate coll --qrels human -o OUT", ()),
    "correct": Case("correct a.qrels b.qrels a.trec -o OUT", ("a.qrels", "b.qrels", "a.trec")),
    "lab leaderboard": Case(
        "lab leaderboard a.qrels b.qrels a.trec b.trec -o OUT", ("a.qrels", "b.qrels", "b.trec")
    ),
    "power": Case("power a.qrels a.trec b.trec -o OUT", ("a.qrels", "a.trec")),
    "agree": Case("agree a.qrels b.qrels -o OUT", ("a.qrels", "b.qrels")),
    "runs fuse": Case("runs fuse a.trec b.trec -o OUT", ("a.trec", "b.trec")),
    "qrels stats": Case("qrels stats a.qrels -o OUT", ("a.qrels",)),
    "qrels merge": Case("qrels merge a.qrels b.qrels --conflict max -o OUT", ("a.qrels",)),
    "qrels merge list": Case(
        "qrels merge a.qrels b.qrels --conflict max -o m.qrels --conflicts OUT", ("a.qrels",)
    ),
    "qrels map": Case("qrels map a.qrels --map 0:0,1:1,2:1,3:1 -o OUT", ("a.qrels",)),
    "qrels subset": Case("qrels subset a.qrels --queries ids -o OUT", ("a.qrels", "ids")),
    "qrels validate": Case("qrels validate a.qrels -o OUT", ("a.qrels",)),
    "qrels compare": Case("qrels compare a.qrels b.qrels -o OUT", ("a.qrels", "b.qrels")),
    "qrels convert": Case("qrels convert a.qrels --to csv -o OUT", ("a.qrels",)),
    "runs stats": Case("runs stats a.trec -o OUT", ("a.trec",)),
    "runs validate": Case("runs validate a.trec -o OUT", ("a.trec",)),
    "runs cut": Case("runs cut a.trec --depth 1 -o OUT", ("a.trec",)),
    "runs sort": Case("runs sort a.trec -o OUT", ("a.trec",)),
    "runs convert": Case("runs convert a.trec --to json -o OUT", ("a.trec",)),
    "queries from-log": Case("queries from-log log.csv -o OUT", ("log.csv",)),
    "queries passages": Case("queries passages coll -o OUT", ()),
    "people sample": Case("people sample coll --pairs 3 --from human -o OUT", ()),
    "store stats": Case("store stats coll -o OUT", ()),
    "store verify": Case("store verify coll -o OUT", ()),
    "people import": Case("people import sheet.csv graded --as me -o OUT", ("sheet.csv",)),
    "people merge": Case("people merge graded me you -o OUT", ()),
    "lab depth": Case("lab depth a.qrels a.trec -o OUT", ("a.qrels", "a.trec")),
    "lab audit": Case("lab audit --value 1.00 --queries 9 -o OUT", ()),
    "retrieve": Case(
        "retrieve coll --as new --command 'grep -m1 -he {query} -e q1 a.trec' -o OUT", ()
    ),
    "runs rerank": Case("runs rerank coll bm25 --as new --model local --dry-run -o OUT", ()),
    "pool": Case("pool coll --run a.trec --only -o OUT", ("a.trec",)),
    "evaluate reuse": Case("evaluate coll --reuse --qrels human -o OUT", ()),
    "report": Case("report coll -o OUT", ()),
    "import": Case("import a.qrels --into coll --as human3 -o OUT", ("a.qrels",)),
    "status": Case("status coll -o OUT", ()),
    "people status": Case("people status looked -o OUT", ()),
    "lab calibrate": Case("lab calibrate b.qrels --people a.qrels -o OUT", ("a.qrels",)),
    "lab calibrate rows": Case(
        "lab calibrate b.qrels --people a.qrels --probabilities OUT", ("a.qrels",)
    ),
    "lab route": Case("lab route a.qrels b.qrels -o OUT", ("a.qrels",)),
    "lab cascade": Case("lab cascade cut a b --model similarity --dry-run -o OUT", ()),
    "lab route sheet": Case("lab route cut a b --sheet OUT", ()),
    "diff": Case("diff coll llm human -o OUT", ()),
    "lab probe": Case("lab probe coll --qrels human --model similarity --pairs 2 -o OUT", ()),
    "lab repeat": Case("lab repeat coll --model similarity --dry-run -o OUT", ()),
    **{
        f"batch {act}": Case(f"batch {act} coll -o OUT", ())
        for act in ("status", "collect", "cancel")
    },
    **{
        f"batch {act}": Case(f"batch {act} coll --model similarity --dry-run -o OUT", ())
        for act in ("submit", "wait")
    },
    "batch write": Case("batch write coll asked.jsonl --model similarity --dry-run -o OUT", ()),
    "lab panel": Case("lab panel coll llm human -o OUT", ()),
    "explain": Case("explain coll q1 d1 -o OUT", ()),
    "doctor": Case("doctor --model similarity -o OUT", ()),
    "prompts show": Case("prompts show -o OUT", ()),
    "help": Case("help drift -o OUT", ()),
    "prompts new": Case("prompts new mine -o OUT", ()),
    "prompts check": Case("prompts check four-grades -o OUT", ()),
    "validate": Case("validate coll -o OUT", ()),
    "corpus update": Case("corpus update pages cut --dry-run -o OUT", ()),
    "corpus rechunk": Case("corpus rechunk cut --words 60 --dry-run -o OUT", ()),
    "monitor": Case("monitor cut --documents pages -o OUT", (), ".html"),
    "diff states": Case("diff cut/history/1 cut -o OUT", ()),
    "judge": Case("judge coll --model similarity --dry-run -o OUT", ()),
    "lab tune": Case(
        "lab tune tuned --prompts four-grades,basic --models similarity --dry-run -o OUT", ()
    ),
    "parts collect": Case("parts collect coll parts -o OUT", ()),
    "relabel": Case("relabel coll --from llm --model similarity --dry-run -o OUT", ()),
    "generate": Case("generate coll --model local --dry-run -o OUT", ()),
}
SOME = {
    *("evaluate", "evaluate plot", "agree", "runs fuse", "qrels merge list", "qrels map"),
    *("runs convert", "queries from-log", "people sample", "people import", "pool", "report"),
    *("lab calibrate save", "lab route sheet", "diff", "prompts new", "corpus update", "monitor"),
    *("judge", "generate"),
}
"""One of each way in which commands write; the others share theirs, and run with `-m slow`."""
EACH = [name if name in SOME else pytest.param(name, marks=pytest.mark.slow) for name in CASES]
FOLDERS = {"demo", "build", "corpus ingest", "fetch", "export"}
"""Commands whose output is a folder."""

AS_OTHERS = {"lab control", "batch read", "parts make", "parts work"}
"""Commands that need what takes long to make, and write as judge, batch collect and status do."""


def test_every_command_with_an_output_is_attacked_here_and_can_be_forced() -> None:
    attacked = {" ".join(key.split()[:2]) for key in CASES} | {key.split()[0] for key in CASES}
    for key, each in COMMANDS.items():
        command = parser_of(each)
        options = {option.name: option.opts for option in command.params}
        is_writing = any(
            not getattr(option, "is_flag", False) and {"-o", "--plot"} & set(option.opts)
            for option in command.params
        )
        if is_writing:
            assert key in attacked or key in FOLDERS | AS_OTHERS, key
            assert options.get("force") == ["--force"], key


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Path], None]:
    """Puts a copy of what one of `MAKERS` makes into a folder; it is made when first asked for."""
    folder = tmp_path_factory.mktemp("made")

    def put(name: str, place: Path) -> None:
        if not (folder / name).exists():
            (folder / name).mkdir()
            MAKERS[name](folder / name)
        shutil.copytree(folder / name, place, dirs_exist_ok=True)

    return put


@pytest.fixture
def place(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    made: Callable[[str, Path], None],
) -> Path:
    """A folder with files and a collection, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    made("files", tmp_path)
    if any(f"[{name}" in request.node.name or f"-{name}" in request.node.name for name in CUT):
        made("cut", tmp_path)
    if any(name in request.node.name for name in ("lab cascade", "lab route sheet")):
        judge(tmp_path / "cut", model="similarity", name="b")
    if "lab cascade" in request.node.name:
        human = tmp_path / "cut" / "qrels" / "human.qrels"
        human.write_bytes(human.with_name("a.qrels").read_bytes())
    if "parts collect" in request.node.name:
        judged_partitions(Collection(tmp_path / "coll"), tmp_path / "parts", "parted")
    if "annotate" in request.node.name:
        looked_at(tmp_path / "looked")
    if "lab tune" in request.node.name:
        tuned(tmp_path / "tuned")
    if {"people import", "people merge"} & set(re.split(r"[][-]", request.node.name)):
        made("graded", tmp_path)
    return tmp_path


CUT = (
    *("monitor", "corpus update", "corpus rechunk", "diff states", "lab cascade"),
    "lab route sheet",
)


def files(folder: Path) -> None:
    """Files of every kind, and two collections."""
    for name, text in (("a.qrels", QRELS), ("b.qrels", OTHER), ("a.trec", RUN), ("b.trec", SECOND)):
        (folder / name).write_text(text)
    (folder / "log.csv").write_text("query,doc_id,rank,clicked\nhub,a,1,1\nhub,b,2,0\n")
    (folder / "ids").write_text("q1\nq2\n")
    (folder / "yes").write_text("q1 yes\nq2 no\nq3 yes\n")
    make_collection(folder / "coll")
    make_collection(folder / "another")


def graded(folder: Path) -> None:
    """A collection, and a sheet of it with grades."""
    small_collection(folder / "graded")
    sheet = folder / "sheet.csv"
    assert (
        execute(["people", "sample", str(folder / "graded"), "--pairs", "2", "-o", str(sheet)]) == 0
    )
    fill_sheet(sheet, "1")
    for name in ("me", "you"):
        words = ["people", "import", str(sheet), str(folder / "graded"), "--as", name]
        assert execute(words) == 0


def cut(folder: Path) -> None:
    """A folder of documents, and a collection of them that was cut twice and judged."""
    (folder / "pages").mkdir()
    (folder / "pages" / "a.md").write_text("# Cats\n\n" + "A cat sleeps anywhere. " * 60)
    (folder / "asked.txt").write_text("where do cats sleep\n")
    ingest(folder / "pages", folder / "cut", folder / "asked.txt")
    for words in (None, 100):
        if words:
            rechunk(folder / "cut", words)
        pool(folder / "cut")
        judge(folder / "cut", model="similarity", name="a")


MAKERS = {"files": files, "graded": graded, "cut": cut}


def looked_at(folder: Path) -> None:
    """A collection with a rater's answer."""
    collection = small_collection(folder)
    row = JournalRow("grade", "audit", "s", "1", "q1", "cats", 2)
    collection.annotations.mkdir()
    journal_path(collection, "anna").write_bytes(row.line())


def generated(folder: Path) -> None:
    """A collection with a generated query."""
    small_collection(folder)
    row = {"_id": "g", "text": "cats asleep", "metadata": {"source": [{"doc_id": "cats"}]}}
    with (folder / "queries.jsonl").open("a") as out:
        out.write(json.dumps(row) + "\n")


def tuned(folder: Path) -> None:
    """A collection of four queries, all of whose pairs people judged."""
    collection = small_collection(folder, [Query(f"q{n}", f"cats {n}") for n in range(4)])
    lines = [f"q{n} 0 {doc} {n % 3}" for n in range(4) for doc in ("cats", "fish")]
    collection.qrels("human").parent.mkdir()
    collection.qrels("human").write_text("\n".join(lines) + "\n")


def make_collection(folder: Path) -> None:
    documents = [{"_id": f"d{i}", "title": "", "text": f"about cats {i}"} for i in (1, 2, 3)]
    queries = [{"_id": f"q{i}", "text": f"cats {i}"} for i in (1, 2, 3)]
    pool = [{"query_id": q["_id"], "doc_id": d["_id"]} for q in queries for d in documents]
    for name in ("qrels", "runs", "judgements", "samples", "people"):
        (folder / name).mkdir(parents=True)
    for part, rows in (("corpus", documents), ("queries", queries), ("pool", pool)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{part}.jsonl").write_text(lines)
    (folder / "qrels" / "human.qrels").write_text(QRELS)
    (folder / "runs" / "bm25.trec").write_text(RUN)
    (folder / "runs" / "dense.trec").write_text(SECOND)
    (folder / "rejected.jsonl").write_text("{}\n")
    (folder / "judgements" / "llm.jsonl").write_text(
        '{"query_id": "q1", "doc_id": "d1", "grade": 1, "status": "judged"}\n'
    )
    (folder / "samples" / "s1.jsonl").write_text("{}\n")
    (folder / "people" / "human2.jsonl").write_text("{}\n")
    (folder / "card.json").write_text('{"samples": {}}\n')
    (folder / "README.md").write_text("# mine\n")
    with open_store(folder / "replies.db"):
        pass


def run(case: Case, output: str, *more: str) -> int:
    return execute(
        [output if word == "OUT" else word for word in shlex.split(case.words)] + [*more]
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith("replies.db-")
    }


LINKS: dict[str, Callable[[Path, Path], object]] = {
    "itself": lambda target, link: None,
    "a symbolic link to it": lambda target, link: link.symlink_to(target),
    "a hard link to it": os.link,
}


def attacked(kind: str, target: Path, ending: str) -> str:
    """A name for a target: its own, or that of a link to it."""
    link = target.parent.parent / f"link{ending}"
    LINKS[kind](target, link)
    return str(target if kind == "itself" else link)


@pytest.mark.parametrize("name", EACH)
def test_no_command_writes_onto_an_input(
    name: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(place)
    for source in CASES[name].inputs:
        for kind in ("itself", "a hard link to it"):
            output = attacked(kind, place / source, "")
            assert run(CASES[name], output) == 2
            shown = capsys.readouterr()
            assert f"--force: {output} is one of the inputs; name another file" in shown.err
            assert shown.err.count("\n") == 1
            (place.parent / "link").unlink(missing_ok=True)
    assert contents(place) == before


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("coll/replies.db", "itself"),
        ("coll/corpus.jsonl", "a symbolic link to it"),
        ("coll/qrels/human.qrels", "itself"),
        ("another/card.json", "a hard link to it"),
    ],
)
@pytest.mark.parametrize("name", EACH)
def test_no_command_writes_onto_a_file_of_a_collection(
    name: str, target: str, kind: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(place)
    output = attacked(kind, place / target, CASES[name].ending)
    assert run(CASES[name], output) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert output in said
    Path(output).unlink() if kind != "itself" else None
    assert contents(place) == before


@pytest.mark.parametrize("name", EACH)
def test_no_command_makes_a_file_that_a_collections_commands_would_read(
    name: str, place: Path
) -> None:
    (place / "coll" / "pool.jsonl").unlink()
    (place / "another" / "replies.db").unlink()
    before = contents(place)
    for output in ("coll/pool.jsonl", "another/replies.db", "coll/replies.db-wal"):
        assert run(CASES[name], output, "--force") == 2
    assert contents(place) == before


@pytest.mark.parametrize("name", EACH)
def test_no_command_replaces_what_somebody_else_wrote_unless_it_is_forced(
    name: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = CASES[name]
    mine = place / f"mine{case.ending}"
    mine.write_text("a person's work\n")
    assert run(case, str(mine)) == 2
    said = capsys.readouterr().err
    assert f"--force: {mine} holds something else than what was written there before" in said
    assert mine.read_text() == "a person's work\n"
    assert run(case, str(mine), "--force") == 0
    assert mine.read_bytes() != b"a person's work\n"


@pytest.mark.parametrize("name", EACH)
def test_the_same_command_goes_on_working_until_somebody_writes_into_its_output(
    name: str, place: Path
) -> None:
    case = CASES[name]
    output = place / f"out{case.ending}"
    output.touch(mode=0o600)  # as mktemp makes it
    for _ in range(2):
        assert run(case, str(output)) == 0
    assert output.stat().st_mode & 0o777 == 0o600
    written = output.read_bytes()
    output.write_bytes(written + b"3\n")
    assert run(case, str(output)) == 2
    assert output.read_bytes() == written + b"3\n"


@pytest.mark.parametrize("name", EACH)
def test_every_output_may_be_a_pipe_that_stays_one(name: str, place: Path) -> None:
    case = CASES[name]
    pipe, read = place / f"out{case.ending}", list[bytes]()
    os.mkfifo(pipe)
    reader = Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert run(case, str(pipe)) == 0
    reader.join(20)
    assert read[0]
    assert pipe.is_fifo()


def test_where_no_record_can_be_kept_an_old_file_stays_unless_it_is_forced(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "no folder").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "no folder"))
    case = CASES["runs sort"]
    assert run(case, "out.trec") == 0
    assert run(case, "out.trec") == 2
    assert run(case, "out.trec", "--force") == 0


def test_a_read_only_file_stays_unless_it_is_forced(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case, out = CASES["runs sort"], place / "out.trec"
    assert run(case, "out.trec") == 0
    out.chmod(0o444)
    capsys.readouterr()
    assert run(case, "out.trec") == 74
    assert capsys.readouterr().err == "labeler: out.trec: the file is read-only\n"
    assert run(case, "out.trec", "--force") == 0
    assert out.stat().st_mode & 0o777 == 0o444


OWN_FILES = {
    "pool": ("runs/bm25.trec", "pool mine"),
    "generate": ("rejected.jsonl", "generate mine --queries 1 --model fake --base-url URL"),
    "ingest": ("corpus.jsonl", "corpus ingest docs -o mine"),
    "import-qrels": ("qrels/human.qrels", "import a.qrels --into mine --as human"),
}
"""Commands that make files of a collection by names of their own, and which of them they make."""


@pytest.mark.parametrize("name", OWN_FILES)
def test_a_collections_file_that_a_person_wrote_stays_unless_it_is_forced(
    name: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, words = OWN_FILES[name]
    (place / "docs").mkdir()
    (place / "docs" / "a.md").write_text(f"# cats\n\n{'Cats sleep on any table. ' * 9}\n")
    (place / "a.qrels").write_text("q1 0 cats 2\nq1 0 fish 0\n")
    mine = small_collection(place / "mine").folder / file
    (place / "mine" / "pool.jsonl").unlink()
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("q1 Q0 fish 1 1.0 by-hand\n")
    with FakeServer(lambda _: "where does a cat sleep") as server:
        command = shlex.split(words.replace("URL", server.base_url))
        assert execute(command) == 2
        assert not server.calls
        assert f"mine/{file} " in capsys.readouterr().err
        assert mine.read_text() == "q1 Q0 fish 1 1.0 by-hand\n"
        execute([*command, "--force"])
    assert mine.read_text() != "q1 Q0 fish 1 1.0 by-hand\n"


def test_the_sheets_of_several_people_are_all_written_or_none(place: Path) -> None:
    (place / "b.csv").write_text("graded by hand\n")
    before = contents(place)
    words = ["people", "sample", "coll", "--pairs", "4", "--from", "human"]
    assert execute([*words, "-o", "a.csv", "-o", "b.csv"]) == 2
    assert contents(place) == before


def test_a_run_may_be_put_beside_those_of_a_collection(place: Path) -> None:
    case = CASES["runs fuse"]
    assert run(case, "coll/runs/fused.trec") == 0
    assert run(case, "coll/runs/fused.trec") == 0
    assert run(case, "coll/runs/bm25.trec") == 2
