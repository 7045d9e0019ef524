"""The forms in which a table is shown: some for people, some for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from labeler.errors import Misuse
from labeler.report.neutral import (
    json_text,
    latex_text,
    markdown_prose,
    markdown_text,
    printable,
    spreadsheet_cell,
)
from labeler.report.table import FormName, Scalar, Table
from labeler.report.text import text_table, wrapped


@dataclass(frozen=True)
class Form:
    """A form of tables.

    `for_people`: an interval shares a cell with its value, and several tables may follow one
    another. `prose`: sentences may stand around tables.
    """

    of_table: Callable[[Table], str]
    for_people: bool = False
    of_prose: Callable[[str], str] | None = None


def _csv(table: Table) -> str:
    out = io.StringIO()
    rows = [_csv_row(table.keys), *map(_csv_row, table.values())]
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _csv_row(row: Sequence[Scalar]) -> list[Scalar]:
    return [spreadsheet_cell(value) if isinstance(value, str) else value for value in row]


def _objects(table: Table) -> list[str]:
    return [json_text(record) for record in table.records()]


def _json(table: Table) -> str:
    return "[" + ",\n ".join(_objects(table)) + "]\n"


def _json_lines(table: Table) -> str:
    return "".join(f"{line}\n" for line in _objects(table))


def markdown_table(table: Table) -> str:
    """The table as GitHub and most others read it, its title and note as paragraphs."""
    rule = ["---" if column.align == "left" else "---:" for column in table.shown]
    head, *rows = ([markdown_text(cell) for cell in row] for row in [table.titles, *table.texts()])
    body = "".join(f"| {' | '.join(row)} |\n" for row in [head, rule, *rows])
    above = f"{markdown_prose(table.title)}\n\n" if table.title else ""
    below = f"\n{markdown_prose(table.note)}\n" if table.note else ""
    return f"{above}{body}{below}"


def latex_table(table: Table) -> str:
    """A `tabular` with the rules of the booktabs package; its title and note are comments."""
    columns = "".join(column.align[0] for column in table.shown)
    head, *rows = (
        " & ".join(map(latex_text, row)) + r" \\" for row in [table.titles, *table.texts()]
    )
    body = "\n".join([head, r"\midrule", *rows])
    tabular = (
        f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"
    )
    return _comment(table.title) + tabular + _comment(table.note)


def _comment(text: str) -> str:
    return "".join(f"% {line}\n" for line in printable(text).splitlines())


FORMS: dict[FormName, Form] = {
    "table": Form(text_table, for_people=True, of_prose=printable),
    "csv": Form(_csv),
    "json": Form(_json),
    "jsonl": Form(_json_lines),
    "latex": Form(latex_table, for_people=True),
    "markdown": Form(markdown_table, for_people=True, of_prose=markdown_prose),
}
"""Every form by its name."""


def find_form(name: FormName) -> Form:
    """The form of that name; `Misuse` lists those there are."""
    if name not in FORMS:
        raise Misuse(f"no format {name!r}; known: {', '.join(FORMS)}", parameter="form")
    return FORMS[name]


def render(
    table: Table, form: FormName = "table", width: int | None = None, *, color: bool = False
) -> str:
    """A table in one of `FORMS`, with a newline at its end.

    The text form fits a terminal of `width` columns; without a width it is as wide as it needs.
    """
    renderer = find_form(form)
    if form == "table":
        return text_table(table, width, color=color)
    return renderer.of_table(table)


def rendered_all(
    parts: Iterable[Table | str],
    form: FormName = "table",
    width: int | None = None,
    *,
    color: bool = False,
) -> str:
    """Tables and paragraphs, a blank line apart; a form without prose shows the tables only."""
    of_prose = find_form(form).of_prose
    blocks = []
    for part in parts:
        if isinstance(part, Table):
            blocks.append(render(part, form, width, color=color))
        elif of_prose:
            prose = of_prose(part)
            blocks.append(f"{wrapped(prose, width) if form == 'table' else prose}\n")
    return "\n".join(blocks)
