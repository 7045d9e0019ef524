"""AsciiDoc: headings, paragraphs, lists, tables and code, by its layout."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from labeler.corpus.blocks import TitledBlocks
from labeler.corpus.losses import ADDRESSES, SCRIPTS, drop, drop_directive
from labeler.corpus.readers.outline import Lines, Outline, line_at, lines_of
from labeler.messages import squeezed

_HEADING = re.compile(r"([=#]{1,6}) +(\S.*)")
_ATTRIBUTE = re.compile(r":(!?[\w-]+!?):(?: +(.*))?")
_NAMED = re.compile(r"\{([\w-]{1,60})\}")
_SHORT_VALUE = 100
"""A longer value does not stand in place of its name, which may come a thousand times."""

_FENCE = re.compile(
    r"(?P<code>-{4,}|\.{4,}|\+{4,}|`{3,}\w*)|(?P<comment>/{4,})|(?P<table>[|,:!]={3,})"
    r"|(?P<around>={4,}|\*{4,}|_{4,}|--|\+|)"
)
_BLOCK = re.compile(
    r"\[(?:(?:source|listing),\s*\"?(\w+)|(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\b)?.*\]"
)
_TITLE = re.compile(r"\.([^\s.].*)")
_ITEM = re.compile(r"\s*(\*{1,5}|-|\.{1,5}|\d+\.|<\d+>|<\.>)\s+(\S.*)")
_MACRO = re.compile(r"(image|video|audio|include|ifdef|ifndef|ifeval|endif|toc)::(\S*?)\[(.*)\]")
_MARKED = re.compile(
    r"(?:link:|xref:|mailto:)?((?:https?|ftp)://[^\s\[\]<>]{1,500}+|(?<=:)[^\s\[\]]{1,500}+)"
    r"\[([^\],^]{0,500}+)[^\]]{0,500}+\]"
    r"|<<([^,<>]{1,300})(?:,([^<>]{1,300}))?>>"
    r"|(?:kbd|btn|menu|footnote|image|stem|icon):[^\s\[\]]{0,500}+\[([^\]]{0,500}+)\]"
    r"|(?<![\w*_#])(?:[*_#]{1,2})(?=\S)([^*_#\n]{1,500}?)(?<=\S)[*_#]{1,2}(?![\w*_#])"
)
"""A link, a reference, a macro or stressed words; the last of its groups is what it shows."""


def read_asciidoc(text: str) -> TitledBlocks:
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
    item_before: int = -1

    def take(self) -> None:
        """Read the block that begins in the line at hand."""
        number = self.lines[self.at][0]
        line = line_at(self.lines, self.at)
        self.at += 1
        fence = _FENCE.fullmatch(line)
        kind = fence.lastgroup if fence else ""
        if heading := _HEADING.fullmatch(line):
            self.outline.heading(len(heading[1]), self.words(heading[2]), number)
        elif kind == "comment":
            drop(SCRIPTS, "\n".join(text for _, text in self.until(line)))
        elif kind == "code":
            language = line.lstrip("-.+`")
            self.outline.code(self.until(line.removesuffix(language)), self.language or language)
            self.language = ""
        elif kind == "table":
            self.add_table(self.until(line))
        elif not (kind or self.took_setting(line, number)):
            self.add_paragraph(line, number)

    def until(self, closing: str) -> Lines:
        """The lines up to one that closes a block, or all that follow."""
        begin = self.at
        following = range(self.at, len(self.lines))
        end = next((n for n in following if line_at(self.lines, n) == closing), len(self.lines))
        self.at = end + 1
        return self.lines[begin:end]

    def took_setting(self, line: str, number: int) -> bool:
        """Whether a line says something of the document or of the next block, or is a comment."""
        if attribute := _ATTRIBUTE.fullmatch(line):
            name, value = attribute.groups(default="")
            self.values[name] = value if len(value) <= _SHORT_VALUE else ""
            drop("attributes", line)
        elif block := _BLOCK.fullmatch(line):
            self.language = block[1] or self.language
            self.outline.prose(block[2] or "", number, leads=True)
            drop("attributes", line)
        elif macro := _MACRO.fullmatch(line):
            if macro[1] in ("image", "video", "audio"):
                drop(ADDRESSES, macro[2])
                self.outline.prose(self.words(macro[3].split(",")[0].strip('"')), number)
            else:
                drop_directive(macro[1], line)
        elif title := _TITLE.fullmatch(line):
            self.outline.prose(self.words(title[1]), number, leads=True)
        elif line.startswith("//"):
            drop(SCRIPTS, line)
        else:
            return False
        return True

    def add_paragraph(self, line: str, number: int) -> None:
        """Add a paragraph or an item with the lines that it goes on in; indented ones are code."""
        begin = self.at
        item = _ITEM.fullmatch(line)
        marks = (_FENCE, _ITEM, _ATTRIBUTE, _BLOCK, _MACRO, _HEADING)
        while self.at < len(self.lines) and not any(
            mark.fullmatch(line_at(self.lines, self.at)) for mark in marks
        ):
            self.at += 1
        more = self.lines[begin : self.at]
        words = " ".join([item[2] if item else line, *(text for _, text in more)])
        if item:
            indent = "  " * (len(item[1]) - 1 if item[1][0] in "*." else 0)
            tight = self.item_before == begin - 1
            self.item_before = self.at
            self.outline.prose(f"{indent}- {self.words(words)}", number, tight=tight)
        elif line.startswith(" "):
            self.outline.code([(number, line), *more])
        else:
            self.outline.prose(self.words(words), number, leads=line.endswith("::"))

    def add_table(self, lines: Lines) -> None:
        """Add a table, a block a line of it."""
        for position, (number, line) in enumerate(row for row in lines if row[1].strip()):
            cells = " | ".join(map(self.words, line.strip().lstrip("|").split("|")))
            self.outline.prose(cells, number, tight=position > 0, leads=position == 0)

    def words(self, text: str) -> str:
        """The words of a paragraph: links by their text, names of attributes by their values."""
        text = _NAMED.sub(lambda name: self.values.get(name[1]) or name[0], text)
        return squeezed(_MARKED.sub(_shown, text))


def _shown(marked: re.Match[str]) -> str:
    """What a mark within a paragraph shows; the address of a link with a text is noted."""
    if marked[1] and marked[2]:
        drop(ADDRESSES, marked[1])
    return next((group for group in reversed(marked.groups()) if group), "")
