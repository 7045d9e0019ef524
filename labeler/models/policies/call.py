"""One call: what its policies note of it, and the one coroutine that takes it through all of them.

A policy is a small object with hooks. `admit` is called before the model is asked, outermost policy
first, `result` or `error` when that came to an end, innermost first, and `lost` where the call was
cancelled. Each may be used and tested alone: `asked_through([RateLimiter(...)], model)`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from labeler.errors import CallFailed, Stopped, WaitsInBatch
from labeler.messages import Clock
from labeler.model import Model, Reply, Request
from labeler.models.cost import Sizes
from labeler.store import Store
from labeler.store.keys import Canon, Keyed


@dataclass(slots=True)
class ModelCall:
    """A request on its way: as it was `asked`, as it is sent now, and what came of it so far.

    `until` is the time, by the loop's clock, at which it is given up. `is_first` is true while the
    server has answered nothing, so that all others wait; `fits` counts how often it was sent
    otherwise than before, as something was learned, and `thoughts` are the tokens for thoughts of
    this call alone. The rest is what single policies note between their hooks.
    """

    asked: Request
    request: Request
    reply: Reply | None = None
    error: Exception | None = None
    until: float | None = None
    is_first: bool = False
    fits: int = 0
    thoughts: int | None = None
    keyed: Keyed | None = None
    began: float = 0.0
    sizes: Sizes | None = None
    tries: Any = None
    fitted_by: Any = None
    reserved: Any = None

    def again(self) -> None:
        """Forget what came of it, so that it is asked again from this policy inwards."""
        self.reply = self.error = None


class GivenUp(Exception):
    """A call took longer than it may."""


ToAwait = Awaitable[None] | None
"""What a hook still has to wait for; None where it is done, as nearly always."""


class Policy:
    """What stands between a caller and the model; a hook that does nothing is left out.

    `admit` may give the call a reply, which is not taken further in. `result` and `error` may give
    it another, raise, or have it asked `again`.
    """

    def admit(self, call: ModelCall) -> ToAwait:
        """Let a call pass inwards, once that may be."""

    def result(self, call: ModelCall, reply: Reply) -> ToAwait:
        """Take in a reply."""

    def error(self, call: ModelCall, error: Exception) -> ToAwait:
        """Take in how a call failed."""

    def lost(self, call: ModelCall) -> None:
        """Take back what `admit` did, as nobody waits for the call any more."""


@dataclass(frozen=True, slots=True)
class CallPath:
    """Takes calls to a model through policies, which are listed from the caller inwards."""

    model: Model
    policies: Sequence[Policy]

    async def ask(self, request: Request) -> Reply:
        """The reply to a request; raises what is wrong, as the policies say.

        `inside` is how many policies have let the call pass.
        """
        policies, call, inside = self.policies, ModelCall(request, request), 0
        while True:
            reply, error = call.reply, call.error
            is_over = reply is not None or error is not None
            if is_over and not inside:
                break
            try:
                if not is_over and inside == len(policies):  # all let it in: the model is next
                    call.reply = await self._answered(call)
                    call.reply.note_sent(call.request.parameters)
                    continue
                # `admit` goes from the outermost policy inwards, `result` and `error` back outwards
                inside -= is_over
                policy = policies[inside]
                waiting = (
                    policy.result(call, reply)
                    if reply is not None
                    else policy.admit(call)
                    if error is None
                    else policy.error(call, error)
                )
                if waiting is not None:
                    await waiting
                if call.reply is None and call.error is None:
                    inside += 1  # let in; or asked again by a policy that let it in before
            except Exception as problem:
                call.reply, call.error = None, problem
            except BaseException:
                for policy in reversed(policies[: inside + is_over]):
                    policy.lost(call)
                raise
        if reply is None:
            raise error or AssertionError("a call ends with a reply or an error")
        return reply

    async def _answered(self, call: ModelCall) -> Reply:
        timeout = asyncio.timeout_at(call.until)
        try:
            async with timeout:
                return await self.model.ask(call.request)
        except TimeoutError:
            if timeout.expired():
                raise GivenUp from None
            raise


def asked_through(policies: Sequence[Policy], model: Model) -> Model:
    """A model whose calls go through policies."""
    return replace(model, ask=CallPath(model, policies).ask)


# The stop signal: it lets a run end in good order, with every call under way finished.


class StopSignal:
    """Once set, no further call begins, and waits before and between calls end at once.

    So do they at the time `until`, by the clock.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self.until = float("inf")
        self._clock = clock
        self._event = asyncio.Event()

    def is_set(self) -> bool:
        """Whether it was set."""
        return self._event.is_set()

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to wait for any more."""
        return self.is_set() or self._clock() >= self.until

    def set(self) -> None:
        """Begin no further call."""
        self._event.set()

    async def wait(self) -> None:
        """Wait until it is set."""
        await self._event.wait()

    async def sleep(self, seconds: float) -> None:
        """Sleep until the time is over, or there is nothing to wait for any more."""
        with suppress(TimeoutError):
            left = max(0.0, self.until - self._clock())
            await asyncio.wait_for(self._event.wait(), min(seconds, left))


@dataclass(slots=True)
class Stopping(Policy):
    """Raises `Stopped` instead of asking, once the signal is set."""

    _stop: StopSignal

    def admit(self, call: ModelCall) -> ToAwait:
        """Let a call pass as long as the signal is not set."""
        if self._stop.is_set():
            raise Stopped("stopped before this was asked")
        return None


# Requests that are not asked live: they wait in a batch, or go into one.

Fitted = Callable[[Request], Awaitable[Request]]

NOT_ASKED, WAITS = "not asked yet", "waits in "


class KeyedRequest(NamedTuple):
    """A request as a server would get it, its canonical text, and the key of its reply."""

    key: bytes
    text: str
    request: Request


@dataclass(frozen=True, slots=True)
class Deferral:
    """Which requests are not asked live.

    `waiting` says of the keys of requests in which batch they wait, at any moment. Where `is_live`,
    all others are asked; else they are handed to `take`, and without one they stay unasked. With
    `assumes_abilities` no server is asked what it accepts: the requests go into a file.
    """

    waiting: Mapping[bytes, str] = field(default_factory=dict)
    is_live: bool = True
    take: Callable[[KeyedRequest], None] | None = None
    assumes_abilities: bool = False


@dataclass(slots=True)
class Deferring(Policy):
    """Raises `WaitsInBatch` of each call, as nothing is asked live.

    A call that failed for good in a batch fails as it did there. `fitted` makes of a request what
    the server takes.
    """

    _canon: Canon
    _store: Store
    _deferral: Deferral
    _fitted: Fitted | None

    async def admit(self, call: ModelCall) -> None:
        """Hand a call over, unless it waits already."""
        key, text, _ = self._canon.keyed(call.asked)
        if batch := self._deferral.waiting.get(key):
            raise WaitsInBatch(f"{WAITS}{batch}")
        fitted = await self._fitted(call.asked) if self._fitted else call.asked
        if self._deferral.take:
            self._deferral.take(KeyedRequest(key, text, fitted))
            raise WaitsInBatch("goes into a batch")
        if failure := self._store.failure(key):
            _, status, detail = failure
            raise CallFailed(detail, status)
        raise WaitsInBatch(NOT_ASKED)
