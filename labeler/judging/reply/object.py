"""The JSON object that a reply is: how it ended, and the object that holds what was asked. Pure."""

from __future__ import annotations

import re
from typing import Any

from labeler.model import NO_COMPLETION, NO_TEXT, Reply
from labeler.models.ending import status_of_ending
from labeler.prompt.reply.reader import NoGrade, answer_in, raise_nothing
from labeler.text.objects import after_thoughts, objects_named

LONGEST = 1_000_000
"""Characters; a longer reply is no grade of one pair."""


def check_ending(reply: Reply) -> None:
    """Raise `NoGrade` where the way that a reply ended says that it holds none."""
    status = status_of_ending(reply.finish_reason)
    if status == "filtered":
        raise NoGrade(status, reply.refusal or "the server's content filter stopped the reply")
    if reply.refusal:
        raise NoGrade("refused", reply.refusal)
    if reply.finish_reason == NO_COMPLETION:
        raise NoGrade("unparsable", "the server's answer held no completion")
    if reply.finish_reason == NO_TEXT:
        raise NoGrade("unparsable", "the reply is a tool call or other parts, and no text")
    if status:
        raise NoGrade(status, f"the server ended the reply with {reply.finish_reason!r}")
    if len(reply.text) > LONGEST:
        raise NoGrade("unparsable", f"a reply of {len(reply.text):,} characters")


def object_of(reply: Reply, key: str) -> dict[str, Any]:
    """The one object of a reply that holds a key, which is then written as it was asked for.

    `NoGrade` where there is none, or where two say different things.
    """
    check_ending(reply)
    text = reply.text[after_thoughts(reply.text) :]
    names = re.compile(re.escape(key), re.IGNORECASE)
    holders = objects_named(answer_in(text)[0], names)
    members = [
        {key if names.fullmatch(name) else name: value for name, value in holder.items()}
        for holder in holders
    ]
    if not members:
        raise_nothing(f'no JSON object with "{key}"', text)
    if any(other[key] != members[0][key] for other in members):
        raise NoGrade("conflict", f'{len(members)} objects with another "{key}" each')
    return members[-1]
