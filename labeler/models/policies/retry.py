"""When a request that failed is asked again: how often, how long, and what ends that."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import tenacity

from labeler.errors import CallFailed, Misconfigured, NoAnswer, NoCompletion, Retryable
from labeler.model import Reply
from labeler.models.policies.call import ModelCall, Policy, ToAwait
from labeler.models.server.answers import IS_IT_COMPATIBLE

Sleep = Callable[[float], Awaitable[None]]


class Patience(NamedTuple):
    """How often and how long one request is tried; waits double from `first` to at most `longest`.

    `seconds` bounds all tries of a request together: no try begins after them. `first_tries` and
    `first_seconds` bound the tries before the server's first answer. `first_tries` also bounds a
    first request that gets a plain 5xx, one that does not say that the server is busy.
    """

    tries: int = 8
    seconds: float = 900.0
    first: float = 0.5
    longest: float = 60.0
    first_tries: int = 4
    first_seconds: float = 5.0


class Retrying(Policy):
    """Asks again what failed in a way that may pass.

    Waits are exponential with full jitter, and never shorter than the server asked for. There is
    less patience with a server that never answered, as its address may be wrong: what stays
    unanswered is marked as the first, and an answer that is no chat completion ends the run.
    """

    def __init__(
        self,
        patience: Patience | None = None,
        sleep: Sleep = asyncio.sleep,
        *,
        is_server: bool = False,
    ) -> None:
        how = patience or Patience()
        self._sleep = sleep
        self._is_new = is_server
        self._first_tries = tenacity.stop_after_attempt(how.first_tries)
        self._first = self._first_tries | tenacity.stop_after_delay(how.first_seconds)
        self._usual = tenacity.AsyncRetrying(
            wait=tenacity.wait_random_exponential(multiplier=how.first, max=how.longest),
            stop=tenacity.stop_after_attempt(how.tries) | tenacity.stop_before_delay(how.seconds),
        )

    def admit(self, call: ModelCall) -> ToAwait:
        """Note when the first try begins."""
        call.tries = tenacity.RetryCallState(self._usual, None, (), {})
        return None

    def result(self, call: ModelCall, reply: Reply) -> ToAwait:
        """Note that there is a server."""
        self._is_new = False
        return None

    def error(self, call: ModelCall, error: Exception) -> ToAwait:
        """Wait, and have it asked again, where another try may mend it."""
        if self._is_new and isinstance(error, NoCompletion):
            raise Misconfigured(f"{error}; {IS_IT_COMPATIBLE}") from error
        if self._is_new and isinstance(error, NoAnswer):
            error.is_first = True
        elif isinstance(error, CallFailed):
            self._is_new = False
        if not isinstance(error, Retryable):
            return None
        tries = call.tries
        tries.set_exception((type(error), error, None))
        if isinstance(error, NoAnswer) and error.is_first and self._first(tries):
            return None
        is_5xx = type(error) is Retryable and not error.busy
        if is_5xx and call.is_first and self._first_tries(tries):
            return None
        if tries.attempt_number == 1:
            tries.start_time = tries.outcome_timestamp  # patience counts from the first failure on
        tries.upcoming_sleep = self._usual.wait(tries) + (error.wait or 0.0)
        return None if self._usual.stop(tries) else self._wait(call)

    async def _wait(self, call: ModelCall) -> None:
        await self._sleep(call.tries.upcoming_sleep)
        call.tries.prepare_for_next_attempt()
        call.again()
