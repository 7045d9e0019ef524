"""How much more must be graded, and the picture of what was found."""

import json
from pathlib import Path

import numpy as np
import pytest

from labeler.agreement.compare import StatisticOptions, compare_labels
from labeler.agreement.plan import in_words, plan, reach, will_show
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
    assert 0.08 < mean_width(kappa, queries, 10) < 0.11


def test_the_fewer_queries_there_are_the_more_a_plan_asks_for() -> None:
    """For half of the width: four times as many, and more where the variance is less certain."""
    kappa = find_statistic("kappa", range(3))
    shares = []
    for queries in (10, 40, 160):
        found = compare_labels(*made(queries, 10, 1), None, StatisticOptions(("kappa",), draws=200))
        printed = found.statistics["kappa"]
        assert printed.low is not None
        assert printed.high is not None
        planned = plan(found, kappa, (printed.high - printed.low) / 2)
        assert planned is not None
        shares.append(planned.queries / queries)
        assert f"about {planned.queries - queries:,} more queries" in in_words(planned)
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] > 4


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


def test_what_a_sample_will_show_is_said_beforehand() -> None:
    shown = " ".join(will_show(200, 40))
    # the roots of 3.5 / 170 + .6 / 40 and of 7 / 170 + .6 / 40
    assert "kappa to within 0.19" in shown
    assert "if their kappas differ by 0.24 or more" in shown
    # .05 instead of .24 takes 22.5 times as much
    assert "about 4,500 pairs of 900 queries" in shown
    assert "what lab calibrate gains takes about 500 pairs" in shown
    assert "lab cascade saves little unless it may lose 0.09 of kappa" in shown
    assert "which system is better, or favored by an assessor, only whole queries show" in shown


def test_the_more_is_graded_the_more_is_shown() -> None:
    assert reach(200, 40) > reach(400, 40) > reach(400, 80)
    assert reach(200, 40, 2) > reach(200, 40)
    assert reach(10, 5) == 1
    whole = " ".join(will_show(50_000, 1_000, is_whole=True))
    assert "calibrate" not in whole
    # deviations of .2 and .14 over the root of 1,000 queries, times 1.96 + .84
    assert "nDCG@10 differs by 0.02 or more" in whole
    assert "favors one of them shows from 0.01 on" in whole
