"""The JSON objects that stand in a model's text, whatever stands round them. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress

from labeler.files.jsonl import JsonObject, unique_members

_THOUGHT = r"(?:seed:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad)"
_BEGIN = re.compile(rf"(?i)<{_THOUGHT}>|\[{_THOUGHT}\]|◁{_THOUGHT}▷|<\|channel\|>analysis")
_END = re.compile(
    rf"(?i)</{_THOUGHT}>|\[/{_THOUGHT}\]|◁/{_THOUGHT}▷|<\|channel\|>final\b[^{{]{{0,40}}?<\|message\|>"
    r"|\bassistantfinal"
)
_BEGINS_WITH_AN_OBJECT = re.compile(r"(?i)\s*(?:[`~]{1,3}(?:json)?\s*)?(?:\[\s*)?\{")

_QUOTE = "[\"'“”‘’„«»]?"
_ONE_MEMBER = re.compile(
    rf"\{{\s*{_QUOTE}(\w+){_QUOTE}\s*[:：]\s*{_QUOTE}(-?\d{{1,9}}){_QUOTE}\s*,?\s*\}}"
)
_FORM = re.compile(r"\{[^{}\d]*:\s*\"?(?:[NX]|<[^<>{}]*>|\.{3}|…)\"?\s*\}")
_BROKEN = re.compile(r"\{\s*(?:\"|['“”‘’„«]?\w+['“”‘’»]?\s*[:：])")
_LAST_COMMA = re.compile(r",(?=\s*[}\]])")
_QUOTES = str.maketrans(dict.fromkeys("'“”‘’„", '"'))
_DECODER = json.JSONDecoder(object_pairs_hook=unique_members, strict=False)


OBJECT = "\ufffc"
"""What stands in prose for an object that was taken out."""

MOST_OBJECTS = 2000
"""Of a text; what has more is no answer."""


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


def objects_in(text: str) -> tuple[list[JsonObject], str]:
    """The objects of a text that are not inside others, and its prose with `OBJECT` for each.

    They are read in the quotes and commas of Python or of a word processor, and as JSON inside a
    text of JSON, too. What only shows the form, as `{"grade": N}`, is passed over.
    `ValueError` where one is cut or broken: what follows may be inside it.
    """
    try:
        objects, prose = _scan(text)
    except ValueError:
        return _scan(_LAST_COMMA.sub(" ", text).translate(_QUOTES))
    is_escaped = not objects and '\\"' in text
    return _scan(text.replace("\\n", "\n").replace('\\"', '"')) if is_escaped else (objects, prose)


def _scan(text: str) -> tuple[list[JsonObject], str]:
    objects = []
    prose = ""
    end = 0
    for tries, brace in enumerate(re.finditer(r"\{", text)):
        at = brace.start()
        if tries > MOST_OBJECTS:
            raise ValueError(f"more than {MOST_OBJECTS:,} braces")
        if at < end:
            continue
        value, past = _object_at(text, at)
        if value is not None:
            objects.append(value)
            prose += text[end:at] + OBJECT
            end = past
    return objects, prose + text[end:]


def _object_at(text: str, at: int) -> tuple[JsonObject | None, int]:
    try:
        value, end = _DECODER.raw_decode(text, at)
        return value, end
    except (ValueError, RecursionError) as error:
        member = _ONE_MEMBER.match(text, at)
        if member:
            return {member[1]: int(member[2])}, member.end()
        if _BROKEN.match(text, at) and not _FORM.match(text, at):
            raise ValueError(f"broken JSON ({error}): {text[at : at + 80]}") from None
        return None, at


def members_named(value: object, names: re.Pattern[str]) -> Iterator[tuple[JsonObject, object]]:
    """Every value that has one of the names, at any depth, with the object that holds it.

    A list of one stands for what is in it.
    """
    for holder in objects_named(value, names):
        for name, inner in holder.items():
            alone = inner[0] if isinstance(inner, list) and len(inner) == 1 else inner
            if names.fullmatch(name.strip()) and not isinstance(alone, dict | list):
                yield holder, alone


def objects_named(value: object, names: re.Pattern[str]) -> list[JsonObject]:
    """The objects with a member that has one of the names, at any depth, in their order.

    The `arguments` of a tool call may be JSON in a text.
    """
    waiting = [value]
    holders = []
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
                    waiting += objects_in(arguments)[0]
    return holders
