"""What unjudged documents leave open of several runs: bounds against every way to judge them."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeler.data import Qrels, Run
from labeler.evaluation.evaluate import evaluate
from labeler.evaluation.holes.several import EXACT, DifferenceBounds, SeveralRuns
from labeler.evaluation.inputs import pool_from
from labeler.metrics import evaluate as scored
from labeler.metrics import parse_all
from labeler.trec.rankings import holes_of, rankings_of, read_pool, read_rankings

TOP = 2
MEASURES = (
    *("P@2", "P(rel=2)@3", "Success@2", "RR", "RR@2", "DCG@3", "DCG(dcg='exp-log2')", "CG"),
    *("R@2", "R(rel=2)@3", "nDCG@2", "nDCG", "AP", "AP@2", "SetR", "RBP", "ERR@2", "Rprec"),
)
RANKING = st.permutations("abcde").flatmap(
    lambda ids: st.integers(1, 4).map(lambda size: ids[:size])
)


def run_of(documents: list[str]) -> Run:
    return {"q": {doc: -float(i) for i, doc in enumerate(documents)}}


def all_judgings(qrels: Qrels, runs: list[Run]) -> Iterator[Qrels]:
    """The qrels with every way to grade what any run retrieved, and what is not judged."""
    judged = {doc: grade for doc, grade in qrels["q"].items() if grade >= 0}
    documents = {doc for run in runs for doc in run["q"]} | qrels["q"].keys()
    holes = sorted(documents - judged.keys())
    for grades in product(range(TOP + 1), repeat=len(holes)):
        yield {"q": judged | dict(zip(holes, grades, strict=True))}


@settings(derandomize=True, deadline=None, max_examples=8)
@given(
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([-1, 0, 1, 2]), min_size=1),
    RANKING,
    RANKING,
)
def test_bounds_hold_over_all_grades_of_what_any_run_retrieved(
    judged: dict[str, int], first: list[str], second: list[str]
) -> None:
    qrels, runs = {"q": judged}, {"a": run_of(first), "b": run_of(second)}
    report = evaluate(qrels, runs, MEASURES, baseline="a", max_grade=TOP)
    values = [
        {name: scored(other, run, MEASURES, max_grade=TOP).means() for name, run in runs.items()}
        for other in all_judgings(qrels, list(runs.values()))
    ]
    for run in report.runs:
        for measure, case in run.scenarios.items():
            found = [value[run.name][measure] for value in values]
            assert case["low"] == pytest.approx(min(found)), (run.name, measure)
            if not measure.startswith("RBP"):  # documents below the end count there, too
                assert case["high"] == pytest.approx(max(found)), (run.name, measure)
    for bounds in report.difference_bounds:
        found = [value["b"][bounds.measure] - value["a"][bounds.measure] for value in values]
        if bounds.exact:
            assert bounds.least == pytest.approx(min(found)), bounds.measure
            assert bounds.most == pytest.approx(max(found)), bounds.measure
        else:
            assert bounds.least <= min(found) + 1e-9, bounds.measure
            assert bounds.most >= max(found) - 1e-9, bounds.measure


def test_what_another_run_found_may_be_relevant() -> None:
    qrels = {"q": {"d1": 1}}
    runs = {"a": {"q": {"d1": 1.0}}, "b": {"q": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}}
    report = evaluate(qrels, runs, ["R@10", "AP"])
    assert report.runs[0].scenarios["R@10"]["low"] == pytest.approx(1 / 3)
    assert report.runs[0].scenarios["AP"]["low"] == pytest.approx(1 / 3)
    (alone,) = evaluate(qrels, {"a": runs["a"]}, ["AP"]).runs
    assert alone.scenarios["AP"]["low"] == 1.0


def test_a_document_that_both_retrieved_does_not_set_them_apart() -> None:
    qrels = {"q": {"d1": 1, "d2": 0}}
    runs = {"a": {"q": {"x": 2.0, "d1": 1.0}}, "b": {"q": {"x": 2.0, "d2": 1.0}}}
    report = evaluate(qrels, runs, ["P@2"], baseline="a")
    (bounds,) = report.difference_bounds
    assert (bounds.difference, bounds.least, bounds.most, bounds.exact) == (-0.5, -0.5, -0.5, True)
    assert report.runs[0].scenarios["P@2"]["high"] == 1.0


@pytest.mark.parametrize("ties", ["trec", "file"])
def test_files_and_dicts_have_the_same_holes(ties: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    qrels = {
        f"q{q}": {f"d{d}": int(rng.integers(-1, 3)) for d in range(0, 30, 3)} for q in range(4)
    }
    run = {q: {f"d{d}": float(rng.integers(0, 6)) for d in rng.permutation(30)} for q in qrels}
    lines = [f"{q} 0 {d} {g}\n" for q, grades in qrels.items() for d, g in grades.items()]
    (tmp_path / "h.qrels").write_text("".join(lines))
    rows = [f"{q} Q0 {d} 1 {s} t\n" for q, scores in run.items() for d, s in scores.items()]
    (tmp_path / "r.trec").write_text("".join(rows))
    pool, held = read_pool(tmp_path / "h.qrels", print), pool_from(qrels, print)
    _, by_file = read_rankings(tmp_path / "r.trec", pool, ties, holes=True)
    _, by_dict = rankings_of(run, held, ties, holes=True)
    assert by_file.holes is not None
    assert by_dict.holes is not None
    for ours, theirs in zip(by_file.holes, by_dict.holes, strict=True):
        assert ours.tolist() == theirs.tolist()


def test_every_kind_of_bounds_is_tested() -> None:
    assert {name.split("@")[0].split("(")[0] for name in MEASURES} >= EXACT


def several(runs: dict[str, Run], qrels: Qrels, measures: str) -> SeveralRuns:
    """The runs together."""
    pool, parsed = pool_from(qrels, print), parse_all(measures)
    together = SeveralRuns(pool.queries, parsed)
    for name, run in runs.items():
        together.add(name, rankings_of(run, pool)[0], holes_of(run, pool, "trec"))
    return together


def made_runs() -> tuple[Qrels, dict[str, Run]]:
    rng = np.random.default_rng(5)
    qrels = {
        f"q{q}": {f"d{d}": int(rng.integers(-1, 3)) for d in range(0, 30, 4)} for q in range(7)
    }
    runs = {
        name: {
            q: {f"d{d}": float(rng.integers(0, 9)) for d in rng.permutation(30)[:20]} for q in qrels
        }
        for name in "abc"
    }
    return qrels, runs


def bounds_of(together: SeveralRuns, size: int) -> list[DifferenceBounds]:
    for name in together.runs:
        together.hold(name, together.left_open(name, size))
    return list(together.difference_bounds("a"))


def test_differences_are_the_same_worked_out_by_blocks_of_queries() -> None:
    qrels, runs = made_runs()
    names = "nDCG nDCG@3 AP P@5 R@10 RR Success@1 DCG CG Rprec"
    whole = several(runs, qrels, names)
    wanted = bounds_of(whole, 10**6)
    for size in (1, 100):
        parts = several(runs, qrels, names)
        for ours, theirs in zip(bounds_of(parts, size), wanted, strict=True):
            assert (ours.run, ours.measure, ours.exact) == (
                theirs.run,
                theirs.measure,
                theirs.exact,
            )
            assert (ours.least, ours.most) == pytest.approx((theirs.least, theirs.most), rel=1e-12)
        for name in runs:
            open_, at_once = parts.left_open(name, size), whole.left_open(name)
            assert open_.unjudged.tolist() == at_once.unjudged.tolist()
            for measure, case in open_.scenarios.items():
                assert case == pytest.approx(at_once.scenarios[measure], rel=1e-12)
