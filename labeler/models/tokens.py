"""How many tokens a call takes: about, and at most, before a server has counted them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple

from labeler.model import Request

BYTES_OF_A_TOKEN = 4
"""A rule of thumb: four letters of English, or a bit more than one character of Chinese."""

FEWEST_BYTES = 3
"""What a token holds at least in texts of any length, on average, in any script."""

OF_A_TURN, OF_A_REQUEST = 8, 16
"""Tokens at most that a chat template puts around each message, and around all of them."""

UNBOUNDED = 1024
"""Tokens reserved for a reply that nothing bounds, until one was longer."""


class Tokens(NamedTuple):
    """Tokens of the request, and of the reply."""

    inside: int
    outside: int

    def plus(self, tokens: Tokens) -> Tokens:
        """The sum of both."""
        return Tokens(self.inside + tokens.inside, self.outside + tokens.outside)

    def times(self, factor: float) -> Tokens:
        """So many times both, rounded up."""
        return Tokens(ceil(self.inside * factor), ceil(self.outside * factor))


NOTHING = Tokens(0, 0)


class Sizes:
    """What requests take, about and at most; a schema that many of them have is counted once."""

    def __init__(self) -> None:
        self._schema: Mapping[str, Any] | None = None
        self._of_schema = 0

    def of(self, request: Request) -> tuple[Tokens, Tokens]:
        """What `about` and `at_most` say of a request."""
        if request.schema is not self._schema:
            self._schema = request.schema
            text = json.dumps(request.schema, default=dict) if request.schema else ""
            self._of_schema = _size(text)
        turns = contents = 0
        for role, content in request.messages:
            turns += _size(role) + OF_A_TURN
            contents += _size(content)
        most = _most_outside(request)
        inside = turns + contents + self._of_schema + OF_A_REQUEST
        outside = UNBOUNDED if most is None else most
        return Tokens(contents // BYTES_OF_A_TOKEN, most or 0), Tokens(inside, outside)


def about(request: Request) -> Tokens:
    """About how many tokens a request takes, and the most that its reply may."""
    return Sizes().of(request)[0]


def at_most(request: Request) -> Tokens:
    """How many tokens a call takes at most: no tokenizer that works on bytes makes more of a text
    than it has bytes.
    """
    return Sizes().of(request)[1]


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _most_outside(request: Request) -> int | None:
    most = request.parameters.get("max_completion_tokens", request.parameters.get("max_tokens"))
    return most if isinstance(most, int) else None


@dataclass(slots=True)
class Reported:
    """The most that a server has said calls took: it may add a prompt of its own to each.

    `size` is the largest request that it said so of, in tokens at most. `beyond` is by how much a
    call took more than it was thought to take at most, in this run or an earlier one.
    """

    size: int = 0
    inside: int = 0
    outside: int = 0
    beyond: Tokens = NOTHING

    def learn(self, most: Tokens, used: Tokens) -> None:
        """Take in what the server says of a call that was thought to take `most`."""
        inside, outside = used.inside - most.inside, used.outside - most.outside
        self.beyond = Tokens(max(self.beyond.inside, inside), max(self.beyond.outside, outside))
        self.size = max(self.size, most.inside)
        self.inside = max(self.inside, used.inside)
        self.outside = max(self.outside, used.outside)

    def bound(self, most: Tokens) -> Tokens:
        """At least what was reported of any call of this run, and more for a longer request."""
        if not self.size:
            return most.plus(self.beyond)
        longer = max(0, most.inside - self.size) // FEWEST_BYTES
        inside = max(most.inside, self.inside + longer)
        return Tokens(inside, max(most.outside, self.outside))
