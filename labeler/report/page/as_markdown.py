"""Blocks as Markdown, as GitHub shows it under a pull request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import singledispatch

from labeler.report.finding import Finding, merged
from labeler.report.markup import markdown_table
from labeler.report.neutral import html_text, markdown_prose, markdown_text
from labeler.report.page.blocks import (
    Block,
    Chart,
    Disclosure,
    DisclosureRows,
    Excerpt,
    FactList,
    FindingList,
    PageSection,
    Paragraph,
    Preformatted,
    TableBlock,
)
from labeler.report.printable import flat, printable
from labeler.report.table import Column, Table

_CALLS = re.compile(r"(?<![a-zA-Z0-9_])@(?=[\w-])|#(?=[0-9])|\bGH-(?=[0-9])", re.ASCII)
"""What GitHub makes a mention, which writes to somebody, or a reference, which marks an issue."""
COMMENT_LIMIT = 65_000
"""Characters; GitHub takes 65,536 in a comment, and a workflow may add a line of its own."""
_DEEPEST = 6


def _quiet(markdown: str) -> str:
    """Markdown that calls nobody: an empty character breaks mentions and references of issues.

    It is written out, since in a reply by mail GitHub looks for mentions in the text as it is.
    """
    return _CALLS.sub(r"\g<0>&#8203;", markdown)


def _text(text: str) -> str:
    return _quiet(markdown_text(flat(text)))


def _prose(text: str) -> str:
    return _quiet(markdown_prose(text))


def _rows(table: Table) -> str:
    return _quiet(markdown_table(table))


def markdown_page(title: str, subtitle: str, blocks: Sequence[Block], limit: int) -> str:
    """The page, of as many whole blocks as there is room for; a last line says how many are out."""
    head = f"# {_text(title)}\n"
    if subtitle:
        head += f"\n{_prose(subtitle)}\n"
    pieces = _all(blocks, 2)
    shown, left, used = [head], len(pieces), len(head)
    for piece in pieces:
        if used + len(piece) + 1 > limit - len(_left_out(left)):
            break
        shown.append(piece)
        used, left = used + len(piece) + 1, left - 1
    return "\n".join([*shown, _left_out(left)] if left else shown)


def _left_out(number: int) -> str:
    blocks = f"{number:,} more block" + ("s are" if number != 1 else " is")
    return f"*{blocks} left out, to fit a comment; the whole report is in its HTML file.*\n"


def _pieces(block: Block, level: int) -> list[str]:
    """A block as pieces that are shown or left out as a whole."""
    if isinstance(block, PageSection):
        heading = f"{'#' * min(level, _DEEPEST)} {_text(block.heading)}\n"
        inner = _all(block.blocks, level + 1)
        return [f"{heading}\n{inner[0]}", *inner[1:]] if inner else [heading]
    if isinstance(block, DisclosureRows):
        return [_opening(row, level, block.columns) for row in block.rows]
    text = _opening(block, level, ()) if isinstance(block, Disclosure) else _markdown(block)
    return [text] if text else []


def _all(blocks: Sequence[Block], level: int) -> list[str]:
    return [piece for block in blocks for piece in _pieces(block, level)]


@singledispatch
def _markdown(block: Block) -> str:
    raise TypeError(f"no block of a page: {type(block).__name__}")


@_markdown.register
def _paragraph(block: Paragraph) -> str:
    return f"{_prose(block.text)}\n"


@_markdown.register
def _table(block: TableBlock) -> str:
    title = f"{_prose(block.caption)}\n\n" if block.caption else ""
    return title + _rows(block.table)


@_markdown.register
def _facts(block: FactList) -> str:
    columns = [Column("name", title=" ", align="left"), Column("value", title=" ", align="left")]
    return _rows(Table("facts", columns, block.pairs)) if block.pairs else ""


@_markdown.register
def _findings(block: FindingList) -> str:
    ordered = sorted(merged(block.findings), key=lambda finding: finding.level != "warning")
    return "".join(map(_finding, ordered))


def _finding(finding: Finding) -> str:
    word = "Warning" if finding.level == "warning" else "Note"
    return f"- **{word}:** {_text(str(finding))}\n"


@_markdown.register
def _chart(block: Chart) -> str:
    made = block.drawing
    caption = f"{_prose(block.caption)}\n\n" if block.caption else ""
    table = _rows(Table(made.table.name, made.table.columns, made.table.rows))
    numbers = _details("The numbers as a table", table)
    message = f"**{_text(made.title)}.** {_text(made.message)}"
    return f"{message}\n\n{caption}{numbers}"


@_markdown.register
def _fenced(block: Preformatted) -> str:
    """A text as code, in a fence that is longer than any in it."""
    text = printable(block.text)
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}\n"


@_markdown.register
def _excerpt(block: Excerpt) -> str:
    lines = [f"**{_text(block.title)}**"] if block.title else []
    lines += [_text(block.about)] if block.about else []
    quoted = "".join(f"> {line}\n" for line in _prose(block.text).split("\n"))
    return "\n\n".join([*lines, quoted])


def _opening(block: Disclosure, level: int, columns: Sequence[str]) -> str:
    names = columns or [""] * len(block.figures)
    figures = [
        f"{name} {figure}".strip() for name, figure in zip(names, block.figures, strict=True)
    ]
    words = " · ".join([flat(block.summary), *map(flat, figures)])
    inner = "\n".join(_all(block.blocks, level))
    return _details(words, inner)


def _details(summary: str, inner: str) -> str:
    """Markdown within an HTML element needs an empty line on both sides of it."""
    return f"<details><summary>{_quiet(html_text(summary))}</summary>\n\n{inner}\n</details>\n"
