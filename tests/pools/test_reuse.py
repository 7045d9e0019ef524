"""Leaving runs out of a pool: what only they brought loses its grades."""

import json
from pathlib import Path

import pytest

from labeler.cli import execute
from labeler.errors import Misuse
from labeler.pools.pool import pool
from labeler.pools.reuse import reuse
from labeler.testing import small_collection

FOUND = {"a": "d1 d2", "b": "d1 d3", "c": "d4 d5", "twin": "d4 d5"}
"""The first two documents of each run, for both queries."""


@pytest.fixture
def pooled(tmp_path: Path) -> Path:
    """A collection pooled to depth 2 from four runs; d1, d3 and d4 are relevant."""
    folder = tmp_path / "coll"
    small_collection(folder).pool.unlink()
    rows = [{"_id": f"d{n}", "title": "", "text": "words"} for n in range(1, 6)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "qrels").mkdir()
    grades = {"d1": 1, "d2": 0, "d3": 1, "d4": 1, "d5": 0}
    lines = [f"{q} 0 {d} {grade}" for q in ("q1", "q2") for d, grade in grades.items()]
    (folder / "qrels" / "llm.qrels").write_text("\n".join(lines) + "\n")
    for name, documents in FOUND.items():
        path = tmp_path / f"{name}.trec"
        lines = [
            f"{q} Q0 {d} {n} {9 - n} {name}"
            for q in ("q1", "q2")
            for n, d in enumerate(documents.split(), 1)
        ]
        path.write_text("\n".join(lines) + "\n")
        pool(folder, runs=[path], only=True, depth=2)
    return folder


def test_a_run_loses_the_grades_that_it_alone_brought(pooled: Path) -> None:
    rows = {row.run: row for row in reuse(pooled, "llm", "P@2").runs}
    assert (rows["b"].unique, rows["b"].unique_relevant) == (2, 2)  # d3, of two queries
    assert (rows["b"].score, rows["b"].score_left_out) == (1.0, 0.5)
    assert (rows["b"].rank, rows["b"].rank_left_out) == (1, 1)
    assert (rows["a"].unique, rows["a"].unique_relevant, rows["a"].change) == (2, 0, 0.0)
    assert (rows["a"].judged, rows["a"].judged_left_out) == (1.0, 0.5)


def test_a_run_whose_twin_found_the_same_loses_nothing(pooled: Path) -> None:
    alone = {row.run: row for row in reuse(pooled, "llm", "P@2").runs}
    assert (alone["c"].unique, alone["c"].change) == (0, 0.0)


def test_a_run_that_is_judged_less_than_any_left_out_is_named(pooled: Path) -> None:
    lines = "".join(f"{q} Q0 x{n} {n} {9 - n} new\n" for q in ("q1", "q2") for n in (1, 2, 3))
    (pooled / "runs" / "new.trec").write_text(lines)
    result = reuse(pooled, "llm", "P@2")
    (named,) = result.findings
    assert str(named).startswith("new has Judged@10 0.000, less than any other run would have")
    (pooled / "runs" / "new.trec").unlink()
    assert reuse(pooled, "llm", "P@2").findings == []
    rows = {row.run: row for row in result.runs}
    assert (rows["new"].unique, rows["new"].judged, rows["new"].rank) == (0, 0.0, 5)


def test_where_no_run_would_lose_anything_that_is_said(pooled: Path) -> None:
    for name in ("a", "b"):
        (pooled / "runs" / f"{name}.trec").unlink()
    (said,) = reuse(pooled, "llm", "P@2").sentences
    assert said == "left out of the pool, no run would lose any of its P@2; no rank changes"


def test_the_command_shows_a_table_and_what_it_means(
    pooled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert execute(["evaluate", str(pooled), "--reuse", "-m", "P@2"]) == 0
    shown = capsys.readouterr().out
    assert "left out of the pool, a run would lose up to 0.5000 of P@2 (b, with Judged" in shown
    assert execute(["evaluate", str(pooled), "--reuse", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["measure"] == "nDCG@10"
    assert {row["run"] for row in record["runs"]} == set(FOUND)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["-m", "foo"], "--measure: no measure 'foo'"),
        (["--qrels", "nope"], "--qrels: "),
    ],
)
def test_what_cannot_be_meant_is_refused(
    words: list[str], problem: str, pooled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert execute(["evaluate", str(pooled), "--reuse", *words]) == 2
    assert f"labeler: {problem}" in capsys.readouterr().err


def test_one_run_cannot_be_left_out(pooled: Path) -> None:
    for name in ("b", "c", "twin"):
        (pooled / "runs" / f"{name}.trec").unlink()
    with pytest.raises(Misuse, match="two runs or more"):
        reuse(pooled, "llm")
