"""Two leaderboards where the two qrels did not judge the same pairs."""

import json
from pathlib import Path

import numpy as np
import pytest

import labeler
from labeler.cli import execute
from labeler.data import Qrels, Run
from labeler.errors import BadInput
from labeler.evaluation.leaderboard import leaderboard_of
from labeler.evaluation.two_sided import two_qrels
from labeler.metrics import evaluate, parse
from labeler.trec.files import read_qrels, read_run
from labeler.trec.write import write_qrels

MEASURES = ["nDCG@10", "AP", "P@5", "RR", "R@20", "Bpref", "RBP", "ERR@10", "Rprec", "Success@3"]


def world(seed: int, systems: int = 4, queries: int = 12) -> tuple[Qrels, Qrels, dict[str, Run]]:
    """Two assessors, each of whom judged some pairs alone, and runs of 30 documents."""
    rng = np.random.default_rng(seed)
    sides: tuple[Qrels, Qrels] = ({}, {})
    runs: dict[str, Run] = {f"run{number}": {} for number in range(systems)}
    for q in range(queries):
        for qrels in sides:
            qrels[f"q{q:02}"] = {
                f"d{d}": int(rng.integers(-1, 4)) for d in range(40) if rng.random() < 0.6
            }
        for run in runs.values():
            docs = rng.permutation(40)[:30]
            run[f"q{q:02}"] = {
                f"d{d}": float(score) for d, score in zip(docs, range(30), strict=True)
            }
    return *sides, runs


def shared_pairs(first: Qrels, second: Qrels) -> tuple[Qrels, Qrels]:
    """Both without the pairs that one of the two did not judge."""

    def kept(ours: Qrels, theirs: Qrels) -> Qrels:
        return {
            q: {d: g for d, g in row.items() if g >= 0 and theirs[q].get(d, -1) >= 0}
            for q, row in ours.items()
        }

    return kept(first, second), kept(second, first)


@pytest.mark.parametrize("measure", MEASURES)
def test_scores_are_those_of_condensed_lists_over_the_pairs_that_both_judged(measure: str) -> None:
    first, second, runs = world(1)
    board = leaderboard_of(two_qrels(first, second), runs, parse(measure))
    assert board is not None
    assert board.pairs.on_shared_pairs
    sides = shared_pairs(first, second)
    for place, system in enumerate(board.systems):
        condensed = {
            q: {d: score for d, score in scores.items() if d in sides[0][q]}
            for q, scores in runs[system.run].items()
        }
        for side, qrels in enumerate(sides):
            expected = evaluate(qrels, condensed, [measure], max_grade=3).of(parse(measure))
            assert board.scores[side, place] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_few_failures_take_out_their_documents_and_no_others(measure: str) -> None:
    first, _, runs = world(5)
    first = {q: {d: max(g, 0) for d, g in row.items()} for q, row in first.items()}
    second = {q: {d: 3 - g for d, g in row.items()} for q, row in first.items()}
    failed = {(q, next(iter(row))) for q, row in list(second.items())[:5]}
    for q, d in failed:
        del second[q][d]
    board = leaderboard_of(two_qrels(first, second), runs, parse(measure))
    assert board is not None
    assert board.pairs.on_shared_pairs
    assert board.pairs.first_only == 5
    (said,) = map(str, board.own_findings)
    assert "the latter taken out of the rankings" in said
    graded = {q: {d: g for d, g in row.items() if (q, d) not in failed} for q, row in first.items()}
    for place, system in enumerate(board.systems):
        left = {
            q: {d: score for d, score in scores.items() if (q, d) not in failed}
            for q, scores in runs[system.run].items()
        }
        for side, qrels in enumerate((graded, second)):
            expected = evaluate(qrels, left, [measure], max_grade=3).of(parse(measure))
            assert board.scores[side, place] == pytest.approx(expected, abs=1e-12)


def test_the_same_pairs_give_what_evaluate_gives() -> None:
    first, _, runs = world(3)
    second = {q: {d: 3 - g if g >= 0 else g for d, g in row.items()} for q, row in first.items()}
    board = leaderboard_of(two_qrels(first, second), runs, parse("nDCG@10"))
    assert board is not None
    assert not board.pairs.on_shared_pairs
    assert not board.own_findings
    for place, run in enumerate(runs.values()):
        for side, qrels in enumerate((first, second)):
            expected = evaluate(qrels, run, ["nDCG@10"]).values[0].tolist()
            assert board.scores[side, place].tolist() == expected


@pytest.fixture
def pool_of_one_run(tmp_path: Path, shared: Path) -> tuple[str, str, str]:
    """NIST's judgements of one run's first 20 documents, and all of them; the folder of runs."""
    folder = shared / "dl19"
    nist = read_qrels(folder / "nist.qrels")
    pooled: Qrels = {}
    for query, scores in read_run(folder / "runs/snowflake-base-retriever.trec.gz").items():
        first = sorted(scores, key=scores.__getitem__, reverse=True)[:20]
        pooled[query] = {d: nist[query][d] for d in first if d in nist.get(query, {})}
    write_qrels(tmp_path / "pooled.qrels", {q: row for q, row in pooled.items() if row})
    return str(tmp_path / "pooled.qrels"), str(folder / "nist.qrels"), str(folder / "runs")


def test_the_same_assessor_on_fewer_pairs_orders_systems_the_same(
    pool_of_one_run: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    pooled, nist, runs = pool_of_one_run
    assert execute(["lab", "leaderboard", pooled, nist, runs, "--json"]) == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert found["pairs"] == {
        "both": 753,
        "first_only": 0,
        "second_only": 8507,
        "on_shared_pairs": True,
    }
    assert found["statistics"]["tau_b"]["value"] == pytest.approx(1)
    assert found["swaps"] == []
    for row in found["runs"]:
        assert row["first"] == row["second"]
        assert row["judged_first"] <= row["judged_second"]
    assert "753 pairs by both, 8,507 pairs by nist alone" in shown.err


def test_agree_compares_leaderboards_on_the_pairs_that_both_judged(
    pool_of_one_run: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    pooled, nist, runs = pool_of_one_run
    command = ["agree", pooled, nist, "--run", runs, "-s", "kappa"]
    assert execute(command) == 0
    shown = capsys.readouterr()
    assert (
        "over the 753 pairs that both judged, nist orders 11 systems exactly as pooled does"
        in shown.out
    )
    assert "Judged@10 by pooled  Judged@10 by nist" in shown.out
    assert execute([*command, "--json"]) == 0
    board = json.loads(capsys.readouterr().out)["leaderboard"]
    assert {row["difference"] for row in board["runs"]} == {0}
    assert board["swaps"] == []


def test_queries_of_which_both_judged_no_pair_are_left_out_and_counted() -> None:
    first = {"a": {"x": 1}, "b": {"x": 1}, "c": {"z": 1}}
    second = {"a": {"x": 0}, "b": {"y": 1}, "d": {"z": 1}}
    runs = {name: {"a": {"x": 1.0}, "b": {"x": 1.0}} for name in ("one", "two")}
    board = labeler.leaderboard(first, second, runs, "P@1")
    assert board.queries == ("a",)
    texts = list(map(str, board.findings))
    assert "2 queries are in one of the two qrels only: left out" in texts
    assert "1 query of which no pair was judged by both: left out" in texts
    with pytest.raises(BadInput, match="but no pair"):
        labeler.leaderboard({"b": {"x": 1}}, {"b": {"y": 1}}, runs, "P@1")
