"""The page of a run of the watch: what is wrong, then each watch over time, then the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

from labeler import __version__
from labeler.collection.monitoring import WatchRun
from labeler.messages import count_of
from labeler.monitoring.watched import Watched
from labeler.monitoring.weeks import SEARCHES, Weeks, with_gaps
from labeler.report.charts import Axis, Moment, control
from labeler.report.finding import Finding
from labeler.report.page import (
    Block,
    Chart,
    Disclosure,
    FactList,
    FindingList,
    Page,
    PageSection,
    Paragraph,
    TableBlock,
)
from labeler.report.table import Table

MOST_RUNS = 100
"""Runs that the page lists."""


class ShownRun(Protocol):
    """What the page shows of a run, and of the runs before it."""

    @property
    def folder(self) -> Path:
        """The collection."""

    @property
    def time(self) -> datetime:
        """When the run was."""

    @property
    def watches(self) -> Sequence[Watched]:
        """Each watch."""

    @property
    def left_out(self) -> Sequence[Finding]:
        """What was not watched."""

    @property
    def history(self) -> Sequence[WatchRun]:
        """The earlier runs, the oldest first."""

    @property
    def name(self) -> str:
        """The collection's name."""

    @property
    def looked_at(self) -> Sequence[str]:
        """Over what it watched."""

    @property
    def kinds(self) -> Mapping[str, int]:
        """The kinds of alarms."""

    def alarms(self) -> list[Finding]:
        """All alarms."""

    def weeks(self, key: str) -> Weeks:
        """The weeks of a watch over all runs."""

    def runs_table(self, most: int | None = None) -> Table:
        """The runs with their alarms."""


def monitoring_page(run: ShownRun) -> Page:
    """Alarms or that there are none, each watch, what was left out, and where figures come from."""
    blocks: list[Block] = [*_first_screen(run)]
    blocks += [PageSection(watched.heading, list(_part(run, watched))) for watched in run.watches]
    blocks.append(PageSection("Runs of the watch", list(_runs(run))))
    if run.left_out:
        blocks.append(PageSection("Left out", [FindingList(run.left_out)]))
    facts = [
        ("collection", str(run.folder)),
        ("time of this run", run.time.strftime("%Y-%m-%d %H:%M:%S UTC")),
        ("labeler", __version__),
    ]
    blocks.append(PageSection("Where this comes from", [FactList(facts)]))
    when = run.time.strftime("%Y-%m-%d %H:%M UTC")
    return Page(f"Watch over {run.name}", blocks, subtitle=when)


def _first_screen(run: ShownRun) -> Iterator[Block]:
    """What is wrong, or that nothing is, and what was looked at."""
    alarms = run.alarms()
    looked = "; ".join(run.looked_at)
    if alarms:
        raised = "1 alarm was raised" if len(alarms) == 1 else f"{len(alarms)} alarms were raised"
        yield Paragraph(f"{raised}: {', '.join(run.kinds)}.", lead=True)
        yield FindingList(alarms)
    else:
        yield Paragraph("Nothing alarming.", lead=True)
    yield Paragraph(f"Looked at: {looked}.")


def _part(run: ShownRun, watched: Watched) -> Iterator[Block]:
    """What a watch says, its own charts, and its weeks over all runs."""
    if watched.alarms or watched.findings:
        yield FindingList([*watched.alarms, *watched.findings])
    yield from watched.blocks
    weeks = run.weeks(watched.key)
    names = dict.fromkeys(name for week in weeks.values() for name in week)
    charts = [_weekly(run, watched, name) for name in names] if len(weeks) > 1 else []
    searches = [name for name in names if name == SEARCHES]
    if charts:
        title = f"Week by week, over all runs: {count_of(len(weeks), 'week', 'weeks')}"
        yield Disclosure(title, [*charts[len(searches) :], *charts[: len(searches)]])


def _weekly(run: ShownRun, watched: Watched, name: str) -> Chart:
    """A figure of each week; a line breaks where weeks are missing."""
    weeks = with_gaps(run.weeks(watched.key))
    moments = [Moment(monday.isoformat(), week.get(name), at=monday) for monday, week in weeks]
    axis = Axis(name.replace("_", " "), format=",.0f" if name == SEARCHES else ".3f")
    return Chart(control(f"{watched.heading}: {axis.label}", moments, axis))


def _runs(run: ShownRun) -> Iterator[Block]:
    """When the watch ran, and which alarms each run raised."""
    if not run.history:
        yield Paragraph("This is the first run; the next ones show figures over time.")
        return
    runs = 1 + len(run.history)
    first = run.history[0].time.strftime("%Y-%m-%d")
    yield Paragraph(f"This is run {runs:,}; the first was on {first}.")
    moments = [
        Moment(each.time.strftime("%Y-%m-%d"), float(_alarms(each.content)), at=each.time)
        for each in run.history
    ]
    now = Moment(run.time.strftime("%Y-%m-%d"), float(len(run.alarms())), at=run.time)
    yield Chart(
        control("Alarms at each run", [*moments, now], Axis("alarms", format=".0f", least=0.0))
    )
    left = [Paragraph(f"The last {MOST_RUNS} of {runs:,}.")] if runs > MOST_RUNS else []
    table = TableBlock(run.runs_table(MOST_RUNS))
    yield Disclosure(f"All alarms: {count_of(runs, 'run', 'runs')}", [*left, table])


def _alarms(content: object) -> int:
    alarms = content.get("alarms") if isinstance(content, dict) else None
    return len(alarms) if isinstance(alarms, list) else 0
