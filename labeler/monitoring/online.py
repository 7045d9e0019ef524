"""What a log says of a search without a model of clicks: by rank, of whole searches, by variant."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.errors import BadInput, Misuse
from labeler.monitoring.log import EventLog, LogPart, LogReading
from labeler.monitoring.log_rows import GROUPS
from labeler.queries.filter import words
from labeler.report.charts import Axis, NamedValue, intervals
from labeler.report.finding import Finding
from labeler.report.page import Chart, PageBlock, TableBlock
from labeler.report.result import Hidden, Result
from labeler.report.table import Column, Interval, Table, interval_text, table_of
from labeler.stats.intervals import Replicates, cluster_bootstrap
from labeler.stats.randomization import sign_test
from labeler.stats.resampling import Sample
from labeler.stats.shares import wilson
from labeler.stats.student import chi_square_above

if TYPE_CHECKING:
    from pandas import DataFrame

DEPTH = 10
"""Ranks that are looked at."""
SOON = 5 * 60.0
"""A search within so many seconds of another may be that one in other words."""
FEWEST = 10
"""With fewer groups of users there is no interval."""
MISMATCH = 0.001
"""A split as uneven by chance is that rare: experiments stop to be believed below it."""
MIXED = 0.01
"""More users served by several variants are an alarm."""
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


@dataclass(frozen=True)
class Variants:
    """Variants beside each other: `users` of each, and their measures.

    `mismatch` is the p of the split beside the one that was meant, which `is_meant_even` where no
    shares were named; `mixed` counts users whom several variants served.
    """

    names: tuple[str, ...]
    users: tuple[int, ...]
    mixed: int
    mismatch: float
    is_meant_even: bool
    rows: tuple[VariantDifference, ...]

    def alarms(self) -> Iterator[Finding]:
        """What is wrong with the experiment."""
        if self.mismatch < MISMATCH:
            users = ", ".join(
                f"{name} {n:,}" for name, n in zip(self.names, self.users, strict=True)
            )
            way = "evenly" if self.is_meant_even else "as they were meant to be"
            other = "; if another split was meant, name its shares" if self.is_meant_even else ""
            p = "below 0.0001" if self.mismatch < 0.0001 else f"{self.mismatch:.4f}"
            yield Finding(
                f"sample ratio mismatch: users are not split {way} ({users}; p {p}, below"
                f" {MISMATCH}): no difference of variants can be believed before that is"
                f" explained{other}",
                about="sample-ratio",
            )
        if self.mixed > MIXED * sum(self.users):
            yield Finding(
                f"{self.mixed:,} users were served by more than one variant: each variant's"
                " figures hold some of the other's effect",
                about="mixed-users",
            )

    def differences(self) -> Iterator[Finding]:
        """Which variants are better or worse than the first, beyond chance."""
        is_good = {measure.name: measure.is_good for measure in MEASURES}
        for row in self.rows:
            value, low, high = row.difference
            if low is None or high is None or value is None or low <= 0 <= high:
                continue
            way = "better" if (value > 0) == is_good[row.measure] else "worse"
            text = f"{row.variant} is {way} than {self.names[0]} by {row.measure}"
            difference = interval_text(row.difference, "+.4f")
            yield Finding(f"{text}: {difference}", about=row.variant, level="note")


@dataclass(frozen=True, eq=False, repr=False)
class OnlineMeasures(Result):
    """What users' clicks say of a search.

    `measures` are those of all searches by name. What the log has no column for is None or empty.
    """

    reading: Hidden[LogReading]
    ranks: tuple[RankFigures, ...]
    measures: Mapping[str, Interval]
    by_variant: Hidden[Variants | None] = None

    @property
    def alarms(self) -> list[Finding]:
        """What is wrong, so that somebody should look; empty where nothing is."""
        return list(self.by_variant.alarms()) if self.by_variant else []

    @property
    def findings(self) -> list[Finding]:
        """What a reader of the figures should know, alarms first."""
        return [*self.alarms, *self._findings()]

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
        if self.by_variant:
            yield from self.by_variant.differences()

    def tables(self) -> list[Table]:
        """All that was measured, a table for each kind; without what the log does not say."""
        about = {measure.name: measure.about for measure in MEASURES}
        columns = [Column("measure", align="left"), Column("value", ends=".4f")]
        columns.append(Column("about", "share of", align="left"))
        rows = [(name, value, about[name]) for name, value in self.measures.items()]
        of = self.by_variant
        title = f"Variants; differences are from {of.names[0]}" if of else ""
        tables = (
            table_of("ranks", RankFigures, self.ranks, title="Clicks by rank"),
            Table("measures", columns, rows, "All searches"),
            table_of("variants", VariantDifference, of.rows if of else (), title=title),
        )
        return [table for table in tables if table.rows]

    def blocks(self) -> list[PageBlock]:
        """The same for a page."""
        blocks: list[PageBlock] = [TableBlock(table) for table in self.tables()]
        if any(row.ctr.value is not None and row.clicks for row in self.ranks):
            named = [NamedValue(f"rank {row.rank}", *row.ctr) for row in self.ranks]
            drawn = intervals("Clicks by rank", named, Axis("CTR", least=0.0))
            caption = "Of the documents shown at a rank, how many were clicked."
            blocks.insert(0, Chart(drawn, caption))
        return blocks

    def as_json(self) -> dict[str, Any]:
        """All figures by name."""
        records = {table.name: table.records() for table in self.tables()}
        return self.picked(
            *("measures", "alarms"),
            ranks=records.get("ranks", ()),
            variants=records.get("variants", ()),
            sample_ratio_mismatch=self.by_variant and self.by_variant.mismatch,
            findings=self.findings,
        )


def online(
    log: EventLog, shares: Mapping[str, float] | None = None, seed: int = 0
) -> OnlineMeasures:
    """What users' clicks say of a search; goes through the log once, a part at a time.

    `shares` are the users that each variant was meant to have, equal ones where none are given.
    """
    if any(not (math.isfinite(share) and share > 0) for share in (shares or {}).values()):
        raise Misuse("expected shares above 0", parameter="shares")
    sums = BehaviorSums(len(log.variants))
    for part in log.parts():
        sums.add(part, log.texts)
    measures = list(_measurable(log, sums))
    of_all = GroupedSums(sums.searches.sum(axis=1), seed)
    by_rank = GroupedSums(sums.ranks, seed)
    ranks = (
        RankFigures(rank + 1, float(shown), float(clicks), by_rank.share((rank, 1), (rank, 0)))
        for rank, (shown, clicks) in enumerate(by_rank.total)
        if shown > 0
    )
    return OnlineMeasures(
        log.reading,
        tuple(ranks),
        {each.name: of_all.share((AT[each.part],), (AT[each.whole],)) for each in measures},
        variants_of(sums, log.variants, shares or {}, measures, seed),
    )


def _measurable(log: EventLog, sums: BehaviorSums) -> Iterator[OnlineMeasure]:
    """The measures that the log's columns allow for."""
    totals = sums.searches.sum(axis=(0, 1))
    says = {
        "CTR": log.reading.clicks > 0,
        "clicked": log.reading.clicks > 0 and bool({"session", "user", "search"} & {*log.columns}),
        "no results": log.reading.impressions > 0 and "action" in log.columns,
    }
    for measure in MEASURES:
        if totals[AT[measure.whole]] > 0 and says.get(measure.name, True):
            yield measure


# Sums over groups of users, which are what is resampled.

Cell = tuple[int, ...]
"""Which of the sums of a group."""


class BehaviorSums:
    """Sums over groups of users: of each variant's searches, and by rank.

    `searches` is `(groups, variants, sums)`, variant 0 being that of no name; `ranks` is
    `(groups, ranks, 2)`: impressions and clicks. `users` are those of each variant, and `mixed`
    those of several.
    """

    def __init__(self, variants: int) -> None:
        self.searches = np.zeros((GROUPS, variants + 1, len(SUMS)))
        self.ranks = np.zeros((GROUPS, DEPTH, 2))
        self.users = np.zeros(variants + 1)
        self.mixed = 0

    def add(self, part: LogPart, texts: Sequence[str]) -> None:
        """Add up a part of a log with these texts."""
        own, shown = part
        shown = shown[(shown["shown"] > 0) & shown["rank"].between(1, DEPTH)]
        by_search = shown.groupby("search")[["shown", "clicks"]].sum()
        followed, reformulated = reformulations(own, texts)
        values = by_search.reindex(own.index, fill_value=0.0).assign(
            searches=own["times"],
            clicked=own["is_clicked"] * own["times"].clip(upper=1.0),
            empty=own["times"] * (own["shown"] == 0),
            followed=followed,
            reformulated=reformulated,
            ups=own["ups"],
            thumbs=own["ups"] + own["downs"],
        )
        group = own["group"].to_numpy()
        np.add.at(self.searches, (group, own["variant"].to_numpy()), values[[*SUMS]].to_numpy())
        places = group[shown["search"]], shown["rank"].to_numpy() - 1
        np.add.at(self.ranks, places, shown[["shown", "clicks"]].to_numpy())
        self._count_users(own)

    def _count_users(self, own: DataFrame) -> None:
        """Count the users of each variant; where none are named, the searches."""
        who = own["client"].where(own["client"] >= 0, -1 - own.index)
        pairs = own.assign(who=who)[own["variant"] > 0][["who", "variant"]].drop_duplicates()
        self.users += np.bincount(pairs["variant"], minlength=len(self.users))
        self.mixed += len(pairs) - pairs["who"].nunique()


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
        return np.asarray(self.sums.sum(axis=0), dtype=np.float64)

    def estimate(self, compute: Callable[[Floats], Floats]) -> Interval:
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


def share_of(part: Cell, whole: Cell) -> Callable[[Floats], Floats]:
    """One sum over another; nan where that is 0."""

    def share(sums: Floats) -> Floats:
        above, below = _at(sums, part), _at(sums, whole)
        return np.where(below > 0, above / np.where(below > 0, below, 1.0), np.nan)

    return share


def _at(sums: Floats, cell: Cell) -> Floats:
    places: Any = (Ellipsis, *cell)
    return np.asarray(sums[places], dtype=np.float64)


# Variants of a search beside each other: an A/B test, and whether users were split as meant.


def variants_of(
    sums: BehaviorSums,
    names: Sequence[str],
    shares: Mapping[str, float],
    measures: Sequence[OnlineMeasure],
    seed: int = 0,
) -> Variants | None:
    """The measures of each variant, and the differences from the first by name.

    Users are resampled, whole, so that the searches of one hang together. None where the log has
    searches of no variant, or of one alone.
    """
    if int((sums.users > 0).sum()) < 2:
        return None
    if unknown := sorted(set(shares) - set(names)):
        problem = f"no variant {unknown[0]!r:.60}; there are {', '.join(sorted(names)[:10])}"
        raise BadInput(problem, parameter="shares")
    served = sorted((name, n) for n, name in enumerate(names, start=1) if sums.users[n] > 0)
    grouped, rows = GroupedSums(sums.searches, seed), []
    users = {name: int(sums.users[number]) for name, number in served}
    for measure in measures:
        part, whole = AT[measure.part], AT[measure.whole]
        first = share_of((served[0][1], part), (served[0][1], whole))
        for name, number in served:
            own = (number, part), (number, whole)
            this, difference = share_of(*own), UNKNOWN
            if number != served[0][1]:
                difference = grouped.estimate(lambda s, this=this: this(s) - first(s))  # type: ignore[misc]  # noqa: B023  called at once
            value = grouped.share(*own)
            rows.append(VariantDifference(measure.name, name, users[name], value, difference))
    p = mismatch([*users], [*users.values()], shares)
    return Variants((*users,), (*users.values(),), sums.mixed, p, not shares, tuple(rows))


def mismatch(names: Sequence[str], users: Sequence[int], shares: Mapping[str, float]) -> float:
    """p of so many users of each variant, were they split as meant; chi-square, of two exact.

    >>> mismatch(["a", "b"], [5000, 5000], {}), mismatch(["a", "b"], [5000, 5400], {}) < 1e-4
    (1.0, True)
    """
    meant = np.array([shares.get(name, 1.0) for name in names])
    if len(names) == 2 and meant[0] == meant[1]:
        return sign_test(users[0], users[1])
    expected = sum(users) * meant / meant.sum()
    statistic = float(((np.array(users) - expected) ** 2 / expected).sum())
    return chi_square_above(statistic, len(names) - 1)
