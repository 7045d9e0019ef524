"""Blocks as HTML: one file with its style inside, which no text of it can add an element to."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, singledispatch
from hashlib import sha256
from importlib.resources import files

from labeler.report.finding import Finding, merged
from labeler.report.html import table_as_html
from labeler.report.neutral import html_passage, html_text
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
from labeler.report.printable import flat
from labeler.report.table import Column

_DEEPEST = 6
_LONG = 40
"""Letters of a cell that is given a width of its own."""
_TALL = 30
"""Tables of more rows scroll in a box of their own, so that their header stays in sight."""


@cache
def style() -> str:
    """The style of pages and charts."""
    report = files("labeler.report")
    texts = (report / "charts" / "charts.css", report / "page" / "page.css")
    css = "\n".join(text.read_text(encoding="utf-8") for text in texts)
    first, *rest = css.split("/*")
    without_comments = "".join([first, *(part.partition("*/")[2] for part in rest)])
    lines = (line.strip() for line in without_comments.splitlines())
    return "\n".join(filter(None, lines))


def policy() -> str:
    """What a browser may do with a page: use its own style, and nothing else."""
    digest = b64encode(sha256(style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def html_page(title: str, subtitle: str, blocks: Sequence[Block], language: str) -> str:
    """The whole file."""
    anchors = _Anchors()
    body = _Renderer(2, anchors).all(blocks)
    below = f'<p class="subtitle">{html_text(subtitle)}</p>\n' if subtitle else ""
    heading = html_text(flat(title))
    return f"""<!DOCTYPE html>
<html lang="{html_text(language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy()}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{heading}</title>
<style>{style()}</style>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header>
<h1>{heading}</h1>
{below}{_THEMES}</header>
{_contents(anchors.headings)}<main id="content" tabindex="-1">
{body}</main>
</body>
</html>
"""


_THEMES = """<fieldset class="themes">
<legend>Colors</legend>
<label><input type="radio" name="theme" id="theme-system" checked> as the system</label>
<label><input type="radio" name="theme" id="theme-light"> light</label>
<label><input type="radio" name="theme" id="theme-dark"> dark</label>
</fieldset>
"""


@dataclass
class _Anchors:
    """The headings of a page, and a name for each to link to."""

    headings: list[tuple[int, str, str]] = field(default_factory=list)
    used: set[str] = field(default_factory=lambda: {"content"})

    def add(self, level: int, heading: str) -> str:
        name = re.sub(r"[^a-z0-9]+", "-", heading.casefold()).strip("-") or "section"
        number = 2
        anchor = f"s-{name}"
        while anchor in self.used:
            anchor, number = f"s-{name}-{number}", number + 1
        self.used.add(anchor)
        self.headings.append((level, heading, anchor))
        return anchor


def _contents(headings: Sequence[tuple[int, str, str]]) -> str:
    """Links to the sections of a page that has several; where it is narrow, a line opens to them.

    The list stands twice, as no style can open a line: only one of both is shown or read out.
    """
    tops = [(heading, anchor) for level, heading, anchor in headings if level == 2]
    if len(tops) < 2:
        return ""
    links = "".join(f'<li><a href="#{a}">{html_text(h)}</a></li>\n' for h, a in tops)
    links = f"<ol>\n{links}</ol>"
    return (
        f'<nav aria-label="Contents">\n<div class="wide">\n<p>Contents</p>\n{links}\n</div>\n'
        f'<details class="narrow">\n<summary>Contents</summary>\n{links}\n</details>\n</nav>\n'
    )


@dataclass(frozen=True)
class _Renderer:
    """What makes HTML of blocks at a depth of headings."""

    level: int
    anchors: _Anchors

    def all(self, blocks: Sequence[Block]) -> str:
        return "".join(_html(block, self) for block in blocks)

    def deeper(self) -> _Renderer:
        return _Renderer(self.level + 1, self.anchors)


@singledispatch
def _html(block: Block, _within: _Renderer) -> str:
    raise TypeError(f"no block of a page: {type(block).__name__}")


@_html.register
def _paragraph(block: Paragraph, _within: _Renderer) -> str:
    kind = ' class="lead"' if block.lead else ""
    return f"<p{kind}>{html_text(block.text)}</p>\n"


@_html.register
def _section(block: PageSection, within: _Renderer) -> str:
    level = min(within.level, _DEEPEST)
    anchor, tag = within.anchors.add(level, block.heading), f"h{level}"
    heading = f'<{tag} id="{anchor}">{html_text(flat(block.heading))}</{tag}>\n'
    inner = within.deeper().all(block.blocks)
    return f'<section aria-labelledby="{anchor}">\n{heading}{inner}</section>\n'


@_html.register
def _findings(block: FindingList, _within: _Renderer) -> str:
    ordered = sorted(merged(block.findings), key=lambda finding: finding.level != "warning")
    items = "".join(map(_finding, ordered))
    return f'<ul class="findings">\n{items}</ul>\n' if items else ""


def _finding(finding: Finding) -> str:
    word = "Warning" if finding.level == "warning" else "Note"
    return f'<li class="{finding.level}"><b>{word}:</b> {html_text(str(finding))}</li>\n'


@_html.register
def _table(block: TableBlock, _within: _Renderer) -> str:
    shown = block.table
    caption = block.caption or shown.title or shown.name
    rows = [shown.titles, *shown.texts()]
    aligned = [
        _class(column, cells)
        for column, cells in zip(shown.shown, zip(*rows, strict=True), strict=True)
    ]
    table = table_as_html(rows, aligned, caption, shown.note, styled=False)
    label = html_text(flat(caption))
    kind = "table tall" if len(rows) > _TALL else "table"
    return f'<div class="{kind}" role="region" aria-label="{label}" tabindex="0">\n{table}</div>\n'


def _class(column: Column, cells: Sequence[str]) -> str:
    """How a column stands in its page; one of long words is not made too narrow for them."""
    is_long = column.align == "left" and max(map(len, cells)) > _LONG
    return "long" if is_long else column.align


@_html.register
def _chart(block: Chart, within: _Renderer) -> str:
    made = block.drawing
    caption = f"<p>{html_text(block.caption)}</p>\n" if block.caption else ""
    table = _table(TableBlock(made.table, f"{made.title}: numbers"), within)
    return (
        f'<figure>\n<figcaption>\n<p class="title">{html_text(made.title)}</p>\n'
        f"<p>{html_text(made.message)}</p>\n{caption}</figcaption>\n"
        f'<div class="picture" tabindex="0">{made.svg}</div>\n'
        f"<details>\n<summary>The numbers as a table</summary>\n{table}</details>\n</figure>\n"
    )


@_html.register
def _preformatted(block: Preformatted, _within: _Renderer) -> str:
    return f'<pre tabindex="0">{html_text(block.text)}</pre>\n'


@_html.register
def _facts(block: FactList, _within: _Renderer) -> str:
    rows = "".join(
        f"<div><dt>{html_text(name)}</dt><dd>{html_text(value)}</dd></div>\n"
        for name, value in block.pairs
    )
    return f"<dl>\n{rows}</dl>\n" if rows else ""


@_html.register
def _excerpt(block: Excerpt, _within: _Renderer) -> str:
    language = f' lang="{html_text(block.language)}"' if block.language else ""
    title = f'<p class="title">{html_passage(block.title)}</p>\n' if block.title else ""
    about = f'<p class="about">{html_text(block.about)}</p>\n' if block.about else ""
    text = f'<p class="text" dir="auto"{language}>{html_passage(block.text)}</p>\n'
    return f'<div class="excerpt">\n{title}{about}{text}</div>\n'


@_html.register
def _disclosure(block: Disclosure, within: _Renderer) -> str:
    return _opening(block, [""] * len(block.figures), within)


def _opening(block: Disclosure, columns: Sequence[str], within: _Renderer) -> str:
    """A line that opens; each figure follows what it is, which is seen where no header is."""
    figures = "".join(
        f'<span><span class="of">{html_text(name)} </span>{html_text(text)}</span>'
        for name, text in zip(columns, block.figures, strict=True)
    )
    words = f'<span class="words">{html_passage(_line(block.summary))}</span>{figures}'
    inner = within.all(block.blocks)
    return f"<details>\n<summary>{words}</summary>\n<div>\n{inner}</div>\n</details>\n"


def _line(text: str) -> str:
    return " ".join(text.split())


@_html.register
def _rows(block: DisclosureRows, within: _Renderer) -> str:
    names = "".join(f"<span>{html_text(name)}</span>" for name in block.columns)
    head = f'<span class="words">{html_text(block.heading)}</span>{names}'
    rows = "".join(_opening(row, block.columns, within) for row in block.rows)
    return f'<div class="rows">\n<div class="head" aria-hidden="true">{head}</div>\n{rows}</div>\n'
