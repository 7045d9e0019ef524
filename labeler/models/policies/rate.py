"""As many calls at once, and as fast, as the server takes them."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from labeler.errors import Retryable
from labeler.model import Reply
from labeler.models.cost import Sizes, Tokens
from labeler.models.policies.call import ModelCall, Policy, StopSignal, Waiting

# What a rate limiter is made of: slots for calls, when they may begin, and what it learns from.

START = 4
"""Calls at once to begin with; doubled as long as the server keeps up."""

CUT = 0.7
RATE_CUT = 0.95
FIRST_GROWTH, LAST_GROWTH = 0.4, 0.03
"""By how much the rate grows in a second: halved at each refusal, as it comes close."""

WINDOW = 1.0
"""Seconds over which the rate of answers is measured."""

CALM, ENOUGH = 5.0, 0.2
"""Seconds without a refusal after which the next begins a new series of refusals, and how long a
series lasts before its answers alone tell the server's rate.
"""


@dataclass(slots=True)
class Bucket:
    """A token bucket: `rate` a second, `size` at most; `take` says how long to wait."""

    rate: float
    size: float
    level: float = 0.0
    at: float | None = None

    @classmethod
    def a_minute(cls, amount: float | None, smallest: float = 0.0) -> Bucket | None:
        """A bucket that gives so much a minute, evenly; None where there is no limit."""
        return cls(amount / 60, max(smallest, amount / 60)) if amount else None

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
class Slots:
    """How many calls may be under way, how many are, and who waits for one of them to end.

    The limit doubles in a round of answers; once it `was_cut`, it grows by one.
    """

    limit: float
    taken: int = 0
    was_cut: bool = False
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)

    def take_now(self) -> bool:
        """Whether one more call may be under way, which it is from now on."""
        if self.waiting or self.taken >= int(self.limit):
            return False
        self.taken += 1
        return True

    async def take(self) -> None:
        """Wait until fewer calls are under way than may be."""
        if self.take_now():
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()
            elif turn in self.waiting:
                self.waiting.remove(turn)
            raise

    def release(self) -> None:
        """End a call, and let those begin that may."""
        self.taken -= 1
        while self.waiting and self.taken < int(self.limit):
            turn = self.waiting.popleft()
            if not turn.done():
                self.taken += 1
                turn.set_result(None)

    def grow(self, most: int) -> None:
        """Allow a little more after an answer, up to `most`."""
        step = 1.0 / max(1.0, self.limit) if self.was_cut else 1.0
        self.limit = min(float(most), self.limit + step)


@dataclass(slots=True)
class Pace:
    """When calls may begin: `rate` a second once the server refused some, not in a pause it asked.

    `next` is when the next call may begin by the rate, `pause_until` when any call may; the rate
    grows by `growth` a second since `grown_at`, and was cut last at `cut_at`.
    """

    requests: Bucket | None
    tokens: Bucket | None
    rate: float | None = None
    next: float = 0.0
    pause_until: float = 0.0
    growth: float = FIRST_GROWTH
    grown_at: float = 0.0
    cut_at: float = -1.0

    def start(self, tokens: int, now: float) -> float:
        """When a call of about so many tokens may begin; its turn is taken."""
        start = max(now, self.next)
        if self.rate:
            self.next = start + 1 / self.rate
        waits = [self.requests.take(1, now)] if self.requests else []
        waits += [self.tokens.take(tokens, now)] if self.tokens else []
        return max([start, *(now + wait for wait in waits)])

    def grow(self, now: float) -> None:
        """Raise the rate after an answer."""
        if self.rate is not None and now > self.grown_at:
            self.rate *= 1 + self.growth * min(1.0, now - self.grown_at)
            self.grown_at = now

    def cut(self, now: float, taken_a_second: float) -> None:
        """Lower the rate to a bit less than what the server took of late."""
        rate = max(1.0, taken_a_second * RATE_CUT)
        if self.rate is not None:
            rate = min(self.rate, max(rate, self.rate * CUT))
            self.growth = max(LAST_GROWTH, self.growth / 2)
        self.rate = rate
        self.cut_at = self.grown_at = now
        self.next = max(self.next, now)


@dataclass(slots=True)
class Answers:
    """Calls answered and refused in the last second, and when this series of refusals began."""

    recent: deque[tuple[float, bool]] = field(default_factory=deque)
    refused_at: float = float("-inf")
    storm_at: float = 0.0

    def add(self, now: float, *, well: bool) -> None:
        """Count a call that ended."""
        self.recent.append((now, well))
        while self.recent[0][0] < now - WINDOW:
            self.recent.popleft()
        if not well:
            if now - self.refused_at > CALM:
                self.storm_at = now
            self.refused_at = now

    def measure(self, now: float) -> tuple[int, int, float]:
        """How many calls were answered and how many refused in so many seconds up to now.

        Calls answered before a series of refusals began used up what the server allowed at once,
        and tell nothing of its rate; they count only until the series has lasted a while.
        """
        since = self.storm_at if now - self.storm_at >= ENOUGH else now - WINDOW
        since = max(since, now - WINDOW)
        taken = sum(1 for at, well in self.recent if well and at >= since)
        refused = sum(1 for at, well in self.recent if not well and at >= since)
        return taken, refused, now - since


Clock = Callable[[], float]

AS_ALLOWED = "as many as are allowed"


@dataclass(frozen=True, slots=True)
class RateLimits:
    """What must not be exceeded: calls under way, and requests and tokens a minute."""

    at_once: int = 16
    requests: float | None = None
    tokens: float | None = None

    @property
    def in_hand(self) -> int:
        """How many requests to begin: some of them wait for their reply to be confirmed and kept.

        Those share a write to the store, which costs least where many do.
        """
        return max(4 * self.at_once, min(128, self.at_once**2 // 2))


class RateLimiter(Policy):
    """How many calls may be under way and how fast they may begin.

    Twice as many at once a round of answers, fewer and slowly more once the server says 429 or 503;
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
        self._slots.was_cut = True
        self._slots.limit = max(1.0, self._slots.limit * CUT)
        self._pace.cut(now, taken / seconds)
        self.why = "the server refuses more (429 or 503)"
