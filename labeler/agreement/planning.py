"""How much more must people grade for an interval of a wished width?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from labeler.agreement.compare import Agreement
from labeler.agreement.intervals import Sample, jackknife_error, naive
from labeler.agreement.registry import Statistic
from labeler.agreement.tables import FloatArray, Paired
from labeler.metrics.student import t_quantile

DRAWS = 2000


@dataclass(frozen=True)
class Plan:
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


def plan(found: Agreement, chosen: Statistic, wished: float, seed: int = 0) -> Plan | None:
    """The plan, `None` where the statistic has no interval now.

    The variance over queries has a part that more pairs a query would make smaller, which is what
    resampling single pairs shows, and a part that they would not.
    """
    grades = np.array(found.scale, dtype=np.float64)
    queries = len(found.queries)

    def compute(tables: FloatArray) -> FloatArray:
        return chosen.compute(tables, grades)

    sample = Sample(found.tables, seed=seed)
    error = jackknife_error(compute(sample.without_one)) if queries > 1 else math.nan
    if not np.isfinite(error):
        return None
    _, within = naive(sample.total, compute, _alike(found.paired), DRAWS, seed)
    within = min(within, error**2)
    between = error**2 - within
    pairs = found.pairs / queries
    needed = _queries(error**2 * queries, wished)
    room = _variance(wished, queries) - between
    per_query = math.ceil(pairs * within / room) if room > 0 else None
    return Plan(
        chosen.name,
        wished,
        _width(error**2, queries),
        _width(between, queries),
        queries,
        pairs,
        needed,
        per_query,
    )


def _alike(pairs: Paired) -> int:
    """How many pairs of equal weight are as informative as these: Kish (1965), Survey Sampling."""
    if pairs.weight is None:
        return len(pairs)
    return max(round(float(pairs.weight.sum() ** 2 / (pairs.weight**2).sum())), 1)


def _width(variance: float, queries: int) -> float:
    return 2 * t_quantile(0.975, queries - 1) * math.sqrt(variance)


def _variance(width: float, queries: int) -> float:
    return (width / 2 / t_quantile(0.975, queries - 1)) ** 2


def _queries(variance_of_one: float, wished: float) -> int:
    """The fewest queries, 2 or more, whose interval is as narrow as wished."""
    needed = 2
    while _width(variance_of_one / needed, needed) > wished:
        normal = variance_of_one * (2 * 1.96 / wished) ** 2
        needed = max(needed + 1, math.floor(normal))
    return needed


def in_words(plan: Plan) -> str:
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
