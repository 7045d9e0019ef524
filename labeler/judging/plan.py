"""What judging would take, before any pair is asked about."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from labeler.files.numbers import count
from labeler.judging.assessor import Assessor
from labeler.judging.attempts import TRIES
from labeler.judging.job import Job
from labeler.judging.methods.inquiries import Inquiries, unanswered
from labeler.judging.tally import Tally
from labeler.model import Request
from labeler.models.call_plan import CallPlan, plan_calls
from labeler.models.session import Session
from labeler.models.tokens import Tokens


@dataclass(frozen=True, slots=True)
class JudgingPlan:
    """How many pairs there are, how many of them need no call, and what the others would take."""

    pairs: int
    remembered: int
    calls: CallPlan

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        return {"pairs": self.pairs, "remembered": self.remembered, **self.calls.as_json()}


def plan_job(
    job: Job, assessor: Assessor, session: Session, *, retry_failed: bool = False, times: int = 1
) -> JudgingPlan:
    """What judging the pairs would take, as others took before that the same assessor judged.

    Of several `times`, each counts as so many pairs more. At most it takes the calls for documents,
    too, to which the reply to their list gives no grade.
    """
    pair = next(iter(job.pairs), None)
    example = Inquiries(job.pairs, job.texts, assessor).example(pair) if pair else None
    counted = _Counted()
    requests = chain.from_iterable(
        counted.each(_unanswered(job, replace(assessor, repeat=time), retry_failed and not time))
        for time in range(times)
    )
    if assessor.prompt.front.batch == 1:
        calls = plan_calls(requests, session, example, tries=TRIES)
    else:
        likely = list(requests)
        further = (
            _further(job, replace(assessor, repeat=time), retry_failed and not time)
            for time in range(times)
        )
        every = chain(likely, chain.from_iterable(further))
        calls = plan_calls(every, session, example, likely=len(likely), tries=TRIES)
    if earlier := learned_of(session, assessor):
        pairs, *tokens = earlier
        took = Tokens(*tokens).times(counted.pairs / pairs)
        calls = replace(calls, about=took, learned=pairs)
    total = job.total + (times - 1) * len(job.pairs)
    return JudgingPlan(total, total - counted.pairs, calls)


def learn_from(tally: Tally, session: Session, assessor: Assessor) -> None:
    """Keep what the pairs of a run took, so that a plan of other pairs tells what they will."""
    took = (tally.pairs, tally.prompt_tokens, tally.completion_tokens)
    if all(took):
        session.learn(_fact_of(assessor), json.dumps(took))


def learned_of(session: Session, assessor: Assessor) -> list[int]:
    """How many pairs were judged before, and the tokens in and out that they took; else nothing."""
    with suppress(ValueError, TypeError, RecursionError):
        took = [count(part) or 0 for part in json.loads(session.fact(_fact_of(assessor)) or "[]")]
        return took if len(took) == 3 and all(took) else []  # not what another version wrote
    return []


def _fact_of(assessor: Assessor) -> str:
    return f"tokens of pairs with {assessor.prompt.id} by {assessor.model.id}"


def _unanswered(
    job: Job, assessor: Assessor, retry_failed: bool, *, worst: bool = False
) -> Iterator[Sequence[Request]]:
    """The requests for each pair that stored replies do not settle."""
    inquiries = Inquiries(job.pairs, job.texts, assessor)
    return unanswered(inquiries, retry_failed=retry_failed, worst=worst)


@dataclass(slots=True)
class _Counted:
    """Counts the pairs whose requests are handed on."""

    pairs: int = 0

    def each(self, requests_by_pair: Iterable[Sequence[Request]]) -> Iterator[Request]:
        """The requests of all pairs, one after the other."""
        for requests in requests_by_pair:
            self.pairs += 1
            yield from requests


def _further(job: Job, assessor: Assessor, retry_failed: bool) -> Iterator[Request]:
    """The requests for documents alone, if no list was answered with the grades of any of them."""
    likely = _unanswered(job, assessor, retry_failed)
    worst = _unanswered(job, assessor, retry_failed, worst=True)
    for first, all_of_them in zip(likely, worst, strict=True):
        yield from all_of_them[len(first) :]
