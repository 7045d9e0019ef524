"""What is said of raters, as tables and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labeler.annotate.raters.agreement import Overlap
from labeler.annotate.raters.rater import RaterStatus
from labeler.report.table import Column, Interval, Row, Table

UNDEFINED = Interval(None, None, None)


def rater_table(raters: Sequence[RaterStatus]) -> Table:
    """A row for each rater; columns in which nobody has anything are left out."""
    rows = [_row(rater) for rater in raters]
    always = ("rater", "graded", "left")
    used = [
        number
        for number, column in enumerate(COLUMNS)
        if column.name in always or any(_is_something(row[number]) for row in rows)
    ]
    columns = [COLUMNS[number] for number in used]
    return Table("raters", columns, [[row[number] for number in used] for row in rows])


COLUMNS = (
    Column("rater", align="left"),
    Column("graded"),
    Column("left"),
    Column("skipped"),
    Column("cannot judge"),
    Column("revealed", "not blind"),
    Column("fixed", "corrected"),
    Column("looks", "pages of results"),
    Column("seconds", "seconds a pair", format=".1f"),
    Column("hours", format=".1f"),
    Column("kappa", "kappa with others", format=".2f", ends=".2f"),
    Column("alpha", "alpha with others", format=".2f", ends=".2f"),
    Column("overlap"),
    Column("gold accuracy", format=".2f", ends=".2f"),
    Column("gold"),
)


def _row(of: RaterStatus) -> Row:
    return [
        of.rater,
        of.graded,
        of.left,
        of.skipped,
        of.cannot_judge,
        of.revealed,
        of.fixed,
        of.looks,
        of.pace.median,
        of.pace.hours,
        _figure(of.overlap, "kappa"),
        _figure(of.overlap, "alpha-ordinal"),
        of.overlap.pairs if of.overlap else 0,
        of.accuracy.share if of.accuracy else UNDEFINED,
        of.gold,
    ]


def _is_something(cell: Any) -> bool:
    return cell.value is not None if isinstance(cell, Interval) else bool(cell)


def _figure(overlap: Overlap | None, name: str) -> Interval:
    if overlap is None:
        return UNDEFINED
    of = overlap.statistics[name]
    return Interval(of.value, of.low, of.high)


def drift_table(raters: Sequence[RaterStatus]) -> Table:
    """A row for each rater and series: the change from the first to the last, and its p."""
    columns = [
        Column("rater", align="left"),
        Column("over time", align="left"),
        Column("change", format="+.2f"),
        Column("pairs"),
        Column("stretches"),
        Column("p", "p (for several)", format=".3g"),
    ]
    rows: list[Row] = [
        [rater.rater, each.series, each.change, each.pairs, each.blocks, each.p_holm]
        for rater in raters
        for each in rater.drifts
    ]
    note = "change from the first to the last pair: in grades, or as a share of the seconds a pair"
    return Table("drift", columns, rows, note=note)


def raters_as_json(raters: Sequence[RaterStatus]) -> list[dict[str, Any]]:
    """A row for each rater, all figures by name."""
    return [
        {
            "rater": of.rater,
            "graded": of.graded,
            "left": of.left,
            "skipped": of.skipped,
            "cannot_judge": of.cannot_judge,
            "revealed": of.revealed,
            "fixed": of.fixed,
            "gold": of.gold,
            "looks": of.looks,
            "seconds_median": of.pace.median,
            "hours": of.pace.hours,
            "overlap": of.overlap.as_json() if of.overlap else None,
            "gold_accuracy": of.accuracy.as_json() if of.accuracy else None,
            "drift": [each.as_json() for each in of.drifts],
        }
        for of in raters
    ]
