"""What a server accepts, found out by a small question of our own: where a first refusal names
nothing, or where nobody is asked live.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

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
from labeler.models.policies.adapt import THINKING_TOKENS, Abilities, named_in, without

PROBE = 'Reply with the JSON object {"grade": 1} and nothing else.'
PROBE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"grade": {"type": "integer", "enum": [0, 1, 2, 3]}},
    "required": ["grade"],
    "additionalProperties": False,
}
PROBE_TOKENS = 64
PROBES = 3
SHOWN = 300

_PROBE = Request(
    (Message("user", PROBE),),
    {"temperature": 0.0, "max_tokens": PROBE_TOKENS, "stop": ["\n\n\n"]},
    PROBE_SCHEMA,
)
_PLAIN = Abilities("text", refused=("temperature", "stop", "logprobs"))
_BLINDLY = ("logprobs", "max_tokens", "temperature", "stop", "response_format")
"""What is left out one after the other, where a refusal does not say what is wrong."""


async def found_abilities(quick: Model, patient: Model) -> Abilities:
    """What `probe` finds, or what ends the run."""
    try:
        return await probe(quick, patient)
    except Retryable as error:
        raise first_failed(error) from error
    except CallFailed as error:
        raise refuses_all(error) from error


def first_failed(error: Retryable) -> ProviderError:
    """That a server answers nothing."""
    return ProviderError(f"the first call failed, and every retry of it: {error}")


def refuses_all(error: Exception) -> Misconfigured:
    """That a server takes no request at all."""
    return Misconfigured(f"the server refuses a plain request: {error}")


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
            less = _less(abilities, str(error), shape_first=not refused)
            if less is None:
                raise refuses_all(error) from error
            abilities = less
        else:
            thinks = reply.thought or reply.text.lstrip().startswith("<think")
            return replace(abilities, thoughts=THINKING_TOKENS if thinks else 0)


async def _answered(model: Model, request: Request) -> Reply:
    """The reply to a request, which is asked again where the answer held no completion."""
    for _ in range(PROBES):
        reply = await model.ask(request)
        if reply.finish_reason != NO_COMPLETION:
            return reply
    shown = " ".join(reply.body[:SHOWN].decode("utf-8", "replace").split())
    raise Misconfigured(f"expected a chat completion, {PROBES} times, the last time found: {shown}")


async def _check_plain(patient: Model, error: CallFailed | NotFound) -> None:
    """Raise an error that is not about what was asked for."""
    if not may_be_refusal(error):
        raise error
    try:
        await patient.ask(_PLAIN.fit(_PROBE))
    except (CallFailed, NotFound):
        raise error from None


def may_be_refusal(error: Exception) -> bool:
    """Whether a server may mean by its error that it does not know what was sent."""
    if isinstance(error, NoAnswer | NoCompletion):
        return False
    if isinstance(error, Retryable):
        return not error.busy
    return isinstance(error, NotFound) or (isinstance(error, CallFailed) and error.refused)


def _less(abilities: Abilities, message: str, *, shape_first: bool) -> Abilities | None:
    """The abilities without what the server's message names, else without the next; or None."""
    named = named_in(message, abilities.fit(_PROBE))
    shape = ("response_format",) if shape_first else ()
    tried = (without(abilities, name) for name in (named, *shape, *_BLINDLY) if name)
    return next((less for less in tried if less is not None), None)
