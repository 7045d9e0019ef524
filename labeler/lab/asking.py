"""Ask assessors about pairs, round by round, in one session; and what that would take."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from itertools import chain
from typing import NamedTuple

from labeler.data import Judged, Pair
from labeler.judging.assessor import Assessor, Texts
from labeler.judging.in_flight import PairOptions, judge_pairs
from labeler.judging.judge import JudgingPlan
from labeler.judging.methods.inquiries import Inquiries, unanswered
from labeler.judging.methods.inquiry import TRIES
from labeler.model import Request
from labeler.models.call_plan import plan_calls
from labeler.models.session import Control, Session, Underway


class AskedRound(NamedTuple):
    """Pairs with their texts, and who is asked about them."""

    assessor: Assessor
    pairs: Sequence[Pair]
    texts: Texts


async def judged_rounds(
    rounds: Sequence[AskedRound],
    session: Session,
    control: Control,
    *,
    retry_failed: bool = False,
) -> AsyncIterator[Judged]:
    """Ask one round after another, and give each pair as it is judged, in the pairs' order.

    `BudgetReached` ends it; what came before was given.
    """
    guard, total = session.guard, sum(len(each.pairs) for each in rounds)
    asks = any(each.assessor.model.is_server for each in rounds)
    with control.judging(Underway(total, guard, asks=asks)) as on_judged:
        how = PairOptions(guard.limiter.limits.in_hand, retry_failed, on_judged, guard.stop)
        for assessor, pairs, texts in rounds:
            async for judged in judge_pairs(pairs, texts, assessor, how):
                yield judged


def plan_rounds(
    rounds: Sequence[AskedRound],
    session: Session,
    *,
    retry_failed: bool = False,
    example: Request | None = None,
) -> JudgingPlan:
    """What asking would take, where stored replies do not settle a pair."""
    by_pair = [
        requests
        for assessor, pairs, texts in rounds
        for requests in unanswered(Inquiries(pairs, texts, assessor), retry_failed=retry_failed)
        if requests
    ]
    calls = plan_calls(list(chain.from_iterable(by_pair)), session, example, tries=TRIES)
    total = sum(len(each.pairs) for each in rounds)
    return JudgingPlan(total, total - len(by_pair), calls)
