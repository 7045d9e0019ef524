"""One engine of intervals: what it draws, what it stretches, and that nobody gets another."""

import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from examples import steadily
from hypothesis import given
from hypothesis import strategies as st

from labeler.agreement.statistics import find_statistic
from labeler.arrays import Floats
from labeler.data import Qrels, Run
from labeler.evaluation.leaderboard import leaderboard_of
from labeler.evaluation.scores import Comparing, summary_interval
from labeler.evaluation.two_sided import two_qrels
from labeler.metrics import evaluate, parse
from labeler.metrics.scores import Weighting
from labeler.stats.families import Verdict, each_pair
from labeler.stats.intervals import (
    Replicates,
    Sample,
    between,
    cluster_bootstrap,
    degrees,
    drawn_counts,
    jackknife,
    of_next_set,
    percentile,
    stretched,
)
from labeler.stats.means import bounded_interval, effect_of, mean_interval
from labeler.stats.student import t_of

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "scripts"))

from simulate_coverage import simulated

Draw = Callable[[np.random.Generator, int], Floats]
RNG = np.random.default_rng(0)
TABLES = simulated(RNG, 30)


def kappa(tables: Floats) -> Floats:
    return find_statistic("kappa", range(4)).compute(tables, np.arange(4.0))


def two_rankings(queries: int) -> tuple[Qrels, Qrels, dict[str, Run]]:
    """Two qrels, and a run that has one value of RR by each, some queries at 1."""
    rng = np.random.default_rng(8)
    docs = [f"d{place}" for place in range(6)]
    ids = [f"q{number:02}" for number in range(queries)]
    first, second = (
        {query: dict.fromkeys(docs, 0) | {docs[rng.integers(0, 6)]: 1} for query in ids}
        for _ in range(2)
    )
    run = {query: {doc: -float(place) for place, doc in enumerate(docs)} for query in ids}
    return first, second, {"a": run, "b": {q: dict(row) for q, row in run.items()}}


def test_the_same_differences_get_the_same_interval_from_whoever_is_asked() -> None:
    """Of two qrels in a leaderboard, and of two runs in a comparison."""
    first, second, runs = two_rankings(30)
    board = leaderboard_of(two_qrels(first, second), runs, parse("RR"), 3)
    assert board is not None
    scores = [evaluate(qrels, runs["a"], ["RR"]) for qrels in (first, second)]
    comparing = Comparing({"first": scores[0], "second": scores[1]}, "first", 3)
    (found,) = comparing.by(comparing.measures[0])
    system = board.systems[0]
    assert (system.difference, system.low, system.high) == pytest.approx(
        (found.difference, found.low, found.high)
    )
    differences = board.scores[1, 0] - board.scores[0, 0]
    assert (system.low, system.high) == pytest.approx(pair(differences, 1.0, 3).ends)


def pair(differences: Floats, most: float = math.inf, seed: int = 0) -> Verdict:
    return each_pair(differences[None], most, seed)[0]


def test_the_mean_of_a_measure_has_the_interval_of_the_engine_within_its_bounds() -> None:
    values = RNG.beta(2, 2, size=40)
    ours = mean_interval(values, seed=5)
    assert ours is not None
    assert summary_interval(parse("nDCG@10"), values, 5) == pytest.approx(ours)
    sums = np.stack([values, np.ones(40)], axis=1)
    of = Replicates(Sample(sums, seed=5), lambda s: s[..., 0] / s[..., 1], freedom=39)
    assert cluster_bootstrap(of) == ours


def test_an_undefined_query_does_not_change_the_interval_of_the_others() -> None:
    values = RNG.random(12)
    assert mean_interval(np.append(values, np.nan)) == mean_interval(values)
    assert mean_interval(np.array([0.5, np.nan])) is None


@steadily()
@given(st.integers(1, 9), st.integers(1, 30), st.integers(0, 3))
def test_draws_in_blocks_are_the_draws_at_once(queries: int, draws: int, seed: int) -> None:
    import labeler.stats.intervals as engine

    whole = np.concatenate(list(drawn_counts(queries, draws, seed)))
    rng = np.random.default_rng(seed)
    halves = [engine._counts(rng, size, queries) for size in (draws // 2, draws - draws // 2)]
    np.testing.assert_array_equal(np.concatenate(halves), whole)
    assert set(whole.sum(axis=1)) == {float(queries)}


def test_one_query_has_no_interval_by_any_method() -> None:
    assert between(Sample(TABLES[:1]), kappa) == (None, None)


def test_draws_are_of_whole_queries_and_as_many() -> None:
    alike = Sample(np.repeat(TABLES[:1], 30, axis=0), draws=50)
    np.testing.assert_array_equal(alike.resampled, np.repeat(alike.total[None], 50, axis=0))
    sizes = Sample(np.ones((30, 1, 1)), draws=50)
    assert set(sizes.resampled.ravel()) == {30.0}


def test_resampled_tables_are_what_a_loop_over_draws_gives() -> None:
    sample = Sample(TABLES, draws=20, seed=4)
    chosen = np.random.default_rng(4).integers(0, 30, (20, 30))
    for draw, places in zip(sample.resampled, chosen, strict=True):
        np.testing.assert_allclose(draw, TABLES[places].sum(axis=0))


def test_the_jackknife_of_a_mean_is_its_t_interval() -> None:
    from scipy import stats

    values = RNG.random(12)
    sums = np.stack([values, np.ones(12)], axis=1)
    low, high = jackknife(Replicates(Sample(sums), lambda s: s[..., 0] / s[..., 1])) or (0, 0)
    expected = stats.t.interval(0.95, 11, values.mean(), values.std(ddof=1) / np.sqrt(12))
    assert (low, high) == pytest.approx(expected)


def test_percentiles_of_a_mean_equal_scipys_draw_for_draw() -> None:
    from scipy import stats

    values = RNG.gamma(1.5, size=40)
    sample = Sample(np.stack([values, np.ones(40)], axis=1), draws=2000, seed=1)
    ours = percentile(Replicates(sample, lambda s: s[..., 0] / s[..., 1]))
    rng = np.random.default_rng(1)
    found = stats.bootstrap((values,), np.mean, n_resamples=2000, method="percentile", rng=rng)
    assert ours == pytest.approx(found.confidence_interval)


def test_the_default_is_never_narrower_than_percentiles_or_jackknife() -> None:
    kappas = Replicates(Sample(TABLES), kappa, bounded=True)
    ours = cluster_bootstrap(kappas)
    assert ours is not None
    for other in (percentile(kappas), jackknife(kappas)):
        assert other is not None
        assert ours[0] <= other[0] < other[1] <= ours[1]


def test_percentiles_are_stretched_as_far_as_t_exceeds_the_normal() -> None:
    from scipy import stats

    sample = Sample(TABLES)
    kappas = Replicates(sample, kappa)
    plain, ours = percentile(kappas), stretched(kappas)
    assert plain is not None
    assert ours is not None
    value = float(kappa(sample.total))
    factor = stats.t.ppf(0.975, 29 / 2.75) * np.sqrt(30 / 29) / stats.norm.ppf(0.975)
    assert value - ours[0] == pytest.approx(factor * (value - plain[0]))
    assert ours[1] - value == pytest.approx(factor * (plain[1] - value))
    assert [degrees(n) for n in (2, 5, 10)] == [1, 4, 6]


@pytest.mark.parametrize(("queries", "draws"), [(10, 10_000), (50, 5_000), (300, 1_000)])
def test_few_queries_get_more_draws(queries: int, draws: int) -> None:
    assert Sample(np.ones((queries, 1))).count == draws
    assert Sample(np.ones((queries, 1)), draws=200).count == 200


def test_the_same_seed_gives_the_same_interval_and_another_another() -> None:
    a, b, c = (percentile(Replicates(Sample(TABLES, seed=seed), kappa)) for seed in (1, 1, 2))
    assert a == b != c


@pytest.mark.parametrize("value", [0.0, 0.1])
def test_alike_differences_leave_open_how_many_queries_differ(value: float) -> None:
    found = pair(np.full(10, value), 1.0)
    # Wilson's interval of 0 of 10: z² / (n + z²)
    assert found.high - value == pytest.approx(1.959964**2 / (10 + 1.959964**2))
    assert found.low == pytest.approx(2 * value - found.high)
    assert not found.is_told
    assert pair(np.full(10, value)).ends == (None, None)


@pytest.mark.sweep
@pytest.mark.parametrize("queries", [10, 25])
def test_differences_of_first_places_are_held_where_few_queries_differ(queries: int) -> None:
    rng = np.random.default_rng(4)
    held = 0
    for seed in range(200):
        values = rng.choice([-1.0, -0.5, 0.0, 1.0], size=queries, p=[0.04, 0.04, 0.9, 0.02])
        low, high = pair(values, 1.0, seed).ends
        held += low <= -0.04 <= high
    assert held >= 190  # without the ties .66 and .90 of them


def test_an_interval_holds_zero_where_no_test_could_exclude_it() -> None:
    values = np.zeros(30)
    values[:5] = -1.0  # p is 1 / 16 at least
    low, high = pair(values, 1.0).ends
    assert low is not None
    assert high is not None
    assert low < -0.3
    assert high >= 0


@pytest.mark.parametrize("value", [0.0, 0.5, 0.9, 1.0])
def test_ten_alike_scores_have_an_interval_wherever_they_lie(value: float) -> None:
    low, high = bounded_interval(np.full(10, value), (0.0, 1.0)) or (value, value)
    fewer = 1.959964**2 / (10 + 1.959964**2)
    assert low == pytest.approx(value - fewer * value)
    assert high == pytest.approx(value + fewer * (1 - value))


def test_another_set_lies_where_students_prediction_has_it() -> None:
    """With as many queries: t s sqrt(1/n + 1/n) about the mean."""
    values = np.random.default_rng(1).normal(0.5, 0.1, 20)
    mean, reach = float(values.mean()), t_of(19) * values.std(ddof=1) / np.sqrt(20)
    low, high = of_next_set(mean, mean - reach, mean + reach)
    half = t_of(19) * values.std(ddof=1) * np.sqrt(1 / 20 + 1 / 20)
    assert (low, high) == pytest.approx((mean - half, mean + half))
    assert of_next_set(0.9, 0.5, 1.0, (0.0, 1.0)) == pytest.approx((0.9 - 0.4 * 2**0.5, 1.0))


def test_an_effect_is_the_mean_in_standard_deviations_however_queries_weigh() -> None:
    values = np.random.default_rng(3).normal(0.3, 1.0, 20)
    effect, low, high = effect_of(values)
    assert effect == pytest.approx(values.mean() / values.std(ddof=1))
    assert effect_of(values, Weighting(np.full(20, 3.0))) == pytest.approx((effect, low, high))
    assert effect_of(10 * values) == pytest.approx((effect, low, high))
    assert effect_of(-values) == pytest.approx((-effect, -high, -low))
    weights = np.random.default_rng(4).random(20)
    mean = np.average(values, weights=weights)
    expected = mean / np.sqrt(np.cov(values, aweights=weights))
    assert effect_of(values, Weighting(weights))[0] == pytest.approx(expected)


@pytest.mark.parametrize("values", [[0.1] * 9, [0.0] * 5, [0.0, 0.0, 0.0, 1.0], [0.5], [1.0, 2.0]])
def test_no_effect_is_said_of_differences_that_are_alike_without_one(values: list[float]) -> None:
    assert np.isnan(effect_of(np.array(values))).all()


def lognormal(rng: np.random.Generator, queries: int) -> Floats:
    return np.exp(rng.normal(0.0, 0.8, queries)) - 1.2


def mostly_tied(rng: np.random.Generator, queries: int) -> Floats:
    return np.where(rng.random(queries) < 0.6, 0.0, rng.normal(0.2, 0.3, queries))


@pytest.mark.parametrize("draw", [lognormal, mostly_tied])
@pytest.mark.parametrize("queries", [10, 25, 50])
def test_intervals_of_effects_hold_in_skewed_and_tied_worlds(draw: Draw, queries: int) -> None:
    many = draw(np.random.default_rng(0), 400_000)
    truth, rng = many.mean() / many.std(), np.random.default_rng(queries)
    ends = [effect_of(draw(rng, queries)) for _ in range(300)]
    held = [low <= truth <= high for _, low, high in ends if not np.isnan(low)]
    assert np.mean(held) >= 0.93
