"""The stop signal: it lets a run end in good order, with every call under way finished."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from labeler.errors import Stopped
from labeler.models.policies.call import ModelCall, Policy, Waiting


class StopSignal:
    """Once set, no further call begins, and waits before and between calls end at once.

    So do they at the time `until`, by the clock.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.until = float("inf")
        self._clock = clock
        self._event = asyncio.Event()
        self._watchers: list[Callable[[], None]] = []

    def is_set(self) -> bool:
        """Whether it was set."""
        return self._event.is_set()

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to wait for any more."""
        return self.is_set() or self._clock() >= self.until

    def set(self) -> None:
        """Begin no further call."""
        self._event.set()
        for watcher in self._watchers:
            watcher()

    def when_set(self, watcher: Callable[[], None]) -> None:
        """ModelCall a function once it is set; to be used for few."""
        self._watchers.append(watcher)

    async def wait(self) -> None:
        """Wait until it is set."""
        await self._event.wait()

    async def sleep(self, seconds: float) -> None:
        """Sleep until the time is over, or there is nothing to wait for any more."""
        with suppress(TimeoutError):
            left = max(0.0, self.until - self._clock())
            await asyncio.wait_for(self._event.wait(), min(seconds, left))


class Stopping(Policy):
    """Raises `Stopped` instead of asking, once the signal is set."""

    def __init__(self, stop: StopSignal) -> None:
        self._stop = stop

    def admit(self, call: ModelCall) -> Waiting:
        """Let a call pass as long as the signal is not set."""
        if self._stop.is_set():
            raise Stopped("stopped before this was asked")
        return None
