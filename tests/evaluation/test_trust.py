"""When a verdict is not known: too little judged, too few queries, grades that nobody checked."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import labeler
from labeler.cli import execute
from labeler.evaluation.evaluate import Report
from labeler.evaluation.gates import outcome_of, read_gates
from labeler.evaluation.scores import Comparison

QUERIES = [f"q{n}" for n in range(30)]
PEOPLE = {query: {"a": 1, "b": 0} for query in QUERIES}


def run(first: int, other: str = "b") -> dict[str, dict[str, float]]:
    """A run with the relevant document first in so many queries, else another one."""
    return {q: {"a": 1.0} if n < first else {other: 1.0} for n, q in enumerate(QUERIES)}


def only(report: Report) -> Comparison:
    (comparison,) = report.comparisons
    return comparison


def by(other: str, queries: int = 30, new: int = 28, old: int = 4) -> Comparison:
    qrels = {q: PEOPLE[q] for q in QUERIES[:queries]}
    runs = {"old": run(old, other), "new": run(new, other)}
    return only(labeler.evaluate(qrels, runs, "P@1", baseline="old"))


def test_a_verdict_stands_where_all_is_judged_and_queries_are_many() -> None:
    assert by("b").verdict == "better"


def test_no_verdict_where_most_of_a_system_was_never_judged() -> None:
    comparison = by("x")
    assert comparison.by_test == "better"
    assert comparison.verdict == "not known"
    assert str(comparison.doubt) == (
        "not known, because Judged@1 of old is 0.13, below 0.70; "
        "next: labeler compare COLL old new -m P@1 --sheet holes.csv "
        "(about 26 pairs of old without a grade)"
    )


def test_holes_that_can_change_nothing_leave_the_verdict() -> None:
    qrels = {q: {"a": 1, **{f"z{k}": 0 for k in range(9)}} for q in QUERIES}
    zeros = {f"z{k}": 9.0 - k for k in range(9)}
    runs = {
        "old": {
            q: zeros | ({} if n % 2 else {f"x{k}": 0.0 for k in range(1)})
            for n, q in enumerate(QUERIES)
        },
        "new": {q: {"a": 9.0} | {f"x{k}": 1.0 - k / 9 for k in range(9)} for q in QUERIES},
    }
    comparison = only(labeler.evaluate(qrels, runs, "RR@10", baseline="old"))
    assert comparison.verdict == "better"


def test_fewer_than_ten_queries_decide_nothing() -> None:
    comparison = by("b", queries=9, new=9, old=0)
    assert comparison.doubt
    assert comparison.doubt.because == "9 queries are too few (at least 10)"


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """Two runs judged by an assessor alone, as its judgements say."""
    for folder in ("runs", "qrels", "judgements"):
        (tmp_path / folder).mkdir()
    (tmp_path / "card.json").write_text(json.dumps({"judge": {"llm": {"model": "oracle"}}}))
    write_qrels(tmp_path / "qrels/llm.qrels")
    for name, scores in {"old": run(4), "new": run(28)}.items():
        lines = [f"{q} Q0 {d} 1 1 t\n" for q, row in scores.items() for d in row]
        (tmp_path / f"runs/{name}.trec").write_text("".join(lines))
    return tmp_path


def write_qrels(path: Path, queries: int = 30) -> None:
    lines = (f"{q} 0 {d} {g}\n" for q in QUERIES[:queries] for d, g in PEOPLE[q].items())
    path.write_text("".join(lines))


def test_grades_that_nobody_checked_are_said_in_the_verdict(collection: Path) -> None:
    comparison = only(labeler.evaluate(collection, measures="P@1", baseline="old"))
    assert comparison.verdict == "better by llm's grades, unchecked"
    copy = collection / "runs/copy.trec"
    copy.write_bytes((collection / "runs/old.trec").read_bytes())
    first = labeler.evaluate(collection, measures="P@1").sentences[0]
    assert first == "new is the best of these 3 runs by P@1, by llm's grades, unchecked."
    copy.unlink()
    write_qrels(collection / "qrels/human.qrels", 20)
    report = labeler.evaluate(collection / "qrels/llm.qrels", collection, "P@1", baseline="old")
    assert (report.grades.checked, only(report).verdict) == (40, "better")


def test_a_gate_on_unchecked_grades_cannot_tell(
    collection: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["evaluate", str(collection), "-m", "P@1"]
    assert execute([*asked, "--require", "P@1:0.1"]) == 6
    said = capsys.readouterr().err
    assert "cannot tell: new: P@1 against 0.1 is not known, because nobody checked" in said
    assert "next: labeler annotate" in said
    compared = ["compare", str(collection), "old", "new", "-m", "P@1", "--no-worse-than", "old"]
    assert execute(compared) == 6
    write_qrels(collection / "qrels/human.qrels")
    assert execute(compared) == 0
    assert execute([*asked, "--require", "P@1:0.99"]) == 5


def test_a_gate_on_a_group_cannot_tell_by_unchecked_grades_either(collection: Path) -> None:
    kinds = {q: f"kind {n % 2}" for n, q in enumerate(QUERIES[:30])}
    report = labeler.evaluate(collection, measures="P@1", by=kinds)
    gates = read_gates([f"P@1:0.99@worst-{report.by[0].by}"])
    rulings = outcome_of(report, gates)
    assert {ruling.verdict for ruling in rulings} == {"cannot tell"}
    assert "old, group kind 0: P@1 against 0.99 is not known, because nobody checked" in str(
        rulings
    )
    write_qrels(collection / "qrels/human.qrels")
    report = labeler.evaluate(collection, measures="P@1", by=kinds)
    failures = [ruling.why for ruling in outcome_of(report, gates) if ruling.verdict == "fail"]
    assert "old, group kind 0: P@1 is 0." in str(failures)


def test_every_table_names_whose_grades_they_are_and_what_else_there_is(
    collection: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_qrels(collection / "qrels/human.qrels")
    assert execute(["evaluate", str(collection), "-m", "P@1"]) == 0
    said = capsys.readouterr().out
    assert "by people's grades (human); also there: llm" in said
    assert execute(["evaluate", str(collection), "--qrels", "llm", "-m", "P@1", "--json"]) == 0
    grades: Any = json.loads(capsys.readouterr().out)["grades"]
    assert (grades["name"], grades["whose"], grades["others"]) == ("llm", "model", ["human"])


def test_a_system_of_the_assessor_s_family_is_not_compared_by_its_grades(collection: Path) -> None:
    (collection / "runs/old.trec").rename(collection / "runs/gpt-rerank.trec")
    (collection / "card.json").write_text(json.dumps({"judge": {"llm": {"model": "gpt-4o"}}}))
    comparison = only(labeler.evaluate(collection, measures="P@1"))
    assert comparison.verdict == "not known"
    assert "it is circular: gpt-rerank and the assessor gpt-4o" in str(comparison.doubt)


@pytest.mark.parametrize(("queries", "runs"), [(30, 2), (30, 1), (5, 2)])
@pytest.mark.parametrize("people", ["human", "ann"])
@pytest.mark.parametrize("in_collection", [True, False])
def test_the_command_that_a_gate_names_runs(
    collection: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    queries: int,
    runs: int,
    people: str,
    in_collection: bool,
) -> None:
    monkeypatch.chdir(collection.parent)
    folder = Path(collection.name)
    (folder / "qrels/llm.qrels").rename(folder / f"qrels/{people}.qrels")
    write_qrels(folder / f"qrels/{people}.qrels", queries)
    ids = [{"_id": query, "text": query} for query in QUERIES]
    (folder / "queries.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ids))
    docs = [{"_id": doc, "title": "", "text": doc} for doc in "abx"]
    (folder / "corpus.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in docs))
    for file in (folder / "runs").iterdir():
        file.write_text(file.read_text().replace(" b ", " x "))
    paths = [folder / f"qrels/{people}.qrels", *sorted((folder / "runs").iterdir())[::-1][:runs]]
    if not in_collection:
        paths = [path.rename(path.name) for path in paths]
    asked = ["evaluate", *map(str, paths), "-m", "P@1", "--require", "P@1:0.5"]
    assert execute(asked) == 6
    said = capsys.readouterr()
    commands = re.findall(r"next: labeler (.*?) \((?:free|about)", said.err)
    assert commands
    for command in commands:
        assert execute(shlex.split(command)) in (0, 3), command


def test_copies_of_one_run_are_no_doubt_however_little_is_judged() -> None:
    qrels = {q: PEOPLE[q] for q in QUERIES}
    comparison = only(labeler.evaluate(qrels, {"old": run(4, "x"), "new": run(4, "x")}, "P@1"))
    assert comparison.verdict == "cannot tell apart"
