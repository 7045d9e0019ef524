"""Requests that are too long for a server: as it says, or as its count of their tokens tells."""

from __future__ import annotations

import re
from dataclasses import dataclass

from labeler.data import Failure
from labeler.model import Reply, Request
from labeler.models.tokens import FEWEST_BYTES, at_most

CUTS = "the server cuts the prompt"
HELP = "a longer context at the server, as num_ctx at Ollama, or the assessor's own `context`"

SMALLEST_CONTEXT = 256
"""A smaller count is no context's: a server that counts only what it had not ready gives those."""

FEW_LETTERS = 5
"""Characters a token, with its space, below which no prompt is looked at closer."""

SEVERAL = 5
"""Prompts of one count, from which on it may be a limit."""

APART, OF_A_LIMIT = 2.0, 1.02
"""Times that the longest of them is the shortest. Passages of equally many tokens are closer; the
second holds where the count is a multiple of `STEP`, as the limits of servers are.
"""

STEP = 256

_ENDS_OF_WORDS = re.compile(r"[A-Za-z0-9][.,;:!?)](?=\s)")
_ABOUT_CONTEXT = re.compile(
    r"context|too long|too many (input )?tokens|(maximum|exceed).{0,60}(length|tokens)",
    re.IGNORECASE,
)
_PACE = re.compile(r"\brate\b|per (minute|day)|quota", re.IGNORECASE)


def cut_of(request: Request, reply: Reply) -> str:
    """What tells that a server read a prompt in part; empty where nothing does.

    A word between spaces is a token at least, in any tokenizer, and a sign behind it another.
    Scripts without spaces have few such words, so that nothing is said of them.
    """
    read = reply.prompt_tokens + reply.cached_tokens  # which some servers count beside
    size = sum(len(message.content) for message in request.messages)
    if read < SMALLEST_CONTEXT or size < FEW_LETTERS * read:
        return ""
    texts = [message.content for message in request.messages]
    least = sum(len(text.split()) + len(_ENDS_OF_WORDS.findall(text)) for text in texts)
    return f"{CUTS}: it read {read:,} tokens of {least:,} words and signs" if least > read else ""


@dataclass(slots=True)
class ReadAtMost:
    """The most tokens that a server was seen to read of a prompt, and the prompts that had as many.

    Where prompts of very different lengths have one and the same count, and none has a larger one,
    that is where the server cuts them.
    """

    tokens: int = 0
    prompts: int = 0
    shortest: int = 0
    longest: int = 0

    def note(self, tokens: int, characters: int) -> None:
        """Take in a request with texts of so many characters, of which so many tokens were read."""
        if tokens > self.tokens:
            self.tokens, self.prompts = tokens, 0
            self.shortest = self.longest = characters
        if tokens == self.tokens:
            self.prompts += 1
            self.shortest = min(self.shortest, characters)
            self.longest = max(self.longest, characters)

    @property
    def is_cut(self) -> bool:
        """Whether the server reads no more of any prompt."""
        is_many = self.prompts >= SEVERAL and self.tokens >= SMALLEST_CONTEXT
        apart = APART if self.tokens % STEP else OF_A_LIMIT
        return is_many and self.longest > apart * self.shortest


def is_about_context(failure: Failure) -> bool:
    """Whether a request had no answer as it was too long for the server."""
    if failure.status == "truncated":
        return failure.detail.startswith(CUTS)
    is_about = failure.status == "call_failed" and _ABOUT_CONTEXT.search(failure.detail)
    return bool(is_about) and not _PACE.search(failure.detail)


def fits(request: Request, context: int) -> bool:
    """Whether a request and its reply fit into a context, as far as that is known before."""
    most = at_most(request)
    return most.inside / FEWEST_BYTES + most.outside <= context
