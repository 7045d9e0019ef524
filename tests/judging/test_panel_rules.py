"""Panel rules against counts by hand, against a slow fit of the same models, and turned around."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from labeler.agreement.align import GradeMatrix
from labeler.collection.judged_set import JudgedSet
from labeler.data import Failure, Judgement, Pair, State, judged
from labeler.errors import BadInput, Misuse
from labeler.lab.members import Member, PanelOptions, panel_of
from labeler.lab.panel_rules import (
    PANEL_RULES,
    combine,
    votes_of,
)
from labeler.trec.pairs import PairColumns

SCALE = (0, 1, 2, 3)


def votes(*rows: list[int | None], scale: tuple[int, ...] = SCALE) -> GradeMatrix:
    """Votes of pairs p0, p1 ...; a row holds the members' grades, None where there is none."""
    members = {
        f"m{column}": set_of(
            {
                Pair("q", f"p{number:04}"): grade
                for number, row in enumerate(rows)
                if (grade := row[column]) is not None
            }
        )
        for column in range(len(rows[0]))
    }
    return votes_of(members, scale)


def set_of(
    grades: Mapping[Pair, int],
    failures: Mapping[Pair, str] | None = None,
    shares: Mapping[int, float] | None = None,
) -> JudgedSet:
    """A set of judgements; of each pair the same distribution, where there is one."""
    states = {pair: judged(grade) for pair, grade in grades.items()}
    states |= {pair: State(None, status) for pair, status in (failures or {}).items()}
    return JudgedSet(PairColumns.of_pairs(states), shares=[shares] * len(states))


def drawn_votes(pairs: int = 400, members: int = 4, seed: int = 0) -> GradeMatrix:
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
    by_rule = {rule: int(combine(of, rule)[0]) for rule in ("median", "majority", "mean")}
    assert by_rule == {"median": median, "majority": majority, "mean": mean}


@pytest.mark.parametrize("rule", PANEL_RULES)
def test_a_reversed_scale_gives_the_reversed_grades(rule: str) -> None:
    """So no rule leans to one side, but for coins, which fall either way."""
    of = drawn_votes()
    numbers = np.where(of.graded, 3 - of.values, -1)
    turned = GradeMatrix(of.assessors, of.grades, of.pairs, numbers)
    grades, others = (combine(side, rule) for side in (of, turned))
    means = np.nanmean(of.numbers, axis=1)
    differ = grades != 3 - others
    assert differ.mean() < 0.2
    # those fell by a coin, between two grades as near to the mean
    assert np.abs(grades - means)[differ] == pytest.approx(np.abs(3 - others - means)[differ])


@pytest.mark.parametrize("rule", ["median", "majority", "mean"])
def test_ties_raise_no_grade_on_average(rule: str) -> None:
    tied = votes(*([low, low + 1] for low in [0, 1, 2] * 1000))
    apart = combine(tied, rule) - np.nanmean(tied.numbers, axis=1)
    assert set(np.abs(apart)) == {0.5}
    # 3,000 fair coins: a standard error of .009 of a grade
    assert abs(apart.mean()) < 0.03
    again = combine(tied, rule)
    assert np.array_equal(again - np.nanmean(tied.numbers, axis=1), apart)
    assert not np.array_equal(combine(tied, rule, seed=1), again)


def test_a_distribution_counts_in_the_mean() -> None:
    pair = Pair("q", "d")
    sets = {
        "a": set_of({pair: 1}, shares={0: 0.1, 1: 0.9}),
        "b": set_of({pair: 2}, shares={2: 0.5, 3: 0.5}),
        "c": set_of({pair: 3}),
    }
    of = votes_of(sets, SCALE)
    assert of.mean_shares[0] == pytest.approx([0.1 / 3, 0.3, 0.5 / 3, 0.5])
    assert int(combine(of, "mean")[0]) == 2


A, B, C, D = (Pair("q", name) for name in "abcd")


def members() -> list[Member]:
    return [
        Member("first", set_of({A: 2, B: 0}, {C: "refused"})),
        Member("second", set_of({A: 3}, {B: "truncated", C: "refused"})),
        Member("third", set_of({A: 2, B: 1, C: 0, D: 1})),
    ]


def test_a_member_without_a_grade_is_left_out_and_too_few_members_are_a_failure() -> None:
    panel = panel_of(members())
    rows = {row.outcome.pair: row.outcome for row, _ in panel.made_rows()}
    says = {row.outcome.pair: says["members"] for row, says in panel.made_rows()}
    assert panel.fewest == 2
    assert isinstance(rows[A], Judgement)
    assert rows[A].grade == 2
    assert says[A] == {"first": 2, "second": 3, "third": 2}
    assert isinstance(rows[B], Judgement)
    assert rows[B].grade in {0, 1}
    failure = rows[C]
    assert isinstance(failure, Failure)
    assert failure.status == "refused"
    assert "1 member has a grade, and 2 are needed" in failure.detail
    assert not hasattr(failure, "grade")
    # only one member was asked about d, so that it is no pair of the panel's
    assert D not in rows
    assert (panel.judged, panel.failed, panel.left_out) == (2, 1, 1)
    assert panel.qrels == {"q": {"a": 2, "b": rows[B].grade}}


def test_more_members_may_be_asked_for_or_fewer() -> None:
    assert panel_of(members(), PanelOptions(fewest=3)).judged == 1
    everything = panel_of(members(), PanelOptions(fewest=1))
    assert (everything.judged, everything.failed, everything.left_out) == (4, 0, 0)


def test_what_made_a_panel_names_rule_and_members() -> None:
    made = panel_of(members()).made
    assert made.title == "median of first, second, third"
    assert made.parameters == {"rule": "median", "fewest": 2, "seed": 0}
    changed = [*members()[:2], Member("third", set_of({A: 3}))]
    digests = [[each.digest for each in panel_of(of).members] for of in (members(), changed)]
    assert [a == b for a, b in zip(*digests, strict=True)] == [True, True, False]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"rule": "modus"}, "rule is median or majority or mean, not 'modus'"),
        ({"fewest": 4}, "expected 1 to 3"),
    ],
)
def test_a_panel_that_cannot_be_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(Misuse, match=problem):
        panel_of(members(), PanelOptions(**options))


def test_one_member_is_no_panel() -> None:
    with pytest.raises(Misuse, match="two members or more"):
        panel_of(members()[:1])
    with pytest.raises(Misuse, match="named twice"):
        panel_of([members()[0]] * 2)
    with pytest.raises(BadInput, match="no pair"):
        panel_of([Member("a", set_of({A: 1})), Member("b", set_of({B: 1}))])
