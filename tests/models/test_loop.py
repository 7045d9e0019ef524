"""Asynchronous work for callers that are not, also where a loop is running, as in a notebook."""

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from labeler.models.policies.call import StopSignal
from labeler.models.session import each_done, run_to_end


async def three(_stop: StopSignal) -> int:
    return 3


def test_work_gives_its_result_with_and_without_a_running_loop() -> None:
    async def cell() -> int:
        return run_to_end(three)

    assert run_to_end(three) == asyncio.run(cell()) == 3


def test_an_error_of_the_work_is_the_caller_s() -> None:
    async def fail(_stop: StopSignal) -> None:
        raise ValueError("so")

    async def cell() -> None:
        run_to_end(fail)

    with pytest.raises(ValueError, match="so"):
        asyncio.run(cell())


def test_ctrl_c_in_a_notebook_lets_the_calls_under_way_end() -> None:
    ended = []

    async def work(stop: StopSignal) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await stop.sleep(10)
        ended.append(stop.is_set())

    async def cell() -> None:
        run_to_end(work)

    loop = asyncio.new_event_loop()
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(cell())
    loop.close()
    assert ended == [True]


def test_an_error_of_the_items_lets_what_is_under_way_end() -> None:
    ended = []

    def items() -> Iterator[int]:
        yield from range(2)
        raise ValueError("no third item")

    async def do(item: int) -> None:
        await asyncio.sleep(0.01 * item)
        ended.append(item)

    with pytest.raises(ValueError, match="no third item"):
        asyncio.run(each_done(items(), do, 2))
    assert ended == [0, 1]


def test_after_an_error_nothing_more_begins() -> None:
    begun = []

    async def do(item: int) -> None:
        begun.append(item)
        raise ValueError("so")

    with pytest.raises(ValueError, match="so"):
        asyncio.run(each_done(range(9), do, 3))
    assert begun == [0]
