"""Requests that are too long for a server: as it says, or as its count of their tokens tells."""

from __future__ import annotations

import re

from labeler.data import Failure
from labeler.model import Reply, Request
from labeler.models.tokens import FEWEST_BYTES, at_most

CUTS = "the server cuts the prompt"
HELP = "a longer context at the server, as num_ctx at Ollama, or the assessor's own `context`"

SMALLEST_CONTEXT = 256
"""A smaller count is no context's: a server that counts only what it had not ready gives those."""

FEW_LETTERS = 5
"""Characters a token, with its space, below which no prompt is looked at closer."""

_ABOUT_CONTEXT = re.compile(
    r"context|too long|too many (input )?tokens|(maximum|exceed).{0,60}(length|tokens)",
    re.IGNORECASE,
)
_PACE = re.compile(r"\brate\b|per (minute|day)|quota", re.IGNORECASE)


def cut_of(request: Request, reply: Reply) -> str:
    """What tells that a server read a prompt in part; empty where nothing does.

    A word between spaces is a token at least, in any tokenizer. Scripts without spaces have few
    such words, so that nothing is said of them.
    """
    read = reply.prompt_tokens + reply.cached_tokens  # which some servers count beside
    size = sum(len(message.content) for message in request.messages)
    if read < SMALLEST_CONTEXT or size < FEW_LETTERS * read:
        return ""
    words = sum(len(message.content.split()) for message in request.messages)
    return f"{CUTS}: it read {read:,} tokens of {words:,} words" if words > read else ""


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
