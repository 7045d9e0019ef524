"""What documents are cut from and into: blocks, passages, and how long a passage may be."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from labeler.corpus.losses import Losses
from labeler.files.jsonl import RowValues
from labeler.options import SHARE, WORDS, Options, option

USUAL = 200
"""A passage has about so many words where nothing else is said, and there is enough text."""

MOST_LOST = 0.5
"""Of most files a reader leaves out less than a tenth; of what it misreads, nearly all."""

Place = tuple[int, int]
"""A block by its position in its document, and an offset in the block's text."""


Headings = tuple[str, ...]
"""The headings above a text, the topmost first."""


class Lengths(NamedTuple):
    """How many words the passages of a corpus have, about."""

    usual: int = USUAL

    @property
    def most(self) -> int:
        """A passage has at most so many, a few more to save a remainder; code stays whole."""
        return self.usual * 13 // 10

    @property
    def few(self) -> int:
        """A passage of fewer is joined to a neighboring one where that is possible."""
        return self.usual * 3 // 20


class Block(NamedTuple):
    """A paragraph, list item, table row or code block, under its headings.

    An empty text stands for a heading itself. `tight` blocks follow the one before them without a
    blank line; one that `leads` (a term, a table's head) stays with the next.
    """

    text: str
    headings: Headings = ()
    line: int = 1
    code: bool = False
    tight: bool = False
    leads: bool = False


TitledBlocks = tuple[str, list[Block]]
"""What is read of a text: its title, empty where its first heading is one, and its blocks."""


class Passage(NamedTuple):
    """A stretch of a document; `headings` are those above all of it, `line` is where it begins.

    `start` is where its first text begins in the document's blocks, `end` where its last one ends.
    """

    text: str
    headings: Headings
    line: int
    start: Place = (0, 0)
    end: Place = (0, 0)


# Which files become documents, and how long their passages are, as a person says it.


rule = partial(option, section="reading", flag=True, rare=True, panel="Reading files")


@dataclass(frozen=True, slots=True)
class FileRules(Options):
    """Which files are read, and how they are cut; the defaults are those of `ingest`.

    `include` and `exclude` are patterns as git has them in its `.gitignore`, which holds for what
    is below a folder unless `gitignore` is false. A passage has about `words` words. Where rules of
    its reader leave out more than `most_lost` of a file's text, reading stops. Without `people`, a
    mark stands where pages, mail and rows say who wrote, owns or should do something.
    """

    include: tuple[str, ...] = rule(
        (), "Read only files of this pattern; as often as you like.", metavar="PATTERN"
    )
    exclude: tuple[str, ...] = rule(
        (), "Leave out what has this pattern, as in .gitignore.", metavar="PATTERN"
    )
    gitignore: bool = rule(True, "Leave out what a folder's .gitignore names.")
    words: int = option(
        USUAL, "About how many words a passage has.", WORDS, section="reading", flag=True
    )
    most_lost: float = rule(
        MOST_LOST, "Stop where more than this share of a file's text is left out.", SHARE
    )
    people: bool = rule(True, "Keep the names of authors, of owners and of people after an @.")


class SourceText(NamedTuple):
    """The text in which the passages of a document have their spans.

    `own` texts are the file's content as it is, others are in it or taken out of it; `paged` ones
    have a form feed between pages; of `any_line_end` see `Spans`.
    """

    text: str
    own: bool = True
    paged: bool = False
    any_line_end: bool = False


@dataclass(frozen=True)
class SourceDocument:
    """A document as its file has it: blocks to be cut, or, with an `id` of its own, to be kept."""

    title: str
    blocks: list[Block]
    line: int = 1
    id: str | None = None
    text: str = ""
    metadata: RowValues = field(default_factory=dict)
    spans_in: SourceText | None = None
    losses: Losses | None = None

    @property
    def has_text(self) -> bool:
        """Whether there is anything besides headings and markup."""
        if self.id is not None:
            return bool(self.text.strip() or self.title.strip())
        return any(block.text for block in self.blocks)
