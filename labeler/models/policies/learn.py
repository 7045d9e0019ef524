"""Sends only what the server accepts, which is learned from every answer of the run."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from labeler.errors import (
    CallFailed,
    LabelerError,
    Misconfigured,
    NotFound,
    ProviderError,
    Retryable,
)
from labeler.model import (
    NO_COMPLETION,
    JsonObject,
    Message,
    Model,
    OncePerPart,
    Reply,
    Request,
    is_cut,
)
from labeler.models.policies.call import ModelCall, Policy, ToAwait
from labeler.models.server.answers import begin_of
from labeler.models.settings import AssessorSettings
from labeler.options import STRICT
from labeler.store.replies import Store

# What a server accepts of a model, as far as it is known, and what a refusal says of it. Pure.

Shape = Literal["json_schema", "json_object", "text"]
Limit = Literal["max_tokens", "max_completion_tokens"]

LIMITS = ("max_tokens", "max_completion_tokens")
THINKING_TOKENS = 8192
"""What a reasoning model may use before its answer, beside what the prompt allows for that."""

MOST_THINKING = 4 * THINKING_TOKENS
TOP_TOKENS = 5


@dataclass(frozen=True, slots=True)
class Abilities:
    """What may be sent: the shape of replies, and which parameters.

    `limit` is the parameter's name for the most tokens of a reply; `refused` are parameters that
    the server does not take, `system` is false where it takes no system turn. `thoughts` are the
    tokens that are allowed for what the model thinks before it answers, `most_thoughts` those that
    fit beside a request, None where nothing says so.
    """

    __pydantic_config__ = STRICT

    shape: Shape = "json_schema"
    limit: Limit = "max_tokens"
    refused: tuple[str, ...] = ()
    system: bool = True
    thoughts: int = 0
    most_thoughts: int | None = None

    def fit(self, request: Request, thoughts: int | None = None) -> Request:
        """The request with what the server would refuse left out or said in its way.

        What filled the template is left out too: a server reads the messages alone. `thoughts` are
        allowed in place of those that usually are.
        """
        graded = request.schema is not None
        return self.filled(request, self.parameters(request.parameters, thoughts, graded=graded))

    def filled(self, request: Request, parameters: JsonObject) -> Request:
        """The request with parameters that were fitted already."""
        messages = request.messages if self.system else _folded(request.messages)
        schema = request.schema if self.shape == "json_schema" else None
        return Request(messages, parameters, schema, {}, request.repeat, request.attempt)

    def parameters(
        self, requested: JsonObject, thoughts: int | None = None, *, graded: bool
    ) -> JsonObject:
        """The parameters of a request as they are sent."""
        left_out = {*self.refused, "max_tokens"}
        sent = {name: value for name, value in requested.items() if name not in left_out}
        most = requested.get("max_tokens")
        if most is not None:
            sent[self.limit] = most + (self.allowance(requested) if thoughts is None else thoughts)
        if graded and "logprobs" not in self.refused:
            sent |= {"logprobs": True, "top_logprobs": TOP_TOKENS}
        if graded and self.shape == "json_object":
            sent["response_format"] = {"type": "json_object"}
        return sent

    def allowance(self, requested: JsonObject) -> int:
        """The tokens for thoughts: those that were seen to be needed, or are declared."""
        thinking, effort = requested.get("thinking"), requested.get("reasoning_effort")
        declared = THINKING_TOKENS if thinking is True or effort not in _NO_EFFORT else 0
        if isinstance(thinking, int) and thinking is not True:
            declared = thinking
        return self.bounded(max(self.thoughts, declared))

    def bounded(self, thoughts: int) -> int:
        """So many tokens for thoughts, or as many as fit."""
        return thoughts if self.most_thoughts is None else min(thoughts, self.most_thoughts)


_NO_EFFORT = (None, "", "none")


def _folded(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The turns with what the system says at the head of what the user does."""
    system = "\n\n".join(turn.content for turn in messages if turn.role == "system")
    first, *others = (turn for turn in messages if turn.role != "system")
    return (
        Message(first.role, f"{system}\n\n{first.content}" if system else first.content),
        *others,
    )


def written_abilities(abilities: Abilities) -> str:
    """Abilities as `read_abilities` takes them."""
    return json.dumps(asdict(abilities))


def read_abilities(text: str | None) -> Abilities | None:
    """The abilities in a text that was stored; None where another version wrote it, or nobody did,
    so that they are found out anew.
    """
    try:
        return _ABILITIES.validate_json(text or "")
    except ValidationError:
        return None


_ABILITIES = TypeAdapter(Abilities)


def named_in(message: str, sent: Request) -> str:
    """The parameter of a request that a server's refusal names, or `system`; empty for none.

    >>> turns, asked = (Message("user", "?"),), {"temperature": 0.0, "stop": ["."]}
    >>> named_in("Unsupported value: 'temperature' does not support 0", Request(turns, asked))
    'temperature'
    """
    text = message.lower()
    if sent.messages[0].role == "system" and _NO_SYSTEM.search(text):
        return "system"
    names = [*sent.parameters, "response_format"] if sent.schema is not None else sent.parameters
    for name in (*names, *(sent.parameters.get("body") or ())):
        words = "|".join(_SPELLED.get(name, (re.escape(name),)))
        if words and re.search(rf"(?<![a-z0-9_])({words})(?![a-z0-9_])", text):
            return str(name)
    return ""


_NO_SYSTEM = re.compile(
    r"system.{0,12} role|role.{0,20}system|system (prompt|message|turn|instruction)s? .{0,20}not |"
    r"developer instruction is not|roles must alternate"
)
_SPELLED: Mapping[str, tuple[str, ...]] = {
    "logprobs": ("logprobs", "top_logprobs", "log probabilities"),
    "response_format": (
        "response_format",
        "json_schema",
        "json_object",
        "json schema",
        "structured[ _]outputs?",
        "grammar",
        r"output_config\.format",
        "output[ _]format",
        r"text\.format",
    ),
    "stop": ("stop", "stop[ _]sequences?"),
    "reasoning_effort": ("reasoning_effort", r"reasoning\.effort", "effort"),
    "body": (),
    "thinking": ("thinking", "enable_thinking", "think", "budget_tokens"),
}

_ABOUT_LENGTH = re.compile(
    r"context|too (long|large|many|big)|maximum|exceed|at most|less than|greater than|larger than"
)
"""What a refusal says that may be about the length of a request with its reply."""


def without(abilities: Abilities, name: str) -> Abilities | None:
    """The abilities without a parameter that was refused; None where there is nothing less."""
    if name == "system":
        return replace(abilities, system=False) if abilities.system else None
    if name == "response_format":
        less = {"json_schema": "json_object", "json_object": "text"}.get(abilities.shape)
        return replace(abilities, shape=less) if less else None  # type: ignore[arg-type]  # it is a shape
    if name in LIMITS:
        renamed = abilities.limit == "max_tokens"
        return replace(abilities, limit="max_completion_tokens") if renamed else None
    if name == "top_logprobs":
        name = "logprobs"
    if name in abilities.refused:
        return None
    return replace(abilities, refused=(*abilities.refused, name))


# What a server accepts, found out by a small question of our own: where a first refusal names
# nothing, or where nobody is asked live.

PROBE = 'Reply with the JSON object {"grade": 1} and nothing else.'
PROBE_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"grade": {"type": "integer", "enum": [0, 1, 2, 3]}},
    "required": ["grade"],
    "additionalProperties": False,
}
PROBE_TOKENS = 64
PROBES = 3

_PROBE = Request(
    (Message("user", PROBE),),
    {"temperature": 0.0, "max_tokens": PROBE_TOKENS, "stop": ["\n\n\n"]},
    PROBE_SCHEMA,
)
_BLINDLY = ("logprobs", "max_tokens", "temperature", "stop", "response_format")
"""What is left out one after the other, where a refusal does not say what is wrong."""


async def found_abilities(model: Model) -> Abilities:
    """What `probe` finds, or what ends the run."""
    try:
        return await probe(model)
    except CallFailed as error:
        raise end_of_run(error) from error


def end_of_run(error: CallFailed) -> LabelerError:
    """That a server answers nothing, or takes no request at all."""
    if isinstance(error, Retryable):
        return ProviderError(f"the first call failed, and every retry of it: {error}")
    return Misconfigured(f"the server refuses a plain request: {error}")


async def probe(model: Model) -> Abilities:
    """Find out what a server accepts, beginning with everything.

    Raises `Misconfigured` where not even the plainest request is accepted.
    """
    abilities = Abilities()
    while True:
        try:
            reply = await _answered(model, abilities.fit(_PROBE))
        except CallFailed as error:
            if not error.refused:
                raise
            less = _less(abilities, str(error))
            if less is None:
                raise end_of_run(error) from error
            abilities = less
        else:
            return replace(abilities, thoughts=THINKING_TOKENS if reply.thought else 0)


async def _answered(model: Model, request: Request) -> Reply:
    """The reply to a request, which is asked again where the answer held no completion."""
    for _ in range(PROBES):
        reply = await model.ask(request)
        if reply.finish_reason != NO_COMPLETION:
            return reply
    raise Misconfigured(
        f"expected a chat completion, {PROBES} times, the last time found: {begin_of(reply.body)}"
    )


def _less(abilities: Abilities, message: str) -> Abilities | None:
    """The abilities without what the server's message names, else without the next; or None."""
    named = named_in(message, abilities.fit(_PROBE))
    tried = (without(abilities, name) for name in (named, *_BLINDLY) if name)
    return next((less for less in tried if less is not None), None)


MOST_FITS = 16
"""How often one request is asked again because something was learned from the answer."""

ROOM = 1024
"""Tokens for thoughts; where fewer fit beside a request, that is this request's own matter."""

_ALWAYS_DECLARED = frozenset({"top_p", "seed", "reasoning_effort", "thinking", "body"})


class Adapting(Policy):
    """Fits each request to what the server takes, and learns that from how calls end.

    When a refusal names a parameter, it is left out from then on, and the request asked again. So
    is a request whose reply was cut while the model thought. What somebody declared is not left
    out: the run ends. Until a server has answered once, one call is under way, so that no more are
    refused; where its refusal names nothing, `probe` asks a small question instead. `name` is under
    which fact the store keeps what was learned.
    """

    def __init__(
        self,
        name: str,
        store: Store,
        probe: Callable[[], Awaitable[Abilities]],
        declared: AssessorSettings | None,
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
        self._fitted = OncePerPart(self._parameters)

    async def fitted(self, request: Request) -> Request:
        """A request as the server takes it, which is found out where it is not known."""
        if not self.is_known:
            self._learn(replace(await self._probe(), most_thoughts=self.abilities.most_thoughts))
            await self._save()
        return self._fit(request)

    async def admit(self, call: ModelCall) -> None:
        """Let one call pass before anything is known, then all."""
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
        return self.abilities.filled(request, self._fitted.of(request.parameters, request.schema))

    def _parameters(self, requested: JsonObject, schema: object) -> JsonObject:
        return self.abilities.parameters(requested, graded=schema is not None)

    def _learn(self, abilities: Abilities) -> None:
        self.abilities = abilities
        self._fitted = OncePerPart(self._parameters)

    async def _save(self) -> None:
        self.is_known, self._saved = True, self.abilities
        learned = written_abilities(self.abilities)
        await asyncio.to_thread(self._store.learn, self._name, learned)  # which may wait

    def _ask_again(self, call: ModelCall) -> None:
        call.fits += 1
        call.again()
        self.send_fitted(call)

    def result(self, call: ModelCall, reply: Reply) -> ToAwait:
        """Learn from a reply whether the model thinks; one that was cut meanwhile is asked again,
        with room for that.
        """
        before = self.abilities
        if call.thoughts is not None and call.thoughts >= ROOM:
            most = call.thoughts
            self._learn(replace(before, most_thoughts=most, thoughts=min(before.thoughts, most)))
        is_short = is_cut(reply.finish_reason)
        # one that was cut without a word thought before
        if reply.thought or (is_short and not (reply.text.strip() or reply.refusal)):
            self._raise_allowance(call, is_cut=is_short)
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
        can_be_more = "max_tokens" in call.asked.parameters and call.fits < MOST_FITS
        if is_cut and is_more and call.thoughts is None and can_be_more:
            self._ask_again(call)

    def error(self, call: ModelCall, error: Exception) -> ToAwait:
        """Learn from a refusal what the server does not take."""
        refuses = (isinstance(error, CallFailed) and error.refused) or isinstance(error, NotFound)
        if refuses and call.fits < MOST_FITS:
            name, allowed = named_in(str(error), call.request), _allowed(call)
            if allowed and name in {"", *LIMITS} and _ABOUT_LENGTH.search(str(error).lower()):
                call.thoughts = allowed // 2 if allowed > ROOM // 4 else 0
                self._ask_again(call)
                return None
            self._check_not_declared(call, name, error)
            if name and without(call.fitted_by or self.abilities, name) is not None:
                return self._leave_out(call, name)
        if call.is_first and not self._is_probed and isinstance(error, CallFailed):
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
            raise Misconfigured(
                f"the server refuses {name!r}, which is declared to be sent; leave it out ({error})"
            ) from error

    async def _leave_out(self, call: ModelCall, name: str) -> None:
        """Leave a parameter out from now on, unless something else was learned meanwhile."""
        less = without(self.abilities, name) if self.abilities is call.fitted_by else None
        if less is not None:
            self._learn(less)
        self._ask_again(call)
        if less is not None and self.is_known:  # else the first reply has it kept
            await self._save()

    async def _first_failed(self, call: ModelCall, error: CallFailed) -> None:
        """Find out whether the first request is at fault, or how it is sent, or the server."""
        try:
            if not error.refused:
                raise end_of_run(error) from error
            abilities, now = await self._probe(), self.abilities
            self._is_probed = True
            self._learn(replace(abilities, thoughts=now.thoughts, most_thoughts=now.most_thoughts))
            self._ask_again(call)
        except BaseException:
            self._let_others(call)
            raise

    def lost(self, call: ModelCall) -> None:
        """Let another call be the first."""
        self._let_others(call)


@dataclass(slots=True)
class Fitting(Policy):
    """Sends a call, whose turn has come, by what was learned while it waited."""

    _adapting: Adapting

    def admit(self, call: ModelCall) -> ToAwait:
        """Fit the request anew, where something was learned."""
        if call.fitted_by is not self._adapting.abilities:
            self._adapting.send_fitted(call)
        return None


def _allowed(call: ModelCall) -> int:
    """The tokens for thoughts that a call was sent with."""
    asked, sent = call.asked.parameters.get("max_tokens"), call.request.parameters
    most = sent.get("max_tokens", sent.get("max_completion_tokens"))
    return most - asked if asked is not None and most is not None else 0
