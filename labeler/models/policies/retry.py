"""`retried`: the one owner of retries."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import tenacity

from labeler.errors import NoAnswer, Retryable
from labeler.model import Model, Reply, Request

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long one request is tried; waits double from `first` to at most `longest`.

    `seconds` bounds all tries of a request together: no try begins after them. `first_tries` and
    `first_seconds` are for a server that has answered nothing yet, `error_tries` for one that
    answers with a 5xx and does not say that it is busy.
    """

    tries: int = 8
    seconds: float = 900.0
    first: float = 0.5
    longest: float = 60.0
    first_tries: int = 4
    first_seconds: float = 5.0
    error_tries: int | None = None


def retried(model: Model, patience: Patience | None = None, sleep: Sleep = asyncio.sleep) -> Model:
    """Ask again what failed in a way that may pass.

    Waits are exponential with full jitter, and never shorter than the server asked for.
    """
    how = patience or Patience()
    jitter = tenacity.wait_random_exponential(multiplier=how.first, max=how.longest)

    def wait(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked_for = error.wait if isinstance(error, Retryable) else None
        return float(jitter(state)) + (asked_for or 0.0)

    usual = tenacity.stop_any(
        tenacity.stop_after_attempt(how.tries), tenacity.stop_before_delay(how.seconds)
    )

    def stop(state: tenacity.RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        seconds = state.seconds_since_start or 0.0
        many = state.attempt_number >= how.first_tries or seconds >= how.first_seconds
        is_5xx = type(error) is Retryable and not error.busy
        if is_5xx and how.error_tries is not None and state.attempt_number >= how.error_tries:
            return True
        return usual(state) or (isinstance(error, NoAnswer) and error.is_first and many)

    policy = tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception_type(Retryable),
        stop=stop,
        wait=wait,
        sleep=sleep,
        reraise=True,
    )

    async def ask(request: Request) -> Reply:
        began = time.monotonic()
        try:
            return await model.ask(request)
        except Retryable as error:
            first = error
        late = time.monotonic() - began >= how.first_seconds
        if late and isinstance(first, NoAnswer) and first.is_first:
            raise first
        return await policy.copy()(_first_fails(model, first), request)

    return replace(model, ask=ask)


def _first_fails(model: Model, error: Retryable) -> Callable[[Request], Awaitable[Reply]]:
    """The model, its first call being the one that has failed already.

    So a call that works, which nearly all do, costs nothing of tenacity's bookkeeping.
    """
    failed = [error]

    async def ask(request: Request) -> Reply:
        if failed:
            raise failed.pop()
        return await model.ask(request)

    return ask
