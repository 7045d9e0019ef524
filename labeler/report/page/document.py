"""A page: a title and blocks, as one HTML file that asks nothing of a network, or as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labeler.report.page.as_html import html_page
from labeler.report.page.as_markdown import COMMENT_LIMIT, markdown_page
from labeler.report.page.blocks import Block


@dataclass(frozen=True)
class Page:
    """A title, a line below it, and blocks; `language` is the code of its own sentences."""

    title: str
    blocks: Sequence[Block]
    language: str = "en"
    subtitle: str = ""

    def html(self) -> str:
        """One HTML file, without a script and without any address that a browser would load."""
        return html_page(self.title, self.subtitle, self.blocks, self.language)

    def markdown(self, limit: int = COMMENT_LIMIT) -> str:
        """Markdown as GitHub reads it, of at most `limit` characters, and says what is left out."""
        return markdown_page(self.title, self.subtitle, self.blocks, limit)
