"""Judging pairs: many of them under way at once, handed back in the order in which they came."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, field

from labeler.data import Failure, Judged, Pair
from labeler.errors import (
    AskedElsewhere,
    BudgetReached,
    CallFailed,
    Misconfigured,
    ProviderError,
    Retryable,
    Stopped,
)
from labeler.judging.assessor import Assessor, Texts
from labeler.judging.attempts import Task, in_chunks, recalled
from labeler.model import Reply, Request
from labeler.models.policies.stop import StopSignal

WINDOW = 20_000
"""Pairs that may be done behind one that is not, so that memory stays flat."""

POLL_SECONDS = 1.0
GRACE_SECONDS = 30.0
_ABOUT_LENGTH = re.compile("context|length|too (long|large|many)|token", re.IGNORECASE)
FAILED_IN_A_ROW = 8
REFUSED_IN_A_ROW = 50
"""Requests refused in the same words with no answer between them, after which the run ends."""


@dataclass(frozen=True)
class PairOptions:
    """How many pairs are under way at once, and whether those that failed are asked again.

    `on_judged` is called with every pair when it is done; once `stop` is set, no more calls begin.
    """

    at_once: int = 16
    retry_failed: bool = False
    on_judged: Callable[[Judged], None] = lambda judged: None
    stop: StopSignal = field(default_factory=StopSignal)


async def judge_pairs(
    pairs: Iterable[Pair], texts: Texts, assessor: Assessor, options: PairOptions | None = None
) -> AsyncIterator[Judged]:
    """Judge pairs, in their order, with a bounded number under way.

    A call that failed for good is its pair's `Failure`; what ends the run (a refused key, a server
    that answers nothing any more) is raised once the calls under way have ended. `BudgetReached` is
    raised after every pair that needed no further call. `Stopped` is raised once the stop signal
    is set.
    """
    in_flight = InFlight(assessor, options or PairOptions())
    try:
        for chunk in in_chunks(pairs):
            await asyncio.sleep(0)  # where all is answered, nothing else lets a signal through
            in_flight.check_stop()
            for item in recalled(chunk, texts, assessor):
                if not isinstance(item, Task):
                    if not in_flight.waiting:  # nearly all, where all is answered
                        in_flight.options.on_judged(item)
                        yield item
                        continue
                    in_flight.pass_on(item)
                elif item.calls_left(in_flight.options.retry_failed):
                    await in_flight.begin(item)
                else:
                    in_flight.pass_on(item.judged())
                for judged in in_flight.done():
                    yield judged
        while in_flight.waiting:
            await in_flight.finish_first()
            for judged in in_flight.done():
                yield judged
        in_flight.check_budget()
    except asyncio.CancelledError:
        in_flight.cancel()
        raise
    finally:
        await in_flight.clear()


@dataclass(slots=True)
class _Waiting:
    """A pair that waits for its turn to be handed back: done, or still asked for."""

    judged: Judged | None = None
    running: asyncio.Task[None] | None = None


class InFlight:
    """The pairs under way, handed back in the order in which they came."""

    def __init__(self, assessor: Assessor, options: PairOptions) -> None:
        self.options = options
        self.waiting: deque[_Waiting] = deque()
        self._assessor = assessor
        self._slots = asyncio.Semaphore(options.at_once)
        self._running: set[asyncio.Task[None]] = set()
        self._fatal: Exception | None = None
        self._failed_in_a_row = 0
        self._refused_in_a_row = 0
        self._refused_with = ""

    def pass_on(self, judged: Judged) -> None:
        """Take a pair that needs no call."""
        self.waiting.append(_Waiting(judged))
        self.options.on_judged(judged)

    async def begin(self, task: Task) -> None:
        """Begin to ask for a pair, once there is a slot, if the budget is not spent."""
        if not self._is_spent:
            await self._slots.acquire()
        if self._is_spent:
            self._pass_on_unasked(task)
            return
        self.check_stop()
        waiting = _Waiting()
        waiting.running = asyncio.create_task(self._finish(task, waiting))
        self._running.add(waiting.running)
        waiting.running.add_done_callback(self._running.discard)
        self.waiting.append(waiting)
        while len(self.waiting) > WINDOW and self.waiting[0].running:
            await self.finish_first()

    @property
    def _is_spent(self) -> bool:
        return isinstance(self._fatal, BudgetReached)

    def _pass_on_unasked(self, task: Task) -> None:
        """Hand back a pair that the budget does not reach, if earlier replies say its outcome."""
        if task.outcome is not None:
            self.pass_on(task.judged())

    def check_stop(self) -> None:
        """Raise what ended the run, once the stop signal is set; at the budget, go on."""
        if self.options.stop.is_set() and not self._is_spent:
            raise self._fatal or Stopped("stopped; what was asked is kept")

    def check_budget(self) -> None:
        """Raise `BudgetReached` where pairs were left because of it."""
        if self._fatal:
            raise self._fatal

    async def _finish(self, task: Task, waiting: _Waiting) -> None:
        """Ask until there is a grade, or no call left; what ends the run sets the stop signal."""
        try:
            await self._ask(task)
            waiting.judged = task.judged()
        except Stopped:
            return
        except Exception as error:
            self._fatal = self._fatal or error
            self.options.stop.set()
            return
        finally:
            waiting.running = None
            self._slots.release()
        self.options.on_judged(waiting.judged)

    async def _ask(self, task: Task) -> None:
        try:
            for _ in range(task.calls_left(self.options.retry_failed)):
                reply = await self._reply(task.request)
                task.take_in(reply, self._assessor.outcome_of(task.pair, reply))
                self._failed_in_a_row = self._refused_in_a_row = 0
                if not task.is_reasked:
                    return
        except CallFailed as error:
            task.outcome, task.remembered = Failure(task.pair, error.status, str(error)), False
            self._count_failure(error)

    async def _reply(self, request: Request) -> Reply:
        """The reply; while another process asks for it, the slot is free for another pair."""
        while True:
            try:
                return await self._assessor.model.ask(request)
            except AskedElsewhere:
                self._slots.release()
                await self.options.stop.sleep(POLL_SECONDS)
                await self._slots.acquire()
                if self.options.stop.is_set():
                    raise Stopped("stopped; another process is asking this pair") from None
                if self.options.stop.is_over:
                    problem = "stopped at the deadline, while another process was asking"
                    raise BudgetReached(problem, parameter="deadline") from None

    def _count_failure(self, error: CallFailed) -> None:
        """End the run when the server fails every call, rather than fail every pair."""
        if not isinstance(error, Retryable):
            self._count_refusal(error)
            return
        self._failed_in_a_row += 1
        if self._failed_in_a_row >= max(FAILED_IN_A_ROW, self.options.at_once):
            count = self._failed_in_a_row
            raise ProviderError(f"{count} pairs failed in a row, the last with: {error}")

    def _count_refusal(self, error: CallFailed) -> None:
        """End the run when all calls are refused in the same words, unless for their length."""
        words = re.sub(r"\b\w*\d\w*", "", str(error))  # a request's own number makes no difference
        same = words == self._refused_with and not _ABOUT_LENGTH.search(words)
        self._refused_with = words
        self._refused_in_a_row = self._refused_in_a_row + 1 if same else 1
        if self._refused_in_a_row >= max(REFUSED_IN_A_ROW, self.options.at_once):
            count = self._refused_in_a_row
            problem = f"the server refused {count} requests in a row, each with: {error}"
            raise Misconfigured(f"{problem}; what the server accepts may have changed")

    def done(self) -> Iterator[Judged]:
        """The pairs that can be handed back; raises what ended the run."""
        while self.waiting and self.waiting[0].running is None:
            judged = self.waiting.popleft().judged
            if self._is_spent:
                if judged:
                    yield judged
            elif self._fatal or judged is None:
                raise self._fatal or Stopped("stopped; what was asked is kept")
            else:
                yield judged

    async def finish_first(self) -> None:
        """Wait for the first pair."""
        if self.waiting[0].running:
            await asyncio.wait([self.waiting[0].running])

    async def clear(self) -> None:
        """Let what is under way come to its end; cancel it when cancelled meanwhile."""
        if not self._running:
            return
        self.options.stop.set()
        patient = self._fatal is None or self._is_spent
        try:
            await asyncio.wait(set(self._running), timeout=None if patient else GRACE_SECONDS)
        finally:
            self.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    def cancel(self) -> None:
        """Give up what is under way."""
        for running in set(self._running):
            running.cancel()
