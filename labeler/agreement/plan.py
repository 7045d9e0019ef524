"""What will people's grades show, and how much more must they grade for an interval of a width?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from labeler.agreement.compare import Agreement
from labeler.agreement.joint import MARGIN
from labeler.agreement.statistics import Statistic, find_statistic
from labeler.messages import count_of
from labeler.stats.intervals import FEWEST_DEGREES, Replicates, degrees_of
from labeler.stats.power import detectable, fewest
from labeler.stats.student import f_quantile, t_of

ASSURANCE = 0.8
"""The chance with which so many queries bring the interval to the wished width."""
MOST_QUERIES = 2**40


@dataclass(frozen=True)
class SampleSizePlan:
    """What would bring a statistic's interval to `wished`, end to end; it is `width` wide now.

    `queries` is how many in all, with as many pairs each as now, for a chance of `ASSURANCE`: the
    variance of now is uncertain, and so is that of the interval to come.
    """

    statistic: str
    wished: float
    width: float
    queries_now: int
    pairs_now: float
    queries: int


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

    def is_narrow(more: int) -> bool:
        """Whether it is narrow enough: another sample's variance is to that of now as F says."""
        ratio = f_quantile(ASSURANCE, round(degrees(more), 1), round(freedom, 1))
        return t_of(degrees(more)) * math.sqrt(variance * ratio / more) <= wished

    # a width is t times the root of this, divided by the queries
    variance = queries * (width / t_of(degrees(queries))) ** 2
    enough = fewest(is_narrow, MOST_QUERIES) or MOST_QUERIES
    a_query = agreement.pairs / queries
    return SampleSizePlan(statistic.name, wished, width, queries, a_query, enough)


def in_words(plan: SampleSizePlan) -> str:
    """The plan as a sentence."""
    now = f"{plan.statistic}: the interval is {plan.width:.2f} wide with {plan.queries_now} queries"
    if plan.width <= plan.wished:
        return f"{now}, which is as narrow as wished ({plan.wished:g})."
    more = plan.queries - plan.queries_now
    pairs = math.ceil(more * plan.pairs_now)
    return (
        f"{now}; for {plan.wished:g}, about {more:,} more queries would have to be graded, which "
        f"do in {100 * ASSURANCE:.0f} of 100 cases ({pairs:,} more pairs, {plan.pairs_now:.0f} a "
        "query)."
    )


# Before anybody grades: what grades will show, in 4 of 5 cases, of assessors as LLMs were of
# TREC DL 2019 and LLMJudge (scripts/simulate_sample.py).

FIRST, BY_PAIRS, BY_QUERIES = 30, 3.5, 0.6
"""Pairs that show nothing; and the square of how far kappa's interval reaches, times the number of
pairs beyond those, and times that of queries."""
CALIBRATED = 500
"""So many pairs show that probabilities by `calibrate` say more than people's shares of grades."""
CASCADE = 0.4
"""Which part of such a difference a cascade must be allowed to lose, that anything is saved."""
SYSTEMS, FAVOR = 0.2, 0.14
"""Standard deviations over queries of nDCG@10: of two systems' difference, and of how much more an
assessor gives to one of them than people do."""


def reach(pairs: int, queries: int, assessors: int = 1) -> float:
    """How far the interval of kappa reaches with such a sample.

    With two assessors, how much more the better one must have to be told so.
    """
    beyond = max(pairs - FIRST, 1)
    return min(math.sqrt(assessors * BY_PAIRS / beyond + BY_QUERIES / queries), 1.0)


def told_apart(pairs: int, queries: int) -> str:
    """From which difference on two assessors are told apart, in words."""
    sample = f"{count_of(pairs, 'pair')} of {count_of(queries, 'query')}"
    return (
        f"{sample} tell two assessors apart if their kappas differ by "
        f"{reach(pairs, queries, 2):.2f} or more "
        "(of 22 LLMs in one challenge the best and the worst did by 0.17)"
    )


def will_show(pairs: int, queries: int, *, is_whole: bool = False) -> Iterator[str]:
    """What people's grades of so many pairs of so many queries will show, and what they will not.

    Where all pairs of the queries are graded, the sample `is_whole`: it tells of systems, too.
    """
    gain = reach(pairs, queries, 2)
    yield f"people's grades will show an assessor's kappa to within {reach(pairs, queries):.2f}"
    yield told_apart(pairs, queries)
    enough = [float(f"{n * max(gain / MARGIN, 1) ** 2:.2g}") for n in (pairs, queries)]
    yield (
        f"that one is as good as a colleague takes about {enough[0]:,.0f} pairs of "
        f"{enough[1]:,.0f} queries, graded by several people; lab cascade saves little unless it "
        f"may lose {CASCADE * gain:.2f} of kappa"
    )
    if pairs < CALIBRATED:
        yield f"what lab calibrate gains takes about {CALIBRATED} pairs"
    if not is_whole or queries < 2:
        yield "which system is better, or favored by an assessor, only whole queries show"
        return
    apart, favor = (detectable(queries, deviation) for deviation in (SYSTEMS, FAVOR))
    yield (
        f"two systems are told apart if their nDCG@10 differs by {apart:.2f} or more, and that an "
        f"assessor favors one of them shows from {favor:.2f} on"
    )
