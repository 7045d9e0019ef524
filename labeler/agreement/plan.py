"""How much more must people grade for an interval of a wished width?"""

from __future__ import annotations

import math
from dataclasses import dataclass

from labeler.agreement.compare import Agreement
from labeler.agreement.statistics import Statistic, find_statistic
from labeler.stats.intervals import FEWEST_DEGREES, Replicates, degrees_of
from labeler.stats.power import fewest
from labeler.stats.student import f_quantile, t_of

ASSURANCE = 0.8
"""The chance with which the larger number of queries brings the interval to the wished width."""
MOST_QUERIES = 2**40


@dataclass(frozen=True)
class SampleSizePlan:
    """What would bring a statistic's interval to `wished`, end to end; it is `width` wide now.

    `queries` is how many in all, with as many pairs each as now, for an even chance of it, and
    `queries_sure` for `ASSURANCE`: the variance of now is uncertain, and so is that of the interval
    to come.
    """

    statistic: str
    wished: float
    width: float
    queries_now: int
    pairs_now: float
    queries: int
    queries_sure: int


def plan(agreement: Agreement, statistic: Statistic, wished: float) -> SampleSizePlan | None:
    """The plan, `None` where the statistic has no interval now."""
    now, queries = agreement.of(statistic.name), len(agreement.queries)
    if now.low is None or now.high is None:
        return None
    whole = find_statistic(statistic.name, agreement.scale)
    freedom = degrees_of(Replicates(agreement.sample, whole))
    width = now.high - now.low

    def degrees(more: int) -> float:
        """The degrees of freedom of the variance over so many queries."""
        return max(freedom * more / queries, min(FEWEST_DEGREES, more - 1.0))

    def enough(chance: float) -> int:
        """The fewest queries, 2 or more, whose interval is as narrow with such a chance.

        The variance that another sample shows is to that of now as F says.
        """

        def is_narrow(more: int) -> bool:
            ratio = f_quantile(chance, round(degrees(more), 1), round(freedom, 1))
            return t_of(degrees(more)) * math.sqrt(variance * ratio / more) <= wished

        return fewest(is_narrow, MOST_QUERIES) or MOST_QUERIES

    # a width is t times the root of this, divided by the queries
    variance = queries * (width / t_of(degrees(queries))) ** 2
    numbers = enough(0.5), enough(ASSURANCE)
    a_query = agreement.pairs / queries
    return SampleSizePlan(statistic.name, wished, width, queries, a_query, *numbers)


def in_words(plan: SampleSizePlan) -> str:
    """The plan as a sentence."""
    now = f"{plan.statistic}: the interval is {plan.width:.2f} wide with {plan.queries_now} queries"
    if plan.width <= plan.wished:
        return f"{now}, which is as narrow as wished ({plan.wished:g})."
    more, sure = (max(n - plan.queries_now, 1) for n in (plan.queries, plan.queries_sure))
    pairs = math.ceil(sure * plan.pairs_now)
    return (
        f"{now}; for {plan.wished:g}, about {more:,} more queries would have to be graded for "
        f"an even chance, {sure:,} more for {100 * ASSURANCE:.0f} of 100 ({pairs:,} more pairs, "
        f"{plan.pairs_now:.0f} a query)."
    )
