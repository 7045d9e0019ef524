"""The brake: what lets a run end in good order, with every call that is under way finished."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

from labeler.data import Model, Reply, Request
from labeler.errors import Stopped


class Brake:
    """Once pulled, no further call begins, and waits between two tries end at once."""

    def __init__(self) -> None:
        self._pulled = asyncio.Event()

    @property
    def pulled(self) -> bool:
        """Whether it was pulled."""
        return self._pulled.is_set()

    def pull(self) -> None:
        """Begin no further call."""
        self._pulled.set()

    async def sleep(self, seconds: float) -> None:
        """Sleep until the time is over or the brake is pulled."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._pulled.wait(), seconds)


def braked(model: Model, brake: Brake) -> Model:
    """Raise `Stopped` instead of asking, once the brake was pulled."""

    async def ask(request: Request) -> Reply:
        if brake.pulled:
            raise Stopped("stopped before this was asked")
        return await model.ask(request)

    return replace(model, ask=ask)
