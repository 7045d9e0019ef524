"""The spans of two systems' differences at a query, against every grade of what is not judged."""

import random
from itertools import product

import pytest
from numpy.testing import assert_allclose

from labeler.errors import Misuse
from labeler.evaluation.differences import Differences, to_judge
from labeler.metrics import parse
from labeler.metrics.judged import rankings

DOCUMENTS, TOP, CASES = [f"d{n}" for n in range(6)], 2, 12
MEASURES = ["nDCG@4", "nDCG(dcg='exp-log2')@3"]
Grades = dict[str, int]
TwoLists = tuple[list[str], list[str]]


def difference(name: str, two: TwoLists, grades: Grades) -> float:
    """The new list's value less the old one's, of the measure itself."""
    old, new = (
        parse(name).per_query(
            rankings({"q": grades}, {"q": {d: -float(n) for n, d in enumerate(docs)}}, TOP)
        )[0]
        for docs in two
    )
    return float(new - old)


def worlds(name: str) -> list[tuple[TwoLists, Grades, list[tuple[Grades, float]]]]:
    """Two lists, some grades, and the difference with every grade of the other documents."""
    draw, made = random.Random(name), []
    for _ in range(CASES):
        two = draw.sample(DOCUMENTS, 4), draw.sample(DOCUMENTS, 4)
        grades = {doc: draw.randrange(TOP + 1) for doc in [*two[0], *two[1]] if draw.random() < 0.6}
        free = [doc for doc in dict.fromkeys([*two[0], *two[1]]) if doc not in grades]
        wholes = (
            {**grades, **dict(zip(free, more, strict=True))}
            for more in product(range(TOP + 1), repeat=len(free))
        )
        made.append((two, grades, [(whole, difference(name, two, whole)) for whole in wholes]))
    return made


@pytest.mark.parametrize("name", MEASURES)
def test_no_grades_lead_beyond_the_span_and_none_are_left_where_it_is_closed(name: str) -> None:
    differences = Differences(parse(name), TOP)
    for two, grades, cases in worlds(name):
        weights = differences.weights(*two)
        low, high = differences.span(weights, grades)
        values = [value for _, value in cases]
        assert low <= min(values) + 1e-9
        assert high >= max(values) - 1e-9
        if min(values) >= 0:
            assert_allclose(high, max(values), atol=1e-9)
        whole, value = cases[-1]
        assert_allclose(differences.span(weights, whole), (value, value), atol=1e-9)


@pytest.mark.parametrize("name", MEASURES)
def test_what_is_not_asked_for_changes_no_difference(name: str) -> None:
    differences = Differences(parse(name), TOP)
    for two, grades, cases in worlds(name):
        weights = differences.weights(*two)
        for whole, value in cases:
            told = dict(grades)
            while asked := to_judge(weights, told):
                told |= {doc: whole[doc] for doc in asked}
            assert_allclose(differences.span(weights, told), value, atol=1e-9)


def test_lists_that_are_alike_differ_by_nothing_and_irrelevant_moves_leave_the_rest_alone() -> None:
    differences = Differences(parse("nDCG@4"), TOP)
    assert differences.span(differences.weights(["a", "b"], ["a", "b"]), {}) == (0.0, 0.0)
    weights = differences.weights(["a", "b", "c"], ["a", "c", "b"])
    assert to_judge(weights, ()) == ["b", "c"]
    assert differences.span(weights, {"b": 0, "c": 0}) == (0.0, 0.0)
    assert to_judge(weights, ("b", "c")) == ["a"]


@pytest.mark.parametrize("name", ["Bpref", "nDCG"])
def test_another_measure_than_ndcg_with_a_cutoff_is_refused(name: str) -> None:
    with pytest.raises(Misuse, match=f"{name} is not bounded"):
        Differences(parse(name), TOP)
