"""The figures of queries' density: of each week, and of the recent weeks together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Any

from labeler.arrays import Floats
from labeler.messages import count_of
from labeler.monitoring.density.comparison import Changes, WeekDrift
from labeler.monitoring.density.proposal import Cluster, Proposal
from labeler.monitoring.density.searches import WEEKLY_LEVEL, DensityOptions, Threshold
from labeler.report.finding import Finding
from labeler.report.table import Cell, Column, Interval, Row, Table
from labeler.stats.blocks import BlockShare, SampleShift, SetShift


@dataclass(frozen=True)
class WeekDensity:
    """The figures of a week that begins on `monday`; they are None where it has too few searches.

    `sampled` of the searches were looked at. `uncovered` is the share of searches that are farther
    from the corpus than the threshold, `lacking` of those whose words it lacks, `median` the median
    distance; each with its interval. `own` compares them with the evaluation's queries, `drift`
    with the reference weeks.
    """

    monday: date
    searches: int
    sampled: int
    days: int
    is_reference: bool
    uncovered: BlockShare | None = None
    lacking: BlockShare | None = None
    median: BlockShare | None = None
    own: SetShift | None = None
    drift: WeekDrift | None = None

    @property
    def is_told(self) -> bool:
        """Whether it has searches enough to say something of it."""
        return self.own is not None

    @property
    def is_alarm(self) -> bool:
        """Whether its queries differ from those of the reference weeks, of which it is none."""
        return not self.is_reference and self.drift is not None and self.drift.is_alarm

    def as_json(self) -> dict[str, Any]:
        """The figures by name; intervals are lists of value, low and high."""
        shares = {"uncovered": self.uncovered, "lacking": self.lacking, "median": self.median}
        own, drift = self.own, self.drift
        return {
            "week": self.monday.isoformat(),
            "searches": self.searches,
            "sampled": self.sampled,
            "days": self.days,
            "is_reference": self.is_reference,
            **{name: None if share is None else list(share) for name, share in shares.items()},
            "own": None if own is None else {**own._asdict(), "worth": own.worth},
            "drift": None
            if drift is None
            else {
                **drift.shift._asdict(),
                "p": drift.p,
                "vectors_p": drift.shift.p,
                "features_p": drift.features_p,
                "by_days": drift.by_days,
                "alarm": self.is_alarm,
            },
        }


@dataclass(frozen=True)
class DensityFigures:
    """All that is measured of users' queries, by week and of the recent weeks.

    `changes` names what changed in the last week, where that is an alarm. `clusters` are queries of
    the recent weeks that the corpus does not cover, `proposal` those that would make the evaluation
    current. `disagreement` are the shares of recent searches that are covered by vectors and by
    words, far by vectors alone, lacking words alone, and both. `rise_p` is p of the share that is
    not covered in the last week against the reference weeks.
    """

    weeks: tuple[WeekDensity, ...]
    options: DensityOptions
    threshold: Threshold
    changes: Changes | None
    clusters: tuple[Cluster, ...]
    proposal: Proposal | None
    disagreement: Floats
    queries: int
    rise_p: float | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    has_sessions: bool = False

    @property
    def last(self) -> WeekDensity | None:
        """The last week with searches enough."""
        return next((week for week in reversed(self.weeks) if week.is_told), None)

    @property
    def reference(self) -> list[WeekDensity]:
        """The weeks that the others are compared with."""
        return [week for week in self.weeks if week.is_reference]

    @property
    def has_risen(self) -> bool:
        """Whether fewer searches are covered in the last week than in the reference weeks."""
        last, p = self.last, self.rise_p
        if last is None or p is None or last.is_reference or last.uncovered is None:
            return False
        before = [week for week in self.reference if week.uncovered is not None]
        total = sum(week.sampled for week in before)
        earlier = sum(week.uncovered.value * week.sampled for week in before if week.uncovered)
        return p <= WEEKLY_LEVEL and last.uncovered.value > earlier / max(total, 1)

    def weekly(self) -> dict[str, dict[str, float | None]]:
        """The figures of each week that are worth a line over time, by its Monday."""
        return {
            week.monday.isoformat(): {
                "searches": week.searches,
                "not covered": week.uncovered.value if week.uncovered else None,
                "median distance": week.median.value if week.median else None,
                "distance to the evaluation set": week.own.value if week.own else None,
            }
            for week in self.weeks
        }

    def as_json(self) -> dict[str, Any]:
        """All figures by name."""
        names = ("covered", "far", "lacking words", "far and lacking words")
        shares = zip(names, self.disagreement.tolist(), strict=True)
        return {
            "weeks": [week.as_json() for week in self.weeks],
            "threshold": self.threshold.value,
            "threshold_queries": self.threshold.queries,
            "weekly_level": WEEKLY_LEVEL,
            "rise_p": self.rise_p,
            "changes": self.changes and self.changes.as_json(),
            "clusters": [cluster.as_json() for cluster in self.clusters],
            "proposal": self.proposal and self.proposal.as_json(),
            "recent": dict(shares),
            "dropped": dict(self.dropped),
        }


# What is said of queries' density, in sentences.

Note = partial(Finding, level="note")


def alarms(of: DensityFigures) -> list[Finding]:
    """What is wrong in the last week with sessions enough."""
    last, raised = of.last, list[Finding]()
    if last is None:
        return raised
    if last.is_alarm and last.drift is not None:
        words = f"{_week(last)} differ from those of {_reference(of)}"
        size = f"energy distance {_distance(last.drift.shift)}, {_p(last.drift.p)}"
        size = size if of.options.distance == "energy" else size.replace("energy", "kernel", 1)
        raised.append(Finding(f"Queries of {words}: {size}.", about="query-drift"))
    if of.has_risen and last.uncovered is not None and of.rise_p is not None:
        text = (
            f"The corpus does not cover {_share(last.uncovered)} of the searches of {_week(last)}, "
            f"more than in {_reference(of)}, {_p(of.rise_p)}."
        )
        raised.append(Finding(text, about="uncovered-queries"))
    return raised


def findings(of: DensityFigures) -> Iterator[Finding]:
    """What else a reader should know."""
    last = of.last
    if last is None:
        few = of.options.fewest
        yield Finding(f"No week has {few} sessions or more, so that nothing is said of any.")
        return
    yield from _of_tests(of, last)
    yield from _of_changes(of)
    yield from _of_coverage(of, last)
    yield from _of_clusters(of)
    yield from _of_set(of, last)
    if of.proposal is not None:
        yield from _of_proposal(of, of.proposal)
    yield from _of_reading(of)


def _of_tests(of: DensityFigures, last: WeekDensity) -> Iterator[Finding]:
    if last.is_reference or last.drift is None:
        yield Finding(
            "The log has too few weeks with sessions enough to compare one with another: "
            "two are needed, and the more the better."
        )
        return
    if not last.is_alarm:
        shift = last.drift.shift
        at_most = f", at most {shift.high:.3f}" if shift.high else ""
        yield Note(
            f"Queries of {_week(last)} cannot be told from those of {_reference(of)}: "
            f"energy distance {max(shift.value, 0):.3f}{at_most}, {_p(last.drift.p)}."
        )
    earlier = [week for week in of.weeks if week.is_alarm and week is not last]
    if earlier:
        weeks = ", ".join(week.monday.isoformat() for week in earlier[-5:])
        yield Note(f"Earlier weeks differed from {_reference(of)}, too: {weeks}.")
    if not last.drift.by_days:
        what = "sessions" if of.has_sessions else "searches"
        yield Finding(
            f"The test took {what} as independent, as there are too few days to compare: "
            "an event of a single day can make an alarm."
        )


def _of_changes(of: DensityFigures) -> Iterator[Finding]:
    if of.changes is None:
        return
    value, low, high = of.changes.changed
    if low > 0:
        yield Note(
            f"At least {value:.0%} [{low:.0%}, {high:.0%}] of the searches are other ones than in "
            f"{_reference(of)}: by so much more of them a classifier takes for new."
        )
    if of.changes.named:
        named = "; ".join(
            f"{_feature(change.kind, change.name)} {change.before.value:.1%} before, "
            f"{change.now.value:.1%} now"
            for change in of.changes.named[:5]
        )
        yield Note(f"What changed most surely: {named}.")


def _feature(kind: str, name: str) -> str:
    return f"“{name}”" if kind == "word" else f"{kind} “{name}”"


def _of_coverage(of: DensityFigures, last: WeekDensity) -> Iterator[Finding]:
    limit = of.threshold
    whose = "answered evaluation queries" if limit.answered else "evaluation queries"
    if limit.value is None:
        yield Finding(
            "Which queries the corpus does not cover cannot be said: from which distance on it "
            f"does not is learnt from {whose}, of which there are {limit.queries}; 19 are needed."
        )
        return
    if last.uncovered is not None and not of.has_risen:
        is_more = last.uncovered.low > 0.05
        text = (
            f"{_share(last.uncovered)} of the searches of {_week(last)} are farther from the "
            f"corpus than 95 % of {limit.queries:,} {whose} are."
        )
        yield Finding(text) if is_more else Note(text)
    if not limit.answered:
        yield Finding(
            "No grades say which evaluation queries have a relevant document, so that all of them "
            "count as covered by the corpus."
        )
    far, lacking = float(of.disagreement[1]), float(of.disagreement[2])
    if far + lacking >= 0.05:
        yield Note(
            f"Vectors and words disagree on {far + lacking:.0%} of recent searches: {far:.0%} are "
            f"far by vectors though the corpus has their words, {lacking:.0%} are near though it "
            "lacks half of their words or more."
        )


def _of_clusters(of: DensityFigures) -> Iterator[Finding]:
    shown = [cluster for cluster in of.clusters if cluster.label][:3]
    if shown:
        named = "; ".join(f"“{c.label}” ({c.share:.1%} of recent searches)" for c in shown)
        yield Note(f"What the corpus covers least, by traffic: {named}.")


def _of_set(of: DensityFigures, last: WeekDensity) -> Iterator[Finding]:
    if last.own is None:
        return
    count = count_of(of.queries, "evaluation query is", "evaluation queries are")
    worth = _worth(last.own.worth)
    ends = last.own.worth_ends
    between = f" [{_worth(ends[0])}, {_worth(ends[1])}]" if ends else ""
    text = (
        f"As a picture of the searches of {_week(last)}, the {count} worth {worth}{between} "
        f"searches drawn at random. A set so drawn is as far from them with {_p(last.own.p)}."
    )
    yield Finding(text) if last.own.worth < of.queries / 2 else Note(text)


def _of_proposal(of: DensityFigures, proposal: Proposal) -> Iterator[Finding]:
    if not proposal.queries:
        whose = f"none that the set lacks was searched for by {of.options.min_count} people"
        yield Note(f"No query is proposed: {whose}.")
        return
    if proposal.too_rare:
        rare = count_of(proposal.too_rare, "query", "queries")
        yield Note(f"{rare} of fewer than {of.options.min_count} people could not be proposed.")
    if not proposal.falls:
        return
    first, last = proposal.falls[0], proposal.falls[-1]
    count = count_of(last.added, "query", "queries")
    yield Note(
        f"The set's distance to recent searches is {first.as_it_is:.3f}; {first.weighted:.3f} with "
        f"the proposed weights alone; {last.as_it_is:.3f} with {count} of the log added, and "
        f"{max(last.weighted, 0):.3f} with both: measured on days that chose neither queries nor "
        "weights."
    )


def _of_reading(of: DensityFigures) -> Iterator[Finding]:
    if of.dropped:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in of.dropped.items())
        yield Note(f"Searches left out: {reasons}.")
    sampled = [week for week in of.weeks if week.sampled < 0.9 * week.searches]
    if sampled:
        yield Note(
            f"Of {count_of(len(sampled), 'week', 'weeks')} a sample of about "
            f"{of.options.searches:,} searches was looked at."
        )


def _week(week: WeekDensity) -> str:
    return f"the week of {week.monday.isoformat()}"


def _reference(of: DensityFigures) -> str:
    count = len(of.reference)
    return f"the first {count} weeks" if count > 1 else "the first week"


def _distance(shift: SampleShift) -> str:
    if shift.low is None or shift.high is None:
        return f"{max(shift.value, 0):.3f}"
    return f"{max(shift.value, 0):.3f} [{shift.low:.3f}, {shift.high:.3f}]"


def _share(share: BlockShare) -> str:
    return f"{share.value:.1%} [{share.low:.1%}, {share.high:.1%}]"


def _p(p: float) -> str:
    return f"p = {p:.4f}" if p >= 0.0001 else "p < 0.0001"


def _worth(worth: float) -> str:
    return f"{worth:,.0f}" if worth >= 1 and math.isfinite(worth) else "1" if worth < 1 else "all"


# Queries' density, as tables.


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
        _worth_cell(week.own),
        _interval(None if drift is None else drift.shift),
        None if drift is None or week.is_reference else drift.p,
        alarm,
    ]


def _interval(of: BlockShare | SetShift | SampleShift | None) -> Cell:
    if of is None:
        return Interval(None, None, None)
    return Interval(of.value if isinstance(of, BlockShare) else max(of.value, 0.0), of.low, of.high)


def _worth_cell(own: SetShift | None) -> Cell:
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
