"""When a request that failed is asked again: how often, how long, and what ends that."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from random import uniform
from typing import NamedTuple

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
        self._patience = patience or Patience()
        self._sleep = sleep
        self._is_new = is_server

    def admit(self, call: ModelCall) -> ToAwait:
        """Note when the first try begins."""
        call.tried_at, call.tries = time.monotonic(), 0
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
        how, now = self._patience, time.monotonic()
        is_first = isinstance(error, NoAnswer) and error.is_first
        if not call.tries:
            if is_first and now - call.tried_at >= how.first_seconds:
                return None
            call.tried_at = now  # from the first failure on
        call.tries += 1
        longest = min(how.longest, how.first * 2.0 ** min(call.tries - 1, 64))
        seconds, pause = now - call.tried_at, uniform(0.0, longest) + (error.wait or 0.0)
        is_5xx = type(error) is Retryable and not error.busy
        is_over = call.tries >= how.tries or seconds + pause >= how.seconds
        if is_first or (is_5xx and call.is_first):
            is_over |= call.tries >= how.first_tries
        if is_over or (is_first and seconds >= how.first_seconds):
            return None
        return self._wait(call, pause)

    async def _wait(self, call: ModelCall, seconds: float) -> None:
        await self._sleep(seconds)
        call.again()
