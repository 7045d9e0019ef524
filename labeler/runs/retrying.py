"""What failed in a way that may pass is asked for again, later each time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import tenacity

from labeler.errors import Retryable

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0

Sleep = Callable[[float], Awaitable[None]]


def retrying(tries: int, sleep: Sleep = asyncio.sleep) -> tenacity.AsyncRetrying:
    """What calls a function again after a `Retryable`, so many times in all."""
    jitter = tenacity.wait_random_exponential(multiplier=_FIRST_WAIT, max=_LONGEST_WAIT)

    def wait(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked_for = error.wait if isinstance(error, Retryable) else None
        return float(jitter(state)) + min(asked_for or 0.0, _LONGEST_WAIT)

    return tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception_type(Retryable),
        stop=tenacity.stop_after_attempt(tries),
        wait=wait,
        sleep=sleep,
        reraise=True,
    )
