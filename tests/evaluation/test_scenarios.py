"""What unjudged documents leave open: scenarios and bounds, against every way to judge them."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.data import Qrels, Run
from labeler.evaluation.holes import BOUND_FUNCTIONS, RISING, SEE_HOLES, Holes, scenarios
from labeler.metrics import evaluate, parse_all, rankings
from labeler.metrics.registry import MEASURES as KNOWN

OFTEN = steadily(60)
TOP = 2
GRADES = st.sampled_from([-1, 0, 1, 2])
RETRIEVED = st.permutations(["a", "b", "c", "d", "e"]).flatmap(
    lambda ids: st.integers(1, 5).map(lambda size: ids[:size])
)
MEASURES = [
    *("P@3", "P(rel=2)@2", "Success@2", "RR", "RR@2", "RBP", "RBP(p=0.5,rel=1)@3", "DCG@3"),
    *("DCG(dcg='exp-log2')", "ERR", "ERR@2", "SetP", "NumRel", "NumRelRet"),
    *("R@2", "R(rel=2)@3", "R(rel=3)@2", "R(rel=0)@2", "SetR", "SetR(rel=2)", "AP", "AP(rel=2)"),
    *("AP@2", "AP@3", "AP(rel=0)", "AP(rel=3)", "GMAP", "nDCG", "nDCG@1", "nDCG@2", "nDCG@4"),
    *("nDCG(dcg='exp-log2')", "nDCG(dcg='exp-log2')@3"),
]


ALL = [
    *MEASURES,
    *(f"{name}(judged_only=True)@2" for name in ("P", "nDCG", "AP", "Judged")),
    "P(rel=0)@3",
    *(
        name + ("" if known.cutoff is None else "@3")
        for name, known in KNOWN.items()
        if name != "IPrec"
    ),
    *(name for name, known in KNOWN.items() if known.cutoff and not known.needs_cutoff),
    "IPrec@0.5",
]


def all_judgings(qrels: Qrels, run: Run) -> Iterator[Qrels]:
    """The qrels with every way to grade what is retrieved or in the pool, and not judged."""
    judged = {doc: grade for doc, grade in qrels["q"].items() if grade >= 0}
    holes = [doc for doc in [*run["q"], *(qrels["q"].keys() - run["q"])] if doc not in judged]
    for grades in product(range(TOP + 1), repeat=len(holes)):
        yield {"q": judged | dict(zip(holes, grades, strict=True))}


def value(measure: str, qrels: Qrels, run: Run) -> float:
    return next(iter(evaluate(qrels, run, [measure], max_grade=TOP).means().values()))


@pytest.mark.sweep
@OFTEN
@given(st.dictionaries(st.sampled_from("abcdef"), GRADES, min_size=1), RETRIEVED)
def test_bounds_are_the_least_and_the_most_of_all_judgings(
    judged: dict[str, int], retrieved: list[str]
) -> None:
    qrels, run = {"q": judged}, {"q": {doc: -float(i) for i, doc in enumerate(retrieved)}}
    found = scenarios(Holes(rankings(qrels, run, max_grade=TOP)), parse_all(MEASURES))
    judgings = [
        evaluate(other, run, MEASURES, max_grade=TOP).means() for other in all_judgings(qrels, run)
    ]
    for name, entry in found.items():
        values = [means[name] for means in judgings]
        assert entry["low"] == pytest.approx(min(values)), name
        if name.startswith("RBP"):
            assert entry["high"] >= max(values) - 1e-12  # documents below the end count, too
        else:
            assert entry["high"] == pytest.approx(max(values)), name


def test_every_measure_with_bounds_is_tested_above() -> None:
    assert {
        name.split("@")[0].split("(")[0] for name in MEASURES
    } == RISING | BOUND_FUNCTIONS.keys()


@pytest.mark.sweep
@OFTEN
@given(st.dictionaries(st.sampled_from("abcdef"), GRADES, min_size=1), RETRIEVED)
def test_scenarios_are_the_scores_by_such_qrels(
    judged: dict[str, int], retrieved: list[str]
) -> None:
    qrels, run = {"q": judged}, {"q": {doc: -float(i) for i, doc in enumerate(retrieved)}}
    tops = {doc: TOP for doc in [*retrieved, *judged] if judged.get(doc, -1) < 0}
    zeros = dict.fromkeys(tops, 0)
    found = scenarios(Holes(rankings(qrels, run, max_grade=TOP)), parse_all(ALL))
    for name, entry in found.items():
        for scenario, grades in (("unjudged_top", tops), ("unjudged_irrelevant", zeros)):
            wanted = value(name, {"q": judged | grades}, run)
            assert entry[scenario] == pytest.approx(wanted, nan_ok=True), (name, scenario)


def test_unjudged_documents_called_irrelevant_change_what_leaves_them_out() -> None:
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}
    names = ["Bpref", "Judged@3", "P(judged_only=True)@1", "P@1"]
    found = scenarios(Holes(rankings(qrels, run)), parse_all(names))
    plain = [value(name, qrels, run) for name in names]
    assert plain == [1, 2 / 3, 1, 0]
    assert [found[name]["unjudged_irrelevant"] for name in names] == [0, 1, 0, 0]


def test_every_measure_is_among_the_scenarios_tested() -> None:
    tested = {measure.name for measure in parse_all(ALL)}
    assert tested == KNOWN.keys()
    assert tested >= SEE_HOLES


def test_rbp_may_be_as_high_as_what_is_not_judged_makes_it() -> None:
    qrels, run = {"q": {"a": 2, "b": 0}}, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    ranked = rankings(qrels, run, max_grade=TOP)
    (bounds,) = scenarios(Holes(ranked), parse_all(["RBP(p=0.5)"])).values()
    assert bounds["low"] == 0.5
    assert bounds["high"] == pytest.approx(0.5 + 0.25 + 0.125)


def test_no_scenario_bounds_ndcg_because_the_ideal_moves() -> None:
    # Unjudged documents of top grade below the cutoff raise the ideal alone.
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 2.0, "x": 1.0}}
    found = scenarios(Holes(rankings(qrels, run, max_grade=TOP)), parse_all(["nDCG@1"]))["nDCG@1"]
    assert found == {"unjudged_irrelevant": 1.0, "unjudged_top": 0.5, "low": 0.5, "high": 1.0}
    # Between judged documents of grades 2 and 1, a hole is best of grade 1 or 2, not 0 or 3.
    qrels, run = {"q": {"a": 2, "b": 1}}, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    (entry,) = scenarios(Holes(rankings(qrels, run, max_grade=3)), parse_all(["nDCG"])).values()
    assert max(entry["unjudged_irrelevant"], entry["unjudged_top"]) < 0.96
    assert entry["high"] == 1.0


def test_bounds_of_many_queries_are_those_of_each() -> None:
    rng = np.random.default_rng(1)
    ids = [f"d{n}" for n in range(40)]
    run = {
        f"q{q}": {
            d: float(s) for d, s in zip(rng.permutation(ids)[:30], rng.normal(size=30), strict=True)
        }
        for q in range(7)
    }
    qrels = {q: {d: int(rng.integers(-1, 4)) for d in rng.permutation(ids)[:20]} for q in run}
    measures = parse_all(["AP", "AP@5", "nDCG", "nDCG@10"])
    at_once = scenarios(Holes(rankings(qrels, run)), measures)
    singly = [scenarios(Holes(rankings({q: qrels[q]}, run, max_grade=3)), measures) for q in run]
    for name, entry in at_once.items():
        for end in ("low", "high"):
            mean = sum(one[name][end] for one in singly) / len(singly)
            assert entry[end] == pytest.approx(mean), (name, end)


def test_blocks_of_queries_give_what_all_queries_at_once_give() -> None:
    rng = np.random.default_rng(16)
    qrels = {
        f"q{q}": {f"d{d}": int(rng.integers(-1, TOP + 1)) for d in range(0, 12, 2)}
        for q in range(9)
    }
    run = {
        q: {f"d{d}": float(rng.integers(0, 5)) for d in rng.permutation(12)[: int(n)]}
        for q, n in zip(qrels, rng.integers(1, 12, 8), strict=False)
    }
    measures = parse_all(ALL)
    ranked = rankings(qrels, run, max_grade=TOP)
    wanted = scenarios(Holes(ranked), measures)
    for size in (1, 20, 50):
        cases = scenarios(Holes(ranked), measures, size)
        assert list(cases) == list(wanted)
        for name, case in cases.items():
            assert case == pytest.approx(wanted[name], rel=1e-12, nan_ok=True), (size, name)


def test_blocks_hold_whole_queries_in_order_and_large_ones_alone() -> None:
    qrels = {f"q{q:02}": {"a": 1, "b": 0} for q in range(25)}
    run = {q: {"a": 2.0, "c": 1.0} for q in qrels}
    ranked = rankings(qrels, run)
    blocks = [block.r.queries for block in Holes(ranked).blocks(40)]
    assert [len(queries) for queries in blocks] == [9, 10, 6]
    assert sum(blocks, ()) == ranked.queries
    run["q05"] = {f"d{d}": float(d) for d in range(9)}
    ranked = rankings(qrels, run)
    blocks = [block.r.queries for block in Holes(ranked).blocks(40)]
    assert blocks[1] == ("q05",)
    assert sum(blocks, ()) == ranked.queries
    assert [block.r for block in Holes(ranked).blocks(999)] == [ranked]
