"""When a request that failed is asked again: how often, how long, and what ends that."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import tenacity

from labeler.errors import CallFailed, Misconfigured, NoAnswer, NoCompletion, Retryable
from labeler.model import Reply
from labeler.models.policies.call import ModelCall, Policy, ToAwait
from labeler.models.server.answers import IS_IT_COMPATIBLE

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Patience:
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

    Waits are exponential with full jitter, and never shorter than the server asked for.
    """

    def __init__(self, patience: Patience | None = None, sleep: Sleep = asyncio.sleep) -> None:
        self._patience = how = patience or Patience()
        self._sleep = sleep
        self._jitter = tenacity.wait_random_exponential(multiplier=how.first, max=how.longest)
        self._usual = tenacity.stop_any(
            tenacity.stop_after_attempt(how.tries), tenacity.stop_before_delay(how.seconds)
        )

    def admit(self, call: ModelCall) -> ToAwait:
        """Note when the first try begins."""
        call.tried_at, call.tries = time.monotonic(), None
        return None

    def error(self, call: ModelCall, error: Exception) -> ToAwait:
        """Wait, and have it asked again, where another try may mend it."""
        if not isinstance(error, Retryable):
            return None
        if call.tries is None:
            late = time.monotonic() - call.tried_at >= self._patience.first_seconds
            if late and isinstance(error, NoAnswer) and error.is_first:
                return None
            call.tries = tenacity.RetryCallState(_OWNER, None, (), {})
        else:
            call.tries.attempt_number += 1
        tries = call.tries
        tries.set_exception((type(error), error, None))
        tries.upcoming_sleep = self._jitter(tries) + (error.wait or 0.0)
        return None if self._stops(call, tries, error) else self._wait(call, tries.upcoming_sleep)

    def _stops(self, call: ModelCall, tries: tenacity.RetryCallState, error: Retryable) -> bool:
        how, seconds = self._patience, tries.seconds_since_start or 0.0
        many = tries.attempt_number >= how.first_tries or seconds >= how.first_seconds
        is_5xx = type(error) is Retryable and not error.busy
        if is_5xx and call.is_first and tries.attempt_number >= how.first_tries:
            return True
        return self._usual(tries) or (isinstance(error, NoAnswer) and error.is_first and many)

    async def _wait(self, call: ModelCall, seconds: float) -> None:
        await self._sleep(seconds)
        call.again()


_OWNER = tenacity.AsyncRetrying()
"""Whom tenacity's records of tries name as their owner; nothing is asked through it."""


# Less patience with a server that never answered: its address may be wrong.


class FirstContact(Policy):
    """Until the server has answered once: ends the run where the answer is no chat completion, and
    marks what stays unanswered as the first, which is not worth many tries.
    """

    def __init__(self) -> None:
        self._has_answered = False

    def result(self, call: ModelCall, reply: Reply) -> ToAwait:
        """Note that there is a server."""
        self._has_answered = True
        return None

    def error(self, call: ModelCall, error: Exception) -> ToAwait:
        """Say what an error means of a server that has not answered yet."""
        if isinstance(error, NoAnswer):
            error.is_first = not self._has_answered
        elif isinstance(error, NoCompletion) and not self._has_answered:
            raise Misconfigured(f"{error}; {IS_IT_COMPATIBLE}") from error
        elif isinstance(error, CallFailed):
            self._has_answered = True
        return None
