"""As many calls at once, and as fast, as the server takes them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from labeler.errors import Retryable
from labeler.model import Reply
from labeler.models.policies.call import ModelCall, Policy, Waiting
from labeler.models.policies.pace import (
    CUT,
    FELT,
    GENTLE,
    SLOWED,
    START,
    Answers,
    Bucket,
    Latency,
    Pace,
    Slots,
)
from labeler.models.policies.stop import StopSignal
from labeler.models.tokens import Sizes, Tokens

Clock = Callable[[], float]

AS_ALLOWED = "as many as are allowed"


@dataclass(frozen=True, slots=True)
class RateLimits:
    """What must not be exceeded: calls under way, and requests and tokens a minute."""

    at_once: int = 16
    requests: float | None = None
    tokens: float | None = None


class RateLimiter(Policy):
    """How many calls may be under way and how fast they may begin.

    One more call at once a round of answers, fewer when the server says 429 or 503 or slows down;
    a rate only once the server has refused calls: what it took in the last second, then slowly up.
    Waits end when `stop` says so; then every call is let through, to be stopped behind the limiter.
    `why` says what bounds the calls at once.
    """

    def __init__(
        self, limits: RateLimits, clock: Clock = time.monotonic, stop: StopSignal | None = None
    ) -> None:
        self.limits = limits
        self.why = "growing as long as the server keeps up"
        self._clock = clock
        self._stop = stop or StopSignal()
        self._slots = Slots(float(min(START, limits.at_once)))
        self._pace = Pace(Bucket.a_minute(limits.requests, 1.0), Bucket.a_minute(limits.tokens))
        self._answers = Answers()
        self._latency = Latency()
        self._sizes = Sizes()
        self._say_if_as_allowed()

    @property
    def at_once(self) -> float:
        """How many calls may be under way now."""
        return self._slots.limit

    @property
    def under_way(self) -> int:
        """How many calls are under way."""
        return self._slots.taken

    def admit(self, call: ModelCall) -> Waiting:
        """Let a call begin, once fewer are under way than may be, and the rate allows it."""
        call.sizes = call.sizes or self._sizes.of(call.request)
        if not self._slots.take_now():
            return self._wait_for_slot(call, call.sizes[0])
        return self._begin(call, call.sizes[0])

    async def _wait_for_slot(self, call: ModelCall, about: Tokens) -> None:
        await self._slots.take()
        if (waiting := self._begin(call, about)) is not None:
            await waiting

    def _begin(self, call: ModelCall, about: Tokens) -> Waiting:
        """Begin a call that has its slot, as soon as the rate allows it."""
        now = call.began = self._clock()
        start = self._pace.start(sum(about), now)
        return self._wait(call, start) if max(start, self._pace.pause_until) > now else None

    async def _wait(self, call: ModelCall, start: float) -> None:
        try:
            while (wait := self._wait_until(start)) > 0 and not self._stop.is_over:
                await self._stop.sleep(wait)
        except BaseException:
            self._slots.release()
            raise
        call.began = self._clock()

    def _wait_until(self, start: float) -> float:
        return max(start, self._pace.pause_until) - self._clock()

    def result(self, call: ModelCall, reply: Reply) -> Waiting:
        """Learn from a call that ended well."""
        now = self._clock()
        self._answers.add(now, well=True)
        self._slots.grow(self.limits.at_once)
        if self._pace.rate is None:
            self._say_if_as_allowed()
        self._pace.grow(now)
        self._watch_latency(now, now - call.began)
        if reply.hold:
            self._pace.pause_until = max(self._pace.pause_until, now + reply.hold)
            self.why = "the server's rate limit"
        if self._pace.tokens and call.sizes:
            taken = reply.prompt_tokens + reply.completion_tokens
            self._pace.tokens.give_back(sum(call.sizes[0]) - taken)
        self._slots.release()
        return None

    def error(self, call: ModelCall, error: Exception) -> Waiting:
        """Learn from a call that failed: fewer and slower where the server has too much to do."""
        if isinstance(error, Retryable) and error.busy:
            self._slow_down(self._clock(), call.began, error.wait)
        self._slots.release()
        return None

    def lost(self, call: ModelCall) -> None:
        """Give the place of a call to the next."""
        self._slots.release()

    def _say_if_as_allowed(self) -> None:
        if self._slots.limit >= self.limits.at_once:
            self.why = AS_ALLOWED

    def _slow_down(self, now: float, began: float, wait: float | None) -> None:
        self._answers.add(now, well=False)
        taken, refused, seconds = self._answers.measure(now)
        if wait and refused > taken:
            self._pace.pause_until = max(self._pace.pause_until, now + wait)
        if began <= self._pace.cut_at:  # it began before the last cut, which may be enough
            return
        self._slots.step = 0.0
        self._slots.limit = max(1.0, self._slots.limit * CUT)
        self._pace.cut(now, taken / seconds)
        self.why = "the server refuses more (429 or 503)"

    def _watch_latency(self, now: float, seconds: float) -> None:
        """Fewer calls at once where more of them only made each one slower."""
        measured = self._latency.add(seconds, now, self._slots.limit)
        if measured is None:
            return
        slowdown, is_faster = measured
        if slowdown > SLOWED and not is_faster and self._slots.limit > START:
            cut = min(CUT, max(0.5, 2 / slowdown))
            self._slots.limit, self._slots.step = max(float(START), self._slots.limit * cut), 0.0
            self.why = "more at once only made the server slower"
        elif slowdown > FELT:
            self._slots.step = min(self._slots.step, GENTLE)
