"""Commands that change a collection, several at once: nothing that one of them brought is lost."""

import csv
import hashlib
import json
import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from forked import Forked
from made import grade_in, grade_of, make_collection, pair_of
from running import environment, finish

from labeler.cli import COMMANDS, execute
from labeler.collection.card import read_card
from labeler.collection.corpus import read_corpus
from labeler.collection.judgements import origin_of
from labeler.collection.layout import Collection, locked
from labeler.collection.pool import read_pool
from labeler.collection.queries import read_queries
from labeler.data import Pair
from labeler.testing import Answer, Call, FakeServer, completion
from labeler.trec.files import read_qrels

READ_ONLY = {
    "people status",
    *("agree", "correct", "diff", "doctor", "evaluate", "explain", "export", "help", "init"),
    *("power", "report", "status", "trec-eval", "trust", "validate", "view"),
    *("lab audit", "lab depth"),
    *("lab calibrate", "lab leaderboard", "store stats", "store verify"),
    *("runs fuse", "runs cut", "runs sort", "runs convert", "runs stats"),
    "runs validate",
    *(name for name in COMMANDS if name.startswith(("prompts ", "qrels ", "queries "))),
}
"""Commands that change no collection, but for a file that `-o` names."""

ELSEWHERE = {
    "annotate": "appends to journals, each under a lock of its own: tests/annotate",
    **dict.fromkeys(
        (name for name in COMMANDS if name.startswith(("batch ", "parts "))),
        "keeps sets under the collection's lock as judge does: tests/judging",
    ),
    "compare": "judges holes as judge does, as a set of its own: tests/test_compare.py",
    "lab cascade": "judges as judge does, and keeps a set under the lock as panel does",
    "demo": "takes the steps of build",
    "monitor": "writes nothing but what it is told to",
    "corpus rechunk": "works as a whole under the collection's lock: tests/corpus",
    "people merge": "keeps qrels under the collection's lock, as people import does: tests/people",
    "lab panel": "writes a set of its own under the collection's lock: tests/agreement",
    "lab control": "writes a file of its own under the collection's lock: tests/judging",
    "lab repeat": "judges as judge does",
    "lab probe": "writes nothing but replies: tests/judging",
    "runs rerank": "writes a run of its own under the collection's lock: tests/runs",
    "retrieve": "writes a run of its own under the collection's lock: tests/runs",
    "corpus update": "works as a whole under the collection's lock: tests/corpus",
    "lab route": "keeps a sample under the collection's lock, as sample does: tests/people",
    "lab tune": "writes replies alone, as judge does",
    "store copy": "writes to a database",
    "store gc": "changes the store alone, in transactions of SQLite's: tests/store",
    "store prune": "changes the store alone, in transactions of SQLite's: tests/store",
}


@dataclass(frozen=True)
class Machine:
    """A folder for a test, a collection in it, and a server."""

    folder: Path
    server: FakeServer

    @property
    def collection(self) -> Collection:
        return Collection(self.folder / "c")

    @property
    def asking(self) -> list[str]:
        return ["--model", "fake", "--base-url", self.server.base_url]

    @property
    def environment(self) -> dict[str, str]:
        mirror = str(self.folder / "mirror")
        return environment(LABELER_MIRROR=mirror, LABELER_CACHE="cache")

    def prompt(self, name: str) -> str:
        """The path of a prompt of its own."""
        path = self.folder / f"{name}.md"
        grades = '[scale]\n0 = "no"\n1 = "a"\n2 = "b"\n3 = "yes"\n'
        head = f'+++\nkind = "grade"\ndescription = "of a test"\n{grades}+++\n'
        path.write_text(f"{head}# user\n{name}: {{query}} {{passage}}\n")
        return str(path)


Ended = list[tuple[int, str]]
"""The exit code and stderr of each command."""


@dataclass(frozen=True)
class Scenario:
    """What is there before, the commands that begin at once, and what must hold after them."""

    before: Callable[[Machine], None]
    commands: Callable[[Machine], list[list[str]]]
    after: Callable[[Machine, Ended], None]


def pooled(machine: Machine, queries: int = 2, documents: int = 20) -> None:
    make_collection(machine.collection.folder, queries, documents)


def judged(machine: Machine) -> None:
    pooled(machine)
    assert execute(["judge", str(machine.collection.folder), *machine.asking, "--as", "first"]) == 0


def corpus_alone(machine: Machine) -> None:
    folder = machine.collection.folder
    folder.mkdir()
    texts = [" ".join(f"word{n}x{i}" for i in range(40)) for n in range(8)]
    rows = [
        {"_id": f"d{n}", "title": f"t{n}", "text": f"about d{n}; {text}"}
        for n, text in enumerate(texts)
    ]
    machine.collection.corpus.write_text("".join(json.dumps(row) + "\n" for row in rows))


def documents(machine: Machine) -> None:
    for name, count in (("a", 3), ("b", 5)):
        folder = machine.folder / name
        folder.mkdir()
        for n in range(count):
            (folder / f"{name}{n}.md").write_text(f"# {name}{n}\n\nText of {name}{n}.\n")


def all_ended_well(_machine: Machine, ended: Ended) -> None:
    assert [code for code, _ in ended] == [0] * len(ended), "\n".join(t for _, t in ended)


def ingest_two_folders(machine: Machine) -> list[list[str]]:
    return [["corpus", "ingest", str(machine.folder / name), "-o", "c"] for name in ("a", "b")]


def corpus_and_card_agree(machine: Machine, ended: Ended) -> None:
    all_ended_well(machine, ended)
    count = len(read_corpus(machine.collection.corpus))
    assert read_card(machine.collection)["ingest"]["documents"] == count


def edited_documents(machine: Machine) -> None:
    documents(machine)
    (machine.folder / "q.txt").write_text("text\n")
    asked = [
        "corpus",
        "ingest",
        str(machine.folder / "a"),
        "--queries-file",
        str(machine.folder / "q.txt"),
    ]
    assert execute([*asked, "-o", str(machine.collection.folder)]) == 0


def ingest_and_pool(_machine: Machine) -> list[list[str]]:
    return [["corpus", "ingest", "b", "-o", "c"], ["pool", "c"]]


def the_pool_names_documents_that_are_there(machine: Machine, ended: Ended) -> None:
    assert {code for code, _ in ended} <= {0, 2}, ended
    there = read_corpus(machine.collection.corpus)
    assert {entry.pair.doc_id for entry in read_pool(machine.collection.pool)} <= set(there)


def generate_in_two_ways(machine: Machine) -> list[list[str]]:
    asked = ["generate", "c", *machine.asking, "--queries"]
    return [[*asked, "3"], [*asked, "5"], [*asked, "3"], [*asked, "3", "--seed", "7"]]


def one_way_of_writing_stays(machine: Machine, ended: Ended) -> None:
    codes = [code for code, _ in ended]
    assert codes in ([0, 0, 0, 2], [2, 2, 2, 0]), ended
    queries = read_queries(machine.collection.queries).values()
    assert len(queries) == (5 if codes[3] else 3)
    assert len({query.metadata["seed"] for query in queries}) == 1
    assert len({query.metadata["source"][0]["doc_id"] for query in queries}) == len(queries)


def pool_two_runs(machine: Machine) -> list[list[str]]:
    commands = []
    for n, name in enumerate("xy"):
        run = machine.folder / f"{name}.trec"
        lines = (f"q{n % 2} Q0 d{d} {r} {9 - r} {name}" for r, d in enumerate((n, n + 9), start=1))
        run.write_text("\n".join(lines) + "\n")
        commands.append(["pool", "c", "--depth", "2", "--run", str(run)])
    return commands


def all_runs_are_pooled(machine: Machine, ended: Ended) -> None:
    all_ended_well(machine, ended)
    pool = {entry.pair: entry.runs for entry in read_pool(machine.collection.pool)}
    for n, name in enumerate("xy"):
        for doc in (n, n + 9):
            assert name in pool[Pair(f"q{n % 2}", f"d{doc}")]
    assert set("xy") <= set(read_card(machine.collection)["pool"]["runs"])


def sample_three_times(machine: Machine) -> list[list[str]]:
    return [
        [
            *("people", "sample", "c", "--from", "first", "--pairs", "6", "--seed", str(n)),
            *("-o", f"{n}.csv", "--scale", f"0:{n + 1}"),
        ]
        for n in range(3)
    ]


def the_card_has_all_samples(machine: Machine, ended: Ended) -> None:
    all_ended_well(machine, ended)
    files = {path.stem for path in (machine.collection.folder / "samples").iterdir()}
    samples = read_card(machine.collection)["samples"]
    assert (set(samples), len(samples)) == (files, 3)
    assert sorted(len(entry["scale"]) for entry in samples.values()) == [2, 3, 4]


def two_graded_sheets(machine: Machine) -> None:
    judged(machine)
    sheets = [machine.folder / "one.csv", machine.folder / "two.csv"]
    outputs = [word for sheet in sheets for word in ("-o", str(sheet))]
    folder = str(machine.collection.folder)
    assert execute(["people", "sample", folder, "--pairs", "40", "--overlap", "0", *outputs]) == 0
    for sheet in sheets:
        with sheet.open(encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.reader(lines))
        column = next(i for i, name in enumerate(rows[0]) if name.startswith("grade"))
        for row in rows[1:]:
            row[column] = "2"
        with sheet.open("w", encoding="utf-8", newline="") as out:
            csv.writer(out).writerows(rows)


def import_both_sheets(_machine: Machine) -> list[list[str]]:
    return [["people", "import", f"{name}.csv", "c", "--as", "human"] for name in ("one", "two")]


def all_grades_are_there(machine: Machine, ended: Ended) -> None:
    all_ended_well(machine, ended)
    qrels = read_qrels(machine.collection.qrels("human"))
    assert sum(map(len, qrels.values())) == 40


def import_qrels_of_two(machine: Machine) -> list[list[str]]:
    commands = []
    for n, name in enumerate("uv"):
        (machine.folder / f"{name}.qrels").write_text(f"q{n} 0 d{n} 2\nq{n} 0 d{n + 9} 0\n")
        commands.append(["import", f"{name}.qrels", "--into", "c", "--as", name])
    return commands


def both_qrels_are_there(machine: Machine, ended: Ended) -> None:
    all_ended_well(machine, ended)
    assert set("uv") <= set(read_card(machine.collection)["imported"])
    for n, name in enumerate("uv"):
        grades = {f"q{n}": {f"d{n}": 2, f"d{n + 9}": 0}}
        assert read_qrels(machine.collection.qrels(name)) == grades


def judge_by_two_prompts_as_one_name(machine: Machine) -> list[list[str]]:
    asked = ["judge", "c", *machine.asking, "--as", "x", "--prompt"]
    return [[*asked, machine.prompt("one")], [*asked, machine.prompt("two")]]


def the_first_has_the_name(machine: Machine, ended: Ended) -> None:
    assert sorted(code for code, _ in ended) == [0, 2], ended
    winner = "one" if ended[0][0] == 0 else "two"
    (said,) = (text for code, text in ended if code == 2)
    assert "give another name" in said
    origin = origin_of(machine.collection.judgements("x"))
    assert origin
    assert origin.prompt.startswith(f"{winner}@")
    assert read_card(machine.collection)["judge"]["x"]["prompt"] == origin.prompt
    assert sum(map(len, read_qrels(machine.collection.qrels("x")).values())) == 40


def judge_under_three_names(machine: Machine) -> list[list[str]]:
    return [
        ["judge", "c", *machine.asking, "--as", name, "--prompt", machine.prompt(name)]
        for name in "xyz"
    ]


def every_name_is_whole(machine: Machine, ended: Ended) -> None:
    all_ended_well(machine, ended)
    assert set("xyz") <= set(read_card(machine.collection)["judge"])
    for name in "xyz":
        assert read_qrels(machine.collection.qrels(name)) == {
            f"q{q}": {f"d{d}": grade_of(Pair(f"q{q}", f"d{d}")) for d in range(20)}
            for q in range(2)
        }


def relabel_under_three_names(machine: Machine) -> list[list[str]]:
    asked = ["relabel", "c", "--from", "first", *machine.asking, "--as"]
    return [[*asked, name, "--prompt", machine.prompt(name)] for name in "xyz"]


def relabel_by_two_prompts_as_one_name(machine: Machine) -> list[list[str]]:
    asked = ["relabel", "c", "--from", "first", *machine.asking, "--as", "x", "--prompt"]
    return [[*asked, machine.prompt("one")], [*asked, machine.prompt("two")]]


def build_twice(machine: Machine) -> list[list[str]]:
    return [["build", "a", "-o", "c", "--queries", "3", "--as", "x", *machine.asking]] * 2


def long_documents(machine: Machine) -> None:
    folder = machine.folder / "a"
    folder.mkdir()
    for n in range(6):
        text = " ".join(f"word{n}x{i}" for i in range(40))
        (folder / f"{n}.md").write_text(f"# t{n}\n\nabout d{n}; {text}.\n")


def the_build_is_whole(machine: Machine, ended: Ended) -> None:
    all_ended_well(machine, ended)
    assert set(read_card(machine.collection)) >= {"ingest", "generate", "pool", "judge"}
    assert len(read_queries(machine.collection.queries)) == 3
    pairs = {entry.pair for entry in read_pool(machine.collection.pool)}
    qrels = read_qrels(machine.collection.qrels("x"))
    assert {Pair(q, d) for q, grades in qrels.items() for d in grades} == pairs


TABLE = "query,id,title,text,final\nred shoes,7,Shoe,,2\nhat,12,Hat,A hat.,3\n"
RECIPE = """
title = "{name}"
licence = "MIT"
citation = "Nobody (2020)"
homepage = "https://example.org"
layout = "judged-table"
sources.table = {{repository = "some/shop", commit = "{commit}", path = "t.csv",
    size = {size}, sha256 = "{sha256}"}}
columns = {{query = "query", document = "id", title = "title", text = "text"}}
qrels = {{human = "final"}}
grades = {{2 = 2, 3 = 3}}
counts = {{queries = 2, documents = 2, pairs = 2}}
"""


def recipes(machine: Machine) -> None:
    raw, commit = TABLE.encode(), "a" * 40
    upstream = machine.folder / "mirror" / "some" / "shop" / commit / "t.csv"
    upstream.parent.mkdir(parents=True)
    upstream.write_bytes(raw)
    for name in ("one", "two"):
        values = {"size": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
        text = RECIPE.format(name=name, commit=commit, **values).replace(",\n    ", ", ")
        (machine.folder / f"{name}.toml").write_text(text)


def fetch_two_recipes(_machine: Machine) -> list[list[str]]:
    return [["fetch", f"{name}.toml", "-o", "c"] for name in ("one", "two", "one")]


def one_recipe_made_it(machine: Machine, ended: Ended) -> None:
    codes = [code for code, _ in ended]
    assert codes in ([0, 2, 0], [2, 0, 2]), ended
    assert read_card(machine.collection)["fetch"]["name"] == ("two" if codes[0] else "one")
    assert read_qrels(machine.collection.qrels("human")) == {"q1": {"7": 2}, "q2": {"12": 3}}


def one_of_each(machine: Machine) -> list[list[str]]:
    return [
        *judge_under_three_names(machine)[:1],
        *sample_three_times(machine)[:1],
        *import_both_sheets(machine)[:1],
        *pool_two_runs(machine)[:1],
    ]


def the_card_has_a_section_of_each(machine: Machine, ended: Ended) -> None:
    all_ended_well(machine, ended)
    card = read_card(machine.collection)
    assert set(card["judge"]) == {"first", "x"}
    assert len(card["samples"]) == 3
    assert "x" in card["pool"]["runs"]
    assert machine.collection.qrels("human").exists()


SCENARIOS: dict[str, Scenario] = {
    "corpus ingest": Scenario(documents, ingest_two_folders, corpus_and_card_agree),
    "corpus ingest beside pool": Scenario(
        edited_documents, ingest_and_pool, the_pool_names_documents_that_are_there
    ),
    "generate": Scenario(corpus_alone, generate_in_two_ways, one_way_of_writing_stays),
    "pool": Scenario(pooled, pool_two_runs, all_runs_are_pooled),
    "people sample": Scenario(judged, sample_three_times, the_card_has_all_samples),
    "people import": Scenario(two_graded_sheets, import_both_sheets, all_grades_are_there),
    "import": Scenario(pooled, import_qrels_of_two, both_qrels_are_there),
    "judge as one name": Scenario(pooled, judge_by_two_prompts_as_one_name, the_first_has_the_name),
    "judge": Scenario(pooled, judge_under_three_names, every_name_is_whole),
    "relabel": Scenario(judged, relabel_under_three_names, every_name_is_whole),
    "relabel as one name": Scenario(
        judged, relabel_by_two_prompts_as_one_name, the_first_has_the_name
    ),
    "build": Scenario(long_documents, build_twice, the_build_is_whole),
    "fetch": Scenario(recipes, fetch_two_recipes, one_recipe_made_it),
    "one of each": Scenario(two_graded_sheets, one_of_each, the_card_has_a_section_of_each),
}


LONG = pytest.mark.slow
TAKE_LONG = {
    *("build", "relabel as one name", "judge", "generate", "relabel", "import", "fetch"),
}
"""What others of the scenarios try in parts."""
ONCE = dict.fromkeys(TAKE_LONG, LONG) | dict.fromkeys(("pool", "people sample"), pytest.mark.sweep)


def test_every_command_that_changes_a_collection_is_tried_here() -> None:
    tried = {name for name in SCENARIOS if name in COMMANDS}
    assert tried | READ_ONLY | set(ELSEWHERE) == set(COMMANDS)
    assert not tried & READ_ONLY


def answer(call: Call) -> Answer | str:
    """A grade of a pair; to whoever writes queries, one that the passage answers."""
    if pair_of(call) or "Reply with the JSON" in call.body["messages"][-1]["content"]:
        return Answer(completion(grade_in(call)), delay=0.01)
    text = call.body["messages"][-1]["content"]
    about = text.partition("about ")[2].partition(";")[0]
    if "response_format" in call.body or not about:
        return '{"grade": 1}'
    return Answer(completion(f"what does {about} say about word"), delay=0.01)


@contextmanager
def all_waiting(
    machine: Machine, commands: Sequence[Sequence[str]]
) -> Iterator[list[tuple[Forked, Path]]]:
    """The commands as processes, each of which waits for the lock until the block begins."""
    with ExitStack() as stack:
        processes = []
        with locked(machine.collection):
            for n, command in enumerate(commands):
                said = machine.folder / f"said.{n}"
                out = stack.enter_context(said.open("wb"))
                process = Forked(
                    command, machine.environment, cwd=machine.folder, stderr=out.fileno()
                )
                stack.callback(_end, process)
                processes.append((process, said))
            for process, said in processes:
                wait_until(
                    lambda said=said: b"waiting for another process" in said.read_bytes(), process
                )
        yield processes


def _end(process: Forked) -> None:
    process.kill()
    process.wait()


def wait_until(is_so: Callable[[], Any], process: Forked) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert process.poll() is None, f"ended with {process.returncode} and did not wait"
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("name", "rounds"),
    [pytest.param(name, 1, marks=ONCE.get(name, ())) for name in SCENARIOS]
    + [pytest.param(name, 10, marks=LONG) for name in SCENARIOS],
)
def test_nothing_is_lost_where_several_change_a_collection_at_once(
    tmp_path: Path, name: str, rounds: int
) -> None:
    scenario = SCENARIOS[name]
    for number in range(rounds):
        folder = tmp_path / str(number)
        folder.mkdir()
        with FakeServer(answer) as server:
            machine = Machine(folder, server)
            scenario.before(machine)
            with all_waiting(machine, scenario.commands(machine)) as processes:
                codes = [process.wait(120) for process, _ in processes]
            ended = [
                (code, said.read_text()) for code, (_, said) in zip(codes, processes, strict=True)
            ]
        assert not any("Traceback" in said for _, said in ended), ended
        scenario.after(machine, ended)
        assert (machine.collection.folder / ".lock").read_bytes() == b""
        assert not list(machine.collection.folder.rglob("*.claim"))


SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


@pytest.mark.parametrize(
    ("name", "seed"),
    [("pool", 0), pytest.param("fetch", 0, marks=pytest.mark.sweep)]
    + [pytest.param(name, seed, marks=LONG) for name in SCENARIOS for seed in range(1, 5)],
)
def test_killed_at_random_moments_they_leave_whole_files_and_a_free_lock(
    tmp_path: Path, name: str, seed: int
) -> None:
    scenario, chance = SCENARIOS[name], random.Random(f"{name} {seed}")
    with FakeServer(answer) as server:
        machine = Machine(tmp_path, server)
        scenario.before(machine)
        commands = scenario.commands(machine)
        with all_waiting(machine, commands) as processes:
            for process, _ in processes:
                time.sleep(chance.random() / 2)
                process.send_signal(chance.choice(SIGNALS))
            codes = [process.wait(60) for process, _ in processes]
            said = [text.read_text() for _, text in processes]
            assert set(codes) <= {0, 2, 130, 143, *(-number for number in SIGNALS)}, said
            assert not any("Traceback" in text for text in said), "\n".join(said)
        with locked(machine.collection, refuse_to_wait):
            pass
        scenario.after(machine, [again(machine, command) for command in commands])
    assert not list(machine.collection.folder.rglob("*.claim"))


def refuse_to_wait(line: str) -> None:
    raise AssertionError(line)


def again(machine: Machine, command: Sequence[str]) -> tuple[int, str]:
    """The same command, run to its end alone."""
    return finish(Forked(command, machine.environment, cwd=machine.folder), 120)
