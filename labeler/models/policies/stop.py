"""The brake: what lets a run end in good order, with every call that is under way finished."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from labeler.errors import Stopped
from labeler.model import Model, Reply, Request


class Brake:
    """Once pulled, no further call begins, and waits before and between calls end at once.

    So do they at the time `until`, by the clock.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.until = float("inf")
        self._clock = clock
        self._pulled = asyncio.Event()

    @property
    def pulled(self) -> bool:
        """Whether it was pulled."""
        return self._pulled.is_set()

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to wait for any more."""
        return self.pulled or self._clock() >= self.until

    def pull(self) -> None:
        """Begin no further call."""
        self._pulled.set()

    async def sleep(self, seconds: float) -> None:
        """Sleep until the time is over, or there is nothing to wait for any more."""
        with suppress(TimeoutError):
            left = max(0.0, self.until - self._clock())
            await asyncio.wait_for(self._pulled.wait(), min(seconds, left))


def braked(model: Model, brake: Brake) -> Model:
    """Raise `Stopped` instead of asking, once the brake was pulled."""

    async def ask(request: Request) -> Reply:
        if brake.pulled:
            raise Stopped("stopped before this was asked")
        return await model.ask(request)

    return replace(model, ask=ask)
