"""Verdicts on families of comparisons: what they are held against, and what bad company changes."""

import numpy as np
import pytest
from every_row import every_row
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.arrays import Floats
from labeler.metrics.scores import Weighting
from labeler.stats.families import (
    DRAWS,
    FLOOR,
    Family,
    Systems,
    compared,
    contenders,
    each_pair,
    p_of_all_pairs,
)
from labeler.stats.intervals import drawn_counts

FAMILIES: list[Family | None] = [None, "baseline", "all pairs", "hsd"]


def of_skills(*skills: float, queries: int = 40, seed: int = 0, spread: float = 0.1) -> Floats:
    """Values of systems that share the queries' difficulty, and lie at their skills in the mean."""
    rng = np.random.default_rng(seed)
    own = rng.normal(0, spread, (len(skills), queries))
    own -= own.mean(axis=1, keepdims=True)
    return rng.normal(0.5, 0.2, queries) + own + np.array(skills)[:, None]


def statistic(centred: Floats, counts: Floats) -> float:
    """How many errors the mean of one draw lies from 0, query by query."""
    values = np.repeat(centred, counts.astype(int))
    variance = max(float(values.var()), FLOOR * float((centred**2).mean()))
    return float(values.mean()) / np.sqrt(variance / (len(values) - 1))


def test_a_pair_is_held_against_its_own_statistic_in_each_draw() -> None:
    row = np.random.default_rng(1).normal(0.05, 0.2, 12)
    found = each_pair(row[None])[0]
    (counts,) = drawn_counts(12, DRAWS, 0)
    drawn = np.array([abs(statistic(row - row.mean(), each)) for each in counts[:2000]])
    t = row.mean() / np.sqrt(row.var() / 11)
    assert found.p == pytest.approx((drawn >= t).mean(), abs=0.04)  # 3 standard errors
    cut = np.quantile(drawn, 0.95)
    assert found.high - row.mean() == pytest.approx(cut * row.mean() / t, rel=0.1)


@every_row("family", FAMILIES)
def test_an_interval_leaves_0_out_just_where_the_two_are_told_apart(family: Family | None) -> None:
    words = set()
    for queries in (12, 40):
        values = of_skills(0, -0.02, -0.05, -0.09, -0.3, queries=queries)
        for verdict in compared(Systems(values, most=1.0), None, family, draws=999):
            assert verdict.is_told == (verdict.p < 0.05) == (verdict.low > 0 or verdict.high < 0)
            assert verdict.low <= verdict.estimate <= verdict.high
            words.add(verdict.word)
    assert len(words) > 1


@steadily(20)
@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(1, 30))
def test_the_two_systems_of_a_pair_are_told_apart_by_every_family_alike(
    seed: int, queries: int, weight: int
) -> None:
    values = of_skills(0.1, 0, queries=queries * 6, seed=seed)
    weighting = Weighting(np.where(np.arange(queries * 6) == 0, float(weight), 1.0))
    systems = Systems(values, weighting, 1.0)
    best, named, every = (
        compared(systems, base, family, draws=199)[0]
        for base, family in ((None, None), (1, None), (1, "all pairs"))
    )
    assert best.p == named.p == every.p
    assert abs(best.estimate) == pytest.approx(abs(named.estimate))


def test_two_systems_have_one_verdict_whatever_else_there_is() -> None:
    values = of_skills(0, -0.06, -0.1, -0.4)
    (alone,) = each_pair(values[1:2] - values[0], 1.0)
    beside = each_pair(values[1:] - values[0], 1.0)[0]
    assert (alone.p, alone.word) == (beside.p, beside.word)
    (of_two,) = compared(Systems(values[:2], most=1.0), 0)
    assert (of_two.p, of_two.low, of_two.high) == pytest.approx((alone.p, alone.low, alone.high))


def test_a_system_that_is_far_worse_takes_nothing_from_the_others() -> None:
    good = of_skills(0, -0.01, -0.08)
    worse = of_skills(*[-0.4] * 7, seed=5, spread=0.25)
    few, many = (Systems(values, most=1.0) for values in (good, np.concatenate([good, worse])))
    for family in (None, "all pairs"):
        before, after = (p_of(systems, family) for systems in (few, many))
        assert after[0, 2] < 0.05
        assert before[0, 2] < 0.05
    assert contenders(many).tolist() == [True, True, *[False] * 8]
    by_hsd = [v for v in compared(many, 0, "hsd", draws=999) if v.first == 2]
    assert not by_hsd[0].is_told


def p_of(systems: Systems, family: Family | None) -> Floats:
    """The p of every two systems, or of the best and the others."""
    if family == "all pairs":
        return p_of_all_pairs(systems)
    p = np.ones((len(systems.values), len(systems.values)))
    for verdict in compared(systems, None, family):
        p[verdict.second, verdict.first] = verdict.p
    return p


def test_of_few_queries_each_system_may_be_the_best_or_is_not() -> None:
    verdicts = compared(Systems(of_skills(0, -0.01, -0.2, queries=12), most=1.0))
    assert [verdict.word for verdict in verdicts] == ["may be the best", "not the best"]


def test_hsd_holds_a_difference_against_the_largest_of_values_dealt_at_random() -> None:
    values = of_skills(0, -0.1, -0.12, queries=30)
    verdicts = compared(Systems(values, most=1.0), 0, "hsd")
    rng = np.random.default_rng(9)
    ranges = [np.ptp(rng.permuted(values, axis=0).mean(axis=1)) for _ in range(2000)]
    for verdict in verdicts:
        wanted = np.mean(np.array(ranges) >= abs(verdict.estimate))
        assert verdict.p == pytest.approx(wanted, abs=0.03)


@every_row("queries", [0, 1])
def test_of_one_query_or_none_nothing_is_said(queries: int) -> None:
    (verdict,) = compared(Systems(np.ones((2, queries)) * [[0.2], [0.4]], most=1.0))
    assert verdict.ends == (None, None)
    assert not verdict.is_told
    assert verdict.word == ("unresolvable" if queries else "undefined")


def test_alike_systems_that_vary_unlike_each_other_are_rarely_told_apart() -> None:
    """Each with its own variance, some of them skewed: 3 of 60 wrong are expected, and 1.7 off."""
    rng = np.random.default_rng(3)
    scale = np.array([0.05] * 5 + [0.3] * 3)[:, None]
    wrong = np.zeros(2)
    for seed in range(60):
        own = rng.exponential(1.0, (8, 43)) - 1.0
        values = rng.normal(0.5, 0.2, 43) + scale * own * np.where(np.arange(8) % 2, 1, -1)[:, None]
        for place, family in enumerate((None, "all pairs")):
            told = [v.is_told for v in compared(Systems(values), None, family, seed, 299)]
            wrong[place] += any(told)
    assert (wrong <= 8).all()


def test_of_three_alike_systems_the_best_is_told_as_seldom_as_any_of_all_pairs() -> None:
    """The best of the sample lies below the best of other draws, and that counts, too."""
    values = np.random.default_rng(4).normal(size=(3, 40))
    best = max(compared(Systems(values)), key=lambda v: abs(v.estimate))
    pairs = compared(Systems(values), family="all pairs")
    (same,) = (v for v in pairs if {v.first, v.second} == {best.first, best.second})
    assert best.p == pytest.approx(same.p, abs=0.01)
