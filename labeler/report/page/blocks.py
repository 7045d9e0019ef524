"""What a page consists of: plain records, which the renderers of HTML and Markdown read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labeler.report.charts import Drawing
from labeler.report.finding import Finding
from labeler.report.table import Table


@dataclass(frozen=True)
class Paragraph:
    """Sentences; `lead` are those that a reader in a hurry should read."""

    text: str
    lead: bool = False


@dataclass(frozen=True)
class FindingList:
    """What a reader of figures should know, warnings first."""

    findings: Sequence[Finding]


@dataclass(frozen=True)
class TableBlock:
    """A table under its caption; without one, under the table's own title."""

    table: Table
    caption: str = ""


@dataclass(frozen=True)
class Chart:
    """A chart with its message, a sentence on how to read it, and its numbers as a table."""

    drawing: Drawing
    caption: str = ""


@dataclass(frozen=True)
class FactList:
    """Names and their values, such as a model and its version."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Preformatted:
    """A text whose lines are kept, such as a prompt."""

    text: str


@dataclass(frozen=True)
class Excerpt:
    """A text of the users', such as a document: its title, and a line about it below that.

    `language` is its code, such as "de", where it is known.
    """

    text: str
    title: str = ""
    about: str = ""
    language: str = ""


@dataclass(frozen=True)
class Disclosure:
    """A line that opens to show more: words, then figures in columns of their own."""

    summary: str
    blocks: Sequence[Block]
    figures: Sequence[str] = ()


@dataclass(frozen=True)
class DisclosureRows:
    """Rows that open: what their words are, what each column of figures is, and the rows."""

    heading: str
    columns: Sequence[str]
    rows: Sequence[Disclosure]


@dataclass(frozen=True)
class PageSection:
    """A heading and what stands under it; a section within a section has a smaller heading."""

    heading: str
    blocks: Sequence[Block]


Block = (
    Paragraph
    | FindingList
    | TableBlock
    | Chart
    | FactList
    | Preformatted
    | Excerpt
    | Disclosure
    | DisclosureRows
    | PageSection
)
