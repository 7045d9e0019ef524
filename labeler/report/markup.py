"""Tables in Markdown and LaTeX, with everything escaped that would be markup there."""

from __future__ import annotations

from labeler.report.neutral import latex_text, markdown_prose, markdown_text
from labeler.report.printable import printable
from labeler.report.table import Table


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
