"""Intervals hold the truth as often as they say, where the naive one does not."""

import sys
from pathlib import Path

import numpy as np
import pytest

from labeler.agreement.compare import (
    COVERED_BY_FEW,
    StatisticOptions,
    compare_labels,
)
from labeler.agreement.statistics import find_statistic
from labeler.arrays import Floats
from labeler.data import Qrels
from labeler.stats.intervals import Replicates, Sample, degrees, degrees_of, jackknife, of_tables
from labeler.stats.student import t_of
from labeler.trec.files import read_qrels
from labeler.trec.labels import read_labels

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "scripts"))

from simulate_coverage import (
    METHODS,
    OURS,
    PLAIN,
    STATISTICS,
    Plan,
    covered_shares,
    dl19,
    resampled,
    simulated,
    skewed,
    tallies,
)

RNG = np.random.default_rng(0)
TABLES = simulated(RNG, 30)


def kappa(tables: Floats) -> Floats:
    return find_statistic("kappa", range(4)).compute(tables, np.arange(4.0))


def test_one_query_has_no_interval_and_says_so() -> None:
    grades = {"q": {str(d): d % 3 for d in range(30)}}
    found = compare_labels(grades, grades)
    assert found.statistics["kappa"].value == 1.0
    assert found.statistics["kappa"].low is None
    assert any("one query only" in warning for warning in found.warnings)


def test_no_interval_leaves_the_statistics_range() -> None:
    people = {"q1": {"a": 1, "b": 0}, "q2": {"a": 0}}
    other = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}}
    found = compare_labels(people, other).statistics
    assert (found["bias"].low, found["bias"].high) == (-3.0, 3.0)
    assert found["mae"].low == 0.0
    assert (found["agreement"].low, found["agreement"].high) == (0.0, 1.0)


def test_perfect_agreement_leaves_open_what_another_query_would_show() -> None:
    """And one pair that differs hardly changes the interval."""
    grades = {f"q{q}": {str(d): d % 3 for d in range(30)} for q in range(30)}
    found = compare_labels(grades, grades).statistics["kappa"]
    assert found.value == found.high == 1.0
    # t times what 0.7 of a query by chance takes from kappa
    assert found.low == pytest.approx(1 - t_of(degrees(30)) * (0.7 / 30) / (1 + 0.7 / 30))
    other = {**grades, "q3": {**grades["q3"], "4": 2}}
    beside = compare_labels(grades, other).statistics["kappa"]
    assert beside.low == pytest.approx(found.low, abs=0.01)


def test_the_degrees_of_freedom_count_queries_that_bear_on_the_statistic() -> None:
    """A thousand pairs that nobody finds relevant add nothing to what is known of grade 3."""
    tables = np.zeros((30, 4, 4))
    tables[:, 0, 0] = 100
    tables[:, 3, 3] = tables[:, 0, 3] = [20] * 2 + [1] * 28
    rare = Replicates(Sample(tables), find_statistic("kappa>=3", range(4)))
    tables[:, 0, 0] += 1000
    rarer = Replicates(Sample(tables), find_statistic("kappa>=3", range(4)))
    assert degrees_of(rare) == degrees_of(rarer) == 4.0
    assert degrees_of(Replicates(Sample(tables), find_statistic("bias", range(4)))) < degrees(30)


@pytest.mark.parametrize("name", ["kappa", "kappa-quadratic", "tau-b", "mae", "kappa>=2"])
def test_an_interval_of_many_like_queries_is_the_jackknifes(name: str) -> None:
    """What is added for a query that was not drawn vanishes with their number."""
    of = Replicates(Sample(simulated(RNG, 3000)), find_statistic(name, range(4)))
    ours, plain = of_tables(of), jackknife(of)
    assert ours is not None
    assert plain is not None
    assert ours == pytest.approx(plain, abs=0.04 * (plain[1] - plain[0]))


def test_few_queries_are_warned_of_with_what_was_measured() -> None:
    rng = np.random.default_rng(2)
    people = {f"q{q}": {str(d): int(rng.integers(0, 3)) for d in range(30)} for q in range(8)}
    options = StatisticOptions(("kappa",), draws=100)
    (warning,) = compare_labels(people, people, None, options).warnings
    assert "only 8 queries" in warning
    assert COVERED_BY_FEW in warning
    options = StatisticOptions(("bias",), draws=100)
    _, exact = compare_labels(people, people, None, options).warnings
    assert "bias: no width to the interval" in exact


@pytest.mark.parametrize(("queries", "warned"), [(20, True), (49, True), (50, False)])
def test_what_was_simulated_is_not_said_of_other_numbers_of_queries(
    queries: int, warned: bool
) -> None:
    options = StatisticOptions(("kappa",), draws=100)
    warnings = map(str, compare_labels(*two_of(queries), None, options).warnings)
    assert any("with 3 to 50 of them 87" in text for text in warnings) is warned


def test_what_is_said_of_coverage_depends_on_the_number_of_queries_alone(shared: Path) -> None:
    """What a sample shows of its oddness would be silent on those that missed the odd queries."""
    people = read_qrels(shared / "dl19" / "nist.qrels")
    said = set()
    for judge in ("gpt-4o", "llama-3.1-8b"):
        labels = read_labels(shared / "dl19" / f"{judge}.qrels").labels
        found = compare_labels(people, labels, None, StatisticOptions(draws=100))
        (one,) = found.warnings
        said.add(str(one))
    even = compare_labels(*two_of(43), None, StatisticOptions(("kappa",), draws=100)).warnings
    assert {str(one) for one in even} == said
    assert f"{COVERED_BY_FEW} of 100 such intervals" in said.pop()


def test_enough_queries_are_not_warned_of() -> None:
    assert compare_labels(*two_of(60), None, StatisticOptions(draws=100)).warnings == ()


def test_a_value_without_an_interval_says_why() -> None:
    """Grade 3 in one query only: without that query kappa at 3 is undefined."""
    people = {f"q{q}": {str(d): d % 3 for d in range(9)} for q in range(10)}
    people["q0"] = {str(d): 3 if d < 4 else 0 for d in range(9)}
    other = {q: {d: 0 if d == "5" else g for d, g in row.items()} for q, row in people.items()}
    other["q0"]["3"] = 0
    found = compare_labels(people, other, None, StatisticOptions(("kappa", "kappa>=3")))
    rare = found.statistics["kappa>=3"]
    assert rare.value is not None
    assert rare.low is None
    assert any("kappa>=3: no interval, for without some" in one for one in found.warnings)


def two_of(queries: int) -> tuple[Qrels, Qrels]:
    """Two raters of chance."""
    rng = np.random.default_rng(3)
    first, second = (
        {f"q{q}": {str(d): int(rng.integers(0, 4)) for d in range(20)} for q in range(queries)}
        for _ in range(2)
    )
    return first, second


def test_a_part_of_the_pairs_keeps_its_queries() -> None:
    people = {f"q{q}": {str(d): (d + q) % 3 for d in range(5)} for q in range(4)}
    pairs = compare_labels(people, people).paired
    some = pairs.keep(np.isin(np.arange(20), [0, 1, 17]))
    assert some.pairs.queries == ("q0", "q3")
    assert some.tables().sum(axis=(1, 2)).tolist() == [2.0, 1.0]


@pytest.mark.sweep
def test_intervals_over_queries_cover_where_naive_ones_do_not() -> None:
    truth = simulated(np.random.default_rng(1), 100_000).sum(axis=0)
    shares = covered_shares(simulated, truth, 25, 200, ("kappa",))["kappa"]
    assert shares["naive"] < 0.5
    assert shares[OURS] > 0.93


@pytest.mark.sweep
@pytest.mark.parametrize("queries", [10, 25])
def test_of_unequal_queries_intervals_hold_and_miss_the_low_side_less(queries: int) -> None:
    """Where large queries are rich and judged better, samples without them are too low.

    Of 4,000 repeats .937 to .975 held; the noise of 300 is .014.
    """
    truth = skewed(np.random.default_rng(1), 100_000).sum(axis=0)
    counted = tallies(skewed, truth, queries, Plan(300, ("kappa>=3", "kappa-quadratic"), METHODS))
    for row in counted.values():
        plain, ours = row[PLAIN], row[OURS]
        assert ours.below < 0.7 * plain.below
        assert ours.share > 0.91
        assert np.median(ours.widths) < 1.4 * np.median(plain.widths)


@pytest.mark.slow
@pytest.mark.parametrize("queries", [25, 50])
def test_coverage_is_as_nominal(shared: Path, queries: int) -> None:
    """Between 92 and 99 of 100 in both worlds (93 to 98.5, and the noise of 1,000 repeats)."""
    tables = dl19(shared / "dl19", "gpt-4o")
    for world, truth in (
        (simulated, simulated(np.random.default_rng(1), 400_000).sum(axis=0)),
        (resampled(tables), tables.sum(axis=0)),
    ):
        for shares in covered_shares(world, truth, queries, 1000, STATISTICS).values():
            assert 0.93 <= shares[OURS] <= 0.995
            assert shares["naive"] < 0.75
