"""Judging pairs: many of them under way at once, handed back in the order in which they came."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from labeler.data import Failure, Judged, Outcome, Pair
from labeler.errors import (
    AskedElsewhere,
    BudgetReached,
    CallFailed,
    ProviderError,
    Retryable,
    Stopped,
    TooManyFailed,
    WaitsInBatch,
)
from labeler.judging.assessor import Assessor, Texts
from labeler.judging.methods.inquiries import Inquiries
from labeler.judging.methods.inquiry import (
    HELP,
    Inquiry,
    Task,
    in_chunks,
    is_too_long,
    recall_inquiries,
)
from labeler.messages import Note, quiet
from labeler.model import Model
from labeler.models.policies.call import StopSignal
from labeler.models.policies.limits import Slots
from labeler.models.session import Session
from labeler.models.settings import Proof

# Calls and pairs that fail one after the other: when it is no pair that is what is wrong.

FAILED_IN_A_ROW = 8
"""Calls that fail one after the other, or as many as are under way at once, end the run."""

FEWEST = 100
"""A run of fewer pairs has nothing to show, and no pilot."""


def proof_in(session: Session, proof: Proof | None, total: int) -> Proof | None:
    """What a run of `total` pairs has to show; None where it is small, or asks no model live."""
    selection, deferral = session.selection, session.selection.options.deferral
    is_live = selection.reads_prompt and deferral.is_live and not deferral.waiting
    return proof if is_live and total >= FEWEST else None


LATEST = 100
"""How many of the latest pairs are looked at."""

CERTAIN = 5.0
"""The run ends when failures exceed the allowed share by this many standard errors. They are many,
as a long run is looked at often.
"""


@dataclass(slots=True)
class LatestPairs:
    """The failures of the latest pairs, of which a `proof` says how many there may be."""

    proof: Proof | None
    failures: deque[Failure | None] = field(default_factory=lambda: deque(maxlen=LATEST))

    def take_in(self, outcome: Outcome) -> TooManyFailed | None:
        """Look at one more pair; what ends the run, where too many came to no grade."""
        failure = outcome if isinstance(outcome, Failure) else None
        self.failures.append(failure)
        if self.proof is None or failure is None:
            return None
        share, failed = self.proof.max_failed, [each for each in self.failures if each]
        most = LATEST * share + CERTAIN * math.sqrt(LATEST * share * (1 - share))
        if len(failed) <= (max(most, LATEST - 1) if self.proof.no_pilot else most):
            return None
        problem = f"{len(failed)} of the latest {len(self.failures)} pairs have no grade"
        return TooManyFailed(f"{problem}: {looks(failed)}", parameter="max_failed")


EXAMPLES = 3
_READER = "another reader, or a prompt whose form of replies the model keeps to"
_HELP = {
    "truncated": "a higher max_tokens, or thinking turned off",
    "unparsable": _READER,
    "conflict": _READER,
    "call_failed": "what the server says of its calls",
}


def looks(failed: Sequence[Failure]) -> str:
    """How some replies of failed pairs look, and what would help most of them."""
    details = dict.fromkeys(f"{f.status}: {f.detail[:100]}" for f in failed)
    helps = [
        HELP if is_too_long(f) else _HELP.get(f.status, "another model or prompt") for f in failed
    ]
    examples = "; ".join([*details][:EXAMPLES])
    return f"{examples}; what may help: {max(helps, key=helps.count)}"


WINDOW = 20_000
"""Pairs that may be done behind one that is not, so that memory stays flat."""

QUERIES_AHEAD = 8
"""Times as many pairs are begun where those of a query wait for one request."""

POLL_SECONDS = 1.0
GRACE_SECONDS = 30.0


@dataclass(frozen=True)
class PairOptions:
    """How many pairs are under way at once, and whether those that failed are asked again.

    `on_judged` is called with every pair when it is done, `note` with lines for a person; once
    `stop` is set, no more calls begin.
    Too many pairs without a grade end the run, as the `proof` says. `only` some pairs are judged
    first, in a pilot; `pilot` holds what became of them. If the pilot `ended` the run, other pairs
    are only looked up in the store.
    """

    at_once: int = 16
    retry_failed: bool = False
    on_judged: Callable[[Judged], None] = quiet
    stop: StopSignal = field(default_factory=StopSignal)
    note: Note = quiet
    proof: Proof | None = None
    only: Sequence[Pair] = ()
    pilot: Mapping[Pair, Judged] = field(default_factory=dict)
    ended: BudgetReached | None = None


async def judge_pairs(
    pairs: Iterable[Pair], texts: Texts, assessor: Assessor, options: PairOptions | None = None
) -> AsyncIterator[Judged]:
    """Judge pairs, in their order, with a bounded number under way.

    A call that failed for good is its pair's `Failure`; what ends the run (a refused key, a server
    that answers nothing any more) is raised once the calls under way have ended. `BudgetReached` is
    raised after every pair that needed no further call. `Stopped` is raised once the stop signal
    is set.
    """
    options = options or PairOptions()
    inquiries = Inquiries(pairs, texts, assessor)
    # all pairs of a query wait for the request that writes its questions
    shares_parts = assessor.prompt.front.questions is not None
    in_flight = InFlight(assessor.model, options, shares_parts=shares_parts)
    try:
        for chunk in in_chunks(options.only or inquiries.pairs):
            await asyncio.sleep(0)  # where all is answered, nothing else lets a signal through
            in_flight.check_stop()
            for pair, given, _ in inquiries.recalled(chunk, retry_failed=options.retry_failed):
                if isinstance(item := options.pilot.get(pair, given), Judged):
                    if not in_flight.waiting:  # nearly all, where all is answered
                        options.on_judged(item)
                        yield item
                        continue
                    in_flight.pass_on(item)
                else:
                    await in_flight.begin(pair, item)
                if in_flight.is_first_done:
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
class _Underway:
    """An inquiry that is being asked or will be, and the pairs that wait for it.

    `pairs` are those that were begun before it ended; `waited` is what somebody waits for until
    then.
    """

    inquiry: Inquiry
    pairs: list[Pair]
    has_ended: bool = False
    waited: asyncio.Future[None] | None = None

    def end(self) -> None:
        """Tell who waits that nothing is asked any more."""
        self.has_ended = True
        if self.waited and not self.waited.done():
            self.waited.set_result(None)


class _Waiting(NamedTuple):
    """A pair that waits for its turn to be handed back: what became of it, or how it is asked."""

    pair: Pair
    state: Judged | _Underway

    @property
    def judged(self) -> Judged | None:
        state = self.state
        return state if isinstance(state, Judged) else state.inquiry.judged().get(self.pair)


class InFlight:
    """The pairs under way, handed back in the order in which they came.

    Workers ask for one pair after the other, of those that are begun: a task for each pair would
    cost more than much else. Where all pairs of a query wait for one request (`shares_parts`), more
    are begun at once, so that the requests of several queries are under way. How many calls are is
    the model's matter.
    """

    def __init__(self, model: Model, options: PairOptions, *, shares_parts: bool) -> None:
        self.options = options
        self.waiting: deque[_Waiting] = deque()
        self._model = model
        self._most = options.at_once * (QUERIES_AHEAD if shares_parts else 1)
        self._slots = Slots(self._most)
        self._begun: deque[_Underway] = deque()
        self._room: asyncio.Future[None] | None = None
        self._underway: dict[int, _Underway] = {}
        self._workers: set[asyncio.Task[None]] = set()
        self._fatal: Exception | None = None
        self._failed_in_a_row = 0
        self._latest = LatestPairs(options.proof)

    def pass_on(self, judged: Judged) -> None:
        """Take a pair that needs no call."""
        self.waiting.append(_Waiting(judged.outcome.pair, judged))
        self.options.on_judged(judged)

    async def begin(self, pair: Pair, inquiry: Inquiry) -> None:
        """Begin to ask for a pair, once there is a slot, if the budget is not spent."""
        if inquiry.is_done:  # with the other pairs of its list, a moment ago
            self._pass_on_unasked(pair, inquiry)
            return
        underway = self._underway.get(id(inquiry))
        if underway is not None:
            underway.pairs.append(pair)
            self.waiting.append(_Waiting(pair, underway))
            return
        while len(self._begun) >= self._most and not self._is_spent:
            self._room = asyncio.get_running_loop().create_future()
            await self._room
        if self._is_spent:
            self._pass_on_unasked(pair, inquiry)
            return
        self.check_stop()
        underway = self._underway[id(inquiry)] = _Underway(inquiry, [pair])
        self._begun.append(underway)
        self._start_workers()
        self.waiting.append(_Waiting(pair, underway))
        while len(self.waiting) > WINDOW and not self.is_first_done:
            await self.finish_first()

    def _start_workers(self) -> None:
        """Have as many workers as may be, as long as there is something for them to begin with."""
        missing = len(self._begun)
        while missing and self._slots.take_now():
            worker = asyncio.create_task(self._work())
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)
            missing -= 1

    async def _work(self) -> None:
        """Ask for what is begun, until nothing is left of it."""
        try:
            while self._begun:
                underway = self._begun.popleft()
                if self._room and not self._room.done() and 2 * len(self._begun) <= self._most:
                    self._room.set_result(None)
                await self._finish(underway)
        finally:
            self._slots.release()

    @property
    def _is_spent(self) -> bool:
        return isinstance(self._fatal or self.options.ended, BudgetReached)

    def _pass_on_unasked(self, pair: Pair, inquiry: Inquiry) -> None:
        """Hand back a pair that the budget does not reach, if earlier replies say its outcome."""
        while not inquiry.is_done:
            inquiry.go_on()
            recall_inquiries([inquiry], self._model)
        if judged := inquiry.judged().get(pair):
            self.pass_on(judged)
        else:
            self._fatal = self._fatal or self.options.ended

    def check_stop(self) -> None:
        """Raise what ended the run, once the stop signal is set; at the budget, go on."""
        if self.options.stop.is_set() and not self._is_spent:
            raise self._fatal or Stopped("stopped; what was asked is kept")

    def check_budget(self) -> None:
        """Raise `BudgetReached` where pairs were left because of it."""
        if self._fatal:
            raise self._fatal

    async def _finish(self, underway: _Underway) -> None:
        """Ask until nothing is left to ask; what ends the run sets the stop signal."""
        inquiry = underway.inquiry
        try:
            await self._ask(inquiry)
            judged = inquiry.judged()
            for pair in filter(judged.__contains__, underway.pairs):
                self.options.on_judged(judged[pair])
                if too_many := self._latest.take_in(judged[pair].outcome):
                    self._end(too_many)
        except Stopped:
            return
        except Exception as error:
            self._end(error)
        finally:
            self._underway.pop(id(inquiry), None)
            underway.end()

    def _end(self, error: Exception) -> None:
        self._fatal = self._fatal or error
        self.options.stop.set()

    async def _ask(self, inquiry: Inquiry) -> None:
        """Ask an inquiry's parts, round by round; at the budget, settle it with what is there."""
        while not inquiry.is_done:
            unasked = inquiry.unasked(self.options.retry_failed) if not self._is_spent else []
            asking = [self._ask_until_read(inquiry.pairs[0], *task) for task in unasked]
            if len(asking) == 1:
                await asking[0]
            elif asking:
                errors = await asyncio.gather(*asking, return_exceptions=True)
                for error in filter(None, errors):
                    raise error
            inquiry.go_on()
            if not inquiry.is_done:
                recall_inquiries([inquiry], self._model, retry_failed=self.options.retry_failed)

    async def _ask_until_read(self, pair: Pair, task: Task[Any], calls: int) -> None:
        """Ask so many times at most, until a reply is what was asked for.

        All others are told at once what ends the run; the budget does not end the pair.
        """
        try:
            while calls:
                try:
                    reply = await self._model.ask(task.request)
                except AskedElsewhere:
                    await self._let_others()
                    continue
                calls -= 1
                task.take_in(reply)
                self._failed_in_a_row = 0
                if not task.is_reasked:
                    return
        except CallFailed as error:
            task.outcome, task.remembered = Failure(pair, error.status, str(error)), False
            if isinstance(error, Retryable) and not isinstance(error, WaitsInBatch):
                self._failed_in_a_row += 1
                if self._failed_in_a_row >= max(FAILED_IN_A_ROW, self.options.at_once):
                    failed = f"{self._failed_in_a_row} pairs failed in a row"
                    self._end(fatal := ProviderError(f"{failed}, the last with: {error}"))
                    raise fatal from error
        except Stopped:
            raise
        except BudgetReached as error:
            self._end(error)
        except Exception as error:
            self._end(error)
            raise

    async def _let_others(self) -> None:
        """Leave the slot to another pair for a while, as another process asks for this one."""
        self._slots.release()
        self._start_workers()
        await self.options.stop.sleep(POLL_SECONDS)
        await self._slots.take()
        if self.options.stop.is_set():
            raise Stopped("stopped; another process is asking this pair") from None
        if self.options.stop.is_over:
            problem = "stopped at the deadline, while another process was asking"
            raise BudgetReached(problem, parameter="deadline") from None

    @property
    def is_first_done(self) -> bool:
        """Whether the first pair that waits can be handed back."""
        first = self.waiting[0].state if self.waiting else None
        return isinstance(first, Judged) or (first is not None and first.has_ended)

    def done(self) -> Iterator[Judged]:
        """The pairs that can be handed back; raises what ended the run."""
        while self.is_first_done:
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
        first = self.waiting[0].state
        if isinstance(first, _Underway) and not first.has_ended:
            first.waited = asyncio.get_running_loop().create_future()
            await first.waited

    async def clear(self) -> None:
        """Let what is under way come to its end; cancel it when cancelled meanwhile."""
        self._begun.clear()
        if not self._workers:
            return
        if self._underway:
            self.options.stop.set()
        patient = self._fatal is None or self._is_spent
        try:
            await asyncio.wait(set(self._workers), timeout=None if patient else GRACE_SECONDS)
        finally:
            self.cancel()
            await asyncio.gather(*self._workers, return_exceptions=True)

    def cancel(self) -> None:
        """Give up what is under way."""
        self._begun.clear()
        for worker in set(self._workers):
            worker.cancel()
