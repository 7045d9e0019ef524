"""Judging: render the prompt, ask the model, validate the reply."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

from labeler.data import (
    Document,
    Failure,
    Judged,
    Judgement,
    Model,
    Outcome,
    Pair,
    Query,
    Reply,
    Request,
)
from labeler.errors import BadInput, CallFailed
from labeler.parsing import parse_grade
from labeler.prompt import Prompt, schema_of

AT_ONCE = 16
TRIES = 3
"""The first attempt and two re-asks."""

REASKED = ("unparsable", "truncated", "out_of_scale")
ROWS_OF_A_CHUNK = 500
WINDOW = 20_000
"""Pairs that may be done behind one that is not, so that memory stays flat."""


@dataclass(frozen=True)
class Assessor:
    """Who grades: a prompt and a model, and the parameters that the model is asked with.

    `inputs` joins what each request's `inputs` hold.
    """

    prompt: Prompt
    model: Model
    parameters: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def asked_with(self) -> dict[str, Any]:
        """The prompt's own parameters, then this assessor's over them."""
        front = self.prompt.front
        own: dict[str, Any] = {"temperature": front.temperature, "max_tokens": front.max_tokens}
        if front.stop:
            own["stop"] = list(front.stop)
        return {**own, **self.parameters}

    def request(self, query: Query, document: Document) -> Request:
        """The first request for a pair."""
        values = _values(query, document)
        schema = None if self.prompt.front.reply == "text" else schema_of(self.prompt)
        inputs = {**values, **self.inputs}
        return Request(self.prompt.render(values), self.asked_with, schema, inputs)

    def verdict(self, pair: Pair, reply: Reply) -> Outcome:
        """What a reply says about a pair."""
        text = self.prompt.front.reply == "text"
        return parse_grade(pair, reply, self.prompt.grades, text=text)


def _values(query: Query, document: Document) -> dict[str, str]:
    return {
        "query": query.text,
        "description": str(query.metadata.get("description") or ""),
        "narrative": str(query.metadata.get("narrative") or ""),
        "title": document.title,
        "text": document.text,
        "passage": f"{document.title}\n{document.text}" if document.title else document.text,
    }


class Texts(NamedTuple):
    """The queries and documents that pairs name."""

    queries: Mapping[str, Query]
    documents: Mapping[str, Document]

    def of(self, pair: Pair) -> tuple[Query, Document]:
        """The two of a pair; `BadInput` where one is missing."""
        if pair.query_id not in self.queries:
            raise BadInput(f"the pool names the query {pair.query_id!r}, which is not there")
        if pair.doc_id not in self.documents:
            raise BadInput(f"the pool names the document {pair.doc_id!r}, which is not there")
        return self.queries[pair.query_id], self.documents[pair.doc_id]


@dataclass(frozen=True)
class Pace:
    """How to go about it: calls at once, whether failures are asked again, and who is told.

    `told` hears of every pair when it is done; `stopping` turns true to begin no more calls.
    """

    at_once: int = AT_ONCE
    retry_failed: bool = False
    told: Callable[[Judged], None] = lambda judged: None
    stopping: Callable[[], bool] = lambda: False


class Plan(NamedTuple):
    """What judging would take: calls, the pairs that need none, tokens, and one request."""

    calls: int
    remembered: int
    tokens_in: int
    tokens_out: int
    example: Request | None


CHARACTERS_OF_A_TOKEN = 4
"""A rule of thumb for English; the true number is the server's to say."""


def plan(pairs: Iterable[Pair], texts: Texts, assessor: Assessor) -> Plan:
    """What judging these pairs would take, with every reply right at the first attempt."""
    calls = remembered = characters = 0
    example: Request | None = None
    for chunk in _chunks(pairs):
        tasks = [_Task(pair, assessor.request(*texts.of(pair))) for pair in chunk]
        example = example or tasks[0].request
        _recall(tasks, assessor)
        asked = [task for task in tasks if _calls_left(task, retry_failed=False)]
        calls += len(asked)
        remembered += len(tasks) - len(asked)
        characters += sum(len(turn.content) for task in asked for turn in task.request.messages)
    most = int(assessor.asked_with.get("max_tokens") or 0)
    return Plan(calls, remembered, characters // CHARACTERS_OF_A_TOKEN, calls * most, example)


class Stopped(Exception):
    """Judging was asked to stop; what was under way is finished and kept."""


async def judge(
    pairs: Iterable[Pair], texts: Texts, assessor: Assessor, pace: Pace | None = None
) -> AsyncIterator[Judged]:
    """Judge pairs, in their order, with a bounded number of calls under way.

    A call that failed for good is its pair's `Failure`; what ends the run (a refused key, the
    budget) is raised once the calls under way have ended. Raises `Stopped` when told to stop.
    """
    desk = _Desk(assessor, pace or Pace())
    try:
        for chunk in _chunks(pairs):
            tasks = [_Task(pair, assessor.request(*texts.of(pair))) for pair in chunk]
            _recall(tasks, assessor)
            for task in tasks:
                await desk.take(task)
                while desk.ready():
                    yield desk.next()
        while desk.waiting:
            await desk.finish_first()
            yield desk.next()
    finally:
        await desk.clear()


def _chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    source = iter(pairs)
    while chunk := list(islice(source, ROWS_OF_A_CHUNK)):
        yield chunk


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
    running: asyncio.Task[None] | None = None

    def read(self, reply: Reply, assessor: Assessor) -> None:
        """Take in a reply, and make the request that would follow it."""
        self.outcome = assessor.verdict(self.pair, reply)
        self.attempts += 1
        self.prompt_tokens += reply.prompt_tokens
        self.completion_tokens += reply.completion_tokens
        if reply.cost is not None:
            self.cost = (self.cost or 0.0) + reply.cost
        self.model = reply.model or self.model
        self.remembered = self.remembered and reply.remembered
        self.request = replace(self.request, attempt=self.attempts)

    def fails(self) -> bool:
        """Whether no grade was found so far."""
        return not isinstance(self.outcome, Judgement)

    def judged(self) -> Judged:
        """The end of it."""
        assert self.outcome is not None
        spent = (self.prompt_tokens, self.completion_tokens, self.cost)
        return Judged(self.outcome, self.attempts, *spent, self.model, self.remembered)


def _recall(tasks: Sequence[_Task], assessor: Assessor) -> None:
    """Read all attempts of each pair that need no asking."""
    open_tasks = list(tasks)
    while open_tasks:
        replies = assessor.model.recall([task.request for task in open_tasks])
        for task, reply in zip(open_tasks, replies, strict=True):
            if reply is not None:
                task.read(reply, assessor)
        known = zip(open_tasks, replies, strict=True)
        open_tasks = [task for task, reply in known if reply is not None and task.fails()]


def _calls_left(task: _Task, retry_failed: bool) -> int:
    """How many more times a pair may be asked, after what is remembered of it."""
    if task.outcome is None or (retry_failed and task.fails()):
        return TRIES
    if isinstance(task.outcome, Failure) and task.outcome.status in REASKED:
        return max(0, TRIES - task.attempts)
    return 0


class _Desk:
    """The pairs under way, handed back in the order in which they came."""

    def __init__(self, assessor: Assessor, pace: Pace) -> None:
        self._assessor = assessor
        self._pace = pace
        self._places = asyncio.Semaphore(pace.at_once)
        self._fatal: BaseException | None = None
        self.waiting: deque[_Task] = deque()

    async def take(self, task: _Task) -> None:
        """Begin what has to be asked for a pair, once there is a place."""
        self.waiting.append(task)
        calls = _calls_left(task, self._pace.retry_failed)
        if not calls:
            self._pace.told(task.judged())
            return
        await self._places.acquire()
        if self._fatal or self._pace.stopping():
            self._places.release()
            raise self._fatal or Stopped
        task.running = asyncio.create_task(self._ask(task, calls))
        while len(self.waiting) > WINDOW and not self.ready():
            await self.finish_first()

    async def _ask(self, task: _Task, calls: int) -> None:
        try:
            for _ in range(calls):
                task.read(await self._assessor.model.ask(task.request), self._assessor)
                if not isinstance(task.outcome, Failure) or task.outcome.status not in REASKED:
                    break
        except CallFailed as error:
            task.outcome, task.remembered = Failure(task.pair, error.status, str(error)), False
        except Exception as error:
            self._fatal = self._fatal or error
            return
        finally:
            self._places.release()
        self._pace.told(task.judged())

    def ready(self) -> bool:
        """Whether the first pair is done."""
        first = self.waiting[0] if self.waiting else None
        return first is not None and (first.running is None or first.running.done())

    async def finish_first(self) -> None:
        """Wait for the first pair."""
        running = self.waiting[0].running
        if running:
            await running

    def next(self) -> Judged:
        """The first pair, which is done; raises what ended the run."""
        if self._fatal:
            raise self._fatal
        return self.waiting.popleft().judged()

    async def clear(self) -> None:
        """Let what is under way come to its end; when cancelled meanwhile, cancel it too."""
        running = [task.running for task in self.waiting if task.running]
        if not running:
            return
        try:
            await asyncio.wait(running)
        except asyncio.CancelledError:
            for one in running:
                one.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            raise
