"""Markdown within a paragraph: from tokens to words, code spans as they are."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from labeler.corpus.readers.directives import role_text

if TYPE_CHECKING:
    from markdown_it.token import Token

_TAG = re.compile(r"<(/?)([A-Za-z][\w.:-]*+)(.*?)(/?)>", re.DOTALL)
_SHOWN = re.compile(r"\b(number|caption|alt|title|label|summary)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_BLANKS = re.compile(r"[ \t\r]+")
_AROUND_BREAK = re.compile(r"(?<! ) *\n *")

_BLOCK_ELEMENT = re.compile(
    r"address|article|aside|blockquote|caption|center|d[dlt]|details|dialog|div|fieldset"
    r"|figcaption|figure|footer|form|h[1-6r]|header|li|main|nav|optgroup|option|p|picture|pre"
    r"|[ou]l|section|select|source|summary|table|tbody|tfoot|thead|tr|video"
)
_INLINE_ELEMENT = re.compile(
    r"a|abbr|audio|b|body|br|button|cite|code|col|colgroup|del|dfn|em|font|head|html|i|iframe|img"
    r"|input|ins|kbd|label|link|mark|meta|q|s|samp|script|small|span|strike|strong|style|su[bp]"
    r"|svg|td|textarea|th|time|title|tt|u|var|wbr"
)
"""Names of HTML's elements; another name in angle brackets may be a type (`Vec<T>`)."""


@dataclass(frozen=True)
class Inline:
    """What holds for all paragraphs of a document.

    `components` are the names that it closes like HTML's elements (`</Tabs>`); `parse` reads the
    Markdown in a component's title or caption.
    """

    components: Collection[str]
    parse: Callable[[str], Sequence[Token]]


@dataclass(frozen=True)
class Part:
    """A stretch of a paragraph that HTML's tags make a block of its own.

    `level` is that of a heading, 0 for text; one that `leads` stays with the next.
    """

    text: str = ""
    line: int = 1
    level: int = 0
    leads: bool = False


@dataclass(slots=True)
class _Draft:
    """A part under construction, which begins at the line of its first word."""

    line: int
    level: int = 0
    leads: bool = False
    begun: bool = False
    words: list[str] = field(default_factory=list)

    def add(self, words: str, line: int) -> None:
        if not self.begun and words.strip():
            self.line, self.begun = line, True
        self.words.append(words)


def parts(inline: Inline, tokens: Sequence[Token], line: int) -> list[Part]:
    """The parts of a paragraph that begins at `line`, without empty ones.

    Links become their text, images their description; emphasis and tags fall away.
    """
    drafts = [_Draft(line)]
    for position, token in enumerate(tokens):
        line += token.type in ("softbreak", "hardbreak") or token.content.count("\n")
        tag = _tag(token, inline.components) if token.type == "html_inline" else None
        draft = drafts[-1]
        if tag is None:
            draft.add(_words(inline, token), line)
        elif _stands_alone(tag, tokens, position):
            drafts.append(_begun_by(inline, tag, line))
        else:
            draft.add(_shown(inline, tag, following=draft.begun), line)
    finished = [Part(_tidied("".join(d.words)), d.line, d.level, d.leads) for d in drafts]
    return [part for part in finished if part.text not in ("", "-")]


def one_line(inline: Inline, tokens: Sequence[Token]) -> str:
    """The words of a heading or a table's cell."""
    return " ".join(" ".join(part.text.split()) for part in parts(inline, tokens, 1))


def _words(inline: Inline, token: Token) -> str:
    if token.type == "html_inline" and token.content.startswith(("<!", "<?", "<>", "</>")):
        return ""
    reader = _WORDS.get(token.type)
    return reader(inline, token) if reader else token.content


def _code_span(_inline: Inline, token: Token) -> str:
    padding = " " if "`" in (token.content[:1], token.content[-1:]) else ""
    return f"{token.markup}{padding}{token.content}{padding}{token.markup}"


_WORDS: dict[str, Callable[[Inline, Token], str]] = {
    "softbreak": lambda _inline, _token: " ",
    "hardbreak": lambda _inline, _token: "\n",
    "code_inline": _code_span,
    "image": lambda inline, token: one_line(inline, token.children or ()),
    "footnote_ref": lambda _inline, token: f"[{token.meta['label']}]",
    "myst_role": lambda _inline, token: role_text(token.meta["name"], token.content),
}
"""By the types of tokens whose words are not simply their content: how these are read."""


def _tag(token: Token, components: Collection[str]) -> re.Match[str] | None:
    """Return the parts of a tag; `None` for comments and for what only looks like a tag."""
    match = _TAG.fullmatch(token.content)
    if not match:
        return None
    closing, name, attributes, self_closing = match.groups()
    is_tag = _is_html(name) or name in components
    return match if is_tag or closing or self_closing or "=" in attributes else None


def _stands_alone(tag: re.Match[str], tokens: Sequence[Token], position: int) -> bool:
    """Whether a tag begins or ends a block: by its name, or a component's alone on its line."""
    name = tag[2].lower()
    if _is_html(name):
        return _BLOCK_ELEMENT.fullmatch(name) is not None
    before = tokens[position - 1].type if position else "softbreak"
    after = tokens[position + 1].type if position + 1 < len(tokens) else "softbreak"
    return {before, after} <= {"softbreak", "hardbreak", "html_inline"}


def _begun_by(inline: Inline, tag: re.Match[str], line: int) -> _Draft:
    """The part that follows a tag of a block."""
    name = "" if tag[1] else tag[2].lower()
    level = int(name[1]) if re.fullmatch("h[1-6]", name) else 0
    draft = _Draft(line, level, leads=name == "summary")
    if name == "li":
        draft.words.append("- ")
    elif not _is_html(name):
        draft.add(f"{_shown(inline, tag, following=False)}\n", line)
    return draft


def _shown(inline: Inline, tag: re.Match[str], *, following: bool) -> str:
    """What a tag itself shows: an image's description, a component's number and titles."""
    name = tag[2].lower()
    if name in ("br", "hr"):
        return "\n"
    if name in ("td", "th"):
        return " | " if following and not tag[1] else ""
    values = {key: double or single for key, double, single in _SHOWN.findall(tag[3])}
    if _is_html(name):
        return html.unescape(values.get("alt", ""))
    number = values.pop("number", "")
    values = {key: one_line(inline, inline.parse(value)) for key, value in values.items()}
    return " ".join([*([f"{tag[2]} {number}:"] if number else []), *values.values()])


def _is_html(name: str) -> bool:
    lower = name.lower()
    return bool(_BLOCK_ELEMENT.fullmatch(lower) or _INLINE_ELEMENT.fullmatch(lower))


def _tidied(text: str) -> str:
    """The text with single blanks; white space of other kinds than blanks and tabs stays."""
    return _AROUND_BREAK.sub("\n", _BLANKS.sub(" ", text)).strip(" \n")
