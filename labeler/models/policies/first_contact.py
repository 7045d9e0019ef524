"""Less patience with a server that never answered: its address may be wrong."""

from __future__ import annotations

import asyncio
from functools import partial

from labeler.errors import CallFailed, Misconfigured, NoAnswer, NoCompletion, Stopped
from labeler.model import Reply
from labeler.models.policies.call import GivenUp, ModelCall, Policy, Waiting
from labeler.models.policies.stop import StopSignal
from labeler.models.server.answers import IS_IT_COMPATIBLE

STOP_SECONDS = 5.0
"""How long a first call may go on, once there is a signal to stop."""


class FirstContact(Policy):
    """Until the server has answered once: ends the run where the answer is no chat completion,
    gives up a long call where told to stop, and marks what stays unanswered as the first, which is
    not worth many tries.
    """

    def __init__(self, stop: StopSignal | None = None, stop_seconds: float = STOP_SECONDS) -> None:
        self._stop = stop
        self._stop_seconds = stop_seconds
        self._has_answered = False

    def admit(self, call: ModelCall) -> Waiting:
        """Watch a first call."""
        if self._stop is not None and not self._has_answered:
            call.is_watched = True
            self._stop.when_set(partial(self._give_up, call))
        return None

    def _give_up(self, call: ModelCall) -> None:
        if call.timeout is not None:
            latest = asyncio.get_running_loop().time() + self._stop_seconds
            call.timeout.reschedule(min(latest, call.timeout.when() or latest))

    def result(self, call: ModelCall, reply: Reply) -> Waiting:
        """Note that there is a server."""
        call.is_watched, self._has_answered = False, True
        return None

    def error(self, call: ModelCall, error: Exception) -> Waiting:
        """Say what an error means of a server that has not answered yet."""
        call.is_watched = False
        if isinstance(error, NoAnswer):
            error.is_first = not self._has_answered
        elif isinstance(error, NoCompletion) and not self._has_answered:
            raise Misconfigured(f"{error}; {IS_IT_COMPATIBLE}") from error
        elif isinstance(error, CallFailed):
            self._has_answered = True
        elif isinstance(error, GivenUp):
            raise Stopped("stopped before the server had answered anything") from None
        return None
