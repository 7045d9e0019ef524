"""Intervals hold the truth as often as they say, where the naive one does not."""

import sys
from pathlib import Path

import numpy as np
import pytest

from labeler.agreement.compare import (
    COVERED_BY_FEW,
    COVERED_BY_MORE,
    StatisticOptions,
    compare_labels,
)
from labeler.agreement.statistics import find_statistic
from labeler.arrays import Floats
from labeler.data import Qrels
from labeler.trec.files import read_qrels
from labeler.trec.labels import read_labels

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "scripts"))

from simulate_coverage import (
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


def test_perfect_agreement_has_an_interval_of_one_point() -> None:
    grades = {f"q{q}": {str(d): d % 3 for d in range(30)} for q in range(30)}
    found = compare_labels(grades, grades).statistics["kappa"]
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)


def test_few_queries_are_warned_of_with_what_was_measured() -> None:
    rng = np.random.default_rng(2)
    people = {f"q{q}": {str(d): int(rng.integers(0, 3)) for d in range(30)} for q in range(8)}
    options = StatisticOptions(("kappa",), draws=100)
    warning, exact = compare_labels(people, people, None, options).warnings
    assert "only 8 queries" in warning
    assert "kappa: no width to the interval" in exact
    assert COVERED_BY_FEW in warning


@pytest.mark.parametrize(
    ("queries", "said"),
    [(20, "with 3 to 20 of them 82"), (21, "with fewer of them, 3 to 20, 82"), (25, "25 to 50")],
)
def test_what_was_simulated_is_not_said_of_other_numbers_of_queries(
    queries: int, said: str
) -> None:
    options = StatisticOptions(("kappa",), draws=100)
    assert said in str(compare_labels(*two_of(queries), None, options).warnings[0])


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
    assert f"{COVERED_BY_MORE} of 100 such intervals" in said.pop()


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
    assert shares["cluster-bootstrap"] > 0.9


@pytest.mark.sweep
def test_of_unequal_queries_no_side_is_missed_much_more_often_than_before() -> None:
    """Where large queries are rich and judged better, samples without them are too low."""
    truth = skewed(np.random.default_rng(1), 100_000).sum(axis=0)
    methods = (PLAIN, "cluster-bootstrap")
    counted = tallies(skewed, truth, 25, Plan(150, ("kappa>=3", "kappa-quadratic"), methods))
    for row in counted.values():
        plain, ours = row[PLAIN], row["cluster-bootstrap"]
        assert ours.below < 0.7 * plain.below
        assert ours.share > 0.88
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
            assert 0.92 <= shares["cluster-bootstrap"] <= 0.99
            assert shares["naive"] < 0.75
