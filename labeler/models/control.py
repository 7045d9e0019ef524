"""How a caller watches work that asks a model, and stops it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from threading import Thread
from typing import Any, TypeVar

from labeler.data import Judged
from labeler.messages import Progress, no_progress
from labeler.models.policies.budget import Spending
from labeler.models.policies.call import StopSignal
from labeler.models.policies.stack import Guard

OnJudged = Callable[[Judged], None]


@dataclass(frozen=True, slots=True)
class Underway:
    """Pairs that are being judged: how many in all, and the limits, which are only looked at.

    `asks` is false for an assessor that no server stands behind.
    """

    total: int
    guard: Guard
    asks: bool = True


@contextmanager
def _show_no_judging(_run: Underway) -> Iterator[OnJudged]:
    yield lambda _judged: None


def _say_nothing(_message: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Control:
    """What is called while work goes on, and what stops it; the defaults do nothing.

    `note` is given each line that a person should read at once, as which model was chosen.
    `progress` is opened around each countable step, with its name, and gives what is called with
    how many of how many are done. `judging` is opened around the judging of pairs, and gives what
    is called with every pair when it is done. Setting `stop` ends the work in good order. `spent`
    is what the same work has spent before, which the budget counts too.
    """

    note: Callable[[str], None] = _say_nothing
    progress: Progress = no_progress
    judging: Callable[[Underway], AbstractContextManager[OnJudged]] = _show_no_judging
    stop: StopSignal = field(default_factory=StopSignal)
    spent: Spending = field(default_factory=Spending)

    def with_stop(self, stop: StopSignal) -> Control:
        """The same with another way to stop it."""
        return replace(self, stop=stop)


# Asynchronous work for callers that are not, also where a loop is running, as in a notebook.

T = TypeVar("T")

Work = Callable[[StopSignal], Coroutine[Any, Any, T]]
"""Work that ends in good order once the signal that it is given is set."""


def run_to_end(work: Work[T]) -> T:
    """Run `work` to its end in a loop of its own; in another thread where one is running here.

    Ctrl-C ends it; what was answered by then is kept.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work(StopSignal()))
    return _run_in_thread(work)


def _run_in_thread(work: Work[T]) -> T:
    outcome: Future[T] = Future()
    stop = StopSignal()
    loop = asyncio.new_event_loop()

    def run() -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                result = runner.run(work(stop))
        except BaseException as error:
            outcome.set_exception(error)
        else:
            outcome.set_result(result)

    thread = Thread(target=run, daemon=True)
    try:
        thread.start()
        return outcome.result()
    except KeyboardInterrupt:  # which may arrive while the thread is being started
        with suppress(RuntimeError):  # the loop has just ended by itself
            loop.call_soon_threadsafe(stop.set)
        if thread.is_alive():
            thread.join()
        raise
