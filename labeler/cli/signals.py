"""Ctrl-C and SIGTERM: once to stop in good order, twice to stop now.

Where the work does not notice, because it hangs in something that does not end, once is enough.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from labeler.cli.screen import note

if TYPE_CHECKING:
    from labeler.models.policies.call import StopSignal

Result = TypeVar("Result")


class Terminated(BaseException):
    """SIGTERM arrived; unwinds like Ctrl-C, so that files are left whole."""


def raise_signals() -> None:
    """Let Ctrl-C and SIGTERM raise where the work is, outside of `run_until_stopped`."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as in what runs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _terminate)


def end_by_signals() -> None:
    """Let them end the process without a word, once no work is under way."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    raise Terminated


STUCK_SECONDS = 5.0
"""How long the work may take to notice a signal, before it is ended where it is."""


def run_until_stopped(
    work: Callable[[StopSignal], Coroutine[Any, Any, Result]], stuck_after: float = STUCK_SECONDS
) -> Result:
    """Run `work`, which is given a signal that the first Ctrl-C or SIGTERM sets.

    The second cancels the work. Either way the exception of the first signal is raised in the end;
    where the event loop has not come round after so many seconds, it is raised where the work is.
    """
    import asyncio

    from labeler.models.policies.call import StopSignal

    arrived: list[int] = []

    async def main() -> Result:
        loop, task, stop = asyncio.get_running_loop(), asyncio.current_task(), StopSignal()

        def notice(is_first: bool) -> None:
            _set_alarm(0)
            stop.set()
            if is_first:
                note("finishing the calls under way; once more to stop now")
            elif task:
                task.cancel()

        def arrive(number: int, _frame: FrameType | None) -> None:
            arrived.append(number)
            _set_alarm(stuck_after)
            loop.call_soon_threadsafe(notice, len(arrived) == 1)

        with _handled(arrive, arrived), _seldom_collected():
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


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Have the garbage collector look for cycles less often: with Python's usual 700 new objects
    between its looks, it takes a tenth of the CPU of judging with many calls at once.
    """
    usual = gc.get_threshold()
    gc.set_threshold(50_000, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


@contextmanager
def _handled(
    arrive: Callable[[int, FrameType | None], None], arrived: Sequence[int]
) -> Iterator[None]:
    """Let `arrive` handle the signals, and an alarm raise the exception of the first of them."""

    def raise_first(_number: int, _frame: FrameType | None) -> None:
        raise _exception_of(arrived[0])

    handlers = {signal.SIGINT: arrive, signal.SIGTERM: arrive}
    if hasattr(signal, "SIGALRM"):  # not on Windows
        handlers[signal.SIGALRM] = raise_first
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        _set_alarm(0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _set_alarm(seconds: float) -> None:
    """Raise an alarm after so many seconds; 0 is never."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _exception_of(number: int) -> BaseException:
    return Terminated() if number == signal.SIGTERM else KeyboardInterrupt()
