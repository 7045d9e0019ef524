"""Sends only what the server accepts, which is learned from every answer of the run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from labeler.errors import CallFailed, Misconfigured, NotFound, Retryable
from labeler.model import Reply, Request
from labeler.models.ending import is_cut
from labeler.models.policies.adapt import (
    LIMITS,
    MOST_THINKING,
    THINKING_TOKENS,
    Abilities,
    is_about_length,
    named_in,
    read_abilities,
    without,
    written_abilities,
)
from labeler.models.policies.call import ModelCall, Policy, Waiting
from labeler.models.policies.probe import first_failed, may_be_refusal, refuses_all
from labeler.models.settings import AssessorSettings
from labeler.store.base import Store

MOST_FITS = 16
"""How often one request is asked again because something was learned from the answer."""

ROOM = 1024
"""Tokens for thoughts; where fewer fit beside a request, that is this request's own matter."""

_ALWAYS_DECLARED = frozenset({"top_p", "seed", "reasoning_effort", "thinking", "body"})
_SHARED = 64


class Adapting(Policy):
    """Fits each request to what the server takes, and learns that from how calls end.

    A refusal that names a parameter leaves it out from then on, and the same is asked again, as it
    is where a reply was cut while the model thought. What somebody declared is not left out: the
    run ends. Until a server has answered once, one call is under way, so that no more are refused;
    where its refusal names nothing, `probe` asks a small question instead. `name` is under which
    fact the store keeps what was learned.
    """

    def __init__(
        self,
        name: str,
        store: Store,
        probe: Callable[[], Awaitable[Abilities]],
        declared: AssessorSettings | None = None,
    ) -> None:
        self._name = name
        self._store = store
        self._probe = probe
        self._declared = declared or AssessorSettings()
        self._saved = read_abilities(store.fact(name))
        self.is_known = self._saved is not None
        self.abilities = self._saved or Abilities()
        context = self._declared.context
        if context is not None:
            self.abilities = replace(self.abilities, most_thoughts=context // 2)
        self._first_ended: asyncio.Event | None = None
        self._is_probed = False
        self._fitted: dict[tuple[int, bool], tuple[object, Mapping[str, Any]]] = {}

    async def fitted(self, request: Request) -> Request:
        """A request as the server takes it, which is found out where it is not known."""
        if not self.is_known:
            self._learn(replace(await self._probe(), most_thoughts=self.abilities.most_thoughts))
            await self._save()
        return self._fit(request)

    def admit(self, call: ModelCall) -> Waiting:
        """Let one call pass before anything is known, then all."""
        if not self.is_known:
            return self._take_turn(call)
        self.send_fitted(call)
        return None

    async def _take_turn(self, call: ModelCall) -> None:
        while not self.is_known and self._first_ended is not None:
            await self._first_ended.wait()
        if not self.is_known:
            self._first_ended = asyncio.Event()
            call.is_first = True
        self.send_fitted(call)

    def _let_others(self, call: ModelCall) -> None:
        """Let others pass, now that the first call has come to its end."""
        if call.is_first and self._first_ended is not None:
            call.is_first = False
            self._first_ended.set()
            self._first_ended = None

    def send_fitted(self, call: ModelCall) -> None:
        """Have a call sent as the server takes it, as far as that is known."""
        call.request, call.sizes = self._fit(call.asked, call.thoughts), None
        call.fitted_by = self.abilities

    def _fit(self, request: Request, thoughts: int | None = None) -> Request:
        if thoughts is not None:
            return self.abilities.fit(request, thoughts)
        requested, graded = request.parameters, request.schema is not None
        entry = self._fitted.get((id(requested), graded))
        if entry is None or entry[0] is not requested:
            if len(self._fitted) > _SHARED:
                self._fitted.clear()
            fitted = self.abilities.parameters(requested, graded=graded)
            entry = self._fitted[id(requested), graded] = (requested, fitted)
        return self.abilities.filled(request, entry[1])

    def _learn(self, abilities: Abilities) -> None:
        self.abilities = abilities
        self._fitted.clear()

    async def _save(self) -> None:
        self.is_known, self._saved = True, self.abilities
        learned = written_abilities(self.abilities)
        await asyncio.to_thread(self._store.learn, self._name, learned)  # which may wait

    def _ask_again(self, call: ModelCall) -> None:
        call.fits += 1
        call.again()
        self.send_fitted(call)

    def result(self, call: ModelCall, reply: Reply) -> Waiting:
        """Learn from a reply whether the model thinks; one that was cut meanwhile is asked again,
        with room for that.
        """
        before = self.abilities
        if call.thoughts is not None and call.thoughts >= ROOM:
            most = call.thoughts
            self._learn(replace(before, most_thoughts=most, thoughts=min(before.thoughts, most)))
        if _has_thoughts(reply):
            self._raise_allowance(call, is_cut=is_cut(reply.finish_reason))
        if call.reply is None or self.abilities is self._saved:
            return None
        self.is_known = True
        self._let_others(call)
        return self._save()

    def _raise_allowance(self, call: ModelCall, *, is_cut: bool) -> None:
        allowed = _allowed(call)
        needed = min(MOST_THINKING, 2 * allowed) if is_cut and allowed else THINKING_TOKENS
        thoughts = self.abilities.bounded(max(self.abilities.thoughts, needed))
        if thoughts != self.abilities.thoughts:
            self._learn(replace(self.abilities, thoughts=thoughts))
        is_more = self.abilities.allowance(call.asked.parameters) > allowed
        if is_cut and is_more and call.thoughts is None and _can_be_more(call):
            self._ask_again(call)

    def error(self, call: ModelCall, error: Exception) -> Waiting:
        """Learn from a refusal what the server does not take."""
        refuses = (isinstance(error, CallFailed) and error.refused) or isinstance(error, NotFound)
        if refuses and call.fits < MOST_FITS:
            name, allowed = named_in(str(error), call.request), _allowed(call)
            if allowed and name in {"", *LIMITS} and is_about_length(str(error)):
                call.thoughts = allowed // 2 if allowed > ROOM // 4 else 0
                self._ask_again(call)
                return None
            self._check_not_declared(call, name, error)
            if name and without(call.fitted_by or self.abilities, name) is not None:
                return self._leave_out(call, name)
        if call.is_first and not self._is_probed and isinstance(error, CallFailed | NotFound):
            return self._first_failed(call, error)
        self.is_known = self.is_known or self._is_probed
        self._let_others(call)
        return None

    def _check_not_declared(self, call: ModelCall, name: str, error: Exception) -> None:
        """Raise `Misconfigured` where somebody asked for what is refused."""
        body = call.request.parameters.get("body") or {}
        declared = {*self._declared.parameters, *_ALWAYS_DECLARED, *body} - {*LIMITS}
        if name in declared:
            self._let_others(call)
            problem = f"the server refuses {name!r}, which is declared to be sent"
            raise Misconfigured(f"{problem}; leave it out ({error})") from error

    async def _leave_out(self, call: ModelCall, name: str) -> None:
        """Leave a parameter out from now on, unless something else was learned meanwhile."""
        less = without(self.abilities, name) if self.abilities is call.fitted_by else None
        if less is not None:
            self._learn(less)
        self._ask_again(call)
        if less is not None and self.is_known:  # else the first reply has it kept
            await self._save()

    async def _first_failed(self, call: ModelCall, error: CallFailed | NotFound) -> None:
        """Find out whether the first request is at fault, or how it is sent, or the server."""
        try:
            if not may_be_refusal(error):
                if isinstance(error, Retryable):
                    raise first_failed(error) from error
                raise refuses_all(error) from error
            abilities, bound = await self._probe(), self.abilities.most_thoughts
            self._is_probed = True
            self._learn(replace(abilities, thoughts=self.abilities.thoughts, most_thoughts=bound))
            self._ask_again(call)
        except BaseException:
            self._let_others(call)
            raise

    def lost(self, call: ModelCall) -> None:
        """Let another call be the first."""
        self._let_others(call)


class Fitting(Policy):
    """Sends a call, whose turn has come, by what was learned while it waited."""

    def __init__(self, adapting: Adapting) -> None:
        self._adapting = adapting

    def admit(self, call: ModelCall) -> Waiting:
        """Fit the request anew, where something was learned."""
        if call.fitted_by is not self._adapting.abilities:
            self._adapting.send_fitted(call)
        return None


def _has_thoughts(reply: Reply) -> bool:
    """Whether a model thought before it answered; one that was cut without a word did."""
    if reply.thought or reply.text.startswith(("<think", "\n<think")):
        return True
    return not reply.text.strip() and not reply.refusal and is_cut(reply.finish_reason)


def _allowed(call: ModelCall) -> int:
    """The tokens for thoughts that a call was sent with."""
    asked, sent = call.asked.parameters.get("max_tokens"), call.request.parameters
    most = sent.get("max_tokens", sent.get("max_completion_tokens"))
    return most - asked if asked is not None and most is not None else 0


def _can_be_more(call: ModelCall) -> bool:
    return "max_tokens" in call.asked.parameters and call.fits < MOST_FITS
