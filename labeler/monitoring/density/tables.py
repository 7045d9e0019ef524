"""Queries' density, as tables."""

from __future__ import annotations

from labeler.monitoring.density.changes import Changes
from labeler.monitoring.density.figures import DensityFigures, WeekDensity
from labeler.monitoring.density.options import WEEKLY_LEVEL
from labeler.monitoring.density.proposal import Proposal
from labeler.report.table import Cell, Column, Interval, Row, Table
from labeler.stats.blocked import BlockShare
from labeler.stats.blocks import SampleShift, SetShift


def every_table(of: DensityFigures) -> list[Table]:
    """The weeks, what changed, the clusters that are not covered, and the proposed queries."""
    tables = [weeks_table(of)]
    if of.changes is not None and of.changes.named:
        tables.append(changes_table(of.changes))
    if of.clusters:
        tables.append(clusters_table(of))
    if of.proposal is not None and of.proposal.falls:
        tables.append(falls_table(of.proposal))
    if of.proposal is not None and of.proposal.queries:
        tables.append(queries_table(of.proposal))
    return tables


def weeks_table(of: DensityFigures) -> Table:
    """A row for each week."""
    columns = [
        Column("week", align="left"),
        Column("searches"),
        Column("not covered", format=".1%", ends=".1%"),
        Column("lacking words", format=".1%", ends=".1%"),
        Column("median distance", format=".3f", ends=".3f"),
        Column("to the set", format=".3f", ends=".3f"),
        Column("worth", format=".0f", ends=".0f"),
        Column("drift", format=".3f", ends=".3f"),
        Column("p", format=".4f"),
        Column("alarm", align="left"),
    ]
    note = (
        "not covered: searches farther from the corpus than 95 % of the evaluation's answered "
        "queries; to the set: distance to the evaluation's queries, which are worth so many random "
        f"searches; drift: distance to the first weeks, an alarm at p of {WEEKLY_LEVEL:.5f} or less"
    )
    return Table("query density", columns, [_row(week) for week in of.weeks], note=note)


def _row(week: WeekDensity) -> Row:
    drift = week.drift
    alarm = "reference" if week.is_reference else "yes" if week.is_alarm else ""
    alarm = alarm if week.is_told else "too few sessions"
    return [
        week.monday.isoformat(),
        week.searches,
        *(_interval(share) for share in (week.uncovered, week.lacking, week.median)),
        _interval(week.own),
        _worth(week.own),
        _interval(None if drift is None else drift.shift),
        None if drift is None or week.is_reference else drift.p,
        alarm,
    ]


def _interval(of: BlockShare | SetShift | SampleShift | None) -> Cell:
    if of is None:
        return Interval(None, None, None)
    return Interval(of.value if isinstance(of, BlockShare) else max(of.value, 0.0), of.low, of.high)


def _worth(own: SetShift | None) -> Cell:
    if own is None:
        return Interval(None, None, None)
    return Interval(own.worth, *(own.worth_ends or (None, None)))


def changes_table(changes: Changes) -> Table:
    """A row for each feature that moved."""
    columns = [
        Column("what", align="left"),
        Column("feature", align="left"),
        Column("before", format=".1%", ends=".1%"),
        Column("now", format=".1%", ends=".1%"),
        Column("difference", format="+.1%", ends="+.1%"),
        Column("p", format=".4f"),
    ]
    rows: list[Row] = [
        [
            change.kind,
            change.name,
            Interval(*change.before),
            Interval(*change.now),
            Interval(change.now.value - change.before.value, change.low, change.high),
            change.p,
        ]
        for change in changes.named
    ]
    note = f"shares of searches; p allows for all {changes.features} features that were looked at"
    return Table("what changed", columns, rows, note=note)


def clusters_table(of: DensityFigures, most: int = 10) -> Table:
    """A row for each of the largest clusters that are not covered."""
    columns = [
        Column("words", align="left"),
        Column("queries"),
        Column("searches"),
        Column("share", format=".1%"),
        Column("examples", align="left"),
    ]
    shown = [cluster for cluster in of.clusters if cluster.label][:most]
    rows: list[Row] = [
        [c.label, c.queries, c.searches, c.share, _examples(c.examples)] for c in shown
    ]
    if others := [cluster for cluster in of.clusters if cluster not in shown]:
        sums = sum(c.queries for c in others), sum(c.searches for c in others)
        rows.append(["(others)", *sums, sum(c.share for c in others), ""])
    note = f"examples: queries of {of.options.min_count} people or more"
    return Table("not covered", columns, rows, note=note)


def _examples(examples: tuple[tuple[str, int], ...]) -> str:
    return "; ".join(f"{text} ({times:,})" for text, times in examples)


def falls_table(proposal: Proposal) -> Table:
    """A row for the set as it is, and for some numbers of added queries."""
    columns = [
        Column("added"),
        Column("distance", format=".4f"),
        Column("worth", format=".0f"),
        Column("weighted distance", "distance, weighted", ".4f"),
        Column("weighted worth", "worth, weighted", ".0f"),
    ]
    rows: list[Row] = [
        [fall.added, fall.as_it_is, fall.worth, max(fall.weighted, 0.0), fall.weighted_worth]
        for fall in proposal.falls
    ]
    note = (
        "distance of the set to recent searches, and as how many random ones it is worth; "
        "weighted: with the proposed weights; on days that chose neither queries nor weights"
    )
    return Table("with queries added", columns, rows, note=note)


def queries_table(proposal: Proposal) -> Table:
    """A row for each proposed query, the most useful first."""
    columns = [
        Column("query", align="left"),
        Column("stratum", align="left"),
        Column("searches"),
        Column("weight", format=".4f"),
    ]
    names = ("stratum", "searches", "weight")
    rows: list[Row] = [
        [query.text, *(query.metadata[name] for name in names)] for query in proposal.queries
    ]
    return Table("queries to add", columns, rows)
