"""What documentation tools write within a paragraph of Markdown: tags, attributes, expressions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.rules_inline import StateInline

_ATTRIBUTE = r"(?:[#.][^\s{}]+|[\w:-]+=(?:\"[^\"{}]*\"|'[^'{}]*'|[^\s{}\"']+))"
ATTRIBUTES = rf"\{{:?[ \t]*{_ATTRIBUTE}(?:[ \t]+{_ATTRIBUTE})*[ \t]*\}}"
"""Attributes in braces, as Pandoc and kramdown have them."""

_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
_JSX_TAG = re.compile(
    rf"<[A-Za-z][\w.:-]*(?:\s+(?:[\w:.-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|{_BRACES}))?|{_BRACES}))*"
    r"\s*/?>|</?>"
)
_INLINE_UNSHOWN = re.compile(r"\{/\*.*?\*/\}|\{\{#\w[^{}]*\}\}|\{\{[<%].*?[%>]\}\}", re.DOTALL)
_INLINE_ATTRIBUTES = re.compile(ATTRIBUTES)
_EXPRESSION = re.compile(rf"\{{\s*(?:\"([^\"{{}}]*)\"|'([^'{{}}]*)'|`([^`{{}}]*)`)\s*\}}|{_BRACES}")
_ALERT = re.compile(r"\[!\w+\][+-]?[ \t]*")


def jsx_tag(state: StateInline, silent: bool) -> bool:
    """A tag whose attributes may be expressions in braces."""
    match = _JSX_TAG.match(state.src, state.pos) if state.src[state.pos] == "<" else None
    if not match or ("{" not in match[0] and len(match[0]) > 3):
        return False
    if not silent:
        state.push("html_inline", "", 0).content = match[0]
    state.pos = match.end()
    return True


def braces(state: StateInline, silent: bool) -> bool:
    """Attributes of what stands before them, and tags of templates."""
    if state.src[state.pos] != "{":
        return False
    match = _INLINE_UNSHOWN.match(state.src, state.pos)
    if not match:
        match = _INLINE_ATTRIBUTES.match(state.src, state.pos)
        follows = state.pos > 0 and not state.src[state.pos - 1].isspace()
        if not match or not (follows or state.src[match.end() : match.end() + 1] in ("", "\n")):
            return False
    state.pos = match.end()
    return True


def expression(state: StateInline, silent: bool) -> bool:
    """An expression of MDX: a string shows its words, anything else is known only when it runs."""
    match = _EXPRESSION.match(state.src, state.pos) if state.src[state.pos] == "{" else None
    if not match:
        return False
    if not silent:
        state.push("text", "", 0).content = match[1] or match[2] or match[3] or ""
    state.pos = match.end()
    return True


def alert(state: StateInline, silent: bool) -> bool:
    """`[!NOTE]`, with which a quotation is made a note."""
    match = _ALERT.match(state.src) if state.pos == 0 and state.src[0] == "[" else None
    if not match:
        return False
    state.pos = match.end()
    return True
