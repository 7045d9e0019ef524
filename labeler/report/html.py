"""A plain HTML table, without style of its own where a page has one, and without script."""

from __future__ import annotations

from collections.abc import Sequence

from labeler.report.neutral import html_text


def table_as_html(
    rows: Sequence[Sequence[str]],
    aligned: Sequence[str],
    title: str = "",
    note: str = "",
    *,
    styled: bool = True,
) -> str:
    """The table of rows, of which the first is the header, with every text escaped.

    Columns are aligned `left` or `right`. `styled` says that each cell is aligned by a style of its
    own; in a page, whose style may hold no others, cells have a class of that name instead, and the
    first of each row is its header.
    """
    sides = [_side(side, styled=styled) for side in aligned]
    heads = [f'th scope="col"{side}' for side in sides]
    cells = [f"td{side}" for side in sides]
    if not styled:
        cells[0] = f'th scope="row"{sides[0]}'
    head, *body = (_row(cells if i else heads, row) for i, row in enumerate(rows))
    caption = f"<caption>{html_text(title)}</caption>\n" if title else ""
    below = f"<p>{html_text(note)}</p>\n" if note else ""
    head, inner = f"<thead>\n{head}</thead>", f"<tbody>\n{''.join(body)}</tbody>"
    return f"<table>\n{caption}{head}\n{inner}\n</table>\n{below}"


def _side(align: str, *, styled: bool) -> str:
    if styled:
        return f' style="text-align: {align}"'
    return "" if align == "left" else f' class="{align}"'


def _row(starts: Sequence[str], cells: Sequence[str]) -> str:
    made = (
        f"<{start}>{html_text(cell)}</{start[:2]}>"
        for start, cell in zip(starts, cells, strict=True)
    )
    return f"<tr>{''.join(made)}</tr>\n"
