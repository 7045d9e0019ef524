"""One call: what its policies note of it, and the one coroutine that takes it through all of them.

A policy is a small object with hooks. `admit` is called before the model is asked, outermost policy
first, `result` or `error` when that came to an end, innermost first, and `lost` where the call was
cancelled. Each may be used and tested alone: `asked_through([RateLimiter(...)], model)`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from labeler.model import Model, Reply, Request
from labeler.models.tokens import Tokens
from labeler.store.keys import Keyed


@dataclass(slots=True)
class ModelCall:
    """A request on its way: as it was `asked`, as it is sent now, and what came of it so far.

    `until` is the time, by the loop's clock, at which it is given up; with `is_watched` something
    may still set one. `is_first` is true while the server has answered nothing, so that all others
    wait; `fits` counts how often it was sent otherwise than before, as something was learned, and
    `thoughts` are the tokens for thoughts of this call alone. The rest is what single policies note
    between their hooks.
    """

    asked: Request
    request: Request
    reply: Reply | None = None
    error: Exception | None = None
    until: float | None = None
    is_watched: bool = False
    timeout: asyncio.Timeout | None = None
    is_first: bool = False
    fits: int = 0
    thoughts: int | None = None
    keyed: Keyed | None = None
    began: float = 0.0
    tried_at: float = 0.0
    sizes: tuple[Tokens, Tokens] | None = None
    tries: Any = None
    fitted_by: Any = None
    reserved: Any = None

    def again(self) -> None:
        """Forget what came of it, so that it is asked again from this policy inwards."""
        self.reply = self.error = None


class GivenUp(Exception):
    """A call took longer than it may."""


Waiting = Awaitable[None] | None
"""What a hook still has to wait for; None where it is done, as nearly always."""


class Policy:
    """What stands between a caller and the model; a hook that does nothing is left out.

    `admit` may give the call a reply, which is not taken further in. `result` and `error` may give
    it another, raise, or have it asked `again`.
    """

    def admit(self, call: ModelCall) -> Waiting:
        """Let a call pass inwards, once that may be."""

    def result(self, call: ModelCall, reply: Reply) -> Waiting:
        """Take in a reply."""

    def error(self, call: ModelCall, error: Exception) -> Waiting:
        """Take in how a call failed."""

    def lost(self, call: ModelCall) -> None:
        """Take back what `admit` did, as nobody waits for the call any more."""


class CallPath:
    """Takes calls to a model through policies, which are listed from the caller inwards."""

    def __init__(self, model: Model, policies: Sequence[Policy]) -> None:
        self._model = model
        self._policies = policies

    async def ask(self, request: Request) -> Reply:
        """The reply to a request; raises what is wrong, as the policies say.

        `inside` is how many policies have let the call pass.
        """
        policies, call, inside = self._policies, ModelCall(request, request), 0
        while True:
            reply, error = call.reply, call.error
            is_over = reply is not None or error is not None
            if is_over and not inside:
                break
            try:
                if not is_over and inside == len(policies):
                    call.reply = await self._answered(call)
                    call.reply.note_sent(call.request.parameters)
                    continue
                inside -= is_over
                waiting = _hook(policies[inside], call, reply, error)
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

    def _answered(self, call: ModelCall) -> Awaitable[Reply]:
        if call.until is None and not call.is_watched:
            return self._model.ask(call.request)
        return self._in_time(call)

    async def _in_time(self, call: ModelCall) -> Reply:
        timeout = call.timeout = asyncio.timeout_at(call.until)
        try:
            async with timeout:
                return await self._model.ask(call.request)
        except TimeoutError:
            if timeout.expired():
                raise GivenUp from None
            raise
        finally:
            call.timeout = None


def _hook(policy: Policy, call: ModelCall, reply: Reply | None, error: Exception | None) -> Waiting:
    """Call the hook that is due."""
    if reply is not None:
        return policy.result(call, reply)
    return policy.admit(call) if error is None else policy.error(call, error)


def asked_through(policies: Sequence[Policy], model: Model) -> Model:
    """A model whose calls go through policies."""
    return replace(model, ask=CallPath(model, policies).ask)
