"""Tables in the formats that people paste: text, CSV, JSON Lines, LaTeX, Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from labeler.cli.screen import plain_table
from labeler.report.render import FORMS, FormName, form_named, render
from labeler.report.table import Cell

PAIRED = tuple(name for name, form in FORMS.items() if form.for_people)
"""Formats for people, in which a value and its interval share a cell."""

PROSE = tuple(name for name, form in FORMS.items() if form.of_prose)
"""Formats for people, in which sentences may stand around a table."""


def check_format(name: str) -> FormName:
    """`name`, if it is a format."""
    form: FormName = name  # type: ignore[assignment]  # the next line refuses what is none
    form_named(form)
    return form


def rendered(
    header: Sequence[str], rows: Sequence[Sequence[Cell]], form: str, left: int = 1
) -> str:
    """A table as text in one of `FORMATS`, with a newline at its end."""
    return render(plain_table(header, rows, left), check_format(form))
