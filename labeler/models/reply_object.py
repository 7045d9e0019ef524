"""The JSON object that a reply is, validated."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from labeler.files.jsonl import strict_decoder
from labeler.model import Reply, whole
from labeler.models.ending import status_of_ending

LONGEST = 20_000
"""Characters; a longer reply is no answer."""

_DECODER = strict_decoder("the key {key!r} stands twice")
Answer = TypeVar("Answer", bound=BaseModel)


def parsed(reply: Reply, kind: type[Answer]) -> Answer | None:
    """The object that a reply is, validated; None where it is none, or was cut short."""
    if reply.refusal or status_of_ending(reply.finish_reason) or len(reply.text) > LONGEST:
        return None
    text = whole(reply.text)
    start = max(text.rfind("</think>"), 0)
    start = text.find("{", start)
    if start < 0:
        return None
    try:
        value, _ = _DECODER.raw_decode(text, start)
        return kind.model_validate(value)
    except (ValidationError, ValueError, RecursionError):
        return None
