"""The JSON object that a reply is, validated."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel

from labeler.model import Reply, whole
from labeler.models.ending import status_of_ending
from labeler.text.objects import after_thoughts, objects_in

LONGEST = 20_000
"""Characters; a longer reply is no answer."""

Answer = TypeVar("Answer", bound=BaseModel)


def parsed(reply: Reply, kind: type[Answer]) -> Answer | None:
    """The object that a reply is, validated; None where it is none, or was cut short."""
    if reply.refusal or status_of_ending(reply.finish_reason) or len(reply.text) > LONGEST:
        return None
    text = whole(reply.text)
    try:
        objects, _ = objects_in(text[after_thoughts(text) :])
        return kind.model_validate(objects[-1]) if objects else None
    except ValueError:  # pydantic's own are such, too
        return None
