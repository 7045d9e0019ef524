"""What a command reports comes as JSON, as a table for programs and into a file, everywhere."""

import csv
import io
import json
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from made import fill_sheet

from labeler.cli import COMMANDS, execute
from labeler.cli.options import parser_of
from labeler.judging.judge import judge
from labeler.testing import fake_model, small_collection

OWN_NAMES = {"trec-eval"}
"""Commands whose options are those of another program."""

REASONS = {
    "--stale": "grades of changed texts enter figures or not, or so many of them are an alarm",
    "--sample": "it is a sample to grade, or a number of queries",
    "--as": "it names judgements that are made, qrels that are made, or a set to look at",
    "--by": "runs, queries or pairs are parted or ordered by different things",
    "--assessor": "it is a person's name, or a set of qrels",
    "--documents": "they fill a tool's file, or are those of today",
    "--depth": "documents are pooled, kept or re-ranked",
    "--expand": "it names the qrels that rounds begin from, or the share at which they end",
    "--from": "something is made from qrels, judgements, a format or a prompt",
    "--only": "it leaves out retrieving, or pairs of a set",
    "--to": "something becomes a format of runs, of qrels or of a collection",
    "--format": "it is a form of tables, or a page",
    "--human": "it is one set of qrels, or one more",
    "--dry-run": "it asks nothing, or writes nothing",
    "--margin": "a run's score may lose it, or an assessor's kappa to a colleague's",
    "--measure": "systems are scored, ranked or planned for",
    "--method": "intervals and fusions have different ones",
    "--model": "it is asked, or its replies are forgotten",
    "--overlap": "raters share sheets, or pages",
    "--output": "it is a file, several, or a folder",
    "--pairs": "they are drawn, or estimated for",
    "--prompt": "it grades, writes queries, or stands for an earlier one",
    "--qrels": "they are pooled, or chosen in a collection",
    "--query-field": "it names a column of queries, or of what was searched for in a log",
    "--queries": "they are written, drawn, planned for or kept",
    "--queries-file": "it replaces written queries, or is all there is",
    "--people": "two sets or a panel are compared with it, or probabilities fitted to it",
    "--statistic": "one of a panel, or several of an agreement",
    "--require": "scores, agreement and the watch have different gates",
    "--require-low": "scores and agreement have different gates",
    "--quiet": "it hides progress, or all but alarms",
    "--run": "it is pooled, or ranked by",
    "--scale": "it is drawn by, compared on, or checked",
    "--seed": "it decides on passages, pairs, queries or draws",
    "--sheet": "it holds pairs to decide by, or in doubt",
    "--tag": "a run has one already, or has none",
    "--vectors": "they are put there, or searched there",
    "--weights": "runs are fused by them, or groups of queries are weighed",
}
"""Options that mean different things in different commands, and why they share a name."""


def commands() -> Iterator[tuple[str, Any]]:
    yield from ((name, parser_of(command)) for name, command in COMMANDS.items())


def options() -> Iterator[tuple[str, Any]]:
    for name, command in commands():
        if name not in OWN_NAMES:
            yield from ((name, p) for p in command.params if p.param_type_name == "option")


def test_one_option_has_one_help_text_or_a_reason_for_several() -> None:
    texts: dict[str, set[str]] = defaultdict(set)
    for _, option in options():
        texts[max(option.opts, key=len)].add(option.help or "")
    several = {name for name, helps in texts.items() if len(helps) > 1}
    assert several <= REASONS.keys(), several - REASONS.keys()


def test_an_output_has_one_long_form_and_one_letter_everywhere() -> None:
    for name, option in options():
        if {"-o", "--output", "--out"} & set(option.opts):
            assert option.opts == ["--output", "-o"], (name, option.opts)


def test_what_is_shown_as_json_has_the_other_forms_too() -> None:
    for name, command in commands():
        names = {opt for option in command.params for opt in option.opts}
        if "--json" in names:
            assert {"--format", "--output"} <= names, name


WRITERS = {
    **dict.fromkeys(("runs fuse", "runs cut", "runs sort", "runs convert"), "it writes a run"),
    **dict.fromkeys(
        (f"qrels {verb}" for verb in ("merge", "map", "convert", "subset")),
        "it writes qrels",
    ),
    **dict.fromkeys(("annotate", "view"), "it serves a page"),
    "demo": "it tells a story",
    "init": "it writes a file of settings",
    "report": "it writes a page",
    "people sample": "it writes sheets",
    "trec-eval": "its output is another program's",
    "trust": "it lists what it keeps, a line an address",
    "prompts new": "it writes a prompt",
    "store prune": "it says one number",
    "store copy": "it says two numbers",
    "store gc": "it says two numbers",
}
"""Commands that report nothing but the file they wrote, and why the others' forms are no help."""


def test_every_command_that_reports_has_the_forms() -> None:
    for name, command in commands():
        names = {opt for option in command.params for opt in option.opts}
        has_forms = {"--json", "--format", "--output"} <= names
        assert has_forms != (name in WRITERS or is_group(command)), name


def is_group(command: Any) -> bool:
    """Whether it has commands of its own, and does nothing without one of them."""
    return bool(getattr(command, "commands", {})) and not command.invoke_without_command


@pytest.fixture
def place(judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a judged collection, where the commands run."""
    shutil.copytree(judged, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that is copied for each test."""
    folder = tmp_path_factory.mktemp("judged")
    collection = small_collection(folder / "coll")
    judge(collection, model=fake_model('{"reason": "so", "grade": 2}'), prompt="basic", name="a")
    pool = (folder / "coll" / "pool.jsonl").read_text()
    pairs = list(map(json.loads, pool.splitlines()))
    graded = [f"{row['query_id']} 0 {row['doc_id']} {n % 3}" for n, row in enumerate(pairs)]
    (folder / "human.qrels").write_text("\n".join(graded) + "\n")
    ranked = [f"{row['query_id']} Q0 {row['doc_id']} 1 {n}.5 a" for n, row in enumerate(pairs)]
    (folder / "a.trec").write_text("\n".join(ranked) + "\n")
    return folder


PAIR = {"query_id", "doc_id", "grade", "status", "reason", "attempts", "tokens_in", "cost"}
REPORTS = {
    "status coll": {"pool", "judgements", "store"},
    "explain coll q1 PAIR": PAIR | {"messages", "replies"},
    "doctor --model similarity": {"model", "why", "call_seconds", "pairs", "cost"},
    "judge coll --model similarity --as b": {"name", "pairs", "judged", "failed", "cost", "calls"},
    "judge coll --model similarity --dry-run": {"pairs", "calls", "calls_at_most", "cost"},
    "relabel coll --from a --model similarity --as b": {"name", "judged", "changes", "diff"},
    "diff coll a a": {"pairs", "transitions", "up", "down", "agreement", "leaderboard", "moves"},
    "pool coll --run a.trec --only": {"pool", "pairs", "new", "queries", "runs", "reached"},
    "import human.qrels --into coll --as human": {"plan", "collection", "qrels", "left"},
    "agree human.qrels coll/qrels/a.qrels -s kappa": {
        "pairs",
        "queries",
        "statistics",
        "confusion",
        "warnings",
    },
    "qrels validate human.qrels": {"qrels", "queries", "pairs", "grades"},
    "runs validate a.trec": {"run", "queries", "documents", "tied_pairs"},
    "store verify coll": {"replies", "problems"},
    "fetch": {"name", "what", "queries", "judged pairs"},
}


def words_of(report: str, place: Path) -> list[str]:
    row = json.loads((place / "coll" / "pool.jsonl").read_text().splitlines()[0])
    query = report.replace("q1 PAIR", f"{row['query_id']} {row['doc_id']}")
    return query.split()


@pytest.mark.parametrize("report", REPORTS)
def test_a_report_comes_as_json_with_these_keys_and_the_same_into_a_file(
    report: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = words_of(report, place)
    assert execute([*words, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    first = shown[0] if isinstance(shown, list) else shown
    assert REPORTS[report] <= first.keys(), first.keys()
    assert execute([*words, "--format", "json", "--output", "r.json"]) == 0
    captured = capsys.readouterr()
    assert not captured.out
    assert json.loads((place / "r.json").read_text()).__class__ is shown.__class__


@pytest.mark.parametrize("report", REPORTS)
def test_a_report_comes_as_a_table_for_programs_and_as_the_text_that_is_shown(
    report: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = words_of(report, place)
    assert execute([*words, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert rows or report == "diff coll a a"
    assert execute([*words, "-o", "r.txt"]) == 0
    assert not capsys.readouterr().out
    written = (place / "r.txt").read_text()
    assert execute(words) == 0
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) == len(written.splitlines())


def test_no_option_without_a_value_shows_a_type(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["judge"], ["qrels", "validate"], ["store", "prune"]):
        assert execute([*words, "--help"]) == 0
        assert "bool" not in capsys.readouterr().out


def test_a_rehearsal_needs_no_key(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "LABELER_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    judging = ["judge", "coll", "--as", "b", "--model"]
    assert execute([*judging, "gpt-4.1-mini", "--dry-run", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["calls"] > 0
    assert "no key yet" in captured.err
    assert execute([*judging, "gpt-4.1-mini"]) == 78
    assert execute([*judging, "simlarity", "--dry-run"]) == 78
    assert "did you mean 'similarity'?" in capsys.readouterr().err


FOLDERS = {
    "corpus ingest docs -o NEW": {"files", "documents", "unread", "queries"},
    "build docs -o NEW --model similarity --queries-file q.txt": {"documents", "pooled", "judging"},
    "build docs -o NEW --model similarity --queries-file q.txt --dry-run": {"documents", "pairs"},
    "export coll --to trec --qrels a -o NEW": {"files", "documents", "queries", "pairs", "reader"},
}


@pytest.mark.parametrize("report", FOLDERS)
def test_what_writes_a_folder_says_what_it_did_as_json_and_as_a_table(
    report: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "docs").mkdir()
    (place / "docs" / "a.txt").write_text("a cat sleeps " * 20)
    (place / "q.txt").write_text("where do cats sleep\n")
    assert execute([*report.replace("NEW", "one").split(), "--json"]) == 0
    assert FOLDERS[report] <= json.loads(capsys.readouterr().out).keys()
    assert execute([*report.replace("NEW", "two").split(), "--format", "csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert FOLDERS[report] <= row.keys()


def test_a_graded_sheet_is_counted_for_programs(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["people", "sample", "coll", "--from", "a", "--pairs", "2", "-o", "s.csv"]) == 0
    fill_sheet(place / "s.csv", "1")
    capsys.readouterr()
    assert execute(["people", "import", "s.csv", "coll", "--as", "me", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"graded": 2, "skipped": 0, "missing": 0}


def test_several_files_that_are_checked_are_one_list_for_programs(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["qrels", "validate", "human.qrels", "coll/qrels/a.qrels", "--json"]) == 0
    assert [row["qrels"] for row in json.loads(capsys.readouterr().out)] == [
        "human.qrels",
        "coll/qrels/a.qrels",
    ]
    assert execute(["runs", "validate", "a.trec", "a.trec"]) == 0
    assert capsys.readouterr().out.count("a.trec: sound: ") == 2


def test_text_in_a_pipe_fits_the_columns_that_the_environment_says(
    shared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "dl19"
    runs = [
        str(folder / "runs" / f"minilm{end}.trec.gz")
        for end in ("-reranker", "_reranker_model_listwise")
    ]
    qrels = [str(folder / f"{name}.qrels") for name in ("nist", "gpt-4o")]
    commands = [
        ["evaluate", qrels[0], *runs],
        ["agree", *qrels, "-s", "kappa", "--run", runs[0], "--run", runs[1]],
        ["lab", "leaderboard", *qrels, *runs],
        ["power", qrels[0], *runs],
    ]
    for command in commands:
        assert execute(command) == 0
        plain = capsys.readouterr().out
        assert max(map(len, plain.splitlines())) > 100
        for columns in (60, 100):
            monkeypatch.setenv("COLUMNS", str(columns))
            assert execute(command) == 0
            widths = [len(line) for line in capsys.readouterr().out.splitlines()]
            assert max(widths) <= columns, command
        monkeypatch.delenv("COLUMNS")


def test_columns_that_are_no_width_leave_text_in_a_pipe_as_it_is(
    shared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "dl19"
    command = ["evaluate", str(folder / "nist.qrels"), str(folder / "runs/minilm-reranker.trec.gz")]
    assert execute(command) == 0
    plain = capsys.readouterr().out
    for columns in ("", "0", "-5", "wide", "9" * 40):
        monkeypatch.setenv("COLUMNS", columns)
        assert execute(command) == 0
        assert capsys.readouterr().out == plain, columns
