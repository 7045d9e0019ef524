"""`strict_at_first`: less patience with a server that never answered: its address may be wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace

from labeler.errors import CallFailed, Misconfigured, NoAnswer, NoCompletion, Stopped
from labeler.model import Model, Reply, Request
from labeler.models.policies.stop import StopSignal
from labeler.models.server.answers import IS_IT_COMPATIBLE

STOP_SECONDS = 5.0
"""How long a first call may go on, once there is a signal to stop."""


def strict_at_first(
    model: Model, stop: StopSignal | None = None, stop_seconds: float = STOP_SECONDS
) -> Model:
    """Until the server has answered once: end the run where the answer is no chat completion, give
    up a long call where told to stop, and mark what stays unanswered as the first, which is not
    worth many tries.
    """
    has_answered = False

    async def ask(request: Request) -> Reply:
        nonlocal has_answered
        try:
            if stop is None or has_answered:
                reply = await model.ask(request)
            else:
                reply = await _stopped_by(stop, model.ask(request), stop_seconds)
        except NoAnswer as error:
            error.is_first = not has_answered
            raise
        except NoCompletion as error:
            if has_answered:
                raise
            raise Misconfigured(f"{error}; {IS_IT_COMPATIBLE}") from error
        except CallFailed:
            has_answered = True
            raise
        has_answered = True
        return reply

    return replace(model, ask=ask)


async def _stopped_by(stop: StopSignal, call: Awaitable[Reply], seconds: float) -> Reply:
    """What a call gives; `Stopped` where it is told to stop, once the call has had its time."""
    task, stopped = asyncio.ensure_future(call), asyncio.create_task(stop.wait())
    began = asyncio.get_running_loop().time()
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        left = seconds - (asyncio.get_running_loop().time() - began)
        if not task.done() and left > 0:
            await asyncio.wait({task}, timeout=left)
        if not task.done():
            raise Stopped("stopped before the server had answered anything")
        return await task
    finally:
        task.cancel()
        stopped.cancel()
