"""What unjudged documents leave open of several runs: bounds against every way to judge them."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.data import Qrels, Run
from labeler.evaluation.evaluate import evaluate
from labeler.evaluation.inputs import pool_from, rank
from labeler.metrics import JudgedPairs
from labeler.metrics import evaluate as scored
from labeler.metrics.judged import marks_by_query
from labeler.trec.files import read_qrels

TOP = 2
MEASURES = (
    *("P@2", "P(rel=2)@3", "Success@2", "RR", "RR@2", "DCG@3", "DCG(dcg='exp-log2')"),
    *("R@2", "R(rel=2)@3", "nDCG@2", "nDCG", "AP", "AP@2", "SetR", "RBP", "ERR@2"),
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


@pytest.mark.sweep
@steadily(8)
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


def test_what_another_run_found_may_be_relevant() -> None:
    qrels = {"q": {"d1": 1}}
    runs = {"a": {"q": {"d1": 1.0}}, "b": {"q": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}}
    report = evaluate(qrels, runs, ["R@10", "AP"])
    assert report.runs[0].scenarios["R@10"]["low"] == pytest.approx(1 / 3)
    assert report.runs[0].scenarios["AP"]["low"] == pytest.approx(1 / 3)
    (alone,) = evaluate(qrels, {"a": runs["a"]}, ["AP"]).runs
    assert alone.scenarios["AP"]["low"] == 1.0


def test_files_and_dicts_have_the_same_documents_outside_the_qrels(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    qrels = {
        f"q{q}": {f"d{d}": int(rng.integers(-1, 3)) for d in range(0, 30, 3)} for q in range(4)
    }
    run = {q: {f"d{d}": float(rng.integers(0, 6)) for d in rng.permutation(30)} for q in qrels}
    lines = [f"{q} 0 {d} {g}\n" for q, grades in qrels.items() for d, g in grades.items()]
    (tmp_path / "h.qrels").write_text("".join(lines))
    rows = [f"{q} Q0 {d} 1 {s} t\n" for q, scores in run.items() for d, s in scores.items()]
    (tmp_path / "r.trec").write_text("".join(rows))
    pool, held = JudgedPairs.of(read_qrels(tmp_path / "h.qrels")), pool_from(qrels, print)
    _, by_file = pool.rank(tmp_path / "r.trec", outside=True)
    _, by_dict = rank(run, held, outside=True)
    assert by_file.outside is not None
    assert by_dict.outside is not None
    assert sorted(by_file.outside.tolist()) == sorted(by_dict.outside.tolist())
    holes = [len(run[q].keys() - qrels[q].keys()) for q in qrels]
    assert marks_by_query(by_file.outside, len(qrels)).tolist() == holes
