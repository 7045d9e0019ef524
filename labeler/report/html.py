"""A plain HTML table of texts, without style or script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from labeler.report.neutral import html_text


def table_as_html(
    titles: Sequence[str],
    rows: Iterable[Sequence[str]],
    aligned: Sequence[str],
    title: str = "",
    note: str = "",
) -> str:
    """The table, every text of it escaped; columns are aligned `left` or `right`."""
    head = _row("th", titles, aligned)
    body = "".join(_row("td", row, aligned) for row in rows)
    caption = f"<caption>{html_text(title)}</caption>\n" if title else ""
    below = f"<p>{html_text(note)}</p>\n" if note else ""
    return f"<table>\n{caption}<thead>\n{head}</thead>\n<tbody>\n{body}</tbody>\n</table>\n{below}"


def _row(tag: str, cells: Sequence[str], aligned: Sequence[str]) -> str:
    made = (
        f'<{tag} style="text-align: {side}">{html_text(cell)}</{tag}>'
        for cell, side in zip(cells, aligned, strict=True)
    )
    return f"<tr>{''.join(made)}</tr>\n"
