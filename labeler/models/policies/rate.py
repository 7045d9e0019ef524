"""`limited`: as many calls at once, and as fast, as the server takes them."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from labeler.errors import Retryable
from labeler.model import Model, Reply, Request
from labeler.models.policies.stop import StopSignal
from labeler.models.tokens import about

START = 4
"""Calls at once to begin with; doubled as long as the server keeps up."""

CUT = 0.7
RATE_CUT = 0.95
FIRST_GROWTH, LAST_GROWTH = 0.4, 0.03
"""By how much the rate grows in a second: halved at each refusal, as it comes close."""

WINDOW = 1.0
"""Seconds over which the rate of answers is measured."""

CALM, ENOUGH = 5.0, 0.2
"""Seconds without a refusal that end a storm, and those of one that tell the server's pace."""

SLOWED, FELT = 2.5, 1.3
"""By how much longer than at best calls take where more at once were too many, or begin to be."""

DOUBLING, GENTLE = 1.0, 0.1
"""By how much the calls at once grow with each answer, until the server says that it is too much:
they double in a round of answers, or grow by a tenth.
"""

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class RateLimits:
    """What must not be exceeded: calls under way, and requests and tokens a minute."""

    at_once: int = 16
    requests: float | None = None
    tokens: float | None = None


@dataclass(slots=True)
class Bucket:
    """A token bucket: `rate` a second, `size` at most; `take` says how long to wait."""

    rate: float
    size: float
    level: float = 0.0
    at: float | None = None

    def take(self, amount: float, now: float) -> float:
        """Seconds until `amount` is there; it is taken already."""
        if self.at is None:
            self.level, self.at = self.size, now
        self.level = min(self.size, self.level + (now - self.at) * self.rate)
        self.at = now
        self.level -= min(amount, self.size)
        return max(0.0, -self.level / self.rate)

    def give_back(self, amount: float) -> None:
        """Return what was taken and not used; a negative amount takes more."""
        self.level = min(self.size, self.level + amount)


@dataclass(slots=True)
class RateLimiter:
    """How many calls may be under way and how fast they may begin.

    One more call at once a round of answers, fewer when the server says 429 or 503 or slows down;
    a rate only once the server has refused calls: what it took in the last second, then slowly up.
    Waits end when `stop` says so; then every call is let through, to be stopped behind the limiter.
    """

    limits: RateLimits
    clock: Clock = time.monotonic
    stop: StopSignal = field(default_factory=StopSignal)
    limit: float = 0.0
    rate: float | None = None
    why: str = "growing as long as the server keeps up"
    under_way: int = 0
    _growing: float = DOUBLING
    _cut_at: float = -1.0
    _refused_at: float = float("-inf")
    _storm_at: float = 0.0
    _next: float = 0.0
    _pause: float = 0.0
    _grown_at: float = 0.0
    _growth: float = FIRST_GROWTH
    _answers: deque[tuple[float, bool]] = field(default_factory=deque)
    _waiting: deque[asyncio.Future[None]] = field(default_factory=deque)
    _requests: Bucket | None = None
    _tokens: Bucket | None = None
    _window: list[float] = field(default_factory=list)
    _best: float = float("inf")
    _last_rate: float = 0.0
    _window_at: float = 0.0

    def __post_init__(self) -> None:
        self.limit = float(min(START, self.limits.at_once))
        if self.limit >= self.limits.at_once:
            self.why = "--concurrency"
        if self.limits.requests:
            per_second = self.limits.requests / 60
            self._requests = Bucket(per_second, max(1.0, per_second))
        if self.limits.tokens:
            self._tokens = Bucket(self.limits.tokens / 60, self.limits.tokens / 60)

    async def enter(self, tokens: int) -> float:
        """Wait for a place and for the time to begin; the time at which the call begins."""
        if self.under_way >= int(self.limit) or self._waiting:
            place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            try:
                await place
            except asyncio.CancelledError:
                self._forget(place)
                raise
        else:
            self.under_way += 1
        try:
            await self._wait_for_start(tokens)
        except BaseException:
            self._free()
            raise
        return self.clock()

    def _forget(self, place: asyncio.Future[None]) -> None:
        if place.done() and not place.cancelled():
            self._free()
        elif place in self._waiting:
            self._waiting.remove(place)

    async def _wait_for_start(self, tokens: int) -> None:
        now = self.clock()
        start = max(now, self._next)
        if self.rate:
            self._next = start + 1 / self.rate
        waits = [bucket.take(1, now) for bucket in (self._requests,) if bucket]
        waits += [bucket.take(tokens, now) for bucket in (self._tokens,) if bucket]
        start = max([start, *(now + wait for wait in waits)])
        while (wait := max(start, self._pause) - self.clock()) > 0 and not self.stop.is_over:
            await self.stop.sleep(wait)

    def _free(self) -> None:
        self.under_way -= 1
        while self._waiting and self.under_way < int(self.limit):
            place = self._waiting.popleft()
            if not place.done():
                self.under_way += 1
                place.set_result(None)

    def answered(self, began: float, reply: Reply, estimate: int) -> None:
        """A call ended well."""
        now = self.clock()
        self._answers.append((now, True))
        self._grow(now)
        self._watch_latency(now, now - began)
        if reply.hold:
            self._pause, self.why = max(self._pause, now + reply.hold), "the server's rate limit"
        if self._tokens:
            self._tokens.give_back(estimate - reply.prompt_tokens - reply.completion_tokens)
        self._free()

    def failed(self, began: float, error: BaseException) -> None:
        """A call failed; fewer at once and slower where the server has too much to do."""
        now = self.clock()
        if isinstance(error, Retryable) and error.busy:
            self._answers.append((now, False))
            self._slow_down(now, began, error.wait)
        self._free()

    def _grow(self, now: float) -> None:
        step = self._growing or 1.0 / max(1.0, self.limit)
        self.limit = min(float(self.limits.at_once), self.limit + step)
        if self.limit >= self.limits.at_once and self.rate is None:
            self.why = "--concurrency"
        if self.rate is not None and now > self._grown_at:
            self.rate *= 1 + self._growth * min(1.0, now - self._grown_at)
            self._grown_at = now

    def _slow_down(self, now: float, began: float, wait: float | None) -> None:
        if now - self._refused_at > CALM:
            self._storm_at = now
        self._refused_at = now
        taken, refused, seconds = self._measure(now)
        if wait and refused > taken:
            self._pause = max(self._pause, now + wait)
        if began <= self._cut_at:
            return
        self._growing, self._cut_at, self._grown_at = 0.0, now, now
        self.limit = max(1.0, self.limit * CUT)
        seen = max(1.0, taken / seconds * RATE_CUT)
        if self.rate is not None:
            seen = min(self.rate, max(seen, self.rate * CUT))
            self._growth = max(LAST_GROWTH, self._growth / 2)
        self.rate = seen
        self._next = max(self._next, now)
        self.why = "the server refuses more (429 or 503)"

    def _measure(self, now: float) -> tuple[int, int, float]:
        """How many calls were answered and how many refused in so many seconds up to now.

        Those before the first refusal of a storm came out of the server's stock, and tell nothing
        of its pace, once there are others.
        """
        while self._answers and self._answers[0][0] < now - WINDOW:
            self._answers.popleft()
        since = self._storm_at if now - self._storm_at >= ENOUGH else now - WINDOW
        since = max(since, now - WINDOW)
        taken = sum(1 for at, well in self._answers if well and at >= since)
        refused = sum(1 for at, well in self._answers if not well and at >= since)
        return taken, refused, now - since

    def _watch_latency(self, now: float, seconds: float) -> None:
        """Fewer calls at once where more of them only made each one slower."""
        while self._answers and self._answers[0][0] < now - WINDOW:
            self._answers.popleft()
        self._window.append(seconds)
        if len(self._window) < max(8, int(self.limit)):
            return
        mean = sum(self._window) / len(self._window)
        rate = len(self._window) / max(1e-9, now - self._window_at)
        if mean > SLOWED * self._best and rate < 1.05 * self._last_rate and self.limit > 4:
            cut = min(CUT, max(0.5, 2 * self._best / mean))
            self.limit, self._growing = max(4.0, self.limit * cut), 0.0
            self.why = "more at once only made the server slower"
        elif mean > FELT * self._best:
            self._growing = min(self._growing, GENTLE)
        self._best = min(self._best * 1.002, mean)
        self._window, self._window_at, self._last_rate = [], now, rate


def limited(model: Model, limiter: RateLimiter) -> Model:
    """Let calls through the limiter, and let it learn from how they end."""

    async def ask(request: Request) -> Reply:
        estimate = sum(about(request))
        began = await limiter.enter(estimate)
        try:
            reply = await model.ask(request)
        except BaseException as error:
            limiter.failed(began, error)
            raise
        limiter.answered(began, reply, estimate)
        return reply

    return replace(model, ask=ask)
