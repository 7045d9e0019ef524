"""A reply as columns, the same in every store, so that its checksum is the same in all of them."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from labeler.files.numbers import amount, count
from labeler.model import Reply
from labeler.store.base import KeyedReply

REPLY = (
    "key, model, served, text, finish_reason, refusal, prompt_tokens, completion_tokens, at, cost,"
    " sent, top_tokens"
)
"""The columns of a reply that its checksum covers, in the order in which it does."""


def values_of(keyed_reply: KeyedReply) -> tuple[Any, ...]:
    """A reply's columns, in the order of `REPLY`, as SQLite gives them back.

    It would read NaN as NULL, -0.0 as 0.0 and true as 1: checksums are of what is read.
    """
    reply = keyed_reply.reply
    tops = json.dumps(reply.top_tokens, default=dict) if reply.top_tokens else None
    return (
        keyed_reply.key,
        keyed_reply.model_id,
        reply.model,
        reply.text,
        reply.finish_reason,
        reply.refusal,
        count(reply.prompt_tokens) or 0,
        count(reply.completion_tokens) or 0,
        time.time(),
        amount(reply.cost),
        _SENT.encode(reply.sent) if reply.sent else None,
        tops,
    )


def reply_of(row: Sequence[Any], *, shared: bool = False) -> Reply:
    """The reply in a row of `REPLY`."""
    _, _, served, text, ending, refusal, tokens_in, tokens_out, _, cost, sent, tops = row
    columns = (text, ending, refusal, served, tokens_in, tokens_out)
    tokens = json.loads(tops) if tops else ()
    price = amount(cost)
    was_sent = _sent_in(sent) if sent else {}
    return Reply(
        *columns, top_tokens=tokens, cost=price, remembered=True, shared=shared, sent=was_sent
    )


_SENT = json.JSONEncoder(sort_keys=True, default=dict)


@lru_cache(maxsize=64)
def _sent_in(text: str) -> Mapping[str, Any]:
    """What was sent, which is the same in nearly all replies of a run."""
    return MappingProxyType(json.loads(text))
