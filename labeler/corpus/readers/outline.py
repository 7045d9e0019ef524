"""What the readers of markup share: numbered lines, and blocks under headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from labeler.corpus.blocks import Block, Headings, TitledBlocks
from labeler.errors import BadInput
from labeler.files.jsonl import JsonObject, RowValues
from labeler.messages import squeezed

Lines = list[tuple[int, str]]
"""Lines with their numbers in the file, which stay as they are when a nested part is read."""

DEEPEST = 20
"""Levels of nesting that are followed; what lies deeper is read as plain paragraphs."""

_LONGEST_PATH = 2000
"""The most characters of the headings above a block, which stand in the title of each passage."""


def lines_of(text: str) -> Lines:
    """The lines of a text, tabs expanded to multiples of four.

    Only newlines end a line; a carriage return before one goes with it.
    """
    return [
        (number, line.removesuffix("\r").expandtabs(4))
        for number, line in enumerate(text.split("\n"), start=1)
    ]


def line_at(lines: Lines, position: int) -> str:
    """The line there, without the white space at its end; "" after the last."""
    return lines[position][1].rstrip() if position < len(lines) else ""


def indentation(line: str) -> int:
    """How many spaces a line begins with."""
    return len(line) - len(line.lstrip(" "))


def dedented(lines: Lines) -> Lines:
    """The lines without the indentation that all of them share, and no blank ones at the ends."""
    return unindented(trimmed(lines))


def unindented(lines: Lines) -> Lines:
    """The lines without the indentation that all of them share."""
    shared = min((indentation(line) for _, line in lines if line.strip()), default=0)
    return [(number, line[shared:]) for number, line in lines]


def text_of(lines: Lines) -> str:
    """The lines as one text."""
    return "\n".join(line for _, line in lines)


def trimmed(lines: Lines) -> Lines:
    """The lines without blank ones at either end."""
    filled = [position for position, (_, line) in enumerate(lines) if line.strip()]
    return lines[filled[0] : filled[-1] + 1] if filled else []


def indented_block(lines: Lines, start: int, least: int) -> int:
    """Where the block ends that begins at `start` and is indented by `least` spaces or is blank."""
    end = start
    while end < len(lines) and (not lines[end][1].strip() or indentation(lines[end][1]) >= least):
        end += 1
    return end


@dataclass(slots=True)
class _Mark:
    """The mark of an item whose first words have not come yet, and whether it follows a line."""

    text: str = ""
    tight: bool = False


@dataclass
class Outline:
    """The blocks found so far and the headings above the next one.

    `above` are headings of what this outline is nested in; `levels` the level and text of each of
    its own that are open. `items` are the lists that it stands in. `metadata` is what its document
    says of itself, `people` are the names in it that are marked as such.
    """

    blocks: list[Block] = field(default_factory=list)
    above: Headings = ()
    levels: list[tuple[int, str]] = field(default_factory=list)
    items: int = 0
    mark: _Mark = field(default_factory=_Mark)
    metadata: JsonObject = field(default_factory=dict)
    people: list[str] = field(default_factory=list)

    @property
    def path(self) -> Headings:
        """The headings above the next block."""
        return (*self.above, *(text for _, text in self.levels))

    def nested(self) -> Outline:
        """An outline into the same blocks, whose headings end with it."""
        return Outline(self.blocks, self.path, items=self.items, mark=self.mark)

    def item(self, mark: str, *, tight: bool, indented: bool = True) -> Outline:
        """The same for an item of a list: its mark stands before its first words."""
        self.mark.text = "  " * self.items * indented + mark
        self.mark.tight = tight
        inner = self.nested()
        inner.items += 1
        return inner

    def heading(self, level: int, text: str, line: int) -> None:
        """Open a heading, which closes those of its level and below.

        One that is as long as a text is a paragraph: each passage below it would repeat it.
        """
        self.levels = [(number, above) for number, above in self.levels if number < level]
        if len(text) + sum(map(len, self.path)) > _LONGEST_PATH:
            self.prose(text, line, leads=True)
        elif text:
            self.levels.append((level, text))
            self.blocks.append(Block("", self.path, line))

    def prose(self, text: str, line: int, *, tight: bool = False, leads: bool = False) -> None:
        """Add a paragraph, list item or row, unless it is empty."""
        if text.strip():
            text = f"{self.mark.text}{text}"
            tight = self.mark.tight if self.mark.text else tight
            self.blocks.append(Block(text.strip("\n"), self.path, line, tight=tight, leads=leads))
            self.mark.text = ""

    def code(self, lines: Lines, language: str = "") -> None:
        """Add a code block between fences, unless it is empty; an item's mark stands above it."""
        lines = trimmed(lines)
        if lines:
            if mark := self.mark.text.rstrip():
                self.mark.text = ""
                self.prose(mark, lines[0][0], tight=self.mark.tight, leads=True)
            text = fenced(text_of(lines), language)
            self.blocks.append(Block(text, self.path, lines[0][0], code=True))

    def rows(self, rows: Iterable[Sequence[str]]) -> None:
        """Add the rows of a table, without empty ones; its head stays with the next one."""
        for number, text in enumerate(" | ".join(cells) for cells in rows if any(cells)):
            self.prose(text, 1, tight=number > 0, leads=number == 0)


def fenced(body: str, language: str = "") -> str:
    """Code between fences that are longer than any in it."""
    fence = "`" * max(3, max(map(len, re.findall(r"`+", body)), default=0) + 1)
    return f"{fence}{language}\n{body}\n{fence}"


# The text of a file that is no text itself, with its blocks at the lines where they stand in it.
#
# Passages of such a file have their spans in this text, which the same reader gives again.

PAGE = "\f"
"""What stands between the pages of an extracted text."""


@dataclass(frozen=True)
class Extracted:
    """What a reader took out of a file: its title, the text, and the blocks that stand in it.

    `paged` texts have a form feed between pages; `own` ones are the file's content as it is; `note`
    says what of the file could not be read. `metadata` and `people` are as an outline has them.
    """

    title: str
    text: str
    blocks: list[Block]
    paged: bool = False
    own: bool = False
    note: str = ""
    metadata: RowValues = field(default_factory=dict)
    people: Sequence[str] = ()


def extracted(title: str, outline: Outline) -> Extracted:
    """The text that blocks make one after another, headings on lines of their own."""
    parts: list[str] = []
    placed = []
    line = 1
    for block in outline.blocks:
        shown = block.text or ("", *block.headings)[-1]
        gap = ("\n" if block.tight else "\n\n") if parts else ""
        line += len(gap)
        placed.append(block._replace(line=line))
        parts += [gap, shown]
        line += shown.count("\n")
    text = "".join(parts)
    return Extracted(title, text, placed, metadata=outline.metadata, people=outline.people)


def finished(path: Path, title: str, outline: Outline) -> Extracted:
    """The same of an outline; `BadInput` where the file holds no text."""
    if not any(block.text for block in outline.blocks):
        raise BadInput(f"{path}: no text in it")
    return extracted(squeezed(title), outline)


# Names of the directives and roles of Sphinx and MyST, and what each of them shows.

CODE = re.compile(
    r"code|code-block|code-cell|sourcecode|literal|parsed-literal|prompt|ipython|doctest|testcode"
    r"|testoutput|productionlist|math|mermaid|eval-rst"
)
"""Directives whose content is kept as it is."""

UNSHOWN = re.compile(
    r"contents|currentmodule|date|default-domain|default-role|highlight|include|index"
    r"|literalinclude|meta|module|py:currentmodule|py:module|raw|replace|role|sectionauthor"
    r"|tabularcolumns|testcleanup|testsetup|toctree|unicode|tableofcontents|bibliography"
)
"""Directives that show nothing of their own."""

WRAPPER = re.compile(r"class|container|cssclass|div|ifconfig|only|rst-class|tabs|tab-set|grid")
"""Directives whose content is shown, and whose argument is not."""

_OBJECT = re.compile(
    r"attribute|classmethod|data|decorator|envvar|exception|function|method|option"
)

_PLAIN_ROLES = re.compile(
    r"doc|ref|term|any|abbr|guilabel|numref|emphasis|strong|title|download|sub|sup"
)
_NUMBERED_ROLES = {"pep": "PEP", "rfc": "RFC", "issue": "#", "pr": "#", "cve": "CVE-"}


def describes_code(name: str) -> bool:
    """Whether a directive describes something of a program, under whose name its content stands."""
    return ":" in name or name.startswith("auto") or _OBJECT.fullmatch(name) is not None


def role_text(role: str, text: str) -> str:
    """What a role shows: a link's title, a name without its path where `~` asks for that."""
    name = role.rpartition(":")[2]
    title, _, target = text.rpartition("<")
    titled = target.endswith(">") and ">" not in target[:-1]
    shown = (title.rstrip() if titled else "") or text
    if name in _NUMBERED_ROLES:
        return f"{_NUMBERED_ROLES[name]} {shown}" if shown is text else shown
    if _PLAIN_ROLES.fullmatch(name):
        return shown.removeprefix("/")
    if shown.startswith("~"):
        shown = shown.rpartition(".")[2]
    return quoted(shown.lstrip("!.~"))


def quoted(text: str) -> str:
    """A name or a piece of code between backticks."""
    mark = "``" if "`" in text else "`"
    return f"{mark}{text}{mark}"


# Plain text: paragraphs between blank lines, as they are.

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def read_plaintext(text: str) -> TitledBlocks:
    """An empty title and the text's paragraphs."""
    lines = (match[0].rstrip() for match in _LINE.finditer(text))  # of which few are held
    by_kind = groupby(enumerate(lines, start=1), key=lambda line: bool(line[1]))
    blocks = []
    for _, group in filter(itemgetter(0), by_kind):
        number, first = next(group)
        blocks.append(Block("\n".join([first, *(line for _, line in group)]), (), number))
    return "", blocks
