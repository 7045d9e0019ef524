"""What a server accepts of a model, as far as it is known, and what a refusal says of it. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError

from labeler.model import Message, Request

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

    __pydantic_config__: ClassVar = ConfigDict(strict=True, extra="forbid")

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

    def filled(self, request: Request, parameters: Mapping[str, Any]) -> Request:
        """The request with parameters that were fitted already."""
        messages = request.messages if self.system else _folded(request.messages)
        schema = request.schema if self.shape == "json_schema" else None
        return Request(messages, parameters, schema, {}, request.repeat, request.attempt)

    def parameters(
        self, requested: Mapping[str, Any], thoughts: int | None = None, *, graded: bool
    ) -> Mapping[str, Any]:
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

    def allowance(self, requested: Mapping[str, Any]) -> int:
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


def is_about_length(message: str) -> bool:
    """Whether a refusal may be about the length of a request with its reply."""
    return bool(_ABOUT_LENGTH.search(message.lower()))


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
