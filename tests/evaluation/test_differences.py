"""The spans of two systems' differences at a query, against every grade of what is not judged."""

import random
from itertools import product

import pytest
from numpy.testing import assert_allclose

from labeler.errors import Misuse
from labeler.evaluation.differences import Differences
from labeler.metrics import parse
from labeler.metrics.judged import rankings

DOCUMENTS, TOP, CASES = [f"d{n}" for n in range(6)], 2, 12
EXACT = ["P@4", "P(rel=2)@3", "RR@4", "RR(rel=2)@3", "Success@3", "Success(rel=2)@4"]
MEASURES = ["nDCG@4", "nDCG(dcg='exp-log2')@3", *EXACT]
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
        documents = differences.documents(*two)
        low, high = differences.span(documents, grades)
        values = [value for _, value in cases]
        assert low <= min(values) + 1e-9
        assert high >= max(values) - 1e-9
        if name in EXACT:
            assert_allclose((low, high), (min(values), max(values)), atol=1e-9)
        if min(values) >= 0:
            assert_allclose(high, max(values), atol=1e-9)
        whole, value = cases[-1]
        assert_allclose(differences.span(documents, whole), (value, value), atol=1e-9)


@pytest.mark.parametrize("name", MEASURES)
def test_what_is_not_asked_for_changes_no_difference(name: str) -> None:
    differences = Differences(parse(name), TOP)
    for two, grades, cases in worlds(name):
        documents = differences.documents(*two)
        for whole, value in cases:
            told = dict(grades)
            while asked := differences.to_judge(documents, told):
                told |= {doc: whole[doc] for doc in asked}
            assert_allclose(differences.span(documents, told), value, atol=1e-9)


def test_lists_that_are_alike_differ_by_nothing_and_irrelevant_moves_leave_the_rest_alone() -> None:
    differences = Differences(parse("nDCG@4"), TOP)
    assert differences.span(differences.documents(["a", "b"], ["a", "b"]), {}) == (0.0, 0.0)
    documents = differences.documents(["a", "b", "c"], ["a", "c", "b"])
    assert differences.to_judge(documents, {}) == ["b", "c"]
    assert differences.span(documents, {"b": 0, "c": 0}) == (0.0, 0.0)
    assert differences.to_judge(documents, {"b": 0, "c": 0}) == ["a"]


def test_of_first_ranks_the_upper_ones_are_asked_for_first() -> None:
    lists = ["a", "b", "c", "d", "e", "f"], ["a", "x", "y", "z", "v", "w"]
    differences = Differences(parse("RR@6"), TOP)
    documents = differences.documents(*lists)
    assert differences.to_judge(documents, {}) == ["a", "b", "x"]
    assert differences.span(documents, {"a": 1}) == (0.0, 0.0)
    below = {"a": 0, "b": 0, "x": 0}
    assert differences.to_judge(documents, below) == ["c", "d", "e", "f", "y", "z", "v", "w"]
    assert differences.to_judge(documents, {**below, "c": 1, "y": 1}) == []


def test_by_precision_a_document_that_both_return_is_never_asked_for() -> None:
    differences = Differences(parse("P@3"), TOP)
    assert differences.to_judge(differences.documents(["a", "b"], ["b", "c"]), {}) == ["a", "c"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Bpref", "without a cutoff"),
        ("nDCG", "without a cutoff"),
        ("RR", "without a cutoff"),
        ("R@10", "so many relevant documents as nobody knows of"),
        ("AP@10", "so many relevant documents as nobody knows of"),
        ("ERR@10", "no bounds of it are worked out"),
        ("P(judged_only=True)@10", "it leaves out what nobody judged"),
    ],
)
def test_a_measure_that_has_no_bounds_is_refused_with_the_reason(name: str, why: str) -> None:
    with pytest.raises(Misuse, match=f"{why}.*; decide by nDCG@10 or P@10 or RR@10 or Success@10"):
        Differences(parse(name), TOP)
