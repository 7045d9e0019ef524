"""Online measures of a log: clicks by rank, whole searches, variants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from labeler.monitoring.log.log import EventLog, LogReading
from labeler.monitoring.online.behavior import (
    AT,
    MEASURES,
    MISMATCH,
    BehaviorSums,
    GroupedSums,
    OnlineOptions,
    Variants,
    median_delay,
    variants_of,
)
from labeler.report.charts import Axis, NamedValue, intervals
from labeler.report.finding import Finding
from labeler.report.page import Chart, FindingList, PageBlock, PageSection, TableBlock
from labeler.report.table import Column, Interval, Row, Table

# What is measured online, as plain figures.


@dataclass(frozen=True)
class RankFigures:
    """A rank: how often documents were shown at it and clicked."""

    rank: int
    shown: float
    clicks: float
    ctr: Interval


@dataclass(frozen=True)
class OnlineFigures:
    """What users' clicks say of a search.

    `whole` are measures of searches by name, `first_click` the median of the seconds to the first
    click. What the log has no column for is None or empty.
    """

    reading: LogReading
    options: OnlineOptions
    ranks: tuple[RankFigures, ...]
    whole: dict[str, Interval]
    first_click: Interval
    variants: Variants | None


# What online measures say, in sentences that are computed from them.

MIXED = 0.01
"""More users served by several variants are an alarm."""


def findings_of(of: OnlineFigures) -> list[Finding]:
    """What a reader of the figures should know, alarms first."""
    parts = (
        alarms_of(of),
        _about_clicks(of),
        _about_searches(of),
        _about_variants(of.variants),
        of.reading.findings(),
    )
    return [finding for part in parts for finding in part]


def alarms_of(of: OnlineFigures) -> list[Finding]:
    """What is wrong with the experiment."""
    return list(_alarms_of_variants(of.variants))


def _alarms_of_variants(of: Variants | None) -> Iterator[Finding]:
    if of is None:
        return
    if of.is_mismatched:
        users = ", ".join(f"{name} {n:,}" for name, n in zip(of.names, of.users, strict=True))
        way = "evenly" if of.is_meant_even else "as they were meant to be"
        other = "; if another split was meant, name its shares" if of.is_meant_even else ""
        yield Finding(
            f"sample ratio mismatch: users are not split {way} ({users};"
            f" p {_p(of.mismatch)}, below {MISMATCH}): no difference of variants can be believed"
            f" before that is explained{other}",
            about="sample-ratio",
        )
    if of.mixed > MIXED * sum(of.users):
        yield Finding(
            f"{of.mixed:,} users were served by more than one variant: each variant's figures hold"
            " some of the other's effect",
            about="mixed-users",
        )


def _about_clicks(of: OnlineFigures) -> Iterator[Finding]:
    if not of.reading.impressions:
        yield Finding("the log does not say what was shown: there are no figures by rank")
    elif not of.reading.clicks:
        yield Finding("the log has no click")


def _about_searches(of: OnlineFigures) -> Iterator[Finding]:
    clicked = of.whole.get("clicked")
    if clicked is not None and clicked.value is not None:
        yield Finding(
            f"{1 - clicked.value:.1%} of searches were abandoned without a click; the log cannot"
            " tell those whose results answered without one",
            level="note",
        )


def _about_variants(of: Variants | None) -> Iterator[Finding]:
    for row in of.rows if of else ():
        low, high = row.difference.low, row.difference.high
        if of is None or low is None or high is None or row.difference.value is None:
            continue
        if low > 0 or high < 0:
            is_better = (row.difference.value > 0) == row.measure.up
            yield Finding(
                f"{row.variant} is {'better' if is_better else 'worse'} than {of.names[0]} by"
                f" {row.measure.name}: {row.difference.value:+.4f}{_ends(row.difference, '+.4f')}",
                about=row.variant,
                level="note",
            )


def _ends(of: Interval, spec: str = ".2f") -> str:
    if of.low is None or of.high is None:
        return ""
    return f" [{of.low:{spec}}, {of.high:{spec}}]"


def _p(p: float) -> str:
    return "below 0.0001" if p < 0.0001 else f"{p:.4f}"


# Online measures as tables.

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


# The online measures of a log: what they say in sentences, their tables, their JSON, a page.


@dataclass(frozen=True)
class OnlineMeasures:
    """What users' clicks say of a search, in figures, sentences and tables."""

    figures: OnlineFigures

    def findings(self) -> list[Finding]:
        """What a reader of the figures should know, alarms first."""
        return findings_of(self.figures)

    def alarms(self) -> list[Finding]:
        """What is wrong, so that somebody should look; empty where nothing is."""
        return alarms_of(self.figures)

    def tables(self) -> list[Table]:
        """All that was measured, a table for each kind."""
        return [table for table in tables_of(self.figures) if table.rows]

    def table(self, name: str = "ranks") -> Table:
        """One of the tables by its name."""
        return next(table for table in tables_of(self.figures) if table.name == name)

    def blocks(self) -> list[PageBlock]:
        """The same for a page."""
        ranks = self.figures.ranks
        blocks: list[PageBlock] = [FindingList(self.findings())]
        if any(row.ctr.value is not None and row.clicks for row in ranks):
            named = [NamedValue(f"rank {row.rank}", *row.ctr) for row in ranks]
            drawn = intervals("Clicks by rank", named, Axis("CTR", least=0.0))
            blocks.append(Chart(drawn, "Of the documents shown at a rank, how many were clicked."))
        blocks += [TableBlock(table) for table in self.tables()]
        return [PageSection("Clicks", blocks)]

    def as_json(self) -> dict[str, Any]:
        """All figures by name."""
        of = self.figures
        return {
            "reading": of.reading.as_json(),
            "ranks": self.table("ranks").records(),
            "measures": {name: value._asdict() for name, value in of.whole.items()},
            "seconds_to_first_click": of.first_click._asdict(),
            "variants": self.table("variants").records(),
            "sample_ratio_mismatch": of.variants.mismatch if of.variants else None,
            "alarms": [str(finding) for finding in self.alarms()],
            "findings": [str(finding) for finding in self.findings()],
        }


def online(log: EventLog, options: OnlineOptions | None = None) -> OnlineMeasures:
    """What users' clicks say of a search.

    Goes through the log once, a part at a time.
    """
    sums = BehaviorSums(options or OnlineOptions(), len(log.variants))
    for part in log.parts():
        sums.add(part)
    return OnlineMeasures(_measured(log, sums))


def _measured(log: EventLog, sums: BehaviorSums) -> OnlineFigures:
    options, seed = sums.options, sums.options.seed
    of_all = GroupedSums(sums.searches.sum(axis=1), seed)
    whole = {
        measure.name: of_all.share((AT[measure.part],), (AT[measure.whole],))
        for measure in MEASURES
        if measure.name in _measurable(log, sums)
        if measure.name != "clicks/search"
    }
    variants = None
    if int((sums.users > 0).sum()) > 1:
        variants = variants_of(sums, log.variants, options.shares, _measurable(log, sums))
    return OnlineFigures(
        log.reading,
        options,
        _by_rank(sums),
        whole,
        GroupedSums(sums.delays, seed).estimate(median_delay),
        variants,
    )


def _measurable(log: EventLog, sums: BehaviorSums) -> list[str]:
    """The measures that the log's columns allow for."""
    totals = sums.searches.sum(axis=(0, 1))
    names = [measure.name for measure in MEASURES if totals[AT[measure.whole]] > 0]
    has_searches = bool({"session", "user", "search"} & set(log.columns))
    has_clicks = log.reading.clicks > 0
    needs_clicks = {"CTR", "clicked", "clicks/search"}
    return [
        name
        for name in names
        if (has_clicks or name not in needs_clicks)
        and (has_searches or name not in {"clicked", "clicks/search", "bought"})
        and (name != "bought" or totals[AT["bought"]] > 0)
    ]


def _by_rank(sums: BehaviorSums) -> tuple[RankFigures, ...]:
    grouped = GroupedSums(sums.ranks, sums.options.seed)
    total = grouped.total
    return tuple(
        RankFigures(
            rank + 1,
            float(total[rank, 0]),
            float(total[rank, 1]),
            grouped.share((rank, 1), (rank, 0)),
        )
        for rank in range(sums.options.depth)
        if total[rank, 0] > 0
    )
