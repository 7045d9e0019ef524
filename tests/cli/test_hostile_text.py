"""Ids, names of runs and files, and what a server says drive no terminal, whatever the command."""

import json
import shlex
import unicodedata
from pathlib import Path

import pytest
from made import make_collection

from labeler.cli import execute
from labeler.testing import Answer, FakeServer, completion

DRIVING = "\x1b[2J\x07\x9b31m\u202e\u2066\x7f\U000e0041"
NAME = f"=r{DRIVING}"
HUMAN, LLM, RUN, OTHER = (f"{NAME}.{ending}" for ending in ("qrels", "2.qrels", "trec", "2.trec"))
QUICK = (
    *("evaluate H X", "evaluate X R", "qrels stats H L", "qrels stats H --format json"),
    *("qrels validate H", "qrels compare H L", "qrels merge H L -o out.qrels", "qrels stats B"),
    *(
        "runs stats R",
        "runs stats R --format csv",
        "runs validate R R2",
        "runs cut R -o o --depth 0",
    ),
    *(
        "runs fuse R R2 -o out.trec",
        "runs fuse R H -o out.trec",
        "runs stats B",
        "evaluate B R",
        "agree H X",
    ),
    *("status coll", "status N", "explain coll N N", "explain coll q0 d0", "diff coll N N"),
    *("judge coll --prompt N", "prompts show N", "N", "fetch N", "judge coll --as N", "pool N"),
    *(
        "people sample coll --pairs N",
        "people import N coll",
        "corpus ingest N -o out",
        "build N -o out",
    ),
    *("store verify N", "pool coll --run R", "relabel coll --from N", "evaluate H R --format csv"),
)
THOROUGH = (
    *(f"evaluate H R R2 --format {form}" for form in ("table", "csv", "json", "jsonl")),
    *(f"evaluate H R R2 --format {form} --per-query" for form in ("latex", "markdown", "csv")),
    *(
        "evaluate H R R2 --per-query",
        "evaluate L R",
        "agree H L --json",
    ),
    *("lab leaderboard H L R R2", "lab leaderboard H L R R2 --format markdown", "power H R R2"),
    *("agree H L --report markdown", "correct H L R R2", "judge coll --model N", "agree H L"),
    *("qrels map H -o out.qrels", "qrels diff H L", "evaluate H B", "judge N", "doctor --model N"),
)
COMMANDS = [*QUICK, *(pytest.param(command, marks=pytest.mark.slow) for command in THOROUGH)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    pairs = [(i, j, f"q{i}{DRIVING}", f"@d{j}{DRIVING}") for i in range(4) for j in range(4)]
    for name, shift in ((HUMAN, 0), (LLM, 1)):
        rows = (f"{q} 0 {d} {(i + j + shift) % 3}\n" for i, j, q, d in pairs)
        (folder / name).write_text("".join(rows), encoding="utf-8")
    for name, shift in ((RUN, 0), (OTHER, 2)):
        rows = (f"{q} Q0 {d} 1 {(i * j + shift) % 5} {NAME}\n" for i, j, q, d in pairs)
        (folder / name).write_text("".join(rows), encoding="utf-8")
    (folder / "bad").write_text(f"q {DRIVING} x\n", encoding="utf-8")
    make_collection(folder / "coll")
    return folder


def driving(text: str) -> set[str]:
    return {c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"}} - {"\n"}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_name_drives_a_terminal(
    folder: Path, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    names = {"H": HUMAN, "L": LLM, "R": RUN, "R2": OTHER, "N": NAME, "X": f"no\n{NAME}", "B": "bad"}
    assert execute([names.get(word, word) for word in shlex.split(command)]) != 1
    shown = capsys.readouterr()
    assert driving(shown.out + shown.err) == set()
    assert shown.out + shown.err


def test_json_still_says_the_names_as_they_are(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert execute(["runs", "stats", RUN, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["run"] == RUN


def test_what_a_server_says_drives_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-7d1f0a")
    collection = make_collection(tmp_path / "c")
    said = f"{DRIVING}\n<script> | {DRIVING}"
    bodies = [
        completion('{"grade": 1}', model=said),
        completion(said, finish_reason=said, model=said),
    ]
    with FakeServer(lambda call: Answer(bodies["d1" in str(call.body)])) as server:
        where = ["--base-url", server.base_url, "--model", "fake"]
        folder = str(collection.folder)
        assert execute(["judge", folder, *where, "--as", "a"]) == 3
        assert execute(["doctor", *where]) == 0
        for command in ("status", "explain", "store stats"):
            more = ["q0", "d1"] if command == "explain" else []
            assert execute([*command.split(), folder, *more]) in {0, 3}
    shown = capsys.readouterr()
    assert driving(shown.out + shown.err) == set()
    assert driving(collection.readme.read_text(encoding="utf-8")) == set()


def test_a_server_s_refusal_drives_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-7d1f0a")
    make_collection(tmp_path)
    answer = Answer({"error": {"message": f"no\n{DRIVING}", "code": DRIVING}}, status=401)
    with FakeServer(lambda _call: answer) as server:
        where = ["--base-url", server.base_url, "--model", "fake"]
        assert execute(["judge", str(tmp_path), *where, "--as", "a"]) == 78
    shown = capsys.readouterr()
    assert driving(shown.out + shown.err) == set()
    assert shown.err.splitlines()[-1].startswith("labeler: ")
