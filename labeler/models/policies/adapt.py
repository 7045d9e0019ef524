"""What a server accepts of a model, found out once by a small call and kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from labeler.errors import (
    CallFailed,
    Misconfigured,
    NoAnswer,
    NoCompletion,
    NotFound,
    ProviderError,
    Retryable,
)
from labeler.model import NO_COMPLETION, Message, Model, Reply, Request

Shape = Literal["json_schema", "json_object", "text"]
Limit = Literal["max_tokens", "max_completion_tokens"]

PROBE = 'Reply with the JSON object {"grade": 1} and nothing else.'
PROBE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"grade": {"type": "integer", "enum": [0, 1, 2, 3]}},
    "required": ["grade"],
    "additionalProperties": False,
}
PROBE_TOKENS = 64
THINKING_TOKENS = 8192
"""What a reasoning model may use before its answer, beside what the prompt allows for that."""

TOP_TOKENS = 5
PROBES = 3
SHOWN = 300


_OPTIONAL = ("temperature", "seed", "stop")


@dataclass(frozen=True, slots=True)
class Abilities:
    """What may be sent: the shape of replies, and which parameters.

    `limit` is the parameter's name for the most tokens of a reply; `thinks` is true for a model
    that reasons before it answers.
    """

    __pydantic_config__: ClassVar = ConfigDict(strict=True, extra="forbid")

    shape: Shape = "json_schema"
    limit: Limit = "max_tokens"
    temperature: bool = True
    seed: bool = True
    stop: bool = True
    logprobs: bool = True
    thinks: bool = False

    def fit(self, request: Request) -> Request:
        """The request with what the server would refuse left out or said in its way.

        What filled the template is left out too: a server reads the messages alone.
        """
        return _fit_all(self, [request])[0]

    def parameters(self, requested: Mapping[str, Any], *, graded: bool) -> Mapping[str, Any]:
        """The parameters of a request as they are sent."""
        sent = {
            name: value
            for name, value in requested.items()
            if name not in {"max_tokens", "temperature", "seed", "stop"}
            or getattr(self, name, False)
        }
        most = requested.get("max_tokens")
        if most is not None:
            sent[self.limit] = most + (THINKING_TOKENS if self.thinks else 0)
        if graded and self.logprobs:
            sent |= {"logprobs": True, "top_logprobs": TOP_TOKENS}
        if graded and self.shape == "json_object":
            sent["response_format"] = {"type": "json_object"}
        return sent


def adapted(
    model: Model,
    server: Model,
    load: Callable[[], str | None],
    learn: Callable[[str], None],
    quick: Model | None = None,
) -> Model:
    """Send only what the server accepts, which a probe finds out before the first call.

    `load` returns what an earlier probe learned, None where there was none; `learn` stores it.
    `server` is the server itself, without the store's replies; `quick` is the server again, with
    fewer retries of what may be a refusal.
    """
    learned = read_abilities(load())
    abilities: list[Abilities] = [learned] if learned else []
    probing = asyncio.Lock()

    def recall(requests: Sequence[Request]) -> Sequence[Reply | None]:
        if not abilities:
            return [None] * len(requests)
        return model.recall(_fit_all(abilities[0], requests))

    async def ask(request: Request) -> Reply:
        if not abilities:
            async with probing:
                if not abilities:
                    abilities.append(await _probe_and_learn(quick or server, server, learn))
        return await model.ask(abilities[0].fit(request))

    return replace(model, ask=ask, recall=recall)


def _fit_all(abilities: Abilities, requests: Sequence[Request]) -> list[Request]:
    """All requests fitted; what the very same parameters become is worked out once."""
    fitted: dict[tuple[int, bool], Mapping[str, Any]] = {}
    result = []
    for request in requests:
        graded = request.schema is not None
        shared = (id(request.parameters), graded)
        if shared not in fitted:
            fitted[shared] = abilities.parameters(request.parameters, graded=graded)
        schema = request.schema if abilities.shape == "json_schema" else None
        numbers = (request.repeat, request.attempt)
        result.append(Request(request.messages, fitted[shared], schema, {}, *numbers))
    return result


async def _probe_and_learn(quick: Model, patient: Model, learn: Callable[[str], None]) -> Abilities:
    try:
        abilities = await probe(quick, patient)
    except Retryable as error:
        raise ProviderError(f"the first call failed, and every retry of it: {error}") from error
    except CallFailed as error:
        raise Misconfigured(f"the server refuses a plain request: {error}") from error
    await asyncio.to_thread(learn, written_abilities(abilities))  # which may wait
    return abilities


def written_abilities(abilities: Abilities) -> str:
    """Abilities as `read_abilities` takes them."""
    return json.dumps(asdict(abilities))


def read_abilities(text: str | None) -> Abilities | None:
    """The abilities in a text that `adapted` stored; None where another version wrote it, or
    nobody did, so that they are found out anew.
    """
    try:
        return _ABILITIES.validate_json(text or "")
    except ValidationError:
        return None


_ABILITIES = TypeAdapter(Abilities)


async def probe(model: Model, patient: Model | None = None) -> Abilities:
    """Find out what a server accepts, beginning with everything.

    Some servers answer what they do not know with a 404 or a 5xx: those count as a refusal where
    the plainest request, asked of `patient`, works. Raises `Misconfigured` where not even that is
    accepted.
    """
    abilities, is_sure = Abilities(), False
    while True:
        try:
            reply = await _answered(model, abilities.fit(_PROBE))
        except (CallFailed, NotFound) as error:
            refused = isinstance(error, CallFailed) and error.refused
            if not refused and not is_sure:
                await _check_plain(patient or model, error)
                is_sure = True  # and the same once more, as it may have passed
                continue
            less = _without(abilities, str(error), shape_first=not refused)
            if less is None:
                raise Misconfigured(f"the server refuses a plain request: {error}") from error
            abilities = less
        else:
            return _from_reply(abilities, reply)


async def _answered(model: Model, request: Request) -> Reply:
    """The reply to a request, which is asked again where the answer held no completion."""
    for _ in range(PROBES):
        reply = await model.ask(request)
        if reply.finish_reason != NO_COMPLETION:
            return reply
    shown = " ".join(reply.body[:SHOWN].decode("utf-8", "replace").split())
    raise Misconfigured(f"expected a chat completion, {PROBES} times, the last time found: {shown}")


_PROBE = Request(
    (Message("user", PROBE),),
    {"temperature": 0.0, "max_tokens": PROBE_TOKENS, "seed": 0, "stop": ["\n\n\n"]},
    PROBE_SCHEMA,
)
_PLAIN = Abilities("text", temperature=False, seed=False, stop=False, logprobs=False)


async def _check_plain(patient: Model, error: CallFailed | NotFound) -> None:
    """Raise an error that is not about what was asked for."""
    is_5xx = isinstance(error, Retryable) and not error.busy
    if isinstance(error, NoAnswer | NoCompletion) or not (is_5xx or isinstance(error, NotFound)):
        raise error
    try:
        await patient.ask(_PLAIN.fit(_PROBE))
    except (CallFailed, NotFound):
        raise error from None


def _without(abilities: Abilities, message: str, *, shape_first: bool = False) -> Abilities | None:
    """The abilities without what the server's message names, else without the next; or None."""
    steps: list[tuple[tuple[str, ...], bool, dict[str, Any]]] = [
        (("logprobs",), abilities.logprobs, {"logprobs": False}),
        (("max_tokens",), abilities.limit == "max_tokens", {"limit": "max_completion_tokens"}),
        (("temperature",), abilities.temperature, {"temperature": False}),
        (("seed",), abilities.seed, {"seed": False}),
        (("stop",), abilities.stop, {"stop": False}),
        (_SHAPES, abilities.shape == "json_object", {"shape": "text"}),
        (_SHAPES, abilities.shape == "json_schema", {"shape": "json_object"}),
    ]
    applicable = [(words, change) for words, applies, change in steps if applies]
    by_message = [
        change for words, change in applicable if any(word in message.lower() for word in words)
    ]
    shapes = [change for words, change in applicable if words is _SHAPES and shape_first]
    changes = by_message or shapes or [change for _, change in applicable]
    return replace(abilities, **changes[0]) if changes else None


_SHAPES = ("response_format", "json_schema", "json_object", "json schema", "structured", "grammar")


def _from_reply(abilities: Abilities, reply: Reply) -> Abilities:
    """What the reply itself tells: whether there are log probabilities, and whether it thought."""
    return replace(
        abilities,
        logprobs=abilities.logprobs and bool(reply.top_tokens),
        thinks=reply.thought or reply.text.lstrip().startswith("<think"),
    )
