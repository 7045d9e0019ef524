"""Whether a server that has answered nothing yet is slow or mute.

A server that loads its model for minutes still answers other requests meanwhile; one that takes
connections and answers nothing at all will not answer the call either. So a first call that stays
without an answer is followed by a question that costs nothing: which models there are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from labeler.errors import NoAnswer

T = TypeVar("T")

IsThere = Callable[[], Awaitable[bool]]
"""Whether a server answers another request, with whatever."""


@dataclass(frozen=True, slots=True)
class FirstWait:
    """How long to wait for a first answer, in seconds; `note` is given what is waited for.

    After `quiet` the wait is noted; after `mute` it ends, where nothing else is answered either.
    None waits without a look.
    """

    note: Callable[[str], None] = lambda _message: None
    quiet: float = 10.0
    mute: float | None = None


class FirstAnswer:
    """The wait for a server's first answer; `longest` are the seconds that a call may take."""

    def __init__(self, where: str, waiting: FirstWait, longest: float, is_there: IsThere) -> None:
        self._where = where
        self._waiting = waiting
        self._longest = longest
        self._is_there = is_there
        self._came = waiting.mute is None
        self._look: asyncio.Task[bool] | None = None

    async def within(self, call: Coroutine[Any, Any, T]) -> T:
        """What a call gives; `NoAnswer` once the server is known to be mute."""
        if self._came:
            return await call
        if self._look is None:
            self._look = asyncio.create_task(self._looked())
        look, task = self._look, asyncio.create_task(call)
        try:
            await asyncio.wait({task, look}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done() and not look.cancelled() and not look.result():
                raise NoAnswer(f"{self._where}: takes connections, and answers nothing")
            result = await task
        finally:
            task.cancel()
        self._came = True
        self.end()
        return result

    def end(self) -> None:
        """Look no longer."""
        if self._look is not None:
            self._look.cancel()
            self._look = None

    async def _looked(self) -> bool:
        """Whether the server turns out to be there."""
        quiet, most = self._waiting.quiet, min(self._waiting.mute or 0.0, self._longest)
        now = asyncio.get_running_loop().time
        began = now()
        await asyncio.sleep(quiet)
        self._note(f"no answer to the first call after {quiet:g} s; waiting up to {most:g} s")
        while not await self._is_there():
            if now() - began >= most:
                self._look = None
                return False
            await asyncio.sleep(min(1.0, quiet))
        longest = f"{self._longest:g} s"
        self._note(f"it does answer another request, so waiting for the call up to {longest}")
        return True

    def _note(self, what: str) -> None:
        self._waiting.note(f"{self._where}: {what}")
