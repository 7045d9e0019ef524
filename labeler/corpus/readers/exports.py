"""Pages that Confluence and Notion export: their properties, and names of people to leave out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from labeler.corpus.blocks import SourceDocument
from labeler.corpus.losses import PEOPLE, drop
from labeler.errors import TooLarge
from labeler.files.jsonl import JsonObject

OF_NOTION = re.compile(
    r"\s{0,9}# [^\n]*\n\r?\n((?:[^\s:#|>`-][^\n:]{0,60}: [^\n]+(?:\n|\Z))+)(?=\r?\n|\Z)"
)
OF_SPHINX = re.compile(r"\s{0,9}((?::[\w-]{1,60}:(?: [^\n]*)?\r?\n)+)(?=\r?\n)")
"""The properties of a page: below its title in an export of Notion, on top of it for Sphinx."""

_LISTS = re.compile(r"(?i)tags?|labels?|topics?|keywords?|categor(?:y|ies)")


def properties(text: str, pattern: re.Pattern[str] = OF_NOTION) -> tuple[JsonObject, str]:
    r"""The properties of a page by the pattern of what wrote it, and the text with blanks for them.

    >>> properties("# Pumps\n\nTags: oil, valves\nStatus: done\n\nText.")[0]
    {'Tags': ['oil', 'valves'], 'Status': 'done'}
    """
    at_top = pattern.match(text)
    if not at_top:
        return {}, text
    rows = (line.lstrip(":").partition(":")[::2] for line in at_top[1].splitlines())
    begin, end = at_top.span(1)
    blank = re.sub(r"[^\n]", " ", at_top[1])
    values = {key: property_of(key, value.strip()) for key, value in rows if value.strip()}
    return values, text[:begin] + blank + text[end:]


def property_of(key: str, value: Any) -> Any:
    """The value of a property; a text of several is a list by the name of it, as tags are."""
    is_list = isinstance(value, str) and _LISTS.fullmatch(key)
    return [part.strip() for part in value.split(",")] if is_list else value


_ROLE = (
    r"(?:last )?(?:(?:created|edited|modified|updated|written|posted|approved|reviewed) by"
    r"|owners?|authors?|assignees?|assigned to|reporters?|reviewers?|contacts?|persons?|people)"
)
_OF_PEOPLE = re.compile(f"(?i){_ROLE}")
_BESIDE_ROLE = re.compile(rf"(?im)^({_ROLE}(?: \||:) )([^\n]+)$")
_NAME = r"[^\W\d_a-z][\w'’-]*+(?: [^\W\d_a-z][\w'’-]*+){0,3}"
_MENTION = rf"()(?<!\w)@(?:{_NAME})(?! ?\d)"
MOST_NAMES = 1000


def without_people(document: SourceDocument, marked: Iterable[str]) -> SourceDocument:
    """A document without the names that its page marks, that follow an @ or stand beside a role.

    A name of several words beside a role, as in `Owner: Ann Smith`, is left out everywhere.
    """
    texts = [f"{key}: {value}" for key, value in document.metadata.items()]
    texts += [document.text, *(block.text for block in document.blocks)]
    roles = [role[2] for text in texts for role in _BESIDE_ROLE.finditer(text)]
    several = [
        each for role in roles for each in re.split(r"[,;|]\s*", role) if " " in each.strip()
    ]
    names = {each.strip(" @\n") for each in (*marked, *several)} - {""}
    if len(names) > MOST_NAMES:
        raise TooLarge(f"more than {MOST_NAMES:,} names of people; divide the file")
    in_order = (re.escape(name) for name in sorted(names, key=len, reverse=True))
    each_name = re.compile("|".join([_MENTION, *(rf"()(?<!\w)@?{n}(?!\w)" for n in in_order)]))

    def shown(text: str) -> str:
        return each_name.sub(_person, _BESIDE_ROLE.sub(_person, text))

    blocks = [
        each._replace(
            text=each.text if each.code else shown(each.text),
            headings=tuple(map(shown, each.headings)),
        )
        for each in document.blocks
    ]
    metadata = {k: v for k, v in document.metadata.items() if not _OF_PEOPLE.fullmatch(k)}
    return replace(
        document,
        title=shown(document.title),
        text=shown(document.text),
        blocks=blocks,
        metadata=metadata,
    )


def _person(name: re.Match[str]) -> str:
    drop(PEOPLE, name[0])
    return f"{name[1] or ''}[person]"
