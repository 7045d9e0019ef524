"""The pilot of a run: a few of its pairs, judged and looked at before the others are paid for."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple

from labeler.data import Failure, Judged, Pair
from labeler.errors import BudgetReached, TooManyFailed
from labeler.judging.assessor import Assessor, Texts
from labeler.judging.in_flight import FEWEST, PairOptions, judge_pairs, looks
from labeler.messages import quiet
from labeler.models.call_plan import CallTimes, duration_of
from labeler.models.policies.stack import Guard

Projected = Sequence[float]
"""About how much it is, and an interval of 95 %; empty where it is not known."""


@dataclass(frozen=True, slots=True)
class Pilot:
    """What some pairs of a run say of all `total` of them.

    `without_grade` is the share of failed pairs, `thoughts` of those that the model thought about.
    Tokens are those of a pair; `dollars` and `hours` those of all pairs, empty where no price is
    known, or nothing was asked anew.
    """

    pairs: int
    failed: int
    total: int
    without_grade: Projected
    thoughts: float
    tokens_in: float
    tokens_out: float
    dollars: Projected
    hours: Projected

    def sentences(self) -> list[str]:
        """What the pilot showed, and what all pairs would take."""
        failed = "{:.0%} [{:.0%}, {:.0%}] without a grade".format(*self.without_grade)
        took = f"{self.tokens_in:,.0f} tokens in and {self.tokens_out:,.0f} out a pair"
        thoughts = f"{self.thoughts:.0%} after thoughts"
        takes = ["${:,.4g} [{:,.4g}, {:,.4g}]".format(*self.dollars)] if self.dollars else []
        takes += [_in_time(self.hours)] if self.hours else []
        return [
            f"pilot of {self.pairs} pairs: {failed}, {thoughts}, {took}",
            f"all {self.total:,} pairs: about {', '.join(takes) or 'nothing'}",
        ]


def _in_time(hours: Projected) -> str:
    """A time and its interval, in the largest unit of which there are two."""
    size = next((size for size in _UNITS if hours[0] >= 2 * size), 1 / 3600)
    rounded = (float(f"{each / size:.2g}") for each in hours)
    return "{:,g} [{:,g}, {:,g}] ".format(*rounded) + _UNITS[size]


_UNITS = {24.0: "days", 1.0: "hours", 1 / 60: "minutes", 1 / 3600: "seconds"}
"""Units by their hours."""

PAIRS = 30


class AskedRound(NamedTuple):
    """Pairs with their texts, and who is asked about them."""

    assessor: Assessor
    pairs: Collection[Pair]
    texts: Texts


async def piloted(
    asked: AskedRound, options: PairOptions, guard: Guard, total: int = 0
) -> tuple[PairOptions, Pilot | None]:
    """Judge a few pairs: how all of them are to be asked about, and what the few say of them.

    The run may have further rounds, and `total` pairs in all. What was answered before is not asked
    again. A run of few pairs has no pilot, nor has one without a `proof`, or with one that wants
    none. `options.note` is told what the pilot says.
    """
    (assessor, pairs, texts), total = asked, total or len(asked.pairs)
    proof, judged, began = options.proof, list[Judged](), time.monotonic()
    if proof is None or proof.no_pilot or total < FEWEST:
        return options, None
    few = replace(options, only=pilot_pairs(pairs, texts), proof=None, on_judged=quiet)
    ended, pilot = None, None
    try:
        async for each in judge_pairs(pairs, texts, assessor, few):
            judged.append(each)
    except BudgetReached as reached:
        ended = reached
    else:
        pilot = _measured(judged, total, time.monotonic() - began, guard)
        for sentence in pilot.sentences() if pilot.hours else ():
            options.note(sentence)
        failed = [each.outcome for each in judged if isinstance(each.outcome, Failure)]
        if len(failed) > proof.max_failed * len(judged):
            problem = f"stopped after a pilot: {len(failed)} of {len(judged)} pairs have no grade"
            ended = TooManyFailed(f"{problem}: {looks(failed)}", parameter="max_failed")
            ended.again = {"no_pilot": True}
    # the questions of a query may be counted in the row of another pair
    settled = [] if assessor.prompt.front.questions else judged
    return replace(options, pilot={each.outcome.pair: each for each in settled}, ended=ended), pilot


def pilot_pairs(pairs: Collection[Pair], texts: Texts) -> list[Pair]:
    """The pairs of a pilot: drawn by chance, then spread over the lengths of documents."""
    places = set(Random(PAIRS).sample(range(len(pairs)), min(len(pairs), 3 * PAIRS)))
    drawn = [pair for at, pair in enumerate(pairs) if at in places]
    drawn.sort(key=lambda pair: len(texts.of(pair)[1].text))
    few = min(len(drawn), PAIRS)
    return [drawn[(2 * at + 1) * len(drawn) // (2 * few)] for at in range(few)]


def _measured(judged: Sequence[Judged], total: int, seconds: float, guard: Guard) -> Pilot:
    """What the pairs of a pilot say of all."""
    import numpy as np  # which smaller runs need not load

    from labeler.stats.intervals import jackknife
    from labeler.stats.means import mean_interval, share_interval

    price, limits, pairs = guard.budget.price, guard.limiter.limits, len(judged)
    failed = np.array([isinstance(each.outcome, Failure) for each in judged])
    tokens = np.array([(each.prompt_tokens, each.completion_tokens) for each in judged], float)
    inside, outside = map(float, tokens.mean(axis=0))
    taken = tokens @ ((price.tokens_in, price.tokens_out) if price else (1, 1))
    ends = mean_interval(taken, jackknife) or (0.0, 0.0)
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
