"""Markdown, as CommonMark reads it and documentation tools extend it, to blocks under headings."""

from __future__ import annotations

import html
import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labeler.corpus.blocks import TitledBlocks
from labeler.corpus.losses import ADDRESSES, INCLUDES, SCRIPTS, drop, drop_directive
from labeler.corpus.readers.exports import property_of
from labeler.corpus.readers.markdown_rules import INCLUSION, parser
from labeler.corpus.readers.outline import UNSHOWN, Outline, role_text
from labeler.files.jsonl import JsonObject
from labeler.messages import squeezed

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from markdown_it.tree import SyntaxTreeNode

# Markdown within a paragraph: from tokens to words, code spans as they are.

_TAG = re.compile(r"(?s)<(/?)([A-Za-z][\w.:-]*+)(.*?)(/?)>")
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


@dataclass(slots=True)
class Part:
    """A stretch of a paragraph that HTML's tags make a block of its own.

    It begins at the line of its first word. `level` is that of a heading, 0 for text; one that
    `leads` stays with the next.
    """

    line: int
    level: int = 0
    leads: bool = False
    text: str = ""
    begun: bool = False
    words: list[str] = field(default_factory=list)

    def add(self, words: str, line: int) -> None:
        """Add further words, which stand in a line."""
        if not self.begun and words.strip():
            self.line = line
            self.begun = True
        self.words.append(words)


def parts(reader: _Reader, tokens: Sequence[Token], line: int) -> list[Part]:
    """The parts of a paragraph that begins at `line`, without empty ones.

    Links become their text, images their description; emphasis and tags fall away.
    """
    drafts = [Part(line)]
    for position, token in enumerate(tokens):
        line += token.type in ("softbreak", "hardbreak") or token.content.count("\n")
        tag = _tag(token, reader.components) if token.type == "html_inline" else None
        draft = drafts[-1]
        if tag is None:
            draft.add(_words(reader, token), line)
        elif _stands_alone(tag, tokens, position):
            drafts.append(_begun_by(reader, tag, line))
        else:
            draft.add(_shown(reader, tag, following=draft.begun), line)
    for part in drafts:  # with single blanks; white space of other kinds stays
        part.text = _AROUND_BREAK.sub("\n", _BLANKS.sub(" ", "".join(part.words))).strip(" \n")
    return [part for part in drafts if part.text not in ("", "-")]


def one_line(reader: _Reader, tokens: Sequence[Token]) -> str:
    """The words of a heading or a table's cell."""
    return " ".join(squeezed(part.text) for part in parts(reader, tokens, 1))


def _words(reader: _Reader, token: Token) -> str:
    if token.type == "html_inline" and token.content.startswith(("<!", "<?", "<>", "</>")):
        drop(SCRIPTS, token.content)
        return ""
    if token.type in ("link_open", "image"):
        drop(ADDRESSES, str(token.attrs.get("href") or token.attrs.get("src") or ""))
    words = _WORDS.get(token.type)
    return words(reader, token) if words else token.content


def _code_span(_reader: _Reader, token: Token) -> str:
    padding = " " if "`" in (token.content[:1], token.content[-1:]) else ""
    return f"{token.markup}{padding}{token.content}{padding}{token.markup}"


_WORDS: dict[str, Callable[[_Reader, Token], str]] = {
    "softbreak": lambda _reader, _token: " ",
    "hardbreak": lambda _reader, _token: "\n",
    "code_inline": _code_span,
    "image": lambda reader, token: one_line(reader, token.children or ()),
    "footnote_ref": lambda _reader, token: f"[{token.meta['label']}]",
    "myst_role": lambda _reader, token: role_text(token.meta["name"], token.content),
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


def _begun_by(reader: _Reader, tag: re.Match[str], line: int) -> Part:
    """The part that follows a tag of a block."""
    name = "" if tag[1] else tag[2].lower()
    level = int(name[1]) if re.fullmatch("h[1-6]", name) else 0
    draft = Part(line, level, leads=name == "summary")
    if name == "li":
        draft.words.append("- ")
    elif not _is_html(name):
        draft.add(f"{_shown(reader, tag, following=False)}\n", line)
    return draft


def _shown(reader: _Reader, tag: re.Match[str], *, following: bool) -> str:
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
    values = {key: one_line(reader, reader.inline_tokens(value)) for key, value in values.items()}
    return " ".join([*([f"{tag[2]} {number}:"] if number else []), *values.values()])


def _is_html(name: str) -> bool:
    lower = name.lower()
    return bool(_BLOCK_ELEMENT.fullmatch(lower) or _INLINE_ELEMENT.fullmatch(lower))


_ALERT = re.compile(r"\[!\w+\][+-]?[ \t]*")
_KEY = re.compile(r"([A-Za-z][\w-]{0,60})\s*:(?:\s+(?:[>|][+-]?|([^>|\s].*?)))?\s*")
_LITERAL = re.compile(r"true|false|-?\d{1,15}(?:\.\d{1,15})?")
_PARTS = re.compile(r"\"[^\"]*\"|'[^']*'|[^,\s][^,]*")
_ENTRY = re.compile(r"\s*-\s+(.*?)\s*")


def front_matter(text: str) -> tuple[JsonObject, int]:
    """What a document's front matter in YAML or TOML says of it, and the first line after it.

    These are texts, numbers and lists of them, and its title. What is nested in a key of YAML is
    its text, what is nested in an entry of a list is left out.
    """
    lines = text.split("\n")
    ends = {"---": ("---", "..."), "+++": ("+++",)}.get(lines[0].rstrip(), ())
    last = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() in ends), 0)
    values = JsonObject()
    entries = list[Any]()
    name = ""
    more = defaultdict[str, list[str]](list)  # lines that a value goes on in
    if last and lines[0].startswith("+++"):
        with suppress(tomllib.TOMLDecodeError):
            values = tomllib.loads("\n".join(lines[1:last]))
        return json.loads(json.dumps(values, default=str)), last + 2
    for line in lines[1:last]:
        if key := _KEY.fullmatch(line):
            entries = []
            name = key[1]
            values[name] = property_of(name, _value_of(key[2])) if key[2] else entries
        elif (entry := _ENTRY.fullmatch(line)) and values:
            entries.append(_value_of(entry[1]))
        elif name and not entries and line.startswith(" "):
            more[name].append(line.strip())
        elif line.strip() and not line.lstrip().startswith("#"):
            drop("front matter that is nested", line)
    for name, following in more.items():
        values[name] = " ".join([str(values[name] or ""), *following]).strip()
    read = {key: value for key, value in values.items() if value not in ("", [])}
    return read, last + 2 if last else 1


def _value_of(text: str) -> Any:
    """A value of YAML on one line: a list in brackets, a number, true or false, or a text."""
    text = text if text[:1] in "\"'" else text.partition(" #")[0].rstrip()
    if text.startswith("[") and text.endswith("]"):
        return [_value_of(part.strip()) for part in _PARTS.findall(text[1:-1])]
    if _LITERAL.fullmatch(text):
        with suppress(ValueError):  # of 007, which is a text
            return json.loads(text)
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1].replace('\\"', '"') if quoted else text


_LINE_ENDS = re.compile(r"\r\n?")
_CLOSED = re.compile(r"</([A-Za-z][\w.:-]*)\s*>")
_SLASHES = re.compile(r"\s*(/{3,})\s*")
_DIRECTIVE = re.compile(r"\{([\w:.+-]+)\}")
_LANGUAGE = re.compile(r"\{?\s*\.?([\w+#.-]*)")
_FENCE_TITLE = re.compile(r"\btitle\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_PRE_TAG = re.compile(r"(?i)</?(?:pre|code|span|b|i|em|strong|a|samp|kbd)\b[^<>]*>")


def read_markdown(text: str, *, mdx: bool = False) -> TitledBlocks:
    """The title in a document's front matter ("" without one) and its blocks.

    With `mdx`, braces in it hold JavaScript.
    """
    from markdown_it.tree import SyntaxTreeNode

    from labeler.corpus.readers.markdown_tokens import block_tokens

    whole = _LINE_ENDS.sub("\n", text).replace("\0", "\ufffd")
    values, first = front_matter(whole)
    lines = whole.split("\n")[first - 1 :]
    md = parser(mdx)
    body = "\n".join(lines)
    closing = {match[1]: n for n, line in enumerate(lines) if (match := _SLASHES.fullmatch(line))}
    env = {"last_closing": closing, "unclosed": {}}
    reader = _Reader(md, frozenset(_CLOSED.findall(body)), env, lines, first)
    outline = Outline()
    reader.walk(SyntaxTreeNode(block_tokens(md, body, env)), outline)
    return str(values.get("title", "")), outline.blocks


@dataclass
class _Reader:
    """Walks a document's syntax tree.

    `first` is the line of the file with which the text that is read begins; `components` are the
    names that the document closes like HTML's elements (`</Tabs>`).
    """

    parser: MarkdownIt
    components: frozenset[str]
    env: JsonObject
    lines: Sequence[str]
    first: int

    def walk(self, node: SyntaxTreeNode, outline: Outline) -> None:
        """Add the blocks of what a node holds."""
        for child in node.children:
            _HANDLERS.get(child.type, _Reader.walk)(self, child, outline)

    def line(self, node: SyntaxTreeNode) -> int:
        """The line of the file at which a node begins."""
        return self.first + (node.map[0] if node.map else 0)

    def code(
        self, text: str, node: SyntaxTreeNode, outline: Outline, language: str = "", below: int = 0
    ) -> None:
        """Add a code block, without lines that stand for the text of another file.

        It begins so many lines below its node.
        """
        lines = []
        for row in enumerate(text.removesuffix("\n").split("\n"), self.line(node) + below):
            if INCLUSION.fullmatch(row[1]):
                drop(INCLUDES, row[1])
            else:
                lines.append(row)
        outline.code(lines, language)

    def heading(self, node: SyntaxTreeNode, outline: Outline) -> None:
        """A heading, unless it is empty."""
        text = one_line(self, self.words(node))
        if text:
            outline.heading(int(node.tag[1]), text, self.line(node))

    def paragraph(self, node: SyntaxTreeNode, outline: Outline) -> None:
        """A paragraph, or the several that HTML's tags make of it."""
        for part in parts(self, self.words(node), self.line(node)):
            if part.level:
                outline.heading(part.level, squeezed(part.text), part.line)
            else:
                leads = part.leads or bool(node.meta.get("leads"))
                outline.prose(part.text, part.line, leads=leads)

    def nested(self, node: SyntaxTreeNode, outline: Outline) -> None:
        """A quotation or a note: the headings in it end with it."""
        self.walk(node, outline.nested())

    def item(self, node: SyntaxTreeNode, outline: Outline) -> None:
        """A list's item, indented by the lists that it stands in."""
        above = node.map[0] - 1 if node.map else 0
        tight = above >= 0 and bool(self.lines[above].strip(" \t>"))
        self.walk(node, outline.item(f"{node.info}{node.markup} ", tight=tight))
        outline.mark.text = ""

    def footnote(self, node: SyntaxTreeNode, outline: Outline) -> None:
        """A footnote, where it stands."""
        self.walk(node, outline.item(f"[{node.meta['label']}] ", tight=False, indented=False))
        outline.mark.text = ""

    def term(self, node: SyntaxTreeNode, outline: Outline) -> None:
        """A term, which stays with its definition."""
        outline.prose(one_line(self, self.words(node)), self.line(node), leads=True)

    def row(self, node: SyntaxTreeNode, outline: Outline) -> None:
        """A table's row, a block of its own, so that a long table can be cut between them."""
        cells = [one_line(self, self.inline_tokens(cell.content)) for cell in node.children]
        head = node.parent is not None and node.parent.type == "thead"
        if any(cells):
            outline.prose(f"| {' | '.join(cells)} |", self.line(node), tight=not head, leads=head)

    def fence(self, node: SyntaxTreeNode, outline: Outline) -> None:
        """A fenced block of code, with its title where it has one; not one that shows nothing."""
        info = html.unescape(node.info.strip())
        directive = _DIRECTIVE.match(info)
        if directive and UNSHOWN.fullmatch(directive[1]):
            drop_directive(directive[1], f"{info}\n{node.content}")
            return
        title = _FENCE_TITLE.search(info)
        language = _LANGUAGE.match(info)
        if title:
            outline.prose(title[1] or title[2], self.line(node), leads=True)
        self.code(node.content, node, outline, language[1] if language else "", below=1)

    def inline_tokens(self, text: str) -> Sequence[Token]:
        """The tokens of a text without blocks."""
        return self.parser.inline.parse(text, self.parser, self.env, [])

    def words(self, node: SyntaxTreeNode) -> Sequence[Token]:
        """The tokens of the words in a heading, a paragraph or a term.

        They are read where they are shown, so that only one paragraph's are held. `[!NOTE]`, with
        which a quotation is made a note, is left out.
        """
        text = node.children[0].content if node.children else ""
        if kind := _ALERT.match(text):
            drop("kinds of notes", kind[0])
        return self.inline_tokens(text[kind.end() if kind else 0 :])

    def preformatted(self, node: SyntaxTreeNode, outline: Outline) -> None:
        """HTML's preformatted text, without its tags."""
        self.code(html.unescape(_PRE_TAG.sub("", node.content)), node, outline)

    def formula(self, node: SyntaxTreeNode, outline: Outline) -> None:
        """A formula of lines of its own, as it is."""
        self.code(node.content.strip("\n"), node, outline, "math")


_HANDLERS: dict[str, Callable[[_Reader, SyntaxTreeNode, Outline], None]] = {
    "heading": _Reader.heading,
    "paragraph": _Reader.paragraph,
    "blockquote": _Reader.nested,
    "region": _Reader.nested,
    "list_item": _Reader.item,
    "footnote_reference": _Reader.footnote,
    "dt": _Reader.term,
    "tr": _Reader.row,
    "fence": _Reader.fence,
    "code_block": lambda reader, node, outline: reader.code(node.content, node, outline),
    "preformatted": _Reader.preformatted,
    "math_block": _Reader.formula,
    "math_block_label": _Reader.formula,
}
