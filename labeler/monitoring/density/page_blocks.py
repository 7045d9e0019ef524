"""Queries' density as blocks of a page: charts over weeks, tables, and what lies behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from labeler.monitoring.density.figures import DensityFigures, WeekDensity
from labeler.monitoring.density.tables import (
    changes_table,
    clusters_table,
    falls_table,
    queries_table,
    weeks_table,
)
from labeler.report.charts.control import Moment, control
from labeler.report.charts.drawing import Axis
from labeler.report.page.blocks import Block, Chart, Disclosure, Paragraph, TableBlock
from labeler.report.table import Ends


def page_blocks(of: DensityFigures) -> list[Block]:
    """The charts and tables below the heading of the part."""
    return [*_charts(of), *_tables(of)]


def _charts(of: DensityFigures) -> Iterator[Block]:
    if sum(week.is_told for week in of.weeks) < 2:
        return
    if of.threshold.value is not None:
        uncovered = control(
            "Searches that the corpus does not cover",
            [_uncovered(week) for week in of.weeks],
            Axis("share of searches not covered", ".1%", least=0.0, reference=0.05),
            _from_to([(week.uncovered.value, week) for week in of.weeks if week.uncovered], ".1%"),
        )
        of_answered = "answered evaluation queries" if of.threshold.answered else "its queries"
        yield Chart(
            uncovered,
            f"The line at 5 % is the share of {of_answered} that would count as not covered. "
            "The band is the interval of each week.",
        )
    if any(week.drift is not None for week in of.weeks):
        drift = control(
            "Distance of each week's queries from the first weeks",
            [_drift(week) for week in of.weeks],
            Axis("energy distance" if of.options.distance == "energy" else "kernel distance"),
            _alarms(of),
        )
        yield Chart(
            drift,
            "Above its dashed limit a week is an alarm; so is one whose words or forms changed. "
            "The first weeks are each compared with the others of them, and are no alarm.",
        )
    own = control(
        "Distance of the evaluation's queries from each week's",
        [_own(week) for week in of.weeks],
        Axis("distance to the evaluation set", least=0.0),
        _from_to([(week.own.value, week) for week in of.weeks if week.own], ".3f"),
    )
    yield Chart(own, "The lower, the more the evaluation's queries are like the week's searches.")


def _alarms(of: DensityFigures) -> str:
    """How many weeks are alarms."""
    tested = [week for week in of.weeks if week.drift is not None and not week.is_reference]
    alarms = [week for week in tested if week.is_alarm]
    last = f", the last in the week of {alarms[-1].monday.isoformat()}" if alarms else ""
    return f"{len(alarms)} of {len(tested)} weeks are alarms{last}."


def _from_to(values: Sequence[tuple[float, WeekDensity]], spec: str) -> str:
    """The first and the last value, in words."""
    (first, since), (last, until) = values[0], values[-1]
    weeks = f"week of {since.monday.isoformat()}", f"week of {until.monday.isoformat()}"
    return f"{first:{spec}} in the {weeks[0]}, {last:{spec}} in the {weeks[1]}."


def _uncovered(week: WeekDensity) -> Moment:
    if week.uncovered is None:
        return Moment(week.monday.isoformat(), None, at=week.monday)
    ends = Ends(week.uncovered.low, week.uncovered.high)
    return Moment(week.monday.isoformat(), week.uncovered.value, ends, at=week.monday)


def _drift(week: WeekDensity) -> Moment:
    if week.drift is None:
        return Moment(week.monday.isoformat(), None, at=week.monday)
    shift = week.drift.shift
    limits = Ends(None, None) if week.is_reference else Ends(0.0, shift.limit)
    ends = Ends(shift.low, shift.high)
    value = max(shift.value, 0.0)
    return Moment(week.monday.isoformat(), value, ends, limits, at=week.monday)


def _own(week: WeekDensity) -> Moment:
    if week.own is None:
        return Moment(week.monday.isoformat(), None, at=week.monday)
    ends = Ends(week.own.low, week.own.high)
    return Moment(week.monday.isoformat(), week.own.value, ends, at=week.monday)


def _tables(of: DensityFigures) -> Iterator[Block]:
    if of.changes is not None and of.changes.named:
        yield TableBlock(changes_table(of.changes), "What changed in the last week")
    if of.clusters:
        yield TableBlock(clusters_table(of), "Recent queries that the corpus does not cover")
    proposal = of.proposal
    if proposal is not None and proposal.queries:
        few = of.options.min_count
        words = f"Queries that would make the set current ({len(proposal.queries)})"
        inside: list[Block] = [
            Paragraph(
                f"Queries of {few} people or more that the set lacks, the most useful first. With "
                "their weights all queries together are as near to recent searches as can be."
            ),
            TableBlock(queries_table(proposal)),
        ]
        if proposal.falls:
            inside.append(TableBlock(falls_table(proposal), "How near they bring the set"))
        yield Disclosure(words, inside)
    yield Disclosure("All weeks", [TableBlock(weeks_table(of))])
