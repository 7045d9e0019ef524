"""Pages: blocks of words, tables and charts, as one HTML file or as Markdown.

>>> page = Page("Shop", [PageSection("Systems", [Paragraph("bm25 is best.")])])
>>> html, markdown = page.html(), page.markdown()
"""

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
from labeler.report.page.document import Page

__all__ = [
    "Block",
    "Chart",
    "Disclosure",
    "DisclosureRows",
    "Excerpt",
    "FactList",
    "FindingList",
    "Page",
    "PageSection",
    "Paragraph",
    "Preformatted",
    "TableBlock",
]
