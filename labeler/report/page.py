"""A page: a title and blocks, as one HTML file that asks nothing of a network.

>>> page = Page("Shop", [PageSection("Systems", [Paragraph("bm25 is best.")])])
>>> html = page.html()

No text of a page can add an element to it.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

from labeler.report.charts import Drawing
from labeler.report.finding import Finding, merged
from labeler.report.neutral import (
    flat,
    html_passage,
    html_text,
    table_as_html,
)
from labeler.report.table import Table

_DEEPEST = 6
_LONG = 40
"""Letters of a cell that is given a width of its own."""
_MANY = 12
"""Of tables of more rows ten are printed."""
_TALL = 30
"""Tables of more rows scroll in a box of their own, so that their header stays in sight."""
_THEMES = """<fieldset class="themes">
<legend>Colors</legend>
<label><input type="radio" name="theme" id="theme-system" checked> as the system</label>
<label><input type="radio" name="theme" id="theme-light"> light</label>
<label><input type="radio" name="theme" id="theme-dark"> dark</label>
</fieldset>
"""


class _Heading(NamedTuple):
    """A heading: how deep it stands, what it says, and the name to link to."""

    level: int
    text: str
    anchor: str


@dataclass(frozen=True)
class _Depth:
    """How deep a block stands in its page, and the page's headings with their anchors so far."""

    level: int = 2
    headings: list[_Heading] = field(default_factory=list)

    def html(self, blocks: Iterable[PageBlock]) -> str:
        return "".join(block.html(self) for block in blocks)

    def anchor(self, heading: str) -> str:
        """A name for a heading to link to, of its own in the page."""
        name = re.sub(r"[^a-z0-9]+", "-", heading.casefold()).strip("-") or "section"
        used = {each.anchor for each in self.headings}
        anchor, number = f"s-{name}", 2
        while anchor in used:
            anchor, number = f"s-{name}-{number}", number + 1
        self.headings.append(_Heading(self.level, heading, anchor))
        return anchor


class PageBlock:
    """What a page consists of; subclasses are plain records that say how they look."""

    def html(self, depth: _Depth) -> str:
        """The block as HTML."""
        raise NotImplementedError


@dataclass(frozen=True)
class Paragraph(PageBlock):
    """Sentences; `lead` are those that a reader in a hurry should read."""

    text: str
    lead: bool = False

    def html(self, depth: _Depth) -> str:
        """An element `p`."""
        kind = ' class="lead"' if self.lead else ""
        return f"<p{kind}>{html_text(self.text)}</p>\n"


@dataclass(frozen=True)
class FindingList(PageBlock):
    """What a reader of figures should know, warnings first."""

    findings: Sequence[Finding]

    def html(self, depth: _Depth) -> str:
        """A list, in which warnings and notes have colors of their own."""
        ordered = sorted(merged(self.findings), key=lambda finding: finding.level != "warning")
        items = "".join(
            f'<li class="{finding.level}"><b>{finding.level.capitalize()}:</b> '
            f"{html_text(str(finding))}</li>\n"
            for finding in ordered
        )
        return f'<ul class="findings">\n{items}</ul>\n' if items else ""


@dataclass(frozen=True)
class TableBlock(PageBlock):
    """A table under its caption; without one, under the table's own title."""

    table: Table
    caption: str = ""

    def html(self, depth: _Depth) -> str:
        """The table in a box that scrolls where it is too wide, or very long."""
        shown = self.table
        caption = self.caption or shown.title or shown.name
        rows = [shown.titles, *shown.texts()]
        # a column of long words is not made too narrow for them
        aligned = [
            "long" if c.align == "left" and max(map(len, cells)) > _LONG else c.align
            for c, cells in zip(shown.shown, zip(*rows, strict=True), strict=True)
        ]
        table = table_as_html(rows, aligned, caption, shown.note, styled=False)
        kind = "table" + " many" * (len(rows) > _MANY) + " tall" * (len(rows) > _TALL)
        role = f'role="region" aria-label="{html_text(flat(caption))}" tabindex="0"'
        return f'<div class="{kind}" {role}>\n{table}</div>\n'


@dataclass(frozen=True)
class Chart(PageBlock):
    """A chart with its message, which says it in words; a table of its page has the numbers."""

    drawing: Drawing

    def html(self, depth: _Depth) -> str:
        """A figure."""
        made = self.drawing
        return (
            f'<figure>\n<figcaption>\n<p class="title">{html_text(made.title)}</p>\n'
            f"<p>{html_text(made.message)}</p>\n</figcaption>\n"
            f'<div class="picture" tabindex="0">{made.svg}</div>\n</figure>\n'
        )


@dataclass(frozen=True)
class Disclosure(PageBlock):
    """A line that opens to show more: words, then figures in columns of their own.

    Each figure follows what it is, of `names`, which is seen where no header is. By its `size` and
    by `facts`, one for each list of choices, a reader may filter lines.
    """

    summary: str
    blocks: Sequence[PageBlock]
    figures: Sequence[str] = ()
    names: Sequence[str] = ()
    facts: Sequence[str] = ()
    size: float = 0.0

    def html(self, depth: _Depth) -> str:
        """An element `details`."""
        names = self.names or [""] * len(self.figures)
        figures = "".join(
            f'<span><span class="of">{html_text(name)} </span>{html_text(text)}</span>'
            for name, text in zip(names, self.figures, strict=True)
        )
        words = f'<span class="words">{html_passage(self.summary)}</span>{figures}'
        inner = depth.html(self.blocks)
        facts = "".join(f' data-fact{n}="{html_text(fact)}"' for n, fact in enumerate(self.facts))
        size = f' data-size="{self.size:.4f}"' if self.size else ""
        opening = f"<details{facts}{size}>"
        return f"{opening}\n<summary>{words}</summary>\n<div>\n{inner}</div>\n</details>\n"


@dataclass(frozen=True)
class DisclosureRows(PageBlock):
    """Rows that open: what their words are, what each column of figures is, and the rows.

    A `FilterForm` of the page may hide some.
    """

    heading: str
    columns: Sequence[str]
    rows: Sequence[Disclosure]

    def html(self, depth: _Depth) -> str:
        """Rows below a header."""
        names = "".join(f"<span>{html_text(name)}</span>" for name in self.columns)
        head = f'<span class="words">{html_text(self.heading)}</span>{names}'
        rows = depth.html(replace(row, names=self.columns) for row in self.rows)
        above = f'<div class="head" aria-hidden="true">{head}</div>'
        return f'<div class="rows filtered">\n{above}\n{rows}</div>\n'


@dataclass(frozen=True)
class FilterForm(PageBlock):
    """Fields that filter rows by words, by how much they differ, and by their facts' values.

    One field more sorts them by their `columns`. A script shows the form, so that a reader without
    one sees all rows as they stand.
    """

    choices: Mapping[str, Sequence[str]]
    columns: Sequence[str]

    def html(self, depth: _Depth) -> str:
        """A form that is hidden at first."""
        fields = ['<label>words <input type="search" name="words"></label>']
        size = '<input type="number" name="size" min="0" step="0.05" value="0">'
        fields.append(f"<label>differing by at least {size}</label>")
        for number, (name, values) in enumerate(self.choices.items()):
            select = f'<select name="fact{number}"><option value="">all</option>{_options(values)}'
            fields.append(f"<label>{html_text(name)} {select}</select></label>")
        orders = "".join(
            f'<option value="{column} {sign}">{html_text(name)}, {end} first</option>'
            for column, name in enumerate(self.columns)
            for sign, end in ((1, "lowest"), (-1, "highest"))
        )
        order = f'<select name="order"><option value="">as on the page</option>{orders}</select>'
        fields.append(f"<label>order {order}</label>")
        inner = "\n".join([*fields, '<output aria-live="polite"></output>'])
        return f'<form class="filters" hidden>\n{inner}\n</form>\n'


def _options(values: Iterable[str], first: str = "") -> str:
    """What a list of a form offers; `first` is set at the beginning."""
    return "".join(
        f"<option{' selected' if value == first else ''}>{html_text(value)}</option>"
        for value in values
    )


@dataclass(frozen=True)
class SystemsForm(PageBlock):
    """Two lists of systems, of which a reader takes one each; the server gets both as `system`.

    Where `shown` are two of them, a link leads back to the page of all.
    """

    systems: Sequence[str]
    shown: Sequence[str] = ()

    def html(self, depth: _Depth) -> str:
        """A form that asks for its own page anew."""
        firsts = self.shown or self.systems
        lists = " ".join(
            f'<label>{name} <select name="system">{_options(self.systems, first)}</select></label>'
            for name, first in zip(("old", "new"), firsts, strict=False)
        )
        back = '<a href="?">the whole collection</a>' if self.shown else ""
        button = "<button>compare query by query</button>"
        return f'<form class="systems">\n{lists}\n{button}\n{back}\n</form>\n'


@dataclass(frozen=True)
class RankedItem:
    """What stands at a rank: its words, figures beside it, a class of style, and a text below."""

    words: str
    figures: str
    kind: str = ""
    text: str = ""


@dataclass(frozen=True)
class SideBySide(PageBlock):
    """Rankings beside one another, each under its name."""

    rankings: Mapping[str, Sequence[RankedItem]]

    def html(self, depth: _Depth) -> str:
        """Numbered lists in columns."""
        lists = "".join(
            f"<div><b>{html_text(name)}</b>\n<ol>{''.join(map(self._item, items))}</ol></div>\n"
            for name, items in self.rankings.items()
        )
        return f'<div class="beside">\n{lists}</div>\n'

    @staticmethod
    def _item(item: RankedItem) -> str:
        text = f"<q>{html_passage(item.text)}</q>" if item.text else ""
        kind = f' class="{item.kind}"' if item.kind else ""
        return (
            f"<li{kind}>{html_passage(item.words)} <small>{html_text(item.figures)}</small>{text}\n"
        )


@dataclass(frozen=True)
class PageSection(PageBlock):
    """A heading and what stands under it; a section within a section has a smaller heading."""

    heading: str
    blocks: Sequence[PageBlock]

    def html(self, depth: _Depth) -> str:
        """A section that its heading names."""
        anchor, tag = depth.anchor(self.heading), f"h{min(depth.level, _DEEPEST)}"
        heading = f'<{tag} id="{anchor}">{html_text(flat(self.heading))}</{tag}>\n'
        inner = replace(depth, level=depth.level + 1).html(self.blocks)
        return f'<section aria-labelledby="{anchor}">\n{heading}{inner}</section>\n'


@dataclass(frozen=True)
class Page:
    """A title, a line below it, and blocks; with `filters` a script that filters and sorts rows."""

    title: str
    blocks: Sequence[PageBlock]
    subtitle: str = ""
    filters: bool = False

    def html(self) -> str:
        """One HTML file without any address that a browser would load."""
        allowed = policy(scripts=self.filters)
        script = f"<script>{_filtering()}</script>\n" if self.filters else ""
        depth = _Depth()
        body, heading = depth.html(self.blocks), html_text(flat(self.title))
        below = f'<p class="subtitle">{html_text(self.subtitle)}</p>\n' if self.subtitle else ""
        return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{allowed}">
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
{_contents(depth.headings)}<main id="content" tabindex="-1">
{body}</main>
{script}</body>
</html>
"""


@cache
def style() -> str:
    """The style of pages and charts."""
    report = files("labeler.report")
    css = "\n".join((report / f"{name}.css").read_text("utf-8") for name in ("charts", "page"))
    begun, *parts = css.split("/*")
    without_comments = "".join([begun, *(part.partition("*/")[2] for part in parts)])
    return "\n".join(filter(None, (line.strip() for line in without_comments.splitlines())))


@cache
def _filtering() -> str:
    """The script that filters rows."""
    return (files("labeler.report") / "filters.js").read_text("utf-8")


def policy(*, scripts: bool = False) -> str:
    """What a browser may do with a page: use its own style and script, and nothing else.

    A page with a script may ask its own server by forms, too.
    """
    own = {"style": style(), **({"script": _filtering()} if scripts else {})}
    hashes = {
        name: b64encode(sha256(text.encode()).digest()).decode() for name, text in own.items()
    }
    sources = "".join(f"{name}-src 'sha256-{digest}'; " for name, digest in hashes.items())
    asked = "'self'" if scripts else "'none'"
    return f"default-src 'none'; {sources}base-uri 'none'; form-action {asked}"


def _contents(headings: Sequence[_Heading]) -> str:
    """Links to the sections of a page that has several; where it is narrow, a line opens to them.

    The list stands twice, as no style can open a line: only one of both is shown or read out.
    """
    tops = [each for each in headings if each.level == 2]
    if len(tops) < 2:
        return ""
    links = "".join(f'<li><a href="#{top.anchor}">{html_text(top.text)}</a></li>\n' for top in tops)
    links = f"<ol>\n{links}</ol>"
    return (
        f'<nav aria-label="Contents">\n<div class="wide">\n<p>Contents</p>\n{links}\n</div>\n'
        f'<details class="narrow">\n<summary>Contents</summary>\n{links}\n</details>\n</nav>\n'
    )
