"""The pilot of a run: a few of its pairs, judged and looked at before the others are paid for."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import islice

from labeler.data import Failure, Judged, Pair
from labeler.errors import BudgetReached, TooManyFailed
from labeler.judging.assessor import Assessor
from labeler.judging.failures import looks
from labeler.judging.in_flight import PairOptions, judge_pairs
from labeler.judging.job import Job
from labeler.messages import dollars
from labeler.models.duration import CallTimes, duration_of
from labeler.models.limits import Proof
from labeler.models.session import Session

PAIRS = 30
FEWEST = 100
"""A run of fewer pairs has no pilot."""


@dataclass(frozen=True, slots=True)
class Pilot:
    """What some pairs of a run say of all `total` of them, with intervals of 95 %.

    `without_grade` is the share of pairs that failed, `thoughts` of those that the model thought
    about. Tokens are those of a pair; `dollars` and `hours` are those of all pairs, None where no
    price is known, or no time, as nothing was asked anew; `spread` is what they may be times that.
    """

    pairs: int
    failed: int
    total: int
    without_grade: tuple[float, float]
    thoughts: float
    tokens_in: float
    tokens_out: float
    dollars: float | None
    hours: float | None
    spread: tuple[float, float]

    def sentences(self) -> list[str]:
        """What the pilot showed, and what all pairs would take."""
        low, high = self.without_grade
        failed = f"{self.failed} of {self.pairs} pairs without a grade [{low:.0%}, {high:.0%}]"
        took = f"{self.tokens_in:,.0f} tokens in and {self.tokens_out:,.0f} out a pair"
        first = f"pilot: {failed}, {self.thoughts:.0%} with thoughts, {took}"
        cost, *costs = [dollars(self.dollars and self.dollars * by) for by in (1, *self.spread)]
        takes = [f"about {cost} [{', '.join(costs)}]"] if self.dollars else []
        if self.hours:
            hour, *hours = [f"{self.hours * by:.2g}" for by in (1, *self.spread)]
            takes.append(f"about {hour} [{', '.join(hours)}] hours")
        return [first, f"all {self.total:,} pairs: {', '.join(takes)}"] if takes else [first]


def pilot_pairs(job: Job) -> list[Pair]:
    """The pairs of a job's pilot: spread over its queries, then over the lengths of documents."""
    spread = list(islice(job.pairs, 0, None, len(job.pairs) // FEWEST))
    spread.sort(key=lambda pair: len(job.texts.of(pair)[1].text))
    return spread[:: len(spread) // PAIRS][:PAIRS]


async def pilot_of(
    job: Job, assessor: Assessor, session: Session, options: PairOptions, proof: Proof
) -> tuple[Pilot | None, dict[Pair, Judged], BudgetReached | None]:
    """Judge a few pairs of a job: what they say of all, what became of them, what ends the run.

    What was answered before is not asked again.
    """
    judged, ended, began = dict[Pair, Judged](), None, time.monotonic()
    try:
        few = replace(options, only=pilot_pairs(job))
        async for each in judge_pairs(job.pairs, job.texts, assessor, few):
            judged[each.outcome.pair] = each
    except BudgetReached as reached:
        return None, judged, reached
    failed = [j.outcome for j in judged.values() if isinstance(j.outcome, Failure)]
    if len(failed) / len(judged) > proof.max_failed:
        problem = f"stopped after a pilot: {len(failed)} of {len(judged)} pairs have no grade"
        ended = TooManyFailed(f"{problem}: {looks(failed)}", parameter="max_failed")
        ended.again = {"no_pilot": True}
    pilot = _measured(judged.values(), len(job.pairs), session)
    asked = sum(j.attempts for j in judged.values() if not j.remembered)
    if asked and pilot.hours is None:
        limits, tokens = session.guard.limiter.limits, pilot.tokens_in + pilot.tokens_out
        unit = duration_of(asked, asked * tokens, limits).seconds
        calls = asked * len(job.pairs) // len(judged)
        times = CallTimes((time.monotonic() - began) / unit)
        need = duration_of(calls, len(job.pairs) * tokens, limits, times)
        pilot = replace(pilot, hours=need.seconds / 3600)
    return pilot, judged, ended


def _measured(judged: Collection[Judged], total: int, session: Session) -> Pilot:
    """What the pilot's pairs say, but for the time that they took."""
    import numpy as np  # which smaller runs need not load

    from labeler.stats.means import mean_interval
    from labeler.stats.shares import share_interval

    price, failed = session.selection.price, [isinstance(j.outcome, Failure) for j in judged]
    tokens = np.array([(j.prompt_tokens, j.completion_tokens) for j in judged], dtype=float)
    taken = tokens @ [price.of(1000, 0), price.of(0, 1000)] / 1000 if price else tokens.sum(axis=1)
    inside, outside = map(float, tokens.mean(axis=0))
    mean, ends = taken.mean(), mean_interval(taken, "t")
    low, high = ends if ends and mean else (mean, mean)
    return Pilot(
        len(failed),
        sum(failed),
        total,
        share_interval(np.array(failed)),
        sum(j.thought for j in judged) / len(failed),
        inside,
        outside,
        float(mean * total) if price else None,
        None,
        (max(0.0, float(low / (mean or 1))), float(high / (mean or 1))),
    )
