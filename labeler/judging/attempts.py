"""The attempts at a pair: what is known of them, and what would be asked next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from labeler.data import Failure, Judged, Judgement, Outcome, Pair
from labeler.errors import Stopped
from labeler.judging.assessor import Assessor, Texts
from labeler.model import Reply, Request
from labeler.models.tokens import Tokens, about, at_most

TRIES = 3
"""The first attempt and two re-asks."""

REASKED = ("unparsable", "truncated", "out_of_scale")
ROWS_OF_A_CHUNK = 500


@dataclass(slots=True)
class Task:
    """A pair on its way: the request to ask next, and what was answered so far."""

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

    @property
    def has_grade(self) -> bool:
        """Whether a grade was found."""
        return isinstance(self.outcome, Judgement)

    def take_in(self, reply: Reply, outcome: Outcome) -> None:
        """Count a reply and what it says, and make the request that would follow it."""
        self.outcome = outcome
        self.cost = reply.cost if not self.attempts else _sum(self.cost, reply.cost)
        self.attempts += 1
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
        return max(0, TRIES - self.attempts) if self.outcome.status in REASKED else 0

    def judged(self) -> Judged:
        """The end of it."""
        if self.outcome is None:
            raise Stopped("stopped before this pair was judged")
        spent = (self.prompt_tokens, self.completion_tokens, self.cost)
        shared = self.remembered and self.shared
        return Judged(self.outcome, self.attempts, *spent, self.model, self.remembered, shared)


def _sum(one: float | None, other: float | None) -> float | None:
    """A sum of costs, unknown where either is."""
    return None if one is None or other is None else one + other


def next_request(request: Request, outcome: Outcome) -> Request:
    """The next attempt: the same question, with twice the room where the reply was cut."""
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
    """The pairs of a chunk: those whose first reply is known and a grade, and a task for others.

    All attempts that need no asking are taken in.
    """
    requests = [assessor.request(*texts.of(pair)) for pair in chunk]
    found = list[Task | Judged]()
    known = list[Task]()
    for pair, request, reply in zip(chunk, requests, assessor.model.recall(requests), strict=True):
        outcome = assessor.verdict(pair, reply) if reply else None
        if reply and isinstance(outcome, Judgement):
            spent = (reply.prompt_tokens, reply.completion_tokens, reply.cost)
            found.append(Judged(outcome, 1, *spent, reply.model, reply.remembered, reply.shared))
            continue
        found.append(task := Task(pair, request))
        if reply and outcome:
            task.take_in(reply, outcome)
            known.append(task)
    _recall_more(known, assessor)
    return found


def _recall_more(known: list[Task], assessor: Assessor) -> None:
    """Take in the replies to re-asks, too, as long as they need no asking."""
    while known:
        replies = assessor.model.recall([task.request for task in known])
        there = [(t, r) for t, r in zip(known, replies, strict=True) if r is not None]
        for task, reply in there:
            task.take_in(reply, assessor.verdict(task.pair, reply))
        known = [task for task, _ in there if not task.has_grade]


class Plan(NamedTuple):
    """What judging would take: calls, the pairs that need none, tokens (about, and at most), and
    one request.
    """

    calls: int
    remembered: int
    about: Tokens
    at_most: Tokens
    example: Request | None


def plan(
    pairs: Iterable[Pair], texts: Texts, assessor: Assessor, retry_failed: bool = False
) -> Plan:
    """What judging these pairs would take, with every reply right at the first attempt."""
    calls = remembered = 0
    thought, most = Tokens(0, 0), Tokens(0, 0)
    example: Request | None = None
    for chunk in in_chunks(pairs):
        example = example or assessor.request(*texts.of(chunk[0]))
        for found in recalled(chunk, texts, assessor):
            if isinstance(found, Task) and found.calls_left(retry_failed):
                calls += 1
                thought = thought.plus(about(found.request))
                most = most.plus(at_most(found.request))
            else:
                remembered += 1
    return Plan(calls, remembered, thought, most, example)
