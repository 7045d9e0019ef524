"""How much more must be graded, and the picture of what was found."""

import json
from pathlib import Path

import numpy as np
import pytest

from labeler.agreement.compare import StatisticOptions, compare_labels
from labeler.agreement.plan import in_words, plan
from labeler.agreement.statistics import Statistic, find_statistic
from labeler.cli import execute
from labeler.data import Qrels
from labeler.stats.student import f_quantile


def made(queries: int, pairs: int, seed: int) -> tuple[Qrels, Qrels]:
    """A judge whose care differs from query to query."""
    rng = np.random.default_rng(seed)
    people: Qrels = {}
    other: Qrels = {}
    for q in range(queries):
        keep = rng.beta(3, 2)
        grades = rng.choice(3, pairs, p=[0.5, 0.3, 0.2])
        guess = np.where(rng.random(pairs) < keep, grades, rng.choice(3, pairs))
        people[f"q{q}"] = {f"d{d}": int(g) for d, g in enumerate(grades)}
        other[f"q{q}"] = {f"d{d}": int(g) for d, g in enumerate(guess)}
    return people, other


def mean_width(chosen: Statistic, queries: int, pairs: int) -> float:
    """Of the intervals that are printed, over worlds like these."""
    widths = []
    for seed in range(30):
        found = compare_labels(
            *made(queries, pairs, seed), None, StatisticOptions(("kappa",), draws=1000)
        )
        printed = found.statistics[chosen.name]
        assert printed.low is not None
        assert printed.high is not None
        widths.append(printed.high - printed.low)
    return float(np.mean(widths))


@pytest.mark.sweep
def test_as_many_queries_as_planned_give_the_wished_width() -> None:
    kappa = find_statistic("kappa", range(3))
    plans = []
    for seed in range(30):
        found = compare_labels(*made(40, 10, seed), None, StatisticOptions(("kappa",), draws=100))
        plans.append(plan(found, kappa, 0.11))
    queries = round(float(np.mean([p.queries for p in plans if p])))
    assert queries > 40
    assert mean_width(kappa, queries, 10) == pytest.approx(0.11, rel=0.12)


def test_a_plan_names_the_queries_for_an_even_chance_and_for_assurance() -> None:
    """The fewer the queries of now, the farther apart the two: their variance is less certain."""
    kappa = find_statistic("kappa", range(3))
    shares = []
    for queries in (10, 40, 160):
        found = compare_labels(*made(queries, 10, 1), None, StatisticOptions(("kappa",), draws=200))
        printed = found.statistics["kappa"]
        assert printed.low is not None
        assert printed.high is not None
        planned = plan(found, kappa, (printed.high - printed.low) / 2)
        assert planned is not None
        assert planned.queries_sure > planned.queries > queries
        shares.append(planned.queries_sure / planned.queries)
        assert f"{planned.queries_sure - queries:,} more for 80 of 100" in in_words(planned)
    assert shares == sorted(shares, reverse=True)


def test_the_ratio_of_two_variances_is_scipys() -> None:
    from scipy import stats

    for chance, above, below in ((0.5, 7.0, 11.5), (0.8, 3.2, 40.0), (0.95, 120.0, 4.0)):
        expected = stats.f.ppf(chance, above, below)
        assert f_quantile(chance, above, below) == pytest.approx(expected)


def test_a_plan_starts_from_the_interval_that_is_printed(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "dl19"
    files = [str(folder / f"{name}.qrels") for name in ("nist", "gpt-4o")]
    given = ["-s", "alpha-ordinal", "--how-many", "0.05", "--json"]
    assert execute(["agree", *files, *given]) == 0
    found = json.loads(capsys.readouterr().out)
    printed = found["statistics"]["alpha-ordinal"]
    (planned,) = found["how_many"]
    assert planned["width"] == pytest.approx(printed["high"] - printed["low"])
