"""Ctrl-C and SIGTERM: once to stop in good order, twice to stop now."""

from __future__ import annotations

import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from labeler.cli.screen import note

if TYPE_CHECKING:
    from labeler.models.policies.stop import StopSignal

Result = TypeVar("Result")


class Terminated(BaseException):
    """SIGTERM arrived; unwinds like Ctrl-C, so that files are left whole."""


def terminate(_signal: int, _frame: FrameType | None) -> None:
    """The handler of SIGTERM outside of `run_until_stopped`."""
    raise Terminated


def run_until_stopped(work: Callable[[StopSignal], Coroutine[Any, Any, Result]]) -> Result:
    """Run `work`, which is given a signal that the first Ctrl-C or SIGTERM sets.

    The second cancels the work. Either way the exception of the first signal is raised in the end.
    """
    import asyncio

    from labeler.models.policies.stop import StopSignal

    arrived: list[int] = []

    async def main() -> Result:
        loop, task, stop = asyncio.get_running_loop(), asyncio.current_task(), StopSignal()

        def handle(number: int) -> None:
            arrived.append(number)
            stop.set()
            if len(arrived) == 1:
                note("finishing the calls under way; once more to stop now")
            elif task:
                task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError):  # Windows: there the first Ctrl-C stops at once
                loop.add_signal_handler(number, handle, number)
        return await work(stop)

    try:
        result = asyncio.run(main())
    except (Exception, asyncio.CancelledError):
        if not arrived:
            raise
        raise _exception_of(arrived[0]) from None
    if arrived:  # too late for this work, which is done, but not for what would follow
        raise _exception_of(arrived[0])
    return result


def _exception_of(number: int) -> BaseException:
    return Terminated() if number == signal.SIGTERM else KeyboardInterrupt()
