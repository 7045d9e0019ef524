"""Online measures as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from labeler.monitoring.online.figures import OnlineFigures, RankFigures
from labeler.monitoring.online.variants import MEASURES, Variants
from labeler.report.table import Column, Row, Table

ABOUT = {measure.name: measure.about for measure in MEASURES}


def tables_of(of: OnlineFigures) -> Iterator[Table]:
    """A table for each kind of measure; one that the log has no columns for is empty."""
    yield _ranks(of.ranks)
    yield _whole(of)
    yield _variants(of.variants)
    yield of.reading.table()


def _ranks(rows: Sequence[RankFigures]) -> Table:
    columns = (
        Column("rank"),
        Column("shown", format=",.0f"),
        Column("clicks", format=",.0f"),
        Column("CTR", ends=".4f"),
    )
    cells = [(row.rank, row.shown, row.clicks, row.ctr) for row in rows]
    return Table("ranks", columns, cells, "Clicks by rank")


def _whole(of: OnlineFigures) -> Table:
    columns = (
        Column("measure", align="left"),
        Column("value", ends=".4f"),
        Column("about", "share of", align="left"),
    )
    rows: list[Row] = [(name, value, ABOUT[name]) for name, value in of.whole.items()]
    if of.first_click.value is not None:
        rows.append(("first click", of.first_click, "seconds to the first click, the median"))
    return Table("measures", columns, rows, "All searches")


def _variants(of: Variants | None) -> Table:
    columns = (
        Column("measure", align="left"),
        Column("variant", align="left"),
        Column("users"),
        Column("value", ends=".4f"),
        Column("difference", ends="+.4f", format="+.4f"),
    )
    users = dict(zip(of.names, of.users, strict=True)) if of else {}
    rows = [
        (row.measure.name, row.variant, users[row.variant], row.value, row.difference)
        for row in (of.rows if of else ())
    ]
    title = f"Variants; differences are from {of.names[0]}" if of else ""
    return Table("variants", columns, rows, title)
