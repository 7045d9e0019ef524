"""Markdown within a paragraph: its words without the marks, code spans as they are."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection

_CODE_SPAN = re.compile(r"(?<!`)(`{1,4})(?!`)(.{1,2000}?)(?<!`)\1(?!`)", re.DOTALL)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_IMAGE = re.compile(
    r"!\[([^\[\]]{0,1000})\](?:\((?:[^()]|\([^()]*\)){0,1000}\)|\[[^\[\]]{0,200}\])"
)
_LINK = re.compile(r"\[([^\[\]]{1,1000})\]\((?:[^()]|\([^()]{0,200}\)){0,1000}\)")
_REFERENCE = re.compile(r"\[([^\[\]]{1,1000})\](?:\[([^\[\]]{0,200})\])?")
_AUTOLINK = re.compile(r"<((?:https?|ftp|mailto):[^<>\s]{1,1000}|[\w.+-]{1,100}@[\w.-]{1,100})>")
_COMMENT = re.compile(r"<!--.{0,5000}?-->", re.DOTALL)
_TAG = re.compile(r"</?([A-Za-z][\w.:-]{0,50})((?:\s[^<>]{0,1000})?)/?>")
_SHOWN = re.compile(r"\b(number|caption|alt|title|label|summary)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_STRONG = re.compile(r"(\*\*|__)(?=\S)(.{1,500}?)(?<=\S)\1", re.DOTALL)
_STAR = re.compile(r"(?<![*\w])\*(?=[^\s*])([^*]{1,500}?)(?<=\S)\*(?![*\w])")
_UNDERSCORE = re.compile(r"(?<!\w)_(?=[^\s_])(.{1,500}?)(?<=[^\s_])_(?!\w)", re.DOTALL)
_STRUCK = re.compile(r"~~(?=\S)([^~]{1,500}?)(?<=\S)~~")
_ATTRIBUTES = re.compile(r"\s*\{[#.:][^{}]*\}\s*$")
_KEPT = re.compile(r"\0(\d+)\0")

_HTML = re.compile(
    r"a|abbr|address|article|aside|audio|b|blockquote|body|br|button|caption|center|cite|code|col"
    r"|colgroup|dd|del|details|dfn|div|dl|dt|em|figcaption|figure|font|footer|form|h[1-6]|head"
    r"|header|hr|html|i|iframe|img|input|ins|kbd|label|li|link|main|mark|meta|nav|ol|option|p"
    r"|picture|pre|q|s|samp|section|select|small|source|span|strike|strong|sub|summary|sup|svg"
    r"|table|tbody|td|tfoot|th|thead|time|title|tr|tt|u|ul|var|video|wbr"
)


def plain(text: str, labels: Collection[str] = ()) -> str:
    """The words of a paragraph; `labels` are the references that are defined, in lower case.

    Links become their text, images their description, emphasis and HTML tags fall away. What looks
    like a tag and is none (`Vec<T>`) stays.
    """
    kept: list[str] = []

    def keep(what: str) -> str:
        kept.append(what)
        return f"\0{len(kept) - 1}\0"

    text = _CODE_SPAN.sub(lambda found: keep(found[0]), text)
    text = _COMMENT.sub("", text)
    text = _ESCAPE.sub(lambda found: keep(found[1]), text)
    text = _AUTOLINK.sub(lambda found: keep(found[1]), text)
    text = _TAG.sub(_without_tag, text)
    text = _IMAGE.sub(r"\1", text)
    text = _LINK.sub(r"\1", text)
    text = _REFERENCE.sub(_reference(labels, kept), text)
    for pattern in (_STRONG, _STRONG):
        text = pattern.sub(r"\2", text)
    for pattern in (_STAR, _UNDERSCORE, _STRUCK):
        text = pattern.sub(r"\1", text)
    text = html.unescape(text)
    while _KEPT.search(text):
        text = _KEPT.sub(lambda found: kept[int(found[1])], text)
    return text


def heading_text(text: str, labels: Collection[str] = ()) -> str:
    """A heading's words on one line, without the attributes that may follow them."""
    return " ".join(plain(_ATTRIBUTES.sub("", text), labels).split())


def label(text: str) -> str:
    """A reference's label in the form in which labels are compared."""
    return " ".join(text.casefold().split())


def _reference(labels: Collection[str], kept: list[str]) -> Callable[[re.Match[str]], str]:
    def restored(text: str) -> str:
        return _KEPT.sub(lambda found: kept[int(found[1])], text)

    def replace(found: re.Match[str]) -> str:
        named = restored(found[2] or found[1])
        return found[1] if label(named) in labels else found[0]

    return replace


def _without_tag(found: re.Match[str]) -> str:
    name, attributes = found[1].casefold(), found[2]
    is_tag = _HTML.fullmatch(name) or "=" in attributes or found[0].startswith("</")
    if not is_tag:
        return found[0]
    if name in ("br", "hr"):
        return "\n"
    shown = {key: double or single for key, double, single in _SHOWN.findall(attributes)}
    number = shown.pop("number", "")
    return " ".join([*([f"{found[1]} {number}:"] if number else []), *shown.values()])
