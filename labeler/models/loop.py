"""Asynchronous work for callers that are not, also where a loop is running, as in a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import Any, TypeVar

from labeler.models.policies.stop import StopSignal

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
