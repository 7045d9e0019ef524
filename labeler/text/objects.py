"""The JSON objects that stand in a model's text, whatever stands round them. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from labeler.files.jsonl import strict_decoder

_THOUGHT = r"(?:seed:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad)"
_BEGIN = re.compile(rf"<{_THOUGHT}>|\[{_THOUGHT}\]|◁{_THOUGHT}▷|<\|channel\|>analysis", re.I)
_END = re.compile(
    rf"</{_THOUGHT}>|\[/{_THOUGHT}\]|◁/{_THOUGHT}▷|<\|channel\|>final\b[^{{]{{0,40}}?<\|message\|>"
    r"|\bassistantfinal",
    re.I,
)
_BEGINS_WITH_AN_OBJECT = re.compile(r"\s*(?:[`~]{1,3}(?:json)?\s*)?(?:\[\s*)?\{", re.I)

_QUOTE = "[\"'“”‘’„«»]?"
_ONE_MEMBER = re.compile(
    rf"\{{\s*{_QUOTE}(\w+){_QUOTE}\s*[:：]\s*{_QUOTE}(-?\d{{1,9}}){_QUOTE}\s*,?\s*\}}"
)
_FORM = re.compile(r"\{[^{}\d]*:\s*\"?(?:[NX]|<[^<>{}]*>|\.{3}|…)\"?\s*\}")
_BROKEN = re.compile(r"\{\s*(?:\"|['“”‘’„«]?\w+['“”‘’»]?\s*[:：])")
_LAST_COMMA = re.compile(r",(?=\s*[}\]])")
_QUOTES = str.maketrans(dict.fromkeys("'“”‘’„", '"'))
_TWICE = strict_decoder("the key {key!r} stands twice")
_DECODER = json.JSONDecoder(object_pairs_hook=_TWICE.object_pairs_hook, strict=False)


MOST_OBJECTS = 2000
"""Of a text; what has more is no answer."""


class PlacedObject(NamedTuple):
    """An object with where it begins and ends in its text."""

    start: int
    end: int
    value: dict[str, Any]


def after_thoughts(text: str) -> int:
    """Where the answer begins: behind the last end of a thought, whose begin may be the prompt's.

    An object that begins the text is the answer itself, whatever its reason quotes.
    """
    if _BEGINS_WITH_AN_OBJECT.match(text):
        return 0
    return max((end.end() for end in _END.finditer(text)), default=0)


def has_open_thought(prose: str) -> bool:
    """Whether a thought begins in what stands round the objects of an answer, and does not end."""
    begins = [begin.end() for begin in _BEGIN.finditer(prose)]
    return bool(begins) and not _END.search(prose, begins[-1])


def objects_in(text: str) -> Iterator[PlacedObject]:
    """The objects of a text that are not inside others, in their order.

    What only shows the form, as `{"grade": N}`, is passed over, and so are braces that hold no
    member. `ValueError` at the first object that is cut or broken: what follows may be inside it.
    """
    at, tries = text.find("{"), 0
    while at >= 0:
        tries += 1
        if tries > MOST_OBJECTS:
            raise ValueError(f"more than {MOST_OBJECTS:,} braces")
        placed = _object_at(text, at)
        if placed:
            yield placed
            at = placed.end - 1
        elif form := _FORM.match(text, at):
            at = form.end() - 1
        at = text.find("{", at + 1)


def _object_at(text: str, at: int) -> PlacedObject | None:
    try:
        value, end = _DECODER.raw_decode(text, at)
        return PlacedObject(at, end, value)
    except (ValueError, RecursionError) as error:
        member = _ONE_MEMBER.match(text, at)
        if member:
            return PlacedObject(at, member.end(), {member[1]: int(member[2])})
        if _BROKEN.match(text, at) and not _FORM.match(text, at):
            raise ValueError(f"broken JSON ({error})") from None
        return None


def in_signs_of_json(text: str) -> str:
    """The text, as long as it was, without commas behind last members, and with JSON's quotes."""
    return _LAST_COMMA.sub(" ", text).translate(_QUOTES)


def members_named(value: object, names: re.Pattern[str]) -> Iterator[tuple[dict[str, Any], object]]:
    """Every value that has one of the names, at any depth, with the object that holds it.

    A list of one stands for what is in it.
    """
    for holder in objects_named(value, names):
        for name, inner in holder.items():
            alone = inner[0] if isinstance(inner, list) and len(inner) == 1 else inner
            if names.fullmatch(name.strip()) and not isinstance(alone, dict | list):
                yield holder, alone


def objects_named(value: object, names: re.Pattern[str]) -> list[dict[str, Any]]:
    """The objects with a member that has one of the names, at any depth, in their order.

    The `arguments` of a tool call may be JSON in a text.
    """
    waiting, holders = [value], list[dict[str, Any]]()
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += reversed(part)
        elif isinstance(part, dict):
            if any(names.fullmatch(name.strip()) for name in part):
                holders.append(part)
            waiting += reversed(part.values())
            arguments = part.get("arguments")
            if isinstance(arguments, str):
                with suppress(ValueError):  # cut or broken, so nothing stands in them
                    waiting += [placed.value for placed in objects_in(arguments)]
    return holders
