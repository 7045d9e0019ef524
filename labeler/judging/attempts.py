"""The attempts at a pair: the replies so far, and the request that would follow them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from labeler.data import Failure, Judged, Judgement, Outcome, Pair
from labeler.errors import Stopped
from labeler.judging.assessor import Assessor, Texts
from labeler.model import NO_TEXT, Reply, Request

TRIES = 3
"""The first attempt and two re-asks."""

REASKED = ("unparsable", "truncated", "out_of_scale", "conflict")
ROWS_OF_A_CHUNK = 500


@dataclass(slots=True)
class Task:
    """A pair that is being judged: the request to ask next, and what was answered so far."""

    pair: Pair
    request: Request
    outcome: Outcome | None = None
    attempts: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    model: str = ""
    remembered: bool = True
    shared: bool = False
    is_worth_another: bool = True

    @property
    def has_grade(self) -> bool:
        """Whether a reply gave a grade."""
        return isinstance(self.outcome, Judgement)

    def take_in(self, reply: Reply, outcome: Outcome) -> None:
        """Count a reply and what it says, and make the request that would follow it."""
        self.outcome = outcome
        self.cost = reply.cost if not self.attempts else _sum(self.cost, reply.cost)
        self.attempts += 1
        self.is_worth_another = reply.finish_reason != NO_TEXT
        self.prompt_tokens += reply.prompt_tokens
        self.completion_tokens += reply.completion_tokens
        self.model = reply.model or self.model
        self.remembered = self.remembered and reply.remembered
        self.shared = self.shared or reply.shared
        if not self.has_grade:
            self.request = next_request(self.request, self.outcome)

    def calls_left(self, retry_failed: bool) -> int:
        """How many times the pair may be asked, after what is remembered of it."""
        if self.outcome is None:
            return TRIES
        if isinstance(self.outcome, Judgement):
            return 0
        if retry_failed:
            return TRIES
        return max(0, TRIES - self.attempts) if self.is_reasked else 0

    @property
    def is_reasked(self) -> bool:
        """Whether another reply may hold a grade where the last one did not."""
        is_failure = isinstance(self.outcome, Failure) and self.outcome.status in REASKED
        return is_failure and self.is_worth_another

    def judged(self) -> Judged:
        """The pair's outcome, and what all attempts at it took."""
        if self.outcome is None:
            raise Stopped("stopped before this pair was judged")
        spent = (self.prompt_tokens, self.completion_tokens, self.cost)
        shared = self.remembered and self.shared
        return Judged(self.outcome, self.attempts, *spent, self.model, self.remembered, shared)


def _sum(first: float | None, second: float | None) -> float | None:
    """The sum of two costs, unknown where either is."""
    return None if first is None or second is None else first + second


def next_request(request: Request, outcome: Outcome) -> Request:
    """The next attempt: the same question, with twice the tokens where the reply was cut short."""
    parameters = request.parameters
    if isinstance(outcome, Failure) and outcome.status == "truncated":
        most = parameters.get("max_tokens")
        parameters = {**parameters, "max_tokens": 2 * most} if most else parameters
    return replace(request, parameters=parameters, attempt=request.attempt + 1)


def in_chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """The pairs, a few hundred at a time, whose stored replies are looked up together."""
    source = iter(pairs)
    while chunk := list(islice(source, ROWS_OF_A_CHUNK)):
        yield chunk


def recalled(chunk: Sequence[Pair], texts: Texts, assessor: Assessor) -> list[Task | Judged]:
    """The pairs of a chunk: judged ones where the first stored reply is a grade, else tasks.

    A task has taken in all the stored replies to its attempts.
    """
    requests = [assessor.request(*texts.of(pair)) for pair in chunk]
    result = list[Task | Judged]()
    failed = list[Task]()
    for pair, request, reply in zip(chunk, requests, assessor.model.recall(requests), strict=True):
        outcome = assessor.outcome_of(pair, reply) if reply else None
        if reply and isinstance(outcome, Judgement):
            spent = (reply.prompt_tokens, reply.completion_tokens, reply.cost)
            result.append(Judged(outcome, 1, *spent, reply.model, reply.remembered, reply.shared))
            continue
        result.append(task := Task(pair, request))
        if reply and outcome:
            task.take_in(reply, outcome)
            failed.append(task)
    _recall_more(failed, assessor)
    return result


def _recall_more(failed: list[Task], assessor: Assessor) -> None:
    """Take in the stored replies to re-asks, too."""
    while failed:
        replies = assessor.model.recall([task.request for task in failed])
        answered = [(t, r) for t, r in zip(failed, replies, strict=True) if r is not None]
        for task, reply in answered:
            task.take_in(reply, assessor.outcome_of(task.pair, reply))
        failed = [task for task, _ in answered if not task.has_grade]
