"""How much more must people grade for an interval of a wished width?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from labeler.agreement.compare import Agreement, StatisticOptions, estimated
from labeler.agreement.contingency import GradedPairs
from labeler.agreement.registry import Statistic
from labeler.arrays import Floats
from labeler.stats.intervals import errors_reached, jackknife_error, naive
from labeler.stats.resampling import Sample

DRAWS = 2000


@dataclass(frozen=True)
class SampleSizePlan:
    """What would bring a statistic's interval to `wished`, end to end; it is `width` wide now.

    `queries` is how many in all, with as many pairs each as now. `pairs` is how many a query in
    the queries of now, `None` where no number would do: their differences alone leave `floor`.
    """

    statistic: str
    wished: float
    width: float
    floor: float
    queries_now: int
    pairs_now: float
    queries: int
    pairs: int | None


def plan(
    agreement: Agreement,
    statistic: Statistic,
    wished: float,
    options: StatisticOptions | None = None,
) -> SampleSizePlan | None:
    """The plan, `None` where the statistic has no interval now.

    It starts from the interval that is printed, as wide as the options' method makes it. The
    variance over queries has a part that more pairs a query would make smaller, which is what
    resampling single pairs shows, and a part that they would not.
    """
    options = options or StatisticOptions()
    grades = np.array(agreement.scale, dtype=np.float64)
    queries = len(agreement.queries)

    def compute(tables: Floats) -> Floats:
        return statistic.compute(tables, grades)

    printed = agreement.statistics.get(statistic.name) or estimated(statistic, agreement, options)
    if printed.low is None or printed.high is None:
        return None
    sample = Sample(agreement.tables, seed=options.seed)
    width, unit = printed.high - printed.low, _width_of_error(options.method, queries)
    variance = (width / unit) ** 2
    error = jackknife_error(compute(sample.without_one))
    _, within = naive(sample.total, compute, _alike(agreement.paired), DRAWS, options.seed)
    share = min(within / error**2, 1.0) if error > 0 else 0.0
    within, between = share * variance, (1 - share) * variance
    pairs = agreement.pairs / queries
    room = (wished / unit) ** 2 - between
    return SampleSizePlan(
        statistic.name,
        wished,
        width,
        unit * math.sqrt(between),
        queries,
        pairs,
        _queries(variance * queries, wished, options.method),
        math.ceil(pairs * within / room) if room > 0 else None,
    )


def _width_of_error(method: str, queries: int) -> float:
    """How wide an interval over so many queries is, for a standard error of 1."""
    return 2 * errors_reached(method, queries)


def _alike(pairs: GradedPairs) -> int:
    """How many pairs of equal weight are as informative as these: Kish (1965), Survey Sampling."""
    if pairs.weight is None:
        return len(pairs)
    return max(round(float(pairs.weight.sum() ** 2 / (pairs.weight**2).sum())), 1)


def _queries(variance_of_a_query: float, wished: float, method: str) -> int:
    """The fewest queries, 2 or more, whose interval is as narrow as wished."""
    needed = 2
    while _width_of_error(method, needed) * math.sqrt(variance_of_a_query / needed) > wished:
        normal = variance_of_a_query * (2 * 1.96 / wished) ** 2
        needed = max(needed + 1, math.floor(normal))
    return needed


def in_words(plan: SampleSizePlan) -> str:
    """The plan as a sentence or two."""
    now = f"{plan.statistic}: the interval is {plan.width:.2f} wide with {plan.queries_now} queries"
    if plan.width <= plan.wished:
        return f"{now}, which is as narrow as wished ({plan.wished:g})."
    more = plan.queries - plan.queries_now
    pairs = math.ceil(more * plan.pairs_now)
    queries = "query" if more == 1 else "queries"
    sentence = (
        f"{now}; for {plan.wished:g}, people would have to grade about {more:,} more {queries} "
        f"({pairs:,} more pairs, {plan.pairs_now:.0f} a query)"
    )
    if plan.pairs is None:
        return (
            f"{sentence}. No number of further pairs of these queries would do: how they differ "
            f"leaves it {plan.floor:.2f} wide."
        )
    extra = max(math.ceil((plan.pairs - plan.pairs_now) * plan.queries_now), 0)
    return f"{sentence}, or {extra:,} more pairs of these queries, where the pool holds them."
