"""The pilot of a run: a few of its pairs, judged and looked at before the others are paid for."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from labeler.data import Failure, Judged, Pair
from labeler.errors import BudgetReached, TooManyFailed
from labeler.judging.assessor import Assessor
from labeler.judging.failures import looks
from labeler.judging.in_flight import PairOptions, judge_pairs
from labeler.judging.job import Job
from labeler.judging.tally import Pilot
from labeler.models.duration import CallTimes, duration_of
from labeler.models.policies.stack import Guard

PAIRS = 30
FEWEST = 100
"""A run of fewer pairs has no pilot."""


def pilot_pairs(job: Job) -> list[Pair]:
    """The pairs of a job's pilot: drawn by chance, then spread over the lengths of documents."""
    places = set(Random(PAIRS).sample(range(len(job.pairs)), 3 * PAIRS))
    drawn = [pair for at, pair in enumerate(job.pairs) if at in places]
    return sorted(drawn, key=lambda pair: len(job.texts.of(pair)[1].text))[1::3]


async def piloted(
    job: Job, assessor: Assessor, options: PairOptions, guard: Guard
) -> tuple[PairOptions, Pilot | None]:
    """Judge a few pairs of a job: how the others are asked about, and what the few say of them.

    What was answered before is not asked again.
    """
    judged, began, ended = list[Judged](), time.monotonic(), None
    few, pilot = replace(options, only=pilot_pairs(job), proof=None), None
    try:
        async for each in judge_pairs(job.pairs, job.texts, assessor, few):
            judged.append(each)
    except BudgetReached as reached:
        ended = reached
    else:
        pilot = _measured(judged, len(job.pairs), time.monotonic() - began, guard)
        failed = [each.outcome for each in judged if isinstance(each.outcome, Failure)]
        if options.proof and len(failed) > options.proof.max_failed * len(judged):
            problem = f"stopped after a pilot: {len(failed)} of {len(judged)} pairs have no grade"
            ended = TooManyFailed(f"{problem}: {looks(failed)}", parameter="max_failed")
            ended.again = {"no_pilot": True}
    # the questions of a query may be counted in the row of another pair
    settled = [] if assessor.prompt.front.questions else judged
    by_pair = {each.outcome.pair: each for each in settled}
    return replace(options, pilot=by_pair, ended=ended), pilot


def _measured(judged: Sequence[Judged], total: int, seconds: float, guard: Guard) -> Pilot:
    """What the pairs of a pilot say of all."""
    import numpy as np  # which smaller runs need not load

    from labeler.stats.means import mean_interval
    from labeler.stats.shares import share_interval

    price, limits, pairs = guard.budget.price, guard.limiter.limits, len(judged)
    failed = np.array([isinstance(each.outcome, Failure) for each in judged])
    tokens = np.array([(each.prompt_tokens, each.completion_tokens) for each in judged], float)
    inside, outside = map(float, tokens.mean(axis=0))
    taken = tokens @ ((price.tokens_in, price.tokens_out) if price else (1, 1))
    ends = mean_interval(taken, "t") or (0.0, 0.0)
    spread = np.array([taken.mean(), *ends]) / max(taken.mean(), 1e-9)
    took, hours = (taken.mean() * total / 1e6 if price else 0.0), 0.0
    if calls := sum(each.attempts for each in judged if not each.remembered):
        usual = duration_of(calls, calls * (inside + outside), limits).seconds
        every = (calls * total // pairs, total * (inside + outside), limits)
        hours = duration_of(*every, CallTimes(seconds / usual)).seconds / 3600
    takes = [(spread * about).tolist() if about else [] for about in (took, hours)]
    share = (float(failed.mean()), *share_interval(failed))
    thoughts = sum(each.thought for each in judged) / pairs
    return Pilot(pairs, int(failed.sum()), total, share, thoughts, inside, outside, *takes)
