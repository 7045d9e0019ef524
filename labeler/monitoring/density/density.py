"""How well the corpus covers what users search for, week by week, and whether that changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.collection.corpus import CorpusTexts
from labeler.collection.layout import Collection, open_collection
from labeler.collection.queries import read_queries
from labeler.collection.search import searched_corpus
from labeler.data import Query
from labeler.errors import BadInput
from labeler.models.control import Control
from labeler.models.encoders import EncoderTexts, Encoding
from labeler.monitoring.density.comparison import (
    BlockRows,
    Changes,
    DriftTest,
    MovedFeatures,
    QueryDistances,
    WeekDrift,
    from_set,
    rows_of,
)
from labeler.monitoring.density.figures import (
    DensityFigures,
    WeekDensity,
    alarms,
    changes_table,
    clusters_table,
    every_table,
    falls_table,
    findings,
    queries_table,
    weeks_table,
)
from labeler.monitoring.density.proposal import Cluster, Proposal, Typed, clusters, propose
from labeler.monitoring.density.searches import (
    CorpusDistance,
    DensityOptions,
    EvaluationSet,
    Search,
    SearchLog,
    Threshold,
    Vectors,
    Week,
    answered_queries,
    by_week,
    corpus_distance,
)
from labeler.report.charts import Axis, Moment, control
from labeler.report.finding import Finding
from labeler.report.page import Chart, Disclosure, PageBlock, Paragraph, TableBlock
from labeler.report.table import Ends, Table
from labeler.stats.blocks import BlockShare, block_quantile, block_share, shares_moved
from labeler.stats.distances import Distance, distance_of

# Queries' density as blocks of a page: charts over weeks, tables, and what lies behind them.


def page_blocks(of: DensityFigures) -> list[PageBlock]:
    """The charts and tables below the heading of the part."""
    return [*_charts(of), *_tables(of)]


def _charts(of: DensityFigures) -> Iterator[PageBlock]:
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


def _tables(of: DensityFigures) -> Iterator[PageBlock]:
    if of.changes is not None and of.changes.named:
        yield TableBlock(changes_table(of.changes), "What changed in the last week")
    if of.clusters:
        yield TableBlock(clusters_table(of), "Recent queries that the corpus does not cover")
    proposal = of.proposal
    if proposal is not None and proposal.queries:
        few = of.options.min_count
        words = f"Queries that would make the set current ({len(proposal.queries)})"
        inside: list[PageBlock] = [
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


# What is said of queries' density: alarms, findings, tables, and blocks of a page.


@dataclass(frozen=True)
class QueryDensity:
    """How well a corpus covers users' queries, and how near the evaluation's are to them."""

    figures: DensityFigures

    @property
    def weeks(self) -> tuple[WeekDensity, ...]:
        """The figures of each week."""
        return self.figures.weeks

    @property
    def changes(self) -> Changes | None:
        """What changed in the last week, where it is an alarm."""
        return self.figures.changes

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """Queries of the recent weeks that the corpus does not cover."""
        return self.figures.clusters

    @property
    def proposal(self) -> Proposal | None:
        """Queries that would make the evaluation current."""
        return self.figures.proposal

    def alarms(self) -> list[Finding]:
        """What is wrong in the last week; empty where nothing is."""
        return alarms(self.figures)

    def findings(self) -> list[Finding]:
        """What a reader should know, alarms first."""
        return [*self.alarms(), *findings(self.figures)]

    def table(self) -> Table:
        """A row for each week."""
        return weeks_table(self.figures)

    def tables(self) -> list[Table]:
        """The weeks, what changed, the clusters that are not covered, and the proposed queries."""
        return every_table(self.figures)

    def blocks(self) -> list[PageBlock]:
        """The charts and tables of a page."""
        return page_blocks(self.figures)

    def weekly(self) -> dict[str, dict[str, float | None]]:
        """The figures of each week that are worth a line over time, by its Monday."""
        return self.figures.weekly()

    def as_json(self) -> dict[str, Any]:
        """All figures by name, and what is said of them."""
        return {
            **self.figures.as_json(),
            "alarms": [str(alarm) for alarm in self.alarms()],
            "findings": [str(finding) for finding in self.findings()],
        }

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def __repr__(self) -> str:
        return f"QueryDensity({len(self.weeks)} weeks, {len(self.alarms())} alarms)"


def density(
    collection: Collection | Path | str,
    searches: Iterable[Search],
    options: DensityOptions | None = None,
    encoding: Encoding | None = None,
    control: Control | None = None,
) -> QueryDensity:
    """How far the queries of a log are from a collection's corpus and from its own queries.

    `searches` come with their days, in any order. The vectors of queries and documents are those of
    the encoder that retrieval uses; a server is asked for the ones that are not kept.

    >>> from datetime import date
    >>> from labeler.testing import small_collection
    >>> days = [date(2024, 5, 1 + n % 14) for n in range(60)]
    >>> result = density(small_collection(), [Search(day, "why do cats sleep") for day in days])
    >>> [week.searches for week in result.weeks]
    [24, 28, 8]
    """
    options, watch = options or DensityOptions(), control or Control()
    opened = open_collection(collection)
    queries = read_queries(opened.queries)
    if not queries:
        raise BadInput(f"{opened.queries}: no query in it to compare users' queries with")
    log = by_week(searches, options.searches, options.seed)
    if not log.weeks:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in log.dropped.items())
        why = reasons or "it is empty, or no search has a time"
        raise BadInput(f"the log has no search that can be looked at ({why})")
    look = _Look.at(opened, queries, log, options, (encoding or Encoding(), watch))
    return QueryDensity(look.figures())


@dataclass(frozen=True, eq=False)
class _Look:
    """All that the figures are made of: vectors and distances of the log's queries."""

    options: DensityOptions
    log: SearchLog
    vectors: Vectors
    corpus: CorpusDistance
    own: EvaluationSet
    own_corpus: CorpusDistance
    threshold: Threshold
    distance: Distance

    @cached_property
    def compared(self) -> QueryDistances:
        """The distances of the log's queries among each other."""
        return QueryDistances(self.vectors, self.distance)

    @classmethod
    def at(
        cls,
        collection: Collection,
        queries: dict[str, Query],
        log: SearchLog,
        options: DensityOptions,
        how: tuple[Encoding, Control],
    ) -> _Look:
        encoding, control = how
        with control.progress("reading the corpus") as advance:
            searched = searched_corpus(collection, advance)
        texts = [*log.texts, *(query.text for query in queries.values())]
        to_encode = EncoderTexts(CorpusTexts(collection.corpus), texts)
        encoder = encoding.ready(collection.vectors, to_encode, control)
        near = corpus_distance(searched, texts, encoder, options.passages, control.progress)
        count = len(log.texts)
        of_log, of_own = near.part(slice(count)), near.part(slice(count, None))
        answered = answered_queries(collection, collection.qrels_names())
        is_answered = np.array([query_id in answered for query_id in queries])
        calibrated = of_own.distances[is_answered] if is_answered.any() else of_own.distances
        threshold = Threshold.of(calibrated, answered=bool(is_answered.any()))
        own, vectors = EvaluationSet.of(queries, encoder), encoder.queries(log.texts)
        distance = distance_of(options.distance, vectors, options.seed)
        return cls(options, log, vectors, of_log, own, of_own, threshold, distance)

    def figures(self) -> DensityFigures:
        reference = self._reference()
        tests = {week.monday: self._test(week, reference) for week in self._large_enough()}
        weeks = tuple(
            self._week(week, week in reference, tests.get(week.monday)) for week in self.log.weeks
        )
        last = next((week for week in reversed(weeks) if week.is_told), None)
        changed = None
        if last is not None and last.drift is not None and last.drift.is_alarm:
            changed = self._changes(tests[last.monday])
        recent = self.log.weeks[-self.options.recent_weeks :]
        return DensityFigures(
            weeks=weeks,
            options=self.options,
            threshold=self.threshold,
            changes=changed,
            clusters=tuple(self._clusters(recent)),
            proposal=self._proposal(recent),
            disagreement=self._disagreement(recent),
            queries=len(self.own.weights),
            rise_p=self._rise(tests[last.monday]) if last is not None else None,
            dropped=self.log.dropped,
            has_sessions=self.log.has_sessions,
        )

    def _large_enough(self) -> list[Week]:
        """The weeks with sessions enough to say something of them."""
        return [week for week in self.log.weeks if week.people >= self.options.fewest]

    def _reference(self) -> list[Week]:
        """The first weeks, as many as are set; half of the weeks where the log has too few."""
        enough = self._large_enough()
        return enough[: min(self.options.reference_weeks, len(enough) // 2)]

    def _test(self, week: Week, reference: Sequence[Week]) -> DriftTest | None:
        """What a week is held against: the reference weeks, of which it is none itself."""
        others = [other for other in reference if other is not week]
        return DriftTest.of(week, others, self.options.seed) if others else None

    @property
    def _uncovered(self) -> Flags:
        """Whether each query of the log is farther from the corpus than the threshold."""
        limit = self.threshold.value
        return self.corpus.distances > (np.inf if limit is None else limit)

    def _week(self, week: Week, is_reference: bool, test: DriftTest | None) -> WeekDensity:
        counts = week.monday, week.searches, len(week.query), week.days, is_reference
        if week.people < self.options.fewest:
            return WeekDensity(*counts)
        rows = rows_of(week, [], self.options.seed)
        limit = self.threshold.value
        uncovered = None if limit is None else self._share(rows, self._uncovered)
        lacking = self._share(rows, self.corpus.lacks_words)
        distances = self.corpus.distances[rows.query]
        median = BlockShare(*block_quantile(distances, np.ones(len(rows.query)), rows.block))
        own = from_set(week, self.vectors, self.own, self.distance, self.options.seed)
        drift = None if test is None else self._drift(test)
        return WeekDensity(*counts, uncovered, lacking, median, own, drift)

    def _drift(self, test: DriftTest) -> WeekDrift:
        features = MovedFeatures.of(test, self.log, self.options.min_count)
        return WeekDrift(test.shift(self.compared), features.p, test.by_days)

    @staticmethod
    def _share(rows: BlockRows, flags: Flags) -> BlockShare:
        counts = np.bincount(rows.block, weights=flags[rows.query], minlength=len(rows.day))
        return block_share(counts.astype(np.float64), rows.mass, float(rows.people.sum()))

    def _rise(self, test: DriftTest | None) -> float | None:
        """p of the difference of the shares not covered, now and in the reference weeks."""
        if test is None or self.threshold.value is None:
            return None
        flags = self._uncovered[test.rows.query].astype(np.float64)
        counts = np.bincount(test.block, weights=flags).astype(np.float64)
        mass = np.bincount(test.block).astype(np.float64)
        return float(shares_moved(counts[:, None], mass, test.sides).p[0])

    def _changes(self, test: DriftTest | None) -> Changes | None:
        if test is None:
            return None
        return MovedFeatures.of(test, self.log, self.options.min_count).changes()

    def _typed(self, weeks: Sequence[Week]) -> Typed:
        """The queries of some weeks with their searches in the sample."""
        return self._counted(np.concatenate([week.query for week in weeks]))

    def _counted(self, query: Integers) -> Typed:
        log = self.log
        times = np.bincount(query, minlength=len(log.texts)).astype(np.float64)
        every = np.arange(len(log.texts))
        return Typed(log.texts, self.vectors, times, log.people, log.totals, every)

    def _clusters(self, weeks: Sequence[Week]) -> list[Cluster]:
        typed = self._typed(weeks)
        searched = np.flatnonzero(typed.times)
        uncovered = np.flatnonzero(self._uncovered[searched])
        few = self.options.min_count
        return clusters(typed.of(searched), uncovered, few, self.log.people_of)

    def _proposal(self, weeks: Sequence[Week]) -> Proposal | None:
        days = [
            self._counted(week.query[week.day == day])
            for week in weeks
            for day in np.unique(week.day)
        ]
        if not self.options.add or sum(float(d.times.sum()) for d in days) < self.options.fewest:
            return None
        return propose(self.own, days, self.options, self.distance)

    def _disagreement(self, weeks: Sequence[Week]) -> Floats:
        """The shares of searches: covered by both, far only, lacking words only, neither covers."""
        times = self._typed(weeks).times
        kind = self._uncovered.astype(np.int64) + 2 * self.corpus.lacks_words
        return np.bincount(kind, weights=times, minlength=4) / max(float(times.sum()), 1.0)
