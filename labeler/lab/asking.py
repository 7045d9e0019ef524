"""Ask assessors about pairs, round by round, in one session; and what that would take."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from itertools import chain

from labeler.data import Judged
from labeler.judging.in_flight import PairOptions, judge_pairs, proof_in
from labeler.judging.judge import JudgingPlan
from labeler.judging.methods.inquiries import Inquiries, unanswered
from labeler.judging.methods.inquiry import TRIES
from labeler.judging.pilot import AskedRound, piloted
from labeler.model import Request
from labeler.models.call_plan import plan_calls
from labeler.models.session import Control, Session, Underway


async def judged_rounds(
    rounds: Sequence[AskedRound],
    session: Session,
    control: Control,
    asking: PairOptions,
    total: int = 0,
) -> AsyncIterator[Judged]:
    """Ask one round after another, and give each pair as it is judged, in the pairs' order.

    The first begins with a pilot, of so many pairs in `total` as later calls may ask about, too.
    `BudgetReached` ends it; what came before was given.
    """
    guard, here = session.guard, sum(len(each.pairs) for each in rounds)
    total = max(here, total)
    asks = any(each.assessor.model.is_server for each in rounds)
    with control.judging(Underway(here, guard, asks=asks)) as on_judged:
        in_hand, proof = guard.limiter.limits.in_hand, proof_in(session, asking.proof, total)
        how = replace(asking, at_once=in_hand, on_judged=on_judged, stop=guard.stop)
        how = replace(how, note=control.note, proof=proof)
        how, _ = await piloted(rounds[0], how, guard, total)
        for assessor, pairs, texts in rounds:
            async for judged in judge_pairs(pairs, texts, assessor, how):
                yield judged
            how = replace(how, pilot={})


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
