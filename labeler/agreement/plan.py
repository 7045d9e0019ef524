"""How much more must people grade for an interval of a wished width?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from labeler.agreement.compare import Agreement, estimated
from labeler.agreement.statistics.registry import GradedPairs, Statistic
from labeler.arrays import Floats
from labeler.stats.intervals import (
    FEWEST_DEGREES,
    degrees_of,
    jackknife_error,
)
from labeler.stats.power import fewest
from labeler.stats.student import LEVEL, f_quantile, t_quantile

DRAWS = 2000
ASSURANCE = 0.8
"""The chance with which the larger number of queries brings the interval to the wished width."""
MOST_QUERIES = 2**40


@dataclass(frozen=True)
class SampleSizePlan:
    """What would bring a statistic's interval to `wished`, end to end; it is `width` wide now.

    `queries` is how many in all, with as many pairs each as now, for an even chance of it, and
    `queries_sure` for `ASSURANCE`: the variance of now is uncertain, and so is that of the interval
    to come. `pairs` is how many a query in the queries of now, `None` where no number would do:
    their differences alone leave `floor`.
    """

    statistic: str
    wished: float
    width: float
    floor: float
    queries_now: int
    pairs_now: float
    queries: int
    queries_sure: int
    pairs: int | None


@dataclass(frozen=True)
class _Reach:
    """How wide an interval over so many queries like these is, for a standard error of 1.

    `freedom` are the degrees of freedom of the variance over the `queries` of now; more queries
    have as many more.
    """

    queries: int
    freedom: float

    def of(self, queries: int) -> float:
        """The width for a standard error of 1."""
        return 2 * t_quantile((1 + LEVEL) / 2, self.degrees(queries))

    def degrees(self, queries: int) -> float:
        """The degrees of freedom of the variance over so many queries."""
        return max(self.freedom * queries / self.queries, min(FEWEST_DEGREES, queries - 1.0))


def plan(
    agreement: Agreement, statistic: Statistic, wished: float, seed: int = 0
) -> SampleSizePlan | None:
    """The plan, `None` where the statistic has no interval now.

    It starts from the interval that is printed. The variance over queries has a part that more
    pairs a query would make smaller, which is what resampling single pairs shows, and a part that
    they would not.
    """
    grades = np.array(agreement.scale, dtype=np.float64)
    queries = len(agreement.queries)

    def compute(tables: Floats) -> Floats:
        return statistic.compute(tables, grades)

    printed = estimated(statistic, agreement)
    if printed.low is None or printed.high is None:
        return None
    sample = agreement.sample
    reach = _Reach(queries, degrees_of(agreement.tables))
    width, unit = printed.high - printed.low, reach.of(queries)
    variance = (width / unit) ** 2
    error = jackknife_error(sample.of_rest(compute))
    shares, pairs = sample.total.ravel() / sample.total.sum(), _alike(agreement.paired)
    drawn = np.random.default_rng(seed).multinomial(pairs, shares, size=DRAWS)
    over_pairs = compute(drawn.reshape(-1, *sample.total.shape).astype(np.float64))
    within = float(np.nanvar(over_pairs))
    share = min(within / error**2, 1.0) if error > 0 else 0.0
    within, between = share * variance, (1 - share) * variance
    a_query = agreement.pairs / queries
    room = (wished / unit) ** 2 - between
    return SampleSizePlan(
        statistic.name,
        wished,
        width,
        unit * math.sqrt(between),
        queries,
        a_query,
        _queries(variance * queries, wished, reach, 0.5),
        _queries(variance * queries, wished, reach, ASSURANCE),
        math.ceil(a_query * within / room) if room > 0 else None,
    )


def _alike(pairs: GradedPairs) -> int:
    """How many pairs of equal weight are as informative as these: Kish (1965), Survey Sampling."""
    if pairs.weight is None:
        return len(pairs)
    return max(round(float(pairs.weight.sum() ** 2 / (pairs.weight**2).sum())), 1)


def _queries(variance_of_a_query: float, wished: float, reach: _Reach, chance: float) -> int:
    """The fewest queries, 2 or more, whose interval is as narrow as wished with such a chance.

    The variance that another sample shows is to that of now as F says.
    """

    def is_narrow(queries: int) -> bool:
        ratio = f_quantile(chance, round(reach.degrees(queries), 1), round(reach.freedom, 1))
        error = math.sqrt(variance_of_a_query * ratio / queries)
        return reach.of(queries) * error <= wished

    return fewest(is_narrow, MOST_QUERIES) or MOST_QUERIES


def in_words(plan: SampleSizePlan) -> str:
    """The plan as a sentence or two."""
    now = f"{plan.statistic}: the interval is {plan.width:.2f} wide with {plan.queries_now} queries"
    if plan.width <= plan.wished:
        return f"{now}, which is as narrow as wished ({plan.wished:g})."
    more, sure = (max(n - plan.queries_now, 1) for n in (plan.queries, plan.queries_sure))
    pairs = math.ceil(sure * plan.pairs_now)
    sentence = (
        f"{now}; for {plan.wished:g}, about {more:,} more queries would have to be graded for "
        f"an even chance, {sure:,} more for {100 * ASSURANCE:.0f} of 100 ({pairs:,} more pairs, "
        f"{plan.pairs_now:.0f} a query)"
    )
    if plan.pairs is None:
        return (
            f"{sentence}. No number of further pairs of these queries would do: how they differ "
            f"leaves it {plan.floor:.2f} wide."
        )
    extra = max(math.ceil((plan.pairs - plan.pairs_now) * plan.queries_now), 0)
    instead = f"{extra:,} more pairs of these queries (an even chance)"
    return f"{sentence}, or {instead}, where the pool holds them."
