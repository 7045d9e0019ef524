"""What answers requests: a request, a reply, and the model that makes one of the other."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar

JsonObject = Mapping[str, Any]
"""An object of JSON, as the parameters of a request."""

Headers = Mapping[str, str]
"""Headers of a request or an answer."""

_HALF_A_PAIR = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    """A text with U+FFFD for each half of a surrogate pair, which no file could hold as UTF-8."""
    return text if text.isascii() else _HALF_A_PAIR.sub("\ufffd", text)


class Message(NamedTuple):
    """One turn of a chat."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """All that an answer depends on, except for the model that is asked.

    `parameters` are sampling parameters as an OpenAI-compatible server takes them; `schema` is the
    JSON schema that the reply should follow; `inputs` are the texts that filled the template (and
    whatever else an answer depends on), for models that do not read prompts; `repeat` and
    `attempt` tell equal requests apart.
    """

    messages: tuple[Message, ...]
    parameters: JsonObject = field(default_factory=dict)
    schema: JsonObject | None = None
    inputs: JsonObject = field(default_factory=dict)
    repeat: int = 0
    attempt: int = 0

    def again(self, *, is_longer: bool = False) -> Request:
        """The same asked once more; `is_longer` allows the reply twice the tokens."""
        parameters = dict(self.parameters)
        if is_longer and parameters.get("max_tokens"):
            parameters["max_tokens"] *= 2
        return replace(self, parameters=parameters, attempt=self.attempt + 1)


NO_COMPLETION = "no_completion"
"""How a reply ended whose answer held none, though the server counts tokens for it."""

NO_TEXT = "no_text"
"""How a reply ended that is a tool call, or parts of which none is text; the next is no other."""

TOO_LONG = "too_long"
"""How what was no reply ended, as the server refused a request for its length; so it says."""

_ABOUT_CONTEXT = re.compile(
    r"context|too long|too many (input )?tokens|(maximum|exceed).{0,60}(length|tokens)",
    re.IGNORECASE,
)
_PACE = re.compile(r"\brate\b|per (minute|day)|quota", re.IGNORECASE)


def is_about_context(refusal: str) -> bool:
    """Whether a server refused a request since it is too long, and not since there were many."""
    return bool(_ABOUT_CONTEXT.search(refusal)) and not _PACE.search(refusal)


Bound = Awaitable[bool] | None
"""Tells later whether the answer belongs to its request; None if that is already certain."""


@dataclass(slots=True)
class Reply:
    """What a model answered, before anybody parsed it.

    `model` is the name that the server gave; token counts are 0 where the server gave none;
    `top_tokens` holds, a token, its log probability and those of the alternatives that the server
    offered, the token that was chosen first; `body` is the answer as it came over the wire, empty
    where none did; `cost` is in dollars, None where no price is known; `cached_tokens` are those of
    the request that the server had ready from an earlier one; `thought` is true where the model
    reasoned before it answered, in tokens that are no part of `text`; `remembered` is true where
    the store answered, `shared` where, too, it had that answer from a call made since it was
    opened. `completion_id` is the id that the server gave; `is_bound` tells, a moment later,
    whether the answer was certainly to this request, and is None where it is. `sent` are the
    parameters that were sent with the request, in this package's names: without those that the
    server refuses, with its limit on tokens raised by what it thinks; of a stored reply, those with
    which it was asked then. Many replies share one mapping, so that nobody may change it.
    """

    text: str
    finish_reason: str = "stop"
    refusal: str | None = None
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    top_tokens: Sequence[Mapping[str, float]] = ()
    body: bytes = field(default=b"", repr=False)
    cost: float | None = None
    thought: bool = False
    remembered: bool = False
    shared: bool = False
    completion_id: str = ""
    is_bound: Bound = field(default=None, compare=False, repr=False)
    cached_tokens: int = 0
    sent: JsonObject = field(default_factory=dict, compare=False, repr=False)

    def note_sent(self, parameters: JsonObject) -> None:
        """Say what was sent, of a reply that nobody else has yet."""
        self.sent = parameters


# How a server says that a reply ended, and what that makes of it.

_WELL = frozenset(
    """stop eos eos_token end end_turn stop_sequence stop_token complete completed finished done
    null none tool_calls tool_call tool_use function_call""".split()  # noqa: SIM905 - read as words, not quotes
)
_TRUNCATED = (
    *("length", "max_tokens", "max_output_tokens", "max_len", "model_length"),
    "model_context_window_exceeded",
)
_FILTERED = (
    "content_filter",
    "content_filtered",
    "safety",
    "recitation",
    "prohibited_content",
    "blocklist",
    "spii",
    "sensitive",
    "guardrail_intervened",
    "error_toxic",
    "image_safety",
)
_BADLY = {
    **dict.fromkeys(_TRUNCATED, "truncated"),
    **dict.fromkeys(_FILTERED, "filtered"),
    "refusal": "refused",
}


def status_of_ending(reason: str) -> str | None:
    """The status of a reply that ended so; None where it is whole, or no reason is given.

    What is in no list broke the reply off: `unparsable`, so that it is asked again.
    """
    name = reason.partition(":")[0].strip().lower().replace("-", "_")
    name = name.removeprefix("finish_").removeprefix("reason_")
    return None if not name or name in _WELL else _BADLY.get(name, "unparsable")


def is_cut(reason: str) -> bool:
    """Whether a reply ended at the limit on its tokens."""
    return reason != "stop" and status_of_ending(reason) == "truncated"


# What is made of objects that many requests share, as their parameters and their schema.

Made = TypeVar("Made")

SHARED_PARTS = 64
"""Of how many parts what was made is kept."""


class OncePerPart(Generic[Made]):
    """Makes something of each part once, as long as it is the very same object."""

    def __init__(self, make: Callable[..., Made]) -> None:
        self._make = make
        self._made: dict[tuple[int, ...], tuple[tuple[object, ...], Made]] = {}

    def of(self, *parts: object) -> Made:
        """What is made of some parts, which nobody may change."""
        key = tuple(map(id, parts))  # of objects that are kept, so that no other gets their number
        entry = self._made.get(key)
        if entry is None:
            if len(self._made) >= SHARED_PARTS:
                self._made.clear()
            entry = self._made[key] = (parts, self._make(*parts))
        return entry[1]


Ask = Callable[[Request], Awaitable[Reply]]


Recall = Callable[[Sequence[Request]], Sequence[Reply | None]]


Close = Callable[[], Awaitable[None]]


def _recalls_nothing(requests: Sequence[Request]) -> Sequence[Reply | None]:
    return [None] * len(requests)


async def nothing_to_close() -> None:
    """Ends nothing: a model has no connections of its own, or they stay open."""


@dataclass(frozen=True, slots=True)
class Model:
    """Whatever answers requests: an identity and one async function.

    `id` is what a reply is remembered under, so it names all that stands behind `ask`: for a
    server its address and the model's name, for a file its hash and the engine's version.
    `recall` gives, for many requests at once, the replies that need no asking; `close` ends
    connections and processes, and the model may be asked again afterwards. `is_server` is true
    where what the server accepts has to be found out before it is asked.
    """

    id: str
    ask: Ask = field(compare=False)
    recall: Recall = field(default=_recalls_nothing, compare=False)
    close: Close = field(default=nothing_to_close, compare=False)
    is_server: bool = field(default=False, compare=False)
