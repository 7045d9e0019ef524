"""The alternative annotator test against a calculation by hand, and over queries."""

import math

import numpy as np
import pytest
from scipy import stats

import labeler
from labeler.agreement.align import GradeMatrix, grade_matrix
from labeler.agreement.alternative import alternative_test
from labeler.agreement.shown import alternative_table
from labeler.arrays import Integers
from labeler.data import Pair, Qrels
from labeler.errors import Misuse
from labeler.report.render import rendered_all
from labeler.stats.families import benjamini_yekutieli
from labeler.trec.pairs import PairColumns


def qrels(*grades: int | None) -> Qrels:
    """Grades of the pairs of two documents a query, None where there is none."""
    rows: Qrels = {}
    for number, grade in enumerate(grades):
        if grade is not None:
            rows.setdefault(f"q{number // 2}", {})[f"d{number}"] = grade
    return rows


PEOPLE = {
    "ann": qrels(0, 1, 2, 3, 0, 1),
    "bob": qrels(0, 1, 2, 2, 1, None),
    "cy": qrels(0, 2, 3, 3, 0, 3),
}
LLM = qrels(0, 1, 2, 3, 3, 0)


def matrix_of(query: Integers, grades: tuple[int, ...], values: Integers) -> GradeMatrix:
    """Grades of three people and an assessor; `query` is the place of each pair's query."""
    pairs = {Pair(f"q{at}", f"d{number}"): 0 for number, at in enumerate(query.tolist())}
    rows = PairColumns.of_pairs(pairs, np.int64)
    return GradeMatrix(("a", "b", "c", "llm"), grades, rows, values)


def test_shares_of_advantage_are_those_counted_by_hand() -> None:
    """Beside bob and cy, distances of ann: 0, .71, .71, .71, .71, 2; of the LLM: 0, .71, .71, .71,
    2.55, 3: as close in 4 of 6 pairs, and ann in all."""
    test = alternative_test(grade_matrix({**PEOPLE, "llm": LLM}, (0, 1, 2, 3)), "llm")
    ann, bob, cy = test.people
    assert (ann.pairs, ann.queries) == (6, 3)
    assert (ann.assessors, ann.persons) == (pytest.approx(4 / 6), pytest.approx(1))
    # bob graded 5: beside ann and cy he is at 0, .71, .71, 1, 1 and the LLM at 0, .71, .71, 0, 3
    assert (bob.pairs, bob.assessors, bob.persons) == (
        5,
        pytest.approx(4 / 5),
        pytest.approx(4 / 5),
    )
    # beside ann and bob, cy at 0, 1, 1, .71, .71, 2 and the LLM at 0, 0, 0, .71, 2.55, 1
    assert (cy.assessors, cy.persons) == (pytest.approx(5 / 6), pytest.approx(3 / 6))
    assert test.advantage.value == pytest.approx((4 / 6 + 4 / 5 + 5 / 6) / 3)
    assert (test.winning_rate, test.passes) == (0, False)
    assert test.verdict.startswith("so few queries show of no assessor")


@pytest.mark.parametrize(("queries", "may"), [(5, False), (6, True)])
def test_below_six_queries_it_is_said_that_nobody_could_pass(queries: int, may: bool) -> None:
    rng = np.random.default_rng(0)
    grades = np.column_stack([rng.integers(0, 3, (10 * queries, 3)), np.full(10 * queries, 1)])
    matrix = matrix_of(np.repeat(np.arange(queries), 10), (0, 1, 2, 3), grades)
    verdict = alternative_test(matrix, "llm").verdict
    assert ("however good" in verdict) is not may


def test_the_test_over_queries_is_a_t_test_of_a_ratio_over_queries() -> None:
    """With as many pairs in each query it is that of the queries' means, but for its freedom."""
    rng = np.random.default_rng(0)
    grades = rng.integers(0, 4, (400, 4))
    query = np.repeat(np.arange(40), 10)
    matrix = matrix_of(query, (0, 1, 2, 3), grades)
    row = alternative_test(matrix, "llm", 0.1).people[0]
    numbers = grades.astype(float)
    others = ((numbers[:, [1, 2]] - numbers[:, [3]]) ** 2).mean(axis=1)
    own = ((numbers[:, [1, 2]] - numbers[:, [0]]) ** 2).mean(axis=1)
    apart = ((own <= others) * 1.0 - (others <= own)).reshape(40, 10).mean(axis=1)
    assert row.difference == pytest.approx(apart.mean())
    guarded = np.append(apart, 1.0)  # a query that nobody saw, all of it lost
    error = guarded.std(ddof=1) / math.sqrt(41)
    assert row.p == pytest.approx(stats.t.cdf((guarded.mean() - 0.1) / error, 39 / 2.75))


def test_false_discoveries_are_kept_as_scipy_does() -> None:
    p = np.array([0.001, 0.03, 0.02, 0.8, 0.02])
    assert benjamini_yekutieli(p) == pytest.approx(stats.false_discovery_control(p, method="by"))


def test_an_assessor_that_takes_the_middle_of_all_people_wins_against_each() -> None:
    rng = np.random.default_rng(1)
    true = rng.integers(1, 4, 600)
    people = true[:, None] + rng.choice([-1, 0, 1], (600, 3))
    best = np.column_stack([people, np.rint(np.median(people, axis=1)).astype(int)])
    query = np.repeat(np.arange(30), 20)
    test = alternative_test(matrix_of(query, tuple(range(5)), best), "llm")
    assert (test.winning_rate, test.passes) == (1, True)
    assert "may stand in for a person: it wins against 3 of 3" in test.verdict
    assert all(0 < (row.p or 0) < 0.0005 for row in test.people)
    assert " 0.000 " not in rendered_all([alternative_table(test)], "table")


def test_pairs_of_a_query_that_go_together_do_not_pass_an_assessor() -> None:
    """In three of four queries it copies a person exactly, in the others it never hits."""
    true = np.tile(np.arange(4), 20)
    query = np.repeat(np.arange(4), 20)
    step = np.where(np.arange(80) % 3, 0, 1)
    people = np.column_stack([np.roll(step, n) + true for n in range(3)])
    llm = np.where(query < 3, true, true + 3)
    grades = np.column_stack([people, llm])
    test = alternative_test(
        matrix_of(query, tuple(range(8)), grades),
        "llm",
        0.2,
    )
    assert test.winning_rate == 0
    # the paper's t-test, which takes pairs for independent, would let it win against everybody
    for person in range(3):
        others = [other for other in range(3) if other != person]
        squares = (grades[:, [3, person]][:, :, None] - grades[:, None, others]) ** 2
        its, theirs = squares.mean(axis=2).T
        apart = (theirs <= its) * 1.0 - (its <= theirs)
        assert stats.ttest_1samp(apart, 0.2, alternative="less").pvalue < 0.01


def test_a_few_queries_that_are_all_alike_prove_nothing() -> None:
    """Everybody gives the same grades: no query differs from another, and no error is seen."""
    for queries, passes in ((3, False), (12, False), (25, False), (35, True), (60, True)):
        grades = np.tile(np.arange(4), 5 * queries)[:, None].repeat(4, axis=1)
        query = np.repeat(np.arange(queries), 20)
        matrix = matrix_of(query, (0, 1, 2, 3), grades)
        test = alternative_test(matrix, "llm")
        assert test.passes is passes


def test_it_stands_in_agree_where_three_people_graded() -> None:
    human, more = PEOPLE["ann"], {"bob": PEOPLE["bob"], "cy": PEOPLE["cy"]}
    report = labeler.agree(human, LLM, more_humans=more).assessors[0]
    assert report.alternative is not None
    assert [row.person for row in report.alternative.people] == ["human", "bob", "cy"]
    json = labeler.agree(human, LLM, more_humans=more).as_json()
    assert json["alternative"]["winning_rate"] == 0
    two = labeler.agree(human, LLM, more_humans={"bob": PEOPLE["bob"]}).assessors[0]
    assert two.alternative is None
    assert two.ceilings


def test_fewer_than_three_people_or_an_impossible_epsilon_are_refused() -> None:
    two = {name: PEOPLE[name] for name in ("ann", "bob")}
    with pytest.raises(Misuse, match="3 people or more"):
        alternative_test(grade_matrix({**two, "llm": LLM}, (0, 1, 2, 3)), "llm")
    with pytest.raises(Misuse, match=r"expected 0 to 0\.99"):
        labeler.AgreeOptions(epsilon=1.5)
