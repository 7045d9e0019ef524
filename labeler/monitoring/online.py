"""What a log says of a search without a model of clicks: by rank, of whole searches, by variant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from labeler.arrays import Flags, Floats
from labeler.monitoring.log import EventLog, LogPart, LogReading
from labeler.monitoring.log_rows import GROUPS
from labeler.queries.filter import words
from labeler.report.finding import Finding
from labeler.report.result import Hidden, Result
from labeler.report.table import Column, Interval, Table, interval_text, table_of
from labeler.stats.intervals import Replicates, Sample, cluster_bootstrap
from labeler.stats.means import difference_interval, wilson_of
from labeler.stats.student import SIGNIFICANT, t_of, t_quantile

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

    @property
    def places(self) -> list[int]:
        """Where the two sums stand among all."""
        return [AT[self.part], AT[self.whole]]


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

    def _findings(self) -> Iterator[Finding]:
        if not self.reading.impressions:
            yield Finding("the log does not say what was shown: there are no figures by rank")
        elif not self.reading.clicks:
            yield Finding("the log has no click")
        if clicked := self.measures.get("clicked"):
            value, *ends = (None if of is None else 1 - of for of in clicked)
            abandoned = interval_text(Interval(value, *reversed(ends)), ".1%")
            yield Finding(
                f"{abandoned} of searches were abandoned without a click; the log cannot tell"
                " those whose results answered without one",
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
        title = f"Variants; differences are from {of[0].variant}, and hold together" if of else ""
        tables = (
            table_of("ranks", RankFigures, self.ranks, title="Clicks by rank"),
            Table("measures", columns, rows, "All searches"),
            table_of("variants", VariantDifference, of, title=title),
        )
        return [table for table in tables if table.rows]

    def as_json(self) -> dict[str, Any]:
        """All figures by name."""
        records = {table.name: table.as_json() for table in self.tables()}
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
    of_all, by_rank = (held(each) for each in (sums.searches.sum(axis=1), sums.ranks))
    # what the log's columns allow for
    reading, totals = log.reading, of_all.sum(axis=0)
    has_clicks, columns = reading.clicks > 0, reading.columns.keys()
    says = {
        "CTR": has_clicks,
        "clicked": has_clicks and bool({"session", "user", "search"} & columns),
        "no results": reading.impressions > 0 and "action" in columns,
    }
    measures = [m for m in MEASURES if totals[AT[m.whole]] > 0 and says.get(m.name, True)]
    return OnlineMeasures(
        log.reading,
        tuple(
            RankFigures(rank, float(shown), float(clicks), share(by_rank[:, rank - 1, ::-1], seed))
            for rank, (shown, clicks) in enumerate(by_rank.sum(axis=0), start=1)
            if shown > 0
        ),
        {each.name: share(of_all[:, each.places], seed) for each in measures},
        tuple(_variants(sums, log.variants, measures, seed)),
    )


# Sums over groups of users, which are what is resampled.


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


def held(sums: Floats) -> Floats:
    """The sums of the groups of users that hold anything, `(groups, ...)`.

    All searches of a user stand in one group, and users are in groups by chance, so that groups are
    as independent as users are.
    """
    has_any: Flags = np.abs(sums.reshape(len(sums), -1)).sum(axis=1) > 0
    return np.asarray(sums[has_any])


def share(columns: Floats, seed: int = 0) -> Interval:
    """The share that one sum is of another, such as clicks of impressions, `(groups, 2)`.

    Where it is 0 or 1, the interval is Wilson's, as if each group were one observation.
    """
    value = float(_ratio(columns.sum(axis=0)))
    if not math.isfinite(value):
        return UNKNOWN
    ends = None
    if len(columns) >= FEWEST:
        of = Replicates(Sample(columns, seed=seed), _ratio, freedom=len(columns) - 1.0)
        ends = cluster_bootstrap(of)
    if ends is None:
        return Interval(value, None, None)
    if 0 < value < 1:
        return Interval(value, max(ends[0], 0.0), min(ends[1], 1.0))
    return Interval(value, *wilson_of(value, float((columns[:, 1] > 0).sum())))


def _ratio(sums: Floats) -> Floats:
    """The first sum over the second; nan where that is 0."""
    above, below = sums[..., 0], sums[..., 1]
    return np.where(below > 0, above / np.where(below > 0, below, 1.0), np.nan)


def less(own: Interval, first: Interval, compared: int) -> Interval:
    """How much more one share is than another, of so many that are compared.

    All intervals together hold in 95 of 100 cases: each reaches farther, as Bonferroni asks.
    """
    if None in (*own, *first):
        return UNKNOWN
    both = ((of.value or 0.0, of.low or 0.0, of.high or 0.0) for of in (own, first))
    value, ends = (own.value or 0.0) - (first.value or 0.0), difference_interval(*both)
    reach = t_quantile(1 - SIGNIFICANT / 2 / compared, GROUPS) / t_of(GROUPS)
    return Interval(value, *(value + reach * (end - value) for end in ends))


def _variants(
    sums: BehaviorSums, names: Sequence[str], measures: Sequence[OnlineMeasure], seed: int
) -> Iterator[VariantDifference]:
    """The measures of each variant, and the differences from the first by name.

    Nothing where the log has searches of no variant, or of one alone.
    """
    served = sorted((name, n) for n, name in enumerate(names, start=1) if sums.users[n] > 0)
    grouped, others = held(sums.searches), len(served) - 1
    for measure in measures if others > 0 else ():
        shares = [share(grouped[:, number, measure.places], seed) for _, number in served]
        for (name, number), own in zip(served, shares, strict=True):
            beside = (
                less(own, shares[0], len(measures) * others) if name != served[0][0] else UNKNOWN
            )
            yield VariantDifference(measure.name, name, int(sums.users[number]), own, beside)
