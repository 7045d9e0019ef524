"""Calls to a server in simulated time, for `scripts/simulate_scale.py`.

The library's own policies stand before the simulated server: its rate limiter, its retries, its
stop signal and its budget, the classes themselves. An event loop whose clock jumps to the next
event drives them, so that hours pass in moments. All that is made up here is the server (how long
a call takes, what it refuses, what gets lost) and how long the process itself is busy with a pair.
"""

from __future__ import annotations

import asyncio
import math
import random
import selectors
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from labeler.errors import NoAnswer, Retryable
from labeler.model import Message, Model, Reply, Request
from labeler.models.policies.call import StopSignal
from labeler.models.policies.limits import RateLimiter, RateLimits
from labeler.models.policies.retry import Patience
from labeler.models.policies.stack import Guard, unremembered

Result = TypeVar("Result")
TURN_SECONDS = 1e-7
"""What a turn of the event loop takes: waits that are too short to move a clock end, too."""

REQUEST = Request((Message("user", "x" * 2400),), {"max_tokens": 64})


class _Jumping(selectors.SelectSelector):
    """A selector that never waits: it moves the clock to when the wait would end."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        events = super().select(0)
        if not events:
            assert timeout is not None, "nothing will ever happen"
            self.now += max(0.0, timeout)
        self.now += TURN_SECONDS
        return events


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop in which time passes at once."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def run_simulated(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end in simulated time."""
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        return runner.run(work)


@dataclass(frozen=True)
class World:
    """A server, and how it is asked.

    A call takes `seconds` on average, log-normally, with a deviation of the share `spread` of them.
    Beyond `rpm` calls a minute, counted in a bucket of one second, the server refuses with 429. A
    share `lost` of calls never comes back: its connection breaks off. `limits` are what the library
    was told. `process` are the CPU seconds of a pair, of which one process does one at a time;
    `processes` share the limits evenly, `cores` of them run at once.
    """

    seconds: float = 1.0
    spread: float = 0.5
    rpm: float | None = None
    lost: float = 0.0
    tokens: int = 608
    limits: RateLimits = field(default_factory=lambda: RateLimits(16))
    process: float = 0.0
    processes: int = 1
    cores: int = 1


@dataclass
class Played:
    """What came of it: when each reply came, and how many calls were refused or lost."""

    answered_at: list[float] = field(default_factory=list)
    refused: int = 0
    lost: int = 0

    @property
    def seconds(self) -> float:
        """When the last reply came."""
        return self.answered_at[-1]

    @property
    def rate(self) -> float:
        """Replies a second, once calls have grown and before the last ones end."""
        count = len(self.answered_at)
        middle = self.answered_at[count * 4 // 10 : count * 9 // 10]
        return (len(middle) - 1) / (middle[-1] - middle[0])


class _Busy:
    """Something that does one thing at a time: a core, say."""

    def __init__(self) -> None:
        self._free_at = 0.0

    async def work(self, seconds: float) -> None:
        now = asyncio.get_running_loop().time()
        self._free_at = max(now, self._free_at) + seconds
        await asyncio.sleep(self._free_at - now)


class _Server:
    """What is asked: it takes its time, refuses what is too much, and loses some."""

    def __init__(self, world: World, rng: random.Random, played: Played) -> None:
        self.world, self.rng, self.played = world, rng, played
        self.sigma = math.sqrt(math.log(1 + world.spread**2))
        self.mu = math.log(max(1e-9, world.seconds)) - self.sigma**2 / 2
        self.rate = (world.rpm or 0) / 60
        self.level, self.at = self.rate, 0.0

    async def ask(self, _request: Request) -> Reply:
        loop = asyncio.get_running_loop()
        if self.rate and not self._takes(loop.time()):
            self.played.refused += 1
            raise Retryable("too many requests", busy=True)
        await asyncio.sleep(self.rng.lognormvariate(self.mu, self.sigma))
        if self.rng.random() < self.world.lost:
            self.played.lost += 1
            raise NoAnswer("lost")
        self.played.answered_at.append(loop.time())
        tokens = self.world.tokens
        return Reply('{"grade": 1}', prompt_tokens=tokens - 8, completion_tokens=8)

    def _takes(self, now: float) -> bool:
        self.level = min(self.rate, self.level + (now - self.at) * self.rate)
        self.at = now
        if self.level < 1:
            return False
        self.level -= 1
        return True


def share_of(limits: RateLimits, processes: int) -> RateLimits:
    """What one of several processes may do, so that all together keep to the limits."""
    requests, tokens = (each and each / processes for each in (limits.requests, limits.tokens))
    return RateLimits(max(1, limits.at_once // processes), requests, tokens)


async def _play(world: World, calls: int, seed: int) -> Played:
    """Ask so many times, by as many processes as there are; each has its own limiter."""
    rng, played = random.Random(seed), Played()
    server = _Server(world, rng, played)
    numbers = iter(range(calls))
    cores = [_Busy() for _ in range(world.cores)]
    processes = [
        _process(world, server, cores[number % world.cores], numbers)
        for number in range(world.processes)
    ]
    await asyncio.gather(*processes)
    return played


async def _process(world: World, server: _Server, core: _Busy, numbers: Iterator[int]) -> None:
    """One process: the library's policies before the server, and so many pairs in hand."""
    clock = asyncio.get_running_loop().time
    stop, limits = StopSignal(clock), share_of(world.limits, world.processes)
    guard = Guard(RateLimiter(limits, clock, stop), patience=Patience(tries=1000), stop=stop)
    model = unremembered(Model("simulated", server.ask, is_server=True), guard)

    async def judge() -> None:
        for _ in numbers:
            await core.work(world.process)
            await model.ask(REQUEST)

    await asyncio.gather(*(judge() for _ in range(limits.in_hand)))


def play(world: World, calls: int, seed: int = 0) -> Played:
    """What happens when so many pairs are asked about; the same seed gives the same."""
    random.seed(seed)  # the waits before retries are drawn from Python's own
    return run_simulated(_play(world, calls, seed))
