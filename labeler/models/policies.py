"""Policies: functions that take a model and return a model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import tenacity

from labeler.data import Model, Reply, Request
from labeler.errors import MayPass

TRIES = 8
FIRST_WAIT = 0.5
LONGEST_WAIT = 60.0

Sleep = Callable[[float], Awaitable[None]]


def retried(model: Model, tries: int = TRIES, sleep: Sleep = asyncio.sleep) -> Model:
    """Ask again, at most `tries` times, what failed in a way that may pass.

    Waits are exponential with full jitter, and never shorter than the server asked for.
    """
    jitter = tenacity.wait_random_exponential(multiplier=FIRST_WAIT, max=LONGEST_WAIT)

    def wait(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked_for = error.wait if isinstance(error, MayPass) else None
        return float(jitter(state)) + (asked_for or 0.0)

    policy = tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception_type(MayPass),
        stop=tenacity.stop_after_attempt(tries),
        wait=wait,
        sleep=sleep,
        reraise=True,
    )

    async def ask(request: Request) -> Reply:
        return await policy(model.ask, request)

    return replace(model, ask=ask)


def limited(model: Model, at_once: int) -> Model:
    """Never have more than `at_once` calls under way."""
    gate = asyncio.Semaphore(at_once)

    async def ask(request: Request) -> Reply:
        async with gate:
            return await model.ask(request)

    return replace(model, ask=ask)
