"""The parser of Markdown: CommonMark and tables, with what documentation tools add to them.

Each rule here recognizes what a tool adds by one line or one mark, and either hands on the words
that a reader of the page sees, or nothing. Nothing is included, imported or run.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from labeler.corpus.losses import CODE_OF_PAGES, INCLUDES, SCRIPTS, drop, drop_directive
from labeler.corpus.readers.outline import UNSHOWN, WRAPPER

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.ruler import RuleOptionsType
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

# What documentation tools write within a paragraph of Markdown: tags, attributes, expressions.

_ATTRIBUTE = r"(?:[#.][^\s{}]+|[\w:-]+=(?:\"[^\"{}]*\"|'[^'{}]*'|[^\s{}\"']+))"
ATTRIBUTES = rf"\{{:?[ \t]*{_ATTRIBUTE}(?:[ \t]+{_ATTRIBUTE})*[ \t]*\}}"
"""Attributes in braces, as Pandoc and kramdown have them."""

_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
_JSX_TAG = re.compile(
    rf"<[A-Za-z][\w.:-]*(?:\s+(?:[\w:.-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|{_BRACES}))?|{_BRACES}))*"
    r"\s*/?>|</?>"
)
_INLINE_UNSHOWN = re.compile(r"(?s)\{/\*.*?\*/\}|\{\{#\w[^{}]*\}\}|\{\{[<%].*?[%>]\}\}")
_INLINE_ATTRIBUTES = re.compile(ATTRIBUTES)
_EXPRESSION = re.compile(rf"\{{\s*(?:\"([^\"{{}}]*)\"|'([^'{{}}]*)'|`([^`{{}}]*)`)\s*\}}|{_BRACES}")


def jsx_tag(state: StateInline, silent: bool) -> bool:
    """A tag whose attributes may be expressions in braces."""
    match = _JSX_TAG.match(state.src, state.pos)
    if not match or ("{" not in match[0] and len(match[0]) > 3):
        return False
    if not silent:
        state.push("html_inline", "", 0).content = match[0]
    state.pos = match.end()
    return True


def braces(state: StateInline, silent: bool) -> bool:
    """Attributes of what stands before them, and tags of templates."""
    match = _INLINE_UNSHOWN.match(state.src, state.pos)
    if not match:
        match = _INLINE_ATTRIBUTES.match(state.src, state.pos)
        follows = state.pos > 0 and not state.src[state.pos - 1].isspace()
        if not match or not (follows or state.src[match.end() : match.end() + 1] in ("", "\n")):
            return False
    if not silent:
        drop(TEMPLATES, match[0])
    state.pos = match.end()
    return True


def expression(state: StateInline, silent: bool) -> bool:
    """An expression of MDX: a string shows its words, anything else is known only when it runs."""
    match = _EXPRESSION.match(state.src, state.pos)
    if not match:
        return False
    if not silent:
        shown = match[1] or match[2] or match[3] or ""
        state.push("text", "", 0).content = shown
        if not shown:
            drop("expressions that are known when they run", match[0])
    state.pos = match.end()
    return True


_MOST_LEVELS = 20
"""Levels of nesting that are followed; what lies deeper is read as one paragraph."""

_SNIPPET = (
    r"\{\{#\w[^{}\n]*\}\}"  # mdBook
    r"|\{\*[ \t]*\S+\.\w+[^\n{}]*\*\}|\{!>?[^\n{}]*!\}"  # pages that show files of their examples
    r"|[;]?-{1,3}8<-{1,3}[ \t]+\S[^\n]*|-{1,3}8<-{1,3}"  # pymdownx
)
TEMPLATES = "attributes, and tags of templates"
INCLUSION = re.compile(rf"\s*(?:{_SNIPPET})\s*")
"""A line that stands for the text of another file."""

_UNSHOWN_LINES = re.compile(
    rf"(?m)(?:{_SNIPPET}"
    rf"|{ATTRIBUTES}"
    r"|\{%[^\n]*%\}|\{\{[<%][^\n]*[%>]\}\}"  # Liquid's and Hugo's tags
    r"|\([\w:./-]+\)=|\[TOC\]|\[\[toc\]\]|\[\[_TOC_\]\]"  # MyST's targets, tables of contents
    r"|\+{3,}(?:[ \t]+\{[^\n]*\})?"  # MyST's breaks of blocks
    r"|import\s{1,80}(?:[\w*{][^;'\"]{0,800}?\s{1,80}from\s{1,80})?"  # MDX; many lines, no file
    r"(?:\"[^\"\n]*\"|'[^'\n]*')[ \t]*;?"
    r"|export\s+(?:(?:const|let|var|default|(?:async\s+)?function|class)\b|[{*])(?:.|\n(?!\s*\n))*"
    r")[ \t]*$"
)

_ELEMENT = re.compile(r"(?i)<(?:!--|!(?=[A-Za-z])|\?|(script|style|pre)(?=[\s>]))")
_CLOSING = {"<!--": "-->", "<?": "?>", "<!": ">"}

_INDENTED = re.compile(r"(?:!!!|\?\?\?\+?|===[!+]?)[ \t]+(\S.*)")
_QUOTED_TITLE = re.compile(r"[^\"]*\"(.*)\"\s*")
_SLASHES = re.compile(r"(/{3,})[ \t]*(?:([a-z][\w-]*)[ \t]*(?:\|[ \t]*(.*))?)?")
_COLONS = re.compile(r":{3,}[ \t]*(.*?)[ \t]*:*")
_DIRECTIVE_NAME = re.compile(r"\{([\w:.+-]+)\}[ \t]*(.*)|([\w-]+)(?:\[(.*)\]|[ \t]+(.+))?")
_OPTION = re.compile(r":[\w-]+:(?:[ \t].*)?")
_UNTITLED = re.compile(r"html|define|(?:figure-|table-)?caption|columns?")
_TITLED_ONLY = re.compile(r"tab|tab-item|details|admonition|dropdown|grid-item(?:-card)?|card")


@cache
def parser(mdx: bool) -> MarkdownIt:
    """Return the parser; with `mdx`, braces hold expressions and indentation makes no code."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from mdit_py_plugins.footnote import footnote_plugin
    from mdit_py_plugins.myst_role import myst_role_plugin

    from labeler.corpus.readers.markdown_tokens import rest_as_it_is

    md = MarkdownIt("commonmark", {"maxNesting": _MOST_LEVELS + 2})
    md.enable(["table", "strikethrough"]).disable("html_block")
    md.use(deflist_plugin).use(myst_role_plugin)
    md.use(footnote_plugin, inline=False, move_to_end=False)
    md.use(dollarmath_plugin).disable("math_inline")  # in prose, `$HOME and $PATH` is no formula
    interrupting: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    md.block.ruler.before("code", "extension", _extension, interrupting)
    md.block.ruler.before("table", "deepest", _deepest)
    md.inline.ruler.before("text", "rest", rest_as_it_is)
    md.inline.ruler.before("html_inline", "jsx", jsx_tag)
    md.inline.ruler.before("escape", "braces", braces)
    if mdx:
        md.disable("code")
        md.inline.ruler.after("braces", "expression", expression)
    return md


def _begin(state: StateBlock, line: int) -> int:
    """Where a line begins, behind its indentation."""
    return state.bMarks[line] + state.tShift[line]


def _line(state: StateBlock, line: int) -> str:
    """A line's text without its indentation; "" where it would be code."""
    if state.is_code_block(line):
        return ""
    return state.src[_begin(state, line) : state.eMarks[line]]


def _push_paragraph(state: StateBlock, text: str, start: int, end: int, **meta: Any) -> None:
    token = state.push("paragraph_open", "p", 1)
    token.map = [start, end]
    token.meta = meta
    inline = state.push("inline", "", 0)
    inline.content = text
    inline.map = [start, end]
    inline.children = []
    state.push("paragraph_close", "p", -1)


def _deepest(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if silent or state.level < _MOST_LEVELS:
        return False
    _push_paragraph(state, state.getLines(start, end, state.blkIndent, False).strip(), start, end)
    state.line = end
    return True


def _unshown_lines(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Lines that show nothing: snippets, attributes, imports and exports."""
    begin = _begin(state, start)
    if silent and state.src[begin] in "ie":
        return False
    match = _UNSHOWN_LINES.match(state.src, begin)
    if not match:
        return False
    if not silent:
        of_others = CODE_OF_PAGES if match[0][0] in "ie" else TEMPLATES
        drop(INCLUDES if INCLUSION.fullmatch(match[0]) else of_others, match[0])
        state.line = min(end, start + 1 + match[0].count("\n"))
    return True


def _element(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A comment, a script or style, or preformatted text, blank lines in it or not.

    All other HTML is left to the rules of paragraphs, so that Markdown within it is read.
    """
    match = _ELEMENT.match(_line(state, start))
    if not match:
        return False
    begin = _begin(state, start)
    name = (match[1] or "").lower()
    closing = _CLOSING.get(match[0], f"</{name}>")
    unclosed = state.env["unclosed"]
    if begin >= unclosed.get(closing, begin + 1):
        return False
    closed = re.compile(re.escape(closing), re.IGNORECASE).search(state.src, begin + len(match[0]))
    if not closed:
        unclosed[closing] = begin  # none comes after this, so that nobody searches again
    if not closed or closed.end() > state.eMarks[end - 1]:
        return False
    if silent:
        return True
    after = start + 1 + state.src.count("\n", begin, closed.end())
    if name == "pre":
        token = state.push("preformatted", "", 0)
        token.content = state.getLines(start, after, state.blkIndent, False)
        token.map = [start, after]
    else:
        drop(SCRIPTS, state.src[begin : closed.end()])
        if rest := state.src[closed.end() : state.eMarks[after - 1]].strip():
            _push_paragraph(state, rest, after - 1, after)
    state.line = after
    return True


def _indented(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """An admonition or tab of Python-Markdown, whose content is indented by four."""
    match = _INDENTED.fullmatch(_line(state, start))
    if not match:
        return False
    if silent:
        return True
    after = start + 1
    while after < end and (state.isEmpty(after) or state.sCount[after] >= state.blkIndent + 4):
        after += 1
    title = _QUOTED_TITLE.fullmatch(match[1])
    state.push("region_open", "div", 1).map = [start, after]
    _push_paragraph(state, title[1] if title else match[1], start, start + 1, leads=True)
    around = state.parentType, state.lineMax, state.blkIndent
    state.parentType = "region"
    state.lineMax = after
    state.blkIndent += 4
    state.md.block.tokenize(state, start + 1, after)
    state.parentType, state.lineMax, state.blkIndent = around
    state.push("region_close", "div", -1)
    state.line = after
    return True


def _slashes(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A line of `///` that opens or closes a block; what lies between is read where it stands."""
    match = _SLASHES.fullmatch(_line(state, start).rstrip())
    if not match or (match[2] and state.env["last_closing"].get(match[1], -1) <= start):
        return False
    if silent:
        return True
    after = start + 1
    while match[2] and after < end and state.sCount[after] >= state.blkIndent + 4:
        after += 1
    if match[2]:
        _push_title(state, match[2], match[3] or "", start, after)
    state.line = after
    return True


def _push_title(state: StateBlock, kind: str, title: str, start: int, after: int) -> None:
    text = title or ("" if _TITLED_ONLY.fullmatch(kind) else kind)
    if text and not _UNTITLED.fullmatch(kind) and not WRAPPER.fullmatch(kind):
        _push_paragraph(state, text, start, after, leads=True)


def _colons(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A line of `:::` that opens or closes a block, or names an object that is described."""
    match = _COLONS.fullmatch(_line(state, start).rstrip())
    if not match:
        return False
    if silent:
        return True
    after = start + 1
    argument = match[1]
    if re.fullmatch(r"[\w-]+(?:\.[\w-]+)+", argument):
        _push_paragraph(state, f"`{argument}`", start, after)
        while after < end and state.sCount[after] >= state.blkIndent + 4:
            after += 1
    directive = _DIRECTIVE_NAME.fullmatch(argument)
    if directive and directive[1] and UNSHOWN.fullmatch(directive[1]):
        closed = (n for n in range(after, end) if _COLONS.fullmatch(_line(state, n)))
        after = next(closed, start) + 1
        drop_directive(directive[1], state.src[state.bMarks[start] : state.eMarks[after - 1]])
    elif directive:
        while after < end and _OPTION.fullmatch(_line(state, after)):
            after += 1
        title = re.sub(r"^\{.*\}$", "", directive[2] or directive[4] or directive[5] or "")
        _push_title(state, directive[1] or directive[3], title, start, after)
    state.line = after
    return True


_RULES = {
    "<": _element,
    "!": _indented,
    "?": _indented,
    "=": _indented,
    "/": _slashes,
    ":": _colons,
    **dict.fromkeys("{-;([+ie", _unshown_lines),
}
"""The rules by the first character of the line that they recognize."""


def _extension(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Apply the rule for lines that begin as this one does, if there is one."""
    if state.is_code_block(start) or state.isEmpty(start):
        return False
    rule = _RULES.get(state.src[_begin(state, start)])
    return rule is not None and rule(state, start, end, silent)
