"""Tests of all pairs of systems by two qrels, and how far the two agree on what differs."""

import numpy as np
import pytest
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.arrays import Floats
from labeler.evaluation.two_sided import decisions
from labeler.stats.correlation import (
    correlations,
    noise_ceiling,
    tau_b,
)
from labeler.stats.families import Systems, p_of_all_pairs


@steadily(50)
@given(st.integers(2, 8), st.integers(0, 1000))
def test_every_pair_is_counted_once_and_every_call_is_confirmed_or_not(
    systems: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    means = np.round(rng.random((2, systems)), 1)
    p = [np.maximum(side, side.T) for side in rng.random((2, systems, systems)) * 0.2]
    found = decisions(means, p)
    assert found.pairs == systems * (systems - 1) // 2
    assert found.AA + found.unconfirmed == found.significant_second
    assert found.AA + found.missed == found.significant_first
    active, mixed = found.AA + found.AD, found.MA + found.MD
    assert found.significant_first + found.significant_second == 2 * active + mixed
    turned = decisions(means[::-1], p[::-1])
    assert turned.significant_first == found.significant_second
    assert turned.unconfirmed == found.missed


def test_an_assessor_agrees_with_itself_and_a_reversed_one_says_the_opposite() -> None:
    rng = np.random.default_rng(1)
    scores = rng.random((12, 30)) * 0.3 + np.linspace(0, 0.6, 12)[:, None]
    p = p_of_all_pairs(Systems(scores))
    means = scores.mean(axis=1)
    same = decisions(np.array([means, means]), [p, p])
    assert same.unconfirmed == same.missed == 0
    assert same.unconfirmed_share == 0
    turned = decisions(np.array([means, -means]), [p, p])
    assert turned.AD == turned.significant_first == turned.unconfirmed > 40
    assert turned.unconfirmed_share == 1
    assert decisions(np.array([means, means]), [p, np.ones_like(p)]).unconfirmed_share is None


def close_systems(systems: int, queries: int) -> Floats:
    rng = np.random.default_rng(systems)
    skill = rng.normal(0, 0.05, (systems, 1))
    return rng.beta(1.2, 1.2, queries) + skill + 0.18 * rng.normal(size=(systems, queries))


@pytest.mark.sweep
@pytest.mark.parametrize(("systems", "queries"), [(61, 25), (61, 43), (11, 43)])
def test_the_noise_ceiling_is_what_two_samples_of_queries_have_in_common(
    systems: int, queries: int
) -> None:
    world = close_systems(systems, 2000)
    rng = np.random.default_rng(0)
    rows = []
    for repeat in range(60):
        one, other = (world[:, rng.integers(2000, size=queries)] for _ in range(2))
        told = noise_ceiling(one, repeat)
        rows.append((told, tau_b(one.mean(axis=1), other.mean(axis=1))))
    told, truth = np.mean(rows, axis=0)
    assert told == pytest.approx(truth, abs=0.06)


def test_there_is_no_noise_ceiling_of_three_queries_or_of_one_system() -> None:
    scores = np.random.default_rng(0).random((5, 4))
    assert noise_ceiling(scores) is not None
    assert noise_ceiling(scores[:, :3]) is None
    assert noise_ceiling(scores[:1]) is None
    assert noise_ceiling(np.ones((5, 10))) is None


def test_an_interval_that_says_nothing_is_not_given() -> None:
    rng = np.random.default_rng(2)
    people = rng.random((5, 6))
    found = correlations(people, people + rng.normal(0, 0.3, people.shape))
    for row in found.values():
        if row.open:
            assert (row.low, row.high) == (None, None)
        elif row.low is not None and row.high is not None:
            assert row.high - row.low < 0.6 * 2
    assert any(row.open for row in found.values())
    sure = correlations(people + np.arange(5.0)[:, None], people + np.arange(5.0)[:, None])
    assert not any(row.open for row in sure.values())
