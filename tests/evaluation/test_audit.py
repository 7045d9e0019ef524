"""What a published mean leaves open: its interval covers, whatever single queries have."""

import itertools
import json
import math

import numpy as np
import pytest
from scipy.stats import beta, binomtest

from labeler.cli import execute
from labeler.errors import Misuse
from labeler.lab.audit import audit


@pytest.mark.parametrize("queries", [5, 10, 43, 200])
@pytest.mark.parametrize("kind", ["coin", "beta", "u-shaped", "rare"])
def test_the_interval_covers_the_mean_of_all_queries(kind: str, queries: int) -> None:
    rng = np.random.default_rng(queries)
    draws = 400
    values, true = {
        "coin": (rng.binomial(1, 0.8, (draws, queries)).astype(float), 0.8),
        "beta": (rng.beta(2, 3, (draws, queries)), 0.4),
        "u-shaped": (rng.beta(0.3, 0.3, (draws, queries)), 0.5),
        "rare": (np.where(rng.random((draws, queries)) < 0.05, 1.0, 0.0), 0.05),
    }[kind]
    means = values.mean(axis=1)
    found = {m: audit(value=f"{m:.4f}", queries=queries).interval for m in set(means.tolist())}
    covered = np.mean([found[m].low <= true <= found[m].high for m in means.tolist()])
    assert covered >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / draws)


@pytest.mark.parametrize(("ones", "queries"), [(10, 10), (0, 7), (9, 10), (31, 43), (500, 1000)])
def test_zeros_and_ones_have_the_exact_interval(ones: int, queries: int) -> None:
    found = audit(measure="Success@5", value=f"{ones / queries:.12f}", queries=queries)
    low = float(beta.ppf(0.025, ones, queries - ones + 1)) if ones else 0.0
    high = float(beta.ppf(0.975, ones + 1, queries - ones)) if ones < queries else 1.0
    assert found.interval == pytest.approx((low, high), abs=1e-6)
    bounded = audit(value=f"{ones / queries:.12f}", queries=queries).interval
    assert bounded.low <= found.interval.low + 1e-9
    assert bounded.high >= found.interval.high - 1e-9


def test_means_that_no_zeros_and_ones_have_are_found() -> None:
    for queries, cents in itertools.product((3, 7, 10, 28), range(101)):
        printed = f"{cents / 100:.2f}"
        possible = any(f"{k / queries:.2f}" == printed for k in range(queries + 1))
        found = audit(measure="Success@1", value=printed, queries=queries)
        ends = any(abs(k / queries * 100 % 1 - 0.5) < 1e-9 for k in range(queries + 1))
        assert found.is_possible == possible or ends  # a half may be rounded either way
    assert audit(value="0.93", queries=10).is_possible is None


def test_so_many_queries_have_to_differ_all_in_one_direction() -> None:
    assert audit(value="1", queries=10).differing == 6
    assert binomtest(6, 6).pvalue < 0.05 <= binomtest(5, 5).pvalue
    few = audit(value="1.00", queries=5)
    assert few.differing is None
    assert "so few tell no two systems apart" in few.sentences[1]


@pytest.mark.parametrize("value", ["1.2", "-0.1", "", "high", "nan"])
def test_what_is_no_mean_is_refused(value: str) -> None:
    with pytest.raises(Misuse, match="a number from 0 to 1"):
        audit(value=value, queries=10)


def test_the_command_tells_it(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["lab", "audit", "--measure", "recall@5", "--value", "1.00", "--queries", "10"]
    assert execute(words) == 0
    assert "may be anything from 0.672 to 1.000" in capsys.readouterr().out
    assert execute([*words, "--binary", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["interval"]["low"] == pytest.approx(0.6915, abs=1e-4)
    assert (found["is_possible"], found["differing"]) == (True, 6)
