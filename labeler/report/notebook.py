"""What a notebook shows of a result: its tables, then what a reader of them should know."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from labeler.report.finding import Finding
from labeler.report.neutral import html_text
from labeler.report.table import Table


def notebook_html(
    tables: Iterable[Table], findings: Iterable[Finding] = (), sentences: Iterable[str] = ()
) -> str:
    """The tables as HTML, and under them a list of the sentences and then the findings."""
    shown = "".join(table._repr_html_() for table in tables)
    notes = (Finding(sentence, level="note") for sentence in sentences)
    lines = (html_text(str(finding)) for finding in chain(notes, findings))
    listed = "".join(f"<li>{line}</li>\n" for line in lines)
    return f"{shown}<ul>\n{listed}</ul>\n" if listed else shown
