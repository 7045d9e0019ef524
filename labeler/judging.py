"""Judging: render the prompt, ask the model, validate the reply."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from labeler.assessing import Assessor, Texts
from labeler.data import Failure, Judged, Judgement, Outcome, Pair, Reply, Request
from labeler.errors import BudgetReached, CallFailed, Elsewhere, MayPass, ProviderError, Stopped
from labeler.models.brake import Brake

TRIES = 3
"""The first attempt and two re-asks."""

REASKED = ("unparsable", "truncated", "out_of_scale")
ROWS_OF_A_CHUNK = 500
WINDOW = 20_000
"""Pairs that may be done behind one that is not, so that memory stays flat."""

POLL_SECONDS = 1.0
GRACE_SECONDS = 30.0
FAILED_IN_A_ROW = 8


@dataclass(frozen=True)
class Pace:
    """How to go about it: pairs under way, whether failures are asked again, and who is told.

    `told` hears of every pair when it is done; once `brake` is pulled, no more calls begin.
    """

    at_once: int = 16
    retry_failed: bool = False
    told: Callable[[Judged], None] = lambda judged: None
    brake: Brake = field(default_factory=Brake)


async def judge(
    pairs: Iterable[Pair], texts: Texts, assessor: Assessor, pace: Pace | None = None
) -> AsyncIterator[Judged]:
    """Judge pairs, in their order, with a bounded number under way.

    A call that failed for good is its pair's `Failure`; what ends the run (a refused key, the
    budget, a server that answers nothing any more) is raised once the calls under way have ended.
    Raises `Stopped` once the brake is pulled.
    """
    desk = _Desk(assessor, pace or Pace())
    try:
        for chunk in _chunks(pairs):
            for found in _recalled(chunk, texts, assessor):
                if isinstance(found, _Task) and found.calls_left(desk.pace.retry_failed):
                    await desk.begin(found)
                else:
                    desk.pass_on(found.judged() if isinstance(found, _Task) else found)
                while desk.is_first_done():
                    yield desk.take_first()
        while desk.waiting:
            await desk.finish_first()
            yield desk.take_first()
    except asyncio.CancelledError:
        desk.cancel()
        raise
    finally:
        await desk.clear()


class Plan(NamedTuple):
    """What judging would take: calls, the pairs that need none, tokens, and one request."""

    calls: int
    remembered: int
    tokens_in: int
    tokens_out: int
    example: Request | None


CHARACTERS_OF_A_TOKEN = 4
"""A rule of thumb for English; the true number is the server's to say."""


def plan(
    pairs: Iterable[Pair], texts: Texts, assessor: Assessor, retry_failed: bool = False
) -> Plan:
    """What judging these pairs would take, with every reply right at the first attempt."""
    calls = remembered = characters = 0
    example: Request | None = None
    for chunk in _chunks(pairs):
        example = example or assessor.request(*texts.of(chunk[0]))
        for found in _recalled(chunk, texts, assessor):
            if isinstance(found, _Task) and found.calls_left(retry_failed):
                calls += 1
                characters += sum(len(turn.content) for turn in found.request.messages)
            else:
                remembered += 1
    most = int(assessor.asked_with.get("max_tokens") or 0)
    return Plan(calls, remembered, characters // CHARACTERS_OF_A_TOKEN, calls * most, example)


def _chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    source = iter(pairs)
    while chunk := list(islice(source, ROWS_OF_A_CHUNK)):
        yield chunk


def _recalled(chunk: Sequence[Pair], texts: Texts, assessor: Assessor) -> list[_Task | Judged]:
    """The pairs of a chunk: those whose first reply is known and a grade, and a task for others.

    All attempts that need no asking are taken in.
    """
    requests = [assessor.request(*texts.of(pair)) for pair in chunk]
    found = list[_Task | Judged]()
    known = list[_Task]()
    for pair, request, reply in zip(chunk, requests, assessor.model.recall(requests), strict=True):
        outcome = assessor.verdict(pair, reply) if reply else None
        if reply and isinstance(outcome, Judgement):
            spent = (reply.prompt_tokens, reply.completion_tokens, reply.cost)
            found.append(Judged(outcome, 1, *spent, reply.model, reply.remembered))
            continue
        found.append(task := _Task(pair, request))
        if reply and outcome:
            task.take_in(reply, outcome)
            known.append(task)
    _recall_more(known, assessor)
    return found


def _recall_more(known: list[_Task], assessor: Assessor) -> None:
    """Take in the replies to re-asks, too, as long as they need no asking."""
    while known:
        replies = assessor.model.recall([task.request for task in known])
        there = [(t, r) for t, r in zip(known, replies, strict=True) if r is not None]
        for task, reply in there:
            task.take_in(reply, assessor.verdict(task.pair, reply))
        known = [task for task, _ in there if not task.has_grade]


@dataclass(slots=True)
class _Task:
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

    @property
    def has_grade(self) -> bool:
        """Whether a grade was found."""
        return isinstance(self.outcome, Judgement)

    def take_in(self, reply: Reply, outcome: Outcome) -> None:
        """Count a reply and what it says, and make the request that would follow it."""
        self.outcome = outcome
        self.attempts += 1
        self.prompt_tokens += reply.prompt_tokens
        self.completion_tokens += reply.completion_tokens
        if reply.cost is not None:
            self.cost = (self.cost or 0.0) + reply.cost
        self.model = reply.model or self.model
        self.remembered = self.remembered and reply.remembered
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
        return Judged(self.outcome, self.attempts, *spent, self.model, self.remembered)


def next_request(request: Request, outcome: Outcome) -> Request:
    """The next attempt: the same question, with twice the room where the reply was cut."""
    parameters = request.parameters
    if isinstance(outcome, Failure) and outcome.status == "truncated":
        most = parameters.get("max_tokens")
        parameters = {**parameters, "max_tokens": 2 * most} if most else parameters
    return replace(request, parameters=parameters, attempt=request.attempt + 1)


@dataclass(slots=True)
class _Place:
    """Where a pair waits for its turn to be handed back."""

    judged: Judged | None = None
    running: asyncio.Task[None] | None = None


class _Desk:
    """The pairs under way, handed back in the order in which they came."""

    def __init__(self, assessor: Assessor, pace: Pace) -> None:
        self.pace = pace
        self.waiting: deque[_Place] = deque()
        self._assessor = assessor
        self._free = asyncio.Semaphore(pace.at_once)
        self._running: set[asyncio.Task[None]] = set()
        self._fatal: Exception | None = None
        self._failed_in_a_row = 0

    def pass_on(self, judged: Judged) -> None:
        """Take a pair that needs no asking."""
        self.waiting.append(_Place(judged))
        self.pace.told(judged)

    async def begin(self, task: _Task) -> None:
        """Begin to ask for a pair, once there is a place."""
        await self._free.acquire()
        if self.pace.brake.pulled:
            raise self._fatal or Stopped("stopped; what was asked is kept")
        place = _Place()
        place.running = asyncio.create_task(self._finish(task, place))
        self._running.add(place.running)
        place.running.add_done_callback(self._running.discard)
        self.waiting.append(place)
        while len(self.waiting) > WINDOW and not self.is_first_done():
            await self.finish_first()

    async def _finish(self, task: _Task, place: _Place) -> None:
        """Ask until there is a grade, or no call left; what ends the run pulls the brake."""
        try:
            await self._ask(task)
            place.judged = task.judged()
        except Stopped:
            return
        except Exception as error:
            self._fatal = self._fatal or error
            self.pace.brake.pull()
            return
        finally:
            place.running = None
            self._free.release()
        self.pace.told(place.judged)

    async def _ask(self, task: _Task) -> None:
        try:
            for _ in range(task.calls_left(self.pace.retry_failed)):
                reply = await self._reply(task.request)
                task.take_in(reply, self._assessor.verdict(task.pair, reply))
                self._failed_in_a_row = 0
                if not isinstance(task.outcome, Failure) or task.outcome.status not in REASKED:
                    return
        except CallFailed as error:
            task.outcome, task.remembered = Failure(task.pair, error.status, str(error)), False
            self._count_failure(error)

    async def _reply(self, request: Request) -> Reply:
        """The reply; while another process asks for it, the place is free for another pair."""
        while True:
            try:
                return await self._assessor.model.ask(request)
            except Elsewhere:
                self._free.release()
                await self.pace.brake.sleep(POLL_SECONDS)
                await self._free.acquire()
                if self.pace.brake.pulled:
                    raise Stopped("stopped; another process is asking this pair") from None

    def _count_failure(self, error: CallFailed) -> None:
        """End the run when the server fails every call, rather than fail every pair."""
        self._failed_in_a_row += isinstance(error, MayPass)
        if self._failed_in_a_row >= max(FAILED_IN_A_ROW, self.pace.at_once):
            count = self._failed_in_a_row
            raise ProviderError(f"{count} pairs failed in a row, the last with: {error}")

    def is_first_done(self) -> bool:
        """Whether the first pair can be handed back, or never will be."""
        return bool(self.waiting) and self.waiting[0].running is None

    async def finish_first(self) -> None:
        """Wait for the first pair."""
        if self.waiting[0].running:
            await asyncio.wait([self.waiting[0].running])

    def take_first(self) -> Judged:
        """The first pair, which is done; raises what ended the run."""
        judged = self.waiting.popleft().judged
        if self._fatal or judged is None:
            raise self._fatal or Stopped("stopped; what was asked is kept")
        return judged

    async def clear(self) -> None:
        """Let what is under way come to its end; cancel it when cancelled meanwhile."""
        if not self._running:
            return
        self.pace.brake.pull()
        patient = self._fatal is None or isinstance(self._fatal, BudgetReached)
        try:
            await asyncio.wait(set(self._running), timeout=None if patient else GRACE_SECONDS)
        finally:
            self.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    def cancel(self) -> None:
        """Give up what is under way."""
        for running in set(self._running):
            running.cancel()
