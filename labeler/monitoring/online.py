"""What a log says of a search without a model of clicks: by rank, of whole searches, by variant."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.monitoring.log import EventLog, LogPart, LogReading
from labeler.monitoring.log_rows import GROUPS
from labeler.queries.filter import words
from labeler.report.finding import Finding
from labeler.report.result import Hidden, Result
from labeler.report.table import Column, Interval, Table, interval_text, table_of
from labeler.stats.intervals import Replicates, Sample, cluster_bootstrap
from labeler.stats.means import wilson

if TYPE_CHECKING:
    from pandas import DataFrame

DEPTH = 10
"""Ranks that are looked at."""
SOON = 5 * 60.0
"""A search within so many seconds of another may be that one in other words."""
FEWEST = 10
"""With fewer groups of users there is no interval."""
UNKNOWN = Interval(None, None, None)


class OnlineMeasure(NamedTuple):
    """The share that one sum is of another; `is_good` says that more is better."""

    name: str
    part: str
    whole: str
    is_good: bool
    about: str


MEASURES = (
    OnlineMeasure("CTR", "clicks", "shown", True, "clicks of documents shown"),
    OnlineMeasure("clicked", "clicked", "searches", True, "searches with a click"),
    OnlineMeasure("no results", "empty", "searches", False, "searches that showed no document"),
    OnlineMeasure("reformulated", "reformulated", "followed", False, "searches put in other words"),
    OnlineMeasure("thumbs up", "ups", "thumbs", True, "thumbs that point up"),
)
"""What is measured of searches, by name; abandonment is what `clicked` leaves of 1."""
SUMS = tuple(dict.fromkeys(name for each in MEASURES for name in (each.part, each.whole)))
AT = {name: number for number, name in enumerate(SUMS)}


class RankFigures(NamedTuple):
    """A rank: how often documents were shown at it and clicked."""

    rank: int
    shown: Annotated[float, Column(format=",.0f")]
    clicks: Annotated[float, Column(format=",.0f")]
    ctr: Annotated[Interval, Column("CTR", ends=".4f")]


class VariantDifference(NamedTuple):
    """A measure of a variant, and its difference from the first variant's."""

    measure: str
    variant: str
    users: int
    value: Annotated[Interval, Column(ends=".4f")]
    difference: Annotated[Interval, Column(format="+.4f", ends="+.4f")]


@dataclass(frozen=True, eq=False, repr=False)
class OnlineMeasures(Result):
    """What users' clicks say of a search.

    `measures` are those of all searches by name, `variants` those of each variant, the first by
    name before the others. What the log has no column for is empty.
    """

    reading: Hidden[LogReading]
    ranks: Sequence[RankFigures]
    measures: Mapping[str, Interval]
    variants: Sequence[VariantDifference] = ()

    @property
    def findings(self) -> list[Finding]:
        """What a reader of the figures should know."""
        return list(self._findings())

    def _findings(self) -> Iterator[Finding]:
        if not self.reading.impressions:
            yield Finding("the log does not say what was shown: there are no figures by rank")
        elif not self.reading.clicks:
            yield Finding("the log has no click")
        clicked = self.measures.get("clicked", UNKNOWN).value
        if clicked is not None:
            yield Finding(
                f"{1 - clicked:.1%} of searches were abandoned without a click; the log cannot"
                " tell those whose results answered without one",
                level="note",
            )
        is_good = {measure.name: measure.is_good for measure in MEASURES}
        for row in self.variants:
            value, low, high = row.difference
            if value is not None and low is not None and high is not None and not low <= 0 <= high:
                way = "better" if (value > 0) == is_good[row.measure] else "worse"
                text = f"{row.variant} is {way} than {self.variants[0].variant} by {row.measure}"
                difference = interval_text(row.difference, "+.4f")
                yield Finding(f"{text}: {difference}", about=row.variant, level="note")

    def tables(self) -> list[Table]:
        """All that was measured, a table for each kind; without what the log does not say."""
        about = {measure.name: measure.about for measure in MEASURES}
        columns = [Column("measure", align="left"), Column("value", ends=".4f")]
        columns.append(Column("about", "share of", align="left"))
        rows = [(name, value, about[name]) for name, value in self.measures.items()]
        of = self.variants
        title = f"Variants; differences are from {of[0].variant}" if of else ""
        tables = (
            table_of("ranks", RankFigures, self.ranks, title="Clicks by rank"),
            Table("measures", columns, rows, "All searches"),
            table_of("variants", VariantDifference, of, title=title),
        )
        return [table for table in tables if table.rows]

    def as_json(self) -> dict[str, Any]:
        """All figures by name."""
        records = {table.name: table.records() for table in self.tables()}
        return self.picked(
            "measures",
            ranks=records.get("ranks", ()),
            variants=records.get("variants", ()),
            findings=self.findings,
        )


def online(log: EventLog, seed: int = 0) -> OnlineMeasures:
    """What users' clicks say of a search; goes through the log once, a part at a time."""
    sums = BehaviorSums(len(log.variants))
    for part in log.parts():
        sums.add(part, log.texts)
    # what the log's columns allow for
    reading, totals = log.reading, sums.searches.sum(axis=(0, 1))
    has_clicks, columns = reading.clicks > 0, reading.columns.keys()
    says = {
        "CTR": has_clicks,
        "clicked": has_clicks and bool({"session", "user", "search"} & columns),
        "no results": reading.impressions > 0 and "action" in columns,
    }
    measures = [m for m in MEASURES if totals[AT[m.whole]] > 0 and says.get(m.name, True)]
    of_all = GroupedSums(sums.searches.sum(axis=1), seed)
    by_rank = GroupedSums(sums.ranks, seed)
    return OnlineMeasures(
        log.reading,
        tuple(
            RankFigures(rank + 1, float(shown), float(clicks), by_rank.share((rank, 1), (rank, 0)))
            for rank, (shown, clicks) in enumerate(by_rank.total)
            if shown > 0
        ),
        {each.name: of_all.share((AT[each.part],), (AT[each.whole],)) for each in measures},
        tuple(_variants(sums, log.variants, measures, seed)),
    )


# Sums over groups of users, which are what is resampled.

Cell = Sequence[int]
"""Which of the sums of a group."""
Compute = Callable[[Floats], Floats]


class BehaviorSums:
    """Sums over groups of users: of each variant's searches, and by rank.

    `searches` is `(groups, variants, sums)`, variant 0 being that of no name; `ranks` is
    `(groups, ranks, 2)`: impressions and clicks. `users` are those of each variant.
    """

    def __init__(self, variants: int) -> None:
        self.searches = np.zeros((GROUPS, variants + 1, len(SUMS)))
        self.ranks = np.zeros((GROUPS, DEPTH, 2))
        self.users = np.zeros(variants + 1)

    def add(self, part: LogPart, texts: Sequence[str]) -> None:
        """Add up a part of a log with these texts."""
        own, shown = part
        shown = shown[(shown["shown"] > 0) & shown["rank"].between(1, DEPTH)]
        by_search = shown.groupby("search")[["shown", "clicks"]].sum()
        followed, reformulated = reformulations(own, texts)
        values = by_search.reindex(own.index, fill_value=0.0).assign(
            searches=1.0,
            clicked=own["is_clicked"],
            empty=own["shown"] == 0,
            followed=followed,
            reformulated=reformulated,
            ups=own["ups"],
            thumbs=own["ups"] + own["downs"],
        )
        group = own["group"].to_numpy()
        np.add.at(self.searches, (group, own["variant"].to_numpy()), values[[*SUMS]].to_numpy())
        places = group[shown["search"]], shown["rank"].to_numpy() - 1
        np.add.at(self.ranks, places, shown[["shown", "clicks"]].to_numpy())
        # the users of each variant; where none are named, the searches
        who = own["client"].where(own["client"] >= 0, -1 - own.index)
        pairs = own.assign(who=who)[own["variant"] > 0][["who", "variant"]].drop_duplicates()
        self.users += np.bincount(pairs["variant"], minlength=len(self.users))


def reformulations(own: DataFrame, texts: Sequence[str]) -> tuple[Floats, Floats]:
    """Whether each search could be reformulated, and whether it was.

    It is by the next search of the same visit, soon after, whose words are not the same but have
    one in common. One without a time or a user cannot be.
    """
    usable = own[(own["client"] >= 0) & own["time"].notna()]
    usable = usable.sort_values(["client", "session", "time"], kind="stable")
    could, was = np.zeros(len(own)), np.zeros(len(own))
    could[usable.index] = 1.0
    later = usable.groupby(["client", "session"])[["time", "text"]].shift(-1)
    is_soon = (later["time"] - usable["time"] <= SOON) & (later["text"] != usable["text"])
    pairs = zip(usable.index[is_soon], usable["text"][is_soon], later["text"][is_soon], strict=True)
    terms: dict[int, frozenset[str]] = {}
    for search, first, second in pairs:
        for text in (first, int(second)):
            if text not in terms:
                terms[text] = frozenset(words(texts[text].casefold()))
        before, after = terms[first], terms[int(second)]
        was[search] = float(before != after and not before.isdisjoint(after))
    return could, was


@dataclass(frozen=True, eq=False)
class GroupedSums:
    """Sums over groups of users, `(groups, ...)`, all of whose searches stand in one group.

    Users are in groups by chance, so that groups are as independent as users are.
    """

    sums: Floats
    seed: int = 0

    @cached_property
    def sample(self) -> Sample:
        """The groups that hold anything."""
        flat = self.sums.reshape(len(self.sums), -1)
        return Sample(self.sums[np.abs(flat).sum(axis=1) > 0], seed=self.seed)

    @cached_property
    def total(self) -> Floats:
        """The sums over all groups."""
        return np.asarray(self.sums.sum(axis=0))

    def estimate(self, compute: Compute) -> Interval:
        """A value that is a function of the sums, with its interval of 95 %."""
        value = float(compute(self.total))
        if not math.isfinite(value):
            return UNKNOWN
        groups = self.sample.queries
        if groups < FEWEST:
            return Interval(value, None, None)
        of = Replicates(self.sample, compute, freedom=groups - 1.0)
        return Interval(value, *(cluster_bootstrap(of) or (None, None)))

    def share(self, part: Cell, whole: Cell) -> Interval:
        """The share that one sum is of another, such as clicks of impressions.

        Where it is 0 or 1, the interval is Wilson's, as if each group were one observation.
        """
        value, low, high = self.estimate(share_of(part, whole))
        if value is None or low is None or high is None:
            return Interval(value, low, high)
        if 0 < value < 1:
            return Interval(value, max(low, 0.0), min(high, 1.0))
        groups = float((_at(self.sums, whole) > 0).sum())
        ends = wilson(np.array([value]), groups)
        return Interval(value, float(ends[0][0]), float(ends[1][0]))


def share_of(part: Cell, whole: Cell) -> Compute:
    """One sum over another; nan where that is 0."""

    def share(sums: Floats) -> Floats:
        above, below = _at(sums, part), _at(sums, whole)
        return np.where(below > 0, above / np.where(below > 0, below, 1.0), np.nan)

    return share


def _at(sums: Floats, cell: Cell) -> Floats:
    places: Any = (Ellipsis, *cell)
    return np.asarray(sums[places])


def _variants(
    sums: BehaviorSums, names: Sequence[str], measures: Sequence[OnlineMeasure], seed: int
) -> Iterator[VariantDifference]:
    """The measures of each variant, and the differences from the first by name.

    Users are resampled, whole, so that the searches of one hang together. Nothing where the log has
    searches of no variant, or of one alone.
    """
    served = sorted((name, n) for n, name in enumerate(names, start=1) if sums.users[n] > 0)
    if len(served) < 2:
        return
    grouped = GroupedSums(sums.searches, seed)
    for measure in measures:
        part, whole = AT[measure.part], AT[measure.whole]
        first = share_of((served[0][1], part), (served[0][1], whole))
        for name, number in served:
            this, difference = share_of((number, part), (number, whole)), UNKNOWN
            if number != served[0][1]:
                difference = grouped.estimate(partial(_less, this, first))
            value, users = grouped.share((number, part), (number, whole)), int(sums.users[number])
            yield VariantDifference(measure.name, name, users, value, difference)


def _less(this: Compute, other: Compute, sums: Floats) -> Floats:
    return this(sums) - other(sums)
