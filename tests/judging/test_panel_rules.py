"""Panel rules against counts by hand, against a slow fit of the same models, and turned around."""

import math
from itertools import product

import numpy as np
import pytest

from labeler.data import Failure, Judgement, Pair
from labeler.errors import BadInput, Misuse
from labeler.lab.members import Member, PanelOptions, panel_of
from labeler.lab.panel_rules import (
    PANEL_RULES,
    PRIOR,
    Votes,
    combine,
    disagreement,
    fit_bias,
    fit_dawid_skene,
    votes_of,
)

SCALE = (0, 1, 2, 3)


def votes(*rows: list[int | None], scale: tuple[int, ...] = SCALE) -> Votes:
    """Votes of pairs p0, p1 ...; a row holds the members' grades, None where there is none."""
    members = {
        f"m{column}": {
            Pair("q", f"p{number:04}"): row[column]
            for number, row in enumerate(rows)
            if row[column] is not None
        }
        for column in range(len(rows[0]))
    }
    return votes_of(members, scale)


def drawn_votes(pairs: int = 400, members: int = 4, seed: int = 0) -> Votes:
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 4, pairs)
    noise = rng.choice([-1, 0, 0, 0, 1], (pairs, members))
    grades = np.clip(true[:, None] + noise, 0, 3)
    lacking = rng.random((pairs, members)) < 0.1
    lacking[:, 0] = False
    rows = zip(grades.tolist(), lacking.tolist(), strict=True)
    return votes(*([None if no else g for g, no in zip(*row, strict=True)] for row in rows))


@pytest.mark.parametrize(
    ("grades", "median", "majority", "mean"),
    [
        ([0, 1, 3], 1, 1, 1),  # no two alike: of 0, 1 and 3 the nearest to 4/3
        ([0, 0, 3], 0, 0, 1),
        ([2, 2, 3], 2, 2, 2),
        ([0, 3, 3], 3, 3, 2),
        ([None, 0, 0], 0, 0, 0),
        ([1, None, None], 1, 1, 1),
        ([0, 0, 1, 3], 1, 0, 1),  # between 0 and 1, the mean 1 decides
        ([0, 2, 3, 3], 2, 3, 2),  # the middle 2.5 and the mean 2
        ([0, 0, 3, 3, 2], 2, 3, 2),  # 0 and 3 twice each: 3 is nearer to the mean 1.6
    ],
)
def test_grades_are_those_counted_by_hand(
    grades: list[int | None], median: int, majority: int, mean: int
) -> None:
    of = votes(grades)
    by_rule = {rule: int(combine(of, rule).values[0]) for rule in ("median", "majority", "mean")}
    assert by_rule == {"median": median, "majority": majority, "mean": mean}


@pytest.mark.parametrize("rule", PANEL_RULES)
def test_a_reversed_scale_gives_the_reversed_grades(rule: str) -> None:
    """So no rule leans to one side, but for coins, which fall either way."""
    of = drawn_votes()
    numbers = np.where(of.graded, 3 - of.values, -1)
    turned = Votes(of.members, of.grades, of.pairs, numbers, of.shares[:, :, ::-1])
    grades, others = (combine(side, rule).values for side in (of, turned))
    means = np.nanmean(of.numbers, axis=1)
    differ = grades != 3 - others
    assert differ.mean() < 0.2
    # those fell by a coin, between two grades as near to the mean
    assert np.abs(grades - means)[differ] == pytest.approx(np.abs(3 - others - means)[differ])


@pytest.mark.parametrize("rule", ["median", "majority", "mean"])
def test_ties_raise_no_grade_on_average(rule: str) -> None:
    tied = votes(*([low, low + 1] for low in [0, 1, 2] * 1000))
    apart = combine(tied, rule).values - np.nanmean(tied.numbers, axis=1)
    assert set(np.abs(apart)) == {0.5}
    # 3,000 fair coins: a standard error of .009 of a grade
    assert abs(apart.mean()) < 0.03
    again = combine(tied, rule).values
    assert np.array_equal(again - np.nanmean(tied.numbers, axis=1), apart)
    assert not np.array_equal(combine(tied, rule, seed=1).values, again)


def test_a_distribution_counts_in_the_mean() -> None:
    pair = Pair("q", "d")
    shares = {"a": {pair: {0: 0.1, 1: 0.9}}, "b": {pair: {2: 0.5, 3: 0.5}}}
    of = votes_of({"a": {pair: 1}, "b": {pair: 2}, "c": {pair: 3}}, SCALE, shares)
    grades = combine(of, "mean")
    assert grades.shares[0] == pytest.approx([0.1 / 3, 0.3, 0.5 / 3, 0.5])
    assert grades.expected[0] == pytest.approx((0.9 + 2.5 + 3) / 3)
    assert int(grades.values[0]) == 2


def slow_dawid_skene(rows: list[list[int | None]], k: int, rounds: int) -> list[list[float]]:
    """The same model, pair by pair and member by member, with nothing shared but its definition."""
    members = range(len(rows[0]))
    graded = [{m: g for m, g in enumerate(row) if g is not None} for row in rows]
    share = [[list(row.values()).count(t) / len(row) for t in range(k)] for row in graded]
    for _ in range(rounds):
        prior = [sum(s[t] for s in share) / len(share) for t in range(k)]
        matrix = {}
        for m, t in product(members, range(k)):
            given = [
                PRIOR + sum(s[t] for s, row in zip(share, graded, strict=True) if row.get(m) == g)
                for g in range(k)
            ]
            matrix[m, t] = [count / sum(given) for count in given]
        for number, row in enumerate(graded):
            odds = [prior[t] * math.prod(matrix[m, t][g] for m, g in row.items()) for t in range(k)]
            share[number] = [x / sum(odds) for x in odds]
    return share


def test_dawid_and_skene_is_what_a_slow_fit_gives() -> None:
    of = drawn_votes(60, 4, seed=3)
    rows = [[None if v < 0 else v for v in row] for row in of.values.tolist()]
    assert fit_dawid_skene(of, rounds=25).shares == pytest.approx(
        np.array(slow_dawid_skene(rows, 4, 25)), abs=1e-9
    )


def test_dawid_and_skene_finds_the_confusion_matrices_that_were_put_in() -> None:
    rng = np.random.default_rng(1)
    matrices = np.array(
        [
            [[0.9, 0.1], [0.3, 0.7]],
            [[0.8, 0.2], [0.1, 0.9]],
            [[0.7, 0.3]] * 2,
            [[0.6, 0.4], [0.2, 0.8]],
        ]
    )
    true = (rng.random(20_000) < 0.3).astype(int)
    grades = (rng.random((20_000, 4)) < matrices[:, :, 1].T[true]).astype(np.int64)
    one_hot = np.eye(2)[grades]
    pairs = tuple(Pair("q", str(n)) for n in range(len(true)))
    fit = fit_dawid_skene(Votes(tuple("abcd"), (0, 1), pairs, grades, one_hot))
    assert fit.prior == pytest.approx([0.7, 0.3], abs=0.03)
    # the third member says the same of every pair
    assert fit.confusion == pytest.approx(matrices, abs=0.04)


def test_biases_and_precisions_are_those_that_were_put_in() -> None:
    rng = np.random.default_rng(2)
    level = rng.normal(50, 8, 4000)
    biases, spreads = np.array([3.0, -2.0, -1.0]), np.array([1.0, 2.0, 4.0])
    grades = np.rint(level[:, None] + biases + rng.normal(0, spreads, (4000, 3))).astype(np.int64)
    scale = tuple(range(int(grades.min()), int(grades.max()) + 1))
    pairs = tuple(Pair("q", str(n)) for n in range(4000))
    places = grades - scale[0]
    of = Votes(("a", "b", "c"), scale, pairs, places, np.zeros((4000, 3, 1)))
    fit = fit_bias(of)
    assert fit.biases == pytest.approx(biases, abs=0.15)
    # rounding adds a twelfth
    assert fit.variances == pytest.approx(spreads**2 + 1 / 12, rel=0.1)
    assert np.corrcoef(fit.levels(of), level)[0, 1] > np.corrcoef(grades.mean(axis=1), level)[0, 1]


def test_disagreement_is_the_mean_difference_of_every_two_members() -> None:
    apart = disagreement(votes([0, 1, 3], [2, 2, 2], [1, None, 3], [1, None, None]))
    assert apart[:3] == pytest.approx([(1 + 3 + 2) / 3, 0, 2])
    assert np.isnan(apart[3])


A, B, C, D = (Pair("q", name) for name in "abcd")


def members() -> list[Member]:
    return [
        Member("first", {A: 2, B: 0}, {C: "refused"}),
        Member("second", {A: 3}, {B: "truncated", C: "refused"}),
        Member("third", {A: 2, B: 1, C: 0, D: 1}),
    ]


def test_a_member_without_a_grade_is_left_out_and_too_few_members_are_a_failure() -> None:
    panel = panel_of(members())
    rows = {row.outcome.pair: row for row in panel.rows}
    assert panel.fewest == 2
    assert isinstance(rows[A].outcome, Judgement)
    assert rows[A].outcome.grade == 2
    assert rows[A].members == {"first": 2, "second": 3, "third": 2}
    assert rows[A].disagreement == pytest.approx(2 / 3, abs=1e-6)
    assert rows[B].outcome.grade in {0, 1}
    failure = rows[C].outcome
    assert isinstance(failure, Failure)
    assert failure.status == "refused"
    assert "1 member has a grade, and 2 are needed" in failure.detail
    assert not hasattr(failure, "grade")
    # only one member was asked about d, so that it is no pair of the panel's
    assert D not in rows
    assert (panel.judged, panel.failed, panel.left_out) == (2, 1, 1)
    assert panel.qrels == {"q": {"a": 2, "b": rows[B].outcome.grade}}


def test_more_members_may_be_asked_for_or_fewer() -> None:
    assert panel_of(members(), PanelOptions(fewest=3)).judged == 1
    everything = panel_of(members(), PanelOptions(fewest=1))
    assert (everything.judged, everything.failed, everything.left_out) == (4, 0, 0)


def test_what_made_a_panel_names_rule_and_members() -> None:
    origin = panel_of(members()).origin
    assert origin.is_panel
    assert list(origin.members) == ["first", "second", "third"]
    changed = [*members()[:2], Member("third", {A: 3})]
    assert panel_of(changed).origin.members["third"] != origin.members["third"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (PanelOptions("modus"), "no rule 'modus'; known: median, majority, mean"),
        (PanelOptions(fewest=4), "expected 1 to 3"),
        (PanelOptions(scale=(0, 1)), "the grade 2 is outside of the scale 0:1"),
    ],
)
def test_a_panel_that_cannot_be_is_refused(options: PanelOptions, problem: str) -> None:
    with pytest.raises(Misuse, match=problem):
        panel_of(members(), options)


def test_two_members_are_too_few_to_weigh_and_one_is_no_panel() -> None:
    with pytest.raises(Misuse, match="dawid-skene takes 3 members or more"):
        panel_of(members()[:2], PanelOptions("dawid-skene"))
    with pytest.raises(Misuse, match="two members or more"):
        panel_of(members()[:1])
    with pytest.raises(Misuse, match="named twice"):
        panel_of([members()[0]] * 2)
    with pytest.raises(BadInput, match="no pair"):
        panel_of([Member("a", {A: 1}), Member("b", {B: 1})])
