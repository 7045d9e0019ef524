"""What a notebook shows of a result: its tables, then what a reader of them should know."""

from __future__ import annotations

from collections.abc import Iterable

from labeler.report.finding import Finding
from labeler.report.neutral import html_text
from labeler.report.table import Table


def notebook_html(tables: Iterable[Table], findings: Iterable[Finding] = ()) -> str:
    """The tables as HTML, and the findings as a list under them."""
    shown = "".join(table._repr_html_() for table in tables)
    listed = "".join(f"<li>{html_text(str(finding))}</li>\n" for finding in findings)
    return f"{shown}<ul>\n{listed}</ul>\n" if listed else shown
