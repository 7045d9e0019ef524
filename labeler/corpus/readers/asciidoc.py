"""AsciiDoc: headings, paragraphs, lists, tables and code, by its layout."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from labeler.corpus.blocks import Block
from labeler.corpus.losses import ADDRESSES, SCRIPTS, drop
from labeler.corpus.readers.markdown_rules import INCLUDES
from labeler.corpus.readers.outline import DIRECTIVES, Lines, Outline, line_at, lines_of

_HEADING = re.compile(r"(={1,6}|#{1,6}) +(\S.*)")
_ATTRIBUTE = re.compile(r":(!?[\w-]+!?):(?: +(.*))?")
_NAMED = re.compile(r"\{([\w-]{1,60})\}")
_SHORT_VALUE = 100
_CODE = re.compile(r"(?:-{4,}|\.{4,}|\+{4,}|`{3,}\w*)")
_COMMENT = re.compile(r"/{4,}")
_AROUND = re.compile(r"(?:={4,}|\*{4,}|_{4,}|--|\+)")
_TABLE = re.compile(r"[|,:!]={3,}")
_BLOCK = re.compile(r"\[(.*)\]")
_NOTE = re.compile(r"NOTE|TIP|IMPORTANT|WARNING|CAUTION")
_TITLE = re.compile(r"\.([^\s.].*)")
_ITEM = re.compile(r"\s*(\*{1,5}|-|\.{1,5}|\d+\.|<\d+>|<\.>)\s+(\S.*)")
_TERM = re.compile(r"(\S.*?)(?::{2,4}|;;)(?:\s+(.*))?")
_MACRO = re.compile(r"(image|video|audio|include|ifdef|ifndef|ifeval|endif|toc)::(\S*?)\[(.*)\]")
_LINK = re.compile(
    r"(?:link:|xref:|mailto:)?((?:https?|ftp)://[^\s\[\]<>]+|(?<=:)[^\s\[\]]+)\[([^\]]*)\]"
)
_REFERENCE = re.compile(r"<<([^,<>]{1,300})(?:,([^<>]{1,300}))?>>")
_SHOWN = re.compile(r"(?:kbd|btn|menu|footnote|image|stem|icon):[^\s\[\]]*\[([^\]]*)\]")
_STRONG = re.compile(r"(?<![\w*_#])([*_#]{1,2})(?=\S)([^*_#\n]{1,500}?)(?<=\S)\1(?![\w*_#])")


def read_asciidoc(text: str) -> tuple[str, list[Block]]:
    """An empty title, since the first heading is one, and the document's blocks."""
    reader = _Reader(lines_of(text))
    while reader.at < len(reader.lines):
        reader.take()
    return "", reader.outline.blocks


@dataclass
class _Reader:
    """Reads lines one block after the other; `values` are the document's attributes."""

    lines: Lines
    at: int = 0
    outline: Outline = field(default_factory=Outline)
    values: dict[str, str] = field(default_factory=dict)
    language: str = ""
    follows_item: bool = False

    def take(self) -> None:
        """Read the block that begins in the line at hand."""
        number, line = self.lines[self.at][0], line_at(self.lines, self.at)
        after_item, self.follows_item = self.follows_item, False
        self.at += 1
        if heading := _HEADING.fullmatch(line):
            self.outline.heading(len(heading[1]), self.words(heading[2]), number)
        elif _COMMENT.fullmatch(line):
            drop(SCRIPTS, "\n".join(each for _, each in self.until(line)))
        elif _CODE.fullmatch(line):
            closing = "```" if line.startswith("```") else line
            self.outline.code(self.until(closing), self.language or line.lstrip("-.+`"))
            self.language = ""
        elif _TABLE.fullmatch(line):
            self.add_table(self.until(line))
        elif line.startswith("//"):
            drop(SCRIPTS, line)
        elif item := _ITEM.fullmatch(line):
            self.add_item(item, number, tight=after_item)
        elif not (not line or _AROUND.fullmatch(line) or self.took_setting(line, number)):
            self.add_paragraph(line, number)

    def until(self, closing: str) -> Lines:
        """The lines up to one that closes a block, or all that follow."""
        begin = self.at
        while self.at < len(self.lines) and line_at(self.lines, self.at) != closing:
            self.at += 1
        self.at += 1
        return self.lines[begin : self.at - 1]

    def took_setting(self, line: str, number: int) -> bool:
        """Whether a line says something of the document or of the next block."""
        attribute, block = _ATTRIBUTE.fullmatch(line), _BLOCK.fullmatch(line)
        macro, title = _MACRO.fullmatch(line), _TITLE.fullmatch(line)
        if attribute:
            self.values[attribute[1]] = attribute[2] or ""
            drop("attributes", line)
        elif block:
            names = [name.strip(" \"'") for name in block[1].split(",")]
            if names[0] in ("source", "listing") and len(names) > 1:
                self.language = names[1]
            elif _NOTE.fullmatch(names[0]):
                self.outline.prose(names[0], number, leads=True)
            drop("attributes", line)
        elif macro and macro[1] in ("image", "video", "audio"):
            drop(ADDRESSES, macro[2])
            self.outline.prose(self.words(macro[3].split(",")[0].strip('"')), number)
        elif macro:
            drop(INCLUDES if macro[1] == "include" else DIRECTIVES, line)
        elif title:
            self.outline.prose(self.words(title[1]), number, leads=True)
        return bool(attribute or block or macro or title)

    def add_item(self, item: re.Match[str], number: int, *, tight: bool) -> None:
        """Add an item of a list with the lines that it goes on in."""
        mark, words = item[1], [item[2]]
        while self.goes_on():
            words.append(line_at(self.lines, self.at).strip())
            self.at += 1
        indent = "  " * (len(mark) - 1 if mark[0] in "*." else 0)
        shown = "-" if mark[0] in "*-." else mark
        self.outline.prose(f"{indent}{shown} {self.words(' '.join(words))}", number, tight=tight)
        self.follows_item = True

    def goes_on(self) -> bool:
        """Whether the line at hand belongs to the paragraph above it."""
        line = line_at(self.lines, self.at)
        begins = (_ITEM, _ATTRIBUTE, _BLOCK, _CODE, _TABLE, _AROUND, _MACRO, _HEADING)
        return bool(line) and not any(mark.fullmatch(line) for mark in begins)

    def add_paragraph(self, line: str, number: int) -> None:
        """Add a paragraph, or a term, which stays with its definition; indented lines are code."""
        term = _TERM.fullmatch(line)
        if term:
            self.outline.prose(self.words(term[1]), number, leads=True)
            self.outline.prose(self.words(term[2] or ""), number)
            return
        begin = self.at - 1
        while self.goes_on():
            self.at += 1
        lines = self.lines[begin : self.at]
        if line.startswith(" "):
            self.outline.code(lines)
        else:
            self.outline.prose(self.words(" ".join(text.strip() for _, text in lines)), number)

    def add_table(self, lines: Lines) -> None:
        """Add a table, a block a line of it."""
        rows = ((number, line.strip().lstrip("|")) for number, line in lines if line.strip())
        for position, (number, line) in enumerate(rows):
            cells = " | ".join(self.words(cell.strip()) for cell in line.split("|"))
            self.outline.prose(cells, number, tight=position > 0, leads=position == 0)

    def words(self, text: str) -> str:
        """The words of a paragraph: links by their text, names of attributes by their values."""
        text = _NAMED.sub(self.value_of, text)
        for match in _LINK.finditer(text):
            drop(ADDRESSES, match[1] if match[2] else "")
        text = _LINK.sub(lambda link: link[2].split(",")[0].rstrip("^") or link[1], text)
        text = _REFERENCE.sub(lambda link: link[2] or link[1], text)
        text = _SHOWN.sub(lambda shown: shown[1], text)
        return " ".join(_STRONG.sub(lambda strong: strong[2], text).split())

    def value_of(self, name: re.Match[str]) -> str:
        """The value of an attribute, if that is short, or else its name."""
        value = self.values.get(name[1], "")
        return value if value and len(value) <= _SHORT_VALUE else name[0]
