"""A rater's answers as a CSV file, to be kept or looked at elsewhere."""

from __future__ import annotations

import csv
import io

from labeler.annotate.session import RatingSession
from labeler.report.neutral import spreadsheet_cell

COLUMNS = ("rater", "purpose", "sample", "item", "query_id", "doc_id", "grade", "answer")
MORE = ("cannot_judge", "note", "revealed", "seconds", "time")


def answers_csv(session: RatingSession) -> str:
    """The answers that stand, one row an item; no cell of it runs as a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([*COLUMNS, *MORE])
    for row in session.answers.values():
        values = [getattr(row, name) for name in (*COLUMNS[1:], *MORE)]
        writer.writerow([_cell(value) for value in (session.rater, *values)])
    return "\ufeff" + out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else ""
    return spreadsheet_cell(value) if isinstance(value, str) else value
