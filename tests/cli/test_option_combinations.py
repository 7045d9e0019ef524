"""No combination of options that each have a value of their kind ends as a bug."""

import io
import json
import random
import re
import shutil
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from made import judged_partitions

from labeler.cli import COMMANDS, execute
from labeler.cli.options import parser_of
from labeler.cli.table import named_by
from labeler.judging.judge import judge
from labeler.testing import fake_model, small_collection
from labeler.trec.write import write_qrels, write_run

LARGEST = 4
"""So many options a command line has at most."""

APART = {
    **dict.fromkeys(("annotate", "view"), "serves a page until it is stopped"),
    "demo": "asks a model for minutes",
    "doctor": "calls a model that is not there",
    "fetch": "takes from the network",
    "retrieve": "asks a server of the user's",
    "store copy": "writes to a database",
    "trec-eval": "has another program's options, tried against that program",
}
"""Commands that are not tried, and why."""

RUNS, QRELS = ["a.trec", "b.trec", "c.trec", "runs"], ["human.qrels", "llm.qrels", "other.qrels"]
MEASURES = [
    *("nDCG@3", "AP", "RR@10", "P@5", "Success@1", "R@20", "Judged@10", "ERR@10", "RBP(p=0.8)@10"),
    *("Bpref", "infAP", "Rprec", "SetP", "NumRet", "GMAP", "AP(rel=2)", "hit@1", "map"),
]
STATISTICS = ["kappa", "alpha", "kappa>=2", "mae", "tau-b", "spearman", "cohen", "pearson", "bias"]
NAMES = ["a", "b", "c", "first", "human", "llm"]
ARGUMENTS: dict[str, list[str]] = {
    "corpus ingest": ["docs -o new"],
    "generate": ["coll --model similarity", "coll --model similarity --dry-run"],
    "build": ["docs -o new --model similarity --queries-file queries.txt"],
    "pool": ["coll", "coll --run a.trec"],
    "judge": [
        "coll --model similarity --as second",
    ],
    "parts collect": ["coll parts"],
    "relabel": ["coll --from first --model similarity --as second"],
    "lab probe": [
        "coll --model similarity --qrels llm --pairs 2",
        "coll --model similarity --dry-run",
    ],
    "lab panel": [
        "coll first llm",
        "coll first human",
    ],
    "lab tune": ["coll --prompts four-grades,basic --models similarity"],
    "diff": ["coll first first", "llm.qrels other.qrels", "coll first human"],
    "evaluate": ["human.qrels runs", "human.qrels a.trec", "coll", "llm.qrels a.trec b.trec"],
    "correct": ["human.qrels llm.qrels runs", "human.qrels other.qrels a.trec"],
    "lab leaderboard": ["human.qrels llm.qrels runs", "human.qrels other.qrels a.trec b.trec"],
    "agree": ["human.qrels llm.qrels", "human.qrels llm.qrels other.qrels", "coll human first"],
    "lab calibrate": ["llm.qrels --people human.qrels", "coll first"],
    "lab route": ["llm.qrels other.qrels --people human.qrels", "coll first"],
    "lab cascade": ["coll first --model similarity --dry-run"],
    "power": ["human.qrels runs", "llm.qrels a.trec b.trec"],
    "runs fuse": ["a.trec b.trec -o fused.trec"],
    "people sample": ["coll -o sheet.csv"],
    "people import": ["sheet.csv coll --as person"],
    "import": ["human.qrels --into coll --as person"],
    "export": ["coll -o out"],
    "explain": ["coll q1 PAIR"],
    "queries from-log": ["log.csv -o sampled.jsonl"],
    "qrels stats": ["human.qrels"],
    "qrels merge": ["human.qrels llm.qrels -o out.qrels"],
    "qrels validate": ["human.qrels"],
    "qrels convert": ["human.qrels -o out.csv"],
    "qrels map": ["human.qrels -o out.qrels --map 1=2"],
    "qrels subset": ["human.qrels -o out.qrels --queries q1"],
    "qrels compare": ["human.qrels llm.qrels"],
    "runs stats": ["a.trec"],
    "runs cut": ["a.trec -o out.trec"],
    "runs sort": ["a.trec -o out.trec"],
    "runs convert": ["a.trec -o out.json"],
    "runs validate": ["a.trec"],
    "prompts show": ["", "four-grades"],
    "prompts check": ["four-grades"],
    "prompts new": ["mine"],
    "help": ["drift", "qrels map"],
    "corpus update": ["docs coll", "docs new"],
    "corpus rechunk": ["coll --words 20"],
    "monitor": ["coll --documents docs", "coll --documents docs --require stale-judgements"],
    "init": [""],
    "report": ["coll"],
}
VALUES: dict[str, list[str]] = {
    "measure": MEASURES,
    "statistic": STATISTICS,
    "human": [*QRELS, "human"],
    "people": [*QRELS, "human"],
    "run": RUNS,
    "baseline": NAMES,
    "no-worse-than": NAMES,
    "compare": ["nDCG@10", "AP"],
    "qrels": [*QRELS, "first", "human"],
    "require": ["nDCG@10:0.3", "AP:0.9", "kappa:0.2", "judged:0.5"],
    "require-low": ["nDCG@10:0.3", "kappa:0.2"],
    "margin": ["0.05", "nDCG@10:0.05"],
    "scale": ["0:3", "0:1", "0:4"],
    "map": ["human:1=0", "assessor:3=2,2=1", "1=0,2=1"],
    "plot": ["out.svg"],
    "output": ["report.json", "report.csv", "report.md", "report.tex", "report.txt"],
    "as": ["second", "third"],
    "from": ["first", "human", "nobody"],
    "prompt": ["four-grades", "basic", "nothing"],
    "weights": ["1,2", "0.5,0.5"],
    "fields": ["title,text", "text"],
    "words": ["20", "200"],
}
NUMBERS = ["0", "1", "2", "5", "100", "0.05", "0.5", "0.9", "-1"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Qrels, runs, documents and a judged collection, as small as they can be."""
    folder = tmp_path_factory.mktemp("world")
    collection = small_collection(folder / "coll")
    judge(
        collection, model=fake_model('{"reason": "so", "grade": 2}'), prompt="basic", name="first"
    )
    judged_partitions(collection, folder / "parts", "parted")
    draws = random.Random(7)
    docs = [f"d{n}" for n in range(8)]
    for path in QRELS:
        write_qrels(
            folder / path, {f"q{q}": {d: draws.randrange(4) for d in docs} for q in range(6)}
        )
    for path in RUNS[:3]:
        run = {f"q{q}": {d: draws.random() for d in docs} for q in range(6)}
        write_run(folder / path, run, path[0])
        write_run(folder / "runs" / path, run, path[0])
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text("# Cats\n\nA cat sleeps anywhere in the sun.\n" * 20)
    (folder / "queries.txt").write_text("where do cats sleep\nfish eyes\n")
    (folder / "log.csv").write_text("query,clicks\nwhere do cats sleep,3\nfish eyes,1\n" * 5)
    (folder / "sheet.csv").write_text("query_id,doc_id,grade\n")
    return folder


def options_of(words: list[str]) -> list[Any]:
    command = named_by(words)
    assert command
    options = [p for p in parser_of(command).params if p.param_type_name == "option"]
    return [option for option in options if option.name != "help"]


def value_of(option: Any, draws: random.Random) -> str:
    name = max(option.opts, key=len).lstrip("-")
    if name in VALUES:
        return draws.choice(VALUES[name])
    if "|" in option.metavar:
        return draws.choice(option.metavar.split("|")).strip()
    if option.metavar in {"N", "DOLLARS", "MB", "SECONDS", "WIDTH"}:
        return draws.choice(NUMBERS)
    return draws.choice([*QRELS, *NAMES, "0.5", "title"])


def command_line(name: str, draws: random.Random, coll: Path) -> list[str]:
    """The command's arguments and up to four options, each with a value of its kind."""
    words = [*name.split(), *draws.choice(ARGUMENTS.get(name, ["coll"])).split()]
    pair = json.loads((coll / "pool.jsonl").read_text().splitlines()[0])["doc_id"]
    words = [pair if word == "PAIR" else word for word in words]
    options = options_of(words)
    for option in draws.sample(options, draws.randint(0, min(LARGEST, len(options)))):
        if option.is_flag:
            words.append(draws.choice([*option.opts, *option.secondary_opts]))
        elif not set(option.opts) & set(words):
            words += [max(option.opts, key=len), value_of(option, draws)]
    return words


def tried(world: Path, folder: Path, name: str, seed: int, times: int) -> None:
    draws = random.Random(f"{name} {seed}")
    for turn in range(times):
        place = folder / str(turn)
        shutil.copytree(world, place)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(place)
            check(command_line(name, draws, place / "coll"))
        shutil.rmtree(place)


def check(words: list[str]) -> None:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = execute(words)
    said = err.getvalue()
    line = " ".join(words)
    assert code != 1, f"{line}\n{said}"
    assert "Traceback" not in said, f"{line}\n{said}"
    if code in {2, 65, 74, 78}:
        assert said.strip().splitlines()[-1].startswith("labeler: "), f"{line}\n{said}"
    assert not re.search(r"(?<![\w.])-?(nan|inf)(?![\w.])", out.getvalue()), f"{line}\n{out}"


TRIED = sorted(set(COMMANDS) - set(APART))


@pytest.mark.parametrize("name", TRIED)
def test_a_few_combinations_of_options_are_no_bug(world: Path, tmp_path: Path, name: str) -> None:
    tried(world, tmp_path, name, seed=1, times=3)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRIED)
def test_many_combinations_of_options_are_no_bug(world: Path, tmp_path: Path, name: str) -> None:
    tried(world, tmp_path, name, seed=2, times=60)
