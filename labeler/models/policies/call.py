"""One call: what its policies note of it, and the one coroutine that takes it through all of them.

A policy is a small object with hooks. `admit` is called before the model is asked, outermost policy
first, `result` or `error` when that came to an end, innermost first, and `lost` where the call was
cancelled. Each may be used and tested alone: `asked_through([RateLimiter(...)], model)`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from labeler.model import Model, Reply, Request
from labeler.models.tokens import Tokens

if TYPE_CHECKING:
    import tenacity

    from labeler.models.policies.adapt import Abilities
    from labeler.models.policies.budget import Spending
    from labeler.store.keys import Keyed


@dataclass(slots=True)
class Call:
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
    fitted_by: Abilities | None = None
    keyed: Keyed | None = None
    began: float = 0.0
    tried_at: float = 0.0
    tries: tenacity.RetryCallState | None = None
    sizes: tuple[Tokens, Tokens] | None = None
    reserved: Spending | None = None

    @property
    def is_over(self) -> bool:
        """Whether it came to an end, for now."""
        return self.reply is not None or self.error is not None

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

    def admit(self, call: Call) -> Waiting:
        """Let a call pass inwards, once that may be."""

    def result(self, call: Call, reply: Reply) -> Waiting:
        """Take in a reply."""

    def error(self, call: Call, error: Exception) -> Waiting:
        """Take in how a call failed."""

    def lost(self, call: Call) -> None:
        """Take back what `admit` did, as nobody waits for the call any more."""


class CallPath:
    """Takes calls to a model through policies, which are listed from the caller inwards."""

    def __init__(self, model: Model, policies: Sequence[Policy]) -> None:
        self.policies = policies
        self._model = model
        self._admits = [_own(policy, "admit") for policy in policies]
        self._results = [_own(policy, "result") for policy in policies]

    async def ask(self, request: Request) -> Reply:
        """The reply to a request; raises what is wrong, as the policies say."""
        call, inside, innermost = Call(request, request), 0, len(self.policies)
        while inside or not call.is_over:
            is_outwards = call.is_over
            try:
                if is_outwards:
                    inside -= 1
                    waiting = self._ended(call, inside)
                elif inside < innermost:
                    admit = self._admits[inside]
                    waiting = admit(call) if admit else None
                else:
                    call.reply = await self._answered(call)
                    call.reply.note_sent(call.request.parameters)
                    continue
                if waiting is not None:
                    await waiting
                inside += not call.is_over  # inwards again from the policy that had it asked again
            except Exception as error:
                call.reply, call.error = None, error
            except BaseException:
                for policy in reversed(self.policies[: inside + is_outwards]):
                    policy.lost(call)
                raise
        if call.reply is None:
            raise call.error or AssertionError("a call ends with a reply or an error")
        return call.reply

    def _ended(self, call: Call, inside: int) -> Waiting:
        """Tell a policy how a call that it let pass came to an end."""
        if call.error is not None:
            return self.policies[inside].error(call, call.error)
        result = self._results[inside]
        return result(call, call.reply) if result else None

    def _answered(self, call: Call) -> Awaitable[Reply]:
        if call.until is None and not call.is_watched:
            return self._model.ask(call.request)
        return self._in_time(call)

    async def _in_time(self, call: Call) -> Reply:
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


def _own(policy: Policy, name: str) -> Any:
    """A policy's hook; None where it has none of its own."""
    return None if getattr(type(policy), name) is getattr(Policy, name) else getattr(policy, name)


def asked_through(policies: Sequence[Policy], model: Model) -> Model:
    """A model whose calls go through policies."""
    return replace(model, ask=CallPath(model, policies).ask)
