"""Measures equal their definitions, term by term, and each is compared with an oracle somewhere."""

import math
from collections.abc import Callable, Mapping

import pytest
import pytrec_eval
from examples import steadily
from hypothesis import given
from test_metrics_oracles import (
    BIG,
    IN_IR_MEASURES,
    IN_PYTREC_EVAL,
    SOME_QRELS,
    SOME_RUN,
)
from test_metrics_ranx import IN_RANX

from labeler.data import Qrels, Run
from labeler.metrics import MEASURES, evaluate, parse
from labeler.trec.files import ranking


def answered(qrels: Qrels, run: Run) -> Qrels:
    """The queries that the run has."""
    return {query_id: row for query_id, row in qrels.items() if query_id in run}


OFTEN = steadily(60)
TOP = 3

Grades = list[int]
"""Of a ranking, in order: 0 for what is not judged, or not relevant."""


def exponential(grades: Grades) -> list[float]:
    return [2.0**grade - 1 for grade in grades]


def discounted(gains: list[float] | Grades, k: float = math.inf) -> float:
    return math.fsum(g / math.log2(r + 1) for r, g in enumerate(gains, 1) if r <= k)


def cascade(grades: Grades, k: float = math.inf) -> float:
    total, going = 0.0, 1.0
    for rank, grade in enumerate(grades, start=1):
        stop = (2.0**grade - 1) / 2**TOP
        total += going * stop / rank if rank <= k else 0.0
        going *= 1 - stop
    return total


def ideal(pool: Grades) -> Grades:
    return sorted(pool, reverse=True)


def share(above: float, below: float) -> float:
    return above / below if below else 0.0


def hits(grades: Grades, k: int, level: int = 1) -> int:
    return sum(grade >= level for grade in grades[:k])


def blended(grades: Grades, pool: Grades, k: int) -> float:
    precision, recall = hits(grades, k) / k, share(hits(grades, k), hits(pool, len(pool)))
    return share(2 * precision * recall, precision + recall)


def biased(gains: list[float], p: float, k: float = math.inf) -> float:
    return math.fsum((1 - p) * p**r * gain for r, gain in enumerate(gains) if r < k)


def interpolated(grades: Grades, pool: Grades, recall: float) -> float:
    """trec_eval 10's: the number of documents that reach the recall is rounded to the nearest."""
    needed = max(math.floor(recall * hits(pool, len(pool)) + 0.5), 1)
    ranks = range(1, len(grades) + 1)
    return max((hits(grades, r) / r for r in ranks if hits(grades, r) >= needed), default=0.0)


BY_DEFINITION: dict[str, Callable[[Grades, Grades], float]] = {
    "DCG": lambda g, _: discounted(g),
    "DCG(dcg='exp-log2')@7": lambda g, _: discounted(exponential(g), 7),
    "nDCG(dcg='exp-log2')": lambda g, pool: share(
        discounted(exponential(g)), discounted(exponential(ideal(pool)))
    ),
    "ERR": lambda g, _: cascade(g),
    "ERR@4": lambda g, _: cascade(g, 4),
    "nERR@4": lambda g, pool: share(cascade(g, 4), cascade(ideal(pool), 4)),
    "nERR": lambda g, pool: share(cascade(g), cascade(ideal(pool))),
    "F1@5": lambda g, pool: blended(g, pool, 5),
    "RBP": lambda g, _: biased([grade / TOP for grade in g], 0.8),
    "RBP(p=0.5,rel=2)@3": lambda g, _: biased([float(grade >= 2) for grade in g], 0.5, 3),
    "IPrec@0.3": lambda g, pool: interpolated(g, pool, 0.3),
    "NumQ": lambda _g, _pool: 1.0,
}


def graded(judged: Mapping[str, int], scores: Mapping[str, float]) -> Grades:
    return [max(judged.get(doc, 0), 0) for doc in ranking(scores)]


def check(qrels: Qrels, run: Run) -> None:
    ours = evaluate(qrels, run, list(BY_DEFINITION), max_grade=TOP).per_query()
    for query, judged in qrels.items():
        grades = graded(judged, run.get(query, {}))
        pool = [max(grade, 0) for grade in judged.values()]
        for name, define in BY_DEFINITION.items():
            wanted = pytest.approx(define(grades, pool), abs=1e-9, nan_ok=True)
            assert ours[query][name] == wanted, (query, name)


@OFTEN
@given(SOME_QRELS, SOME_RUN)
def test_equal_to_the_definition(qrels: Qrels, run: Run) -> None:
    check(qrels, run)


@pytest.mark.parametrize(("qrels", "run"), BIG)
def test_equal_to_the_definition_on_long_rankings(qrels: Qrels, run: Run) -> None:
    check(qrels, run)


@OFTEN
@given(SOME_QRELS, SOME_RUN)
def test_the_share_judged_is_that_of_what_was_retrieved(qrels: Qrels, run: Run) -> None:
    ours = evaluate(qrels, run, ["Judged@6"]).per_query()
    for query, judged in qrels.items():
        known = [judged.get(doc, -1) >= 0 for doc in ranking(run.get(query, {}))]
        wanted = sum(known[:6]) / len(known[:6]) if known else math.nan
        assert ours[query]["Judged@6"] == pytest.approx(wanted, nan_ok=True)


@OFTEN
@given(SOME_QRELS, SOME_RUN)
def test_gmap_is_pytrec_evals_geometric_mean(qrels: Qrels, run: Run) -> None:
    logs = pytrec_eval.RelevanceEvaluator(qrels, {"gm_map"}).evaluate(run)
    if logs:
        values = [row["gm_map"] for row in logs.values()]
        wanted = pytrec_eval.compute_aggregated_measure("gm_map", values)
        found = evaluate(answered(qrels, run), run, ["GMAP"]).means()["GMAP"]
        assert found == pytest.approx(wanted, abs=1e-9)


def names(measures: object) -> set[str]:
    return {parse(name).name for name in measures}  # type: ignore[attr-defined]


COMPARED = {
    "pytrec_eval": names([*IN_PYTREC_EVAL, "GMAP"]),
    "ir_measures": names([*IN_IR_MEASURES, "Judged", "ERR"]),  # the latter in tests of their own
    "ranx": names([*IN_RANX, "RBP"]),
    "its definition": names([*BY_DEFINITION, "Judged", "Q-measure"]),
}
"""Which measures are held against what, here and in the two modules beside."""

IN_NONE_BUT_ITS_DEFINITION = {
    "Q-measure",
    "nERR",
    "NumQ",
}


def test_every_measure_is_compared_with_something() -> None:
    assert set().union(*COMPARED.values()) == MEASURES.keys()
    others = COMPARED["pytrec_eval"] | COMPARED["ir_measures"] | COMPARED["ranx"]
    assert MEASURES.keys() - others == IN_NONE_BUT_ITS_DEFINITION
