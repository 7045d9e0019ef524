"""Whether users still search for what a collection asks about, and what would make it current."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from labeler.collection.corpus import CorpusTexts
from labeler.collection.layout import Collection, open_collection
from labeler.collection.queries import read_queries
from labeler.errors import BadInput
from labeler.messages import count_of
from labeler.models.control import Control
from labeler.models.encoders import EncoderTexts, Encoding
from labeler.monitoring.proposal import EvaluationSet, Proposal, from_set, propose
from labeler.monitoring.searches import (
    MIN_COUNT,
    MOST_SEARCHES,
    WEEKLY_LEVEL,
    Search,
    Week,
    WordChange,
    WordTest,
    by_week,
    word_test,
)
from labeler.report.charts import Axis, NamedValue, intervals
from labeler.report.finding import Finding
from labeler.report.page import Chart, Disclosure, PageBlock, Paragraph, TableBlock
from labeler.report.result import Hidden, Result
from labeler.report.table import Column, Interval, Table, interval_text, table_of
from labeler.stats.blocks import SetShift

REFERENCE_WEEKS = 8
"""Weeks are compared with so many first ones of the log, or with half of a shorter one's."""
RECENT_WEEKS = 4
"""Queries are proposed from so many last weeks."""
FEWEST = 20
"""Of a week with fewer sessions nothing is said; a search without a session counts as one."""

Note = partial(Finding, level="note")


@dataclass(frozen=True)
class WeekQueries:
    """The figures of a week that begins on `monday`; they are None where it has too few sessions.

    `sampled` of the searches were looked at. `own` compares them with the evaluation's queries,
    `words` with those of the reference weeks.
    """

    monday: date
    searches: int
    sampled: int
    is_reference: bool
    own: SetShift | None = None
    words: WordTest | None = None

    @property
    def is_alarm(self) -> bool:
        """Whether its words differ from those of the reference weeks, of which it is none."""
        return not self.is_reference and self.words is not None and self.words.is_alarm

    @property
    def to_set(self) -> Interval:
        """The distance to the evaluation's queries, with its interval."""
        return Interval(*self.own[:3]) if self.own else Interval(None, None, None)

    @property
    def worth(self) -> Interval:
        """As many searches drawn at random would be as near to the week's as the evaluation is."""
        if self.own is None:
            return Interval(None, None, None)
        return Interval(self.own.worth, *(self.own.worth_ends or (None, None)))

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        own = self.own and {**self.own._asdict(), "worth": _finite(self.own.worth)}
        return {
            "week": self.monday.isoformat(),
            "searches": self.searches,
            "sampled": self.sampled,
            "is_reference": self.is_reference,
            "own": own,
            "p": self.words and self.words.p,
            "by_days": self.words and self.words.by_days,
            "alarm": self.is_alarm,
        }

    def row(self) -> list[Any]:
        """A row of the table of weeks."""
        alarm = "reference" if self.is_reference else "yes" if self.is_alarm else ""
        alarm = alarm if self.own else "too few sessions"
        p = None if self.words is None or self.is_reference else self.words.p
        return [self.monday.isoformat(), self.searches, self.to_set, self.worth, p, alarm]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(frozen=True, eq=False, repr=False)
class QueryDrift(Result):
    """How far users' queries are from a collection's, by week, and which it lacks.

    `proposal` are queries that would make the evaluation current, which has `queries`.
    """

    weeks: tuple[WeekQueries, ...]
    proposal: Hidden[Proposal | None]
    queries: int
    dropped: Mapping[str, int]
    has_sessions: Hidden[bool] = False

    @property
    def last(self) -> WeekQueries | None:
        """The last week with sessions enough."""
        return next((week for week in reversed(self.weeks) if week.own), None)

    @property
    def words(self) -> tuple[WordChange, ...]:
        """The words that moved in the last week with sessions enough, where that is an alarm."""
        last = self.last
        return last.words.named if last and last.words and last.is_alarm else ()

    @property
    def alarms(self) -> list[Finding]:
        """What is wrong in the last week; empty where nothing is."""
        last = self.last
        if last is None or last.words is None or not last.is_alarm:
            return []
        moved = "; ".join(
            f"“{word.word}” {word.before.value:.1%} before, {word.now.value:.1%} now"
            for word in self.words[:5]
        )
        differ = f"Queries of {_week(last)} differ from those of {self._reference}"
        text = f"{differ}, {_p(last.words.p)}. What changed most surely: {moved}."
        return [Finding(text, about="query-drift")]

    @property
    def findings(self) -> list[Finding]:
        """What a reader should know, alarms first."""
        if self.last is None:
            few = f"No week has {FEWEST} sessions or more, so that nothing is said of any."
            return [Finding(few)]
        parts = self._of_tests(self.last), self._of_set(self.last), self._of_proposal()
        return [*self.alarms, *(each for part in parts for each in part), *self._of_reading()]

    @property
    def _reference(self) -> str:
        count = sum(week.is_reference for week in self.weeks)
        return f"the first {count} weeks" if count > 1 else "the first week"

    def _of_tests(self, last: WeekQueries) -> Iterator[Finding]:
        if last.is_reference or last.words is None:
            yield Finding(
                "The log has too few weeks with sessions enough to compare one with another: "
                "two are needed, and the more the better."
            )
            return
        if not last.is_alarm:
            same = f"Queries of {_week(last)} cannot be told from those of {self._reference}"
            yield Note(f"{same} by their words: {_p(last.words.p)}.")
        earlier = [week for week in self.weeks if week.is_alarm and week is not last]
        if earlier:
            weeks = ", ".join(week.monday.isoformat() for week in earlier[-5:])
            yield Note(f"Earlier weeks differed from {self._reference}, too: {weeks}.")
        if not last.words.by_days:
            what = "sessions" if self.has_sessions else "searches"
            yield Finding(
                f"The test took {what} as independent, as there are too few days to compare: "
                "an event of a single day can make an alarm."
            )

    def _of_set(self, last: WeekQueries) -> Iterator[Finding]:
        if last.own is None:
            return
        count = count_of(self.queries, "evaluation query is", "evaluation queries are")
        text = (
            f"As a picture of the searches of {_week(last)}, the {count} worth"
            f" {interval_text(last.worth, ',.0f')} searches drawn at random. A set so drawn is as "
            f"far from them with {_p(last.own.p)}."
        )
        yield Finding(text) if last.own.worth < self.queries / 2 else Note(text)

    def _of_proposal(self) -> Iterator[Finding]:
        proposal = self.proposal
        if proposal is None:
            return
        if not proposal.queries:
            whose = f"none that the set lacks was searched for by {MIN_COUNT} people"
            yield Note(f"No query is proposed: {whose}.")
            return
        if proposal.too_rare:
            rare = count_of(proposal.too_rare, "query", "queries")
            yield Note(f"{rare} of fewer than {MIN_COUNT} people could not be proposed.")
        if proposal.falls:
            first, last = proposal.falls[0], proposal.falls[-1]
            count = count_of(last.added, "query", "queries")
            yield Note(
                f"The set's distance to recent searches is {first.as_it_is:.3f};"
                f" {first.weighted:.3f} with the proposed weights alone; {last.as_it_is:.3f} with"
                f" {count} of the log added, and {max(last.weighted, 0):.3f} with both: measured on"
                " days that chose neither queries nor weights."
            )

    def _of_reading(self) -> Iterator[Finding]:
        if self.dropped:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.dropped.items())
            yield Note(f"Searches left out: {reasons}.")
        sampled = [week for week in self.weeks if week.sampled < 0.9 * week.searches]
        if sampled:
            yield Note(
                f"Of {count_of(len(sampled), 'week', 'weeks')} a sample of about "
                f"{MOST_SEARCHES:,} searches was looked at."
            )

    def tables(self) -> list[Table]:
        """The weeks, which words moved, and the proposed queries."""
        columns = [
            Column("week", align="left"),
            Column("searches"),
            Column("to the set", format=".3f", ends=".3f"),
            Column("worth", format=".0f", ends=".0f"),
            Column("p"),
            Column("alarm", align="left"),
        ]
        note = (
            "to the set: distance to the evaluation's queries, which are worth so many random "
            "searches; p: whether words differ from the first weeks', an alarm at "
            f"{WEEKLY_LEVEL:.5f} or less"
        )
        rows = [week.row() for week in self.weeks]
        moved = table_of("words that moved", WordChange, self.words, note="shares of searches")
        tables = [moved, *(self.proposal.tables() if self.proposal else ())]
        weeks = Table("weeks", columns, rows, note=note)
        return [weeks, *(table for table in tables if table.rows)]

    def blocks(self) -> list[PageBlock]:
        """The charts and tables of a page."""
        weeks, *tables = self.tables()
        if sum(week.own is not None for week in self.weeks) < 2:
            return [TableBlock(table) for table in (*tables, weeks)]
        rows = [NamedValue.of(week.monday.isoformat(), week.to_set) for week in self.weeks]
        title = "Distance of the evaluation's queries from each week's"
        drawn = intervals(title, rows, Axis("distance to the evaluation set", least=0.0))
        caption = "The lower, the more the evaluation's queries are like the week's searches."
        shown = Disclosure("All weeks", [TableBlock(weeks)])
        words = [TableBlock(table) for table in tables if table.name == "words that moved"]
        return [Chart(drawn, caption), *words, *self._proposed(), shown]

    def _proposed(self) -> Iterator[PageBlock]:
        if self.proposal is None or not self.proposal.queries:
            return
        words = (
            f"Queries of {MIN_COUNT} people or more that the set lacks, the most useful first."
            " With their weights all queries together are as near to recent searches as can be."
        )
        title = f"Queries that would make the set current ({len(self.proposal.queries)})"
        tables = [TableBlock(table) for table in self.proposal.tables() if table.rows]
        yield Disclosure(title, [Paragraph(words), *tables])

    def as_json(self) -> dict[str, Any]:
        """All figures by name, and what is said of them."""
        proposal = self.proposal and {
            "queries": self.proposal.rows(),
            **self.picked(**{name: getattr(self.proposal, name) for name in _OF_PROPOSAL}),
        }
        return self.picked(
            *("weeks", "words", "queries", "dropped", "alarms"),
            weekly_level=WEEKLY_LEVEL,
            proposal=proposal,
            findings=self.findings,
        )


_OF_PROPOSAL = ("weights", "falls", "candidates", "too_rare")


def _week(week: WeekQueries) -> str:
    return f"the week of {week.monday.isoformat()}"


def _p(p: float) -> str:
    return f"p = {p:.4f}" if p >= 0.0001 else "p < 0.0001"


def query_drift(  # noqa: PLR0913  what is compared, and how
    collection: Collection | Path | str,
    searches: Iterable[Search],
    encoding: Encoding | None = None,
    control: Control | None = None,
    *,
    add: int = 40,
    seed: int = 0,
) -> QueryDrift:
    """How far the queries of a log are from those of a collection, and how they change.

    `searches` come with their days, in any order; `add` is how many queries are proposed. Vectors
    are those of the encoder that retrieval uses; a server is asked for the ones that are not kept.

    >>> from datetime import date
    >>> from labeler.testing import small_collection
    >>> days = [date(2024, 5, 1 + n % 14) for n in range(60)]
    >>> result = query_drift(small_collection(), [Search(day, "cats asleep") for day in days])
    >>> [week.searches for week in result.weeks]
    [24, 28, 8]
    """
    encoding, watch = encoding or Encoding(), control or Control()
    opened = open_collection(collection)
    queries = read_queries(opened.queries)
    if not queries:
        raise BadInput(f"{opened.queries}: no query in it to compare users' queries with")
    log = by_week(searches, seed=seed)
    if not log.weeks:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in log.dropped.items())
        why = reasons or "it is empty, or no search has a time"
        raise BadInput(f"the log has no search that can be looked at ({why})")
    texts = [*log.texts, *(query.text for query in queries.values())]
    to_encode = EncoderTexts(CorpusTexts(opened.corpus), texts)
    encoder = encoding.ready(opened.vectors, to_encode, watch)
    own, vectors = EvaluationSet.of(queries, encoder), encoder.queries(log.texts)
    enough = [week for week in log.weeks if week.people >= FEWEST]
    reference = enough[: min(REFERENCE_WEEKS, len(enough) // 2)]

    def figures(week: Week) -> WeekQueries:
        about = week.monday, week.searches, len(week.query), week in reference
        if week not in enough:
            return WeekQueries(*about)
        others = [other for other in reference if other is not week]
        words = word_test(week, others, log.texts, seed) if others else None
        return WeekQueries(*about, from_set(week, vectors, own, seed), words)

    weeks = tuple(map(figures, log.weeks))
    recent = log.weeks[-RECENT_WEEKS:]
    days = [
        np.bincount(week.query[week.day == day], minlength=len(log.texts)).astype(np.float64)
        for week in recent
        for day in np.unique(week.day)
    ]
    is_enough = add and sum(len(week.query) for week in recent) >= FEWEST
    proposal = propose(own, log, vectors, days, add) if is_enough else None
    return QueryDrift(weeks, proposal, len(queries), log.dropped, log.has_sessions)
