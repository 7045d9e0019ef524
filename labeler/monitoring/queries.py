"""Whether users still search for what they did in a log's first weeks, and what a set lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.collection.layout import Collection, open_collection
from labeler.collection.queries import read_queries
from labeler.data import Query
from labeler.errors import BadInput
from labeler.messages import count_of
from labeler.models.encoders import EncoderTexts, Encoding
from labeler.models.session import Control
from labeler.monitoring.searches import (
    MIN_COUNT,
    MOST_SEARCHES,
    WEEKLY_LEVEL,
    Search,
    SearchLog,
    Week,
    WordChange,
    WordTest,
    by_week,
    word_test,
)
from labeler.queries.traffic import STRATA, normalized
from labeler.report.finding import Finding
from labeler.report.result import Hidden, Result
from labeler.report.table import Column, Table, table_of
from labeler.stats.blocks import Points, distances

REFERENCE_WEEKS = 8
"""Weeks are compared with so many first ones of the log, or with half of a shorter one's."""
RECENT_WEEKS = 4
"""Queries are proposed from so many last weeks."""
FEWEST = 20
"""Of a week with fewer sessions nothing is said; a search without a session counts as one."""
MOST_CANDIDATES = 2000
"""Of more candidates those with the most searches."""

Note = partial(Finding, level="note")


class WeekQueries(NamedTuple):
    """A week that begins on `monday`; `words` compares it with the reference weeks.

    `sampled` of the searches were looked at; nothing is said of a week with too few sessions.
    """

    monday: date
    searches: int
    sampled: int
    is_reference: bool
    is_enough: bool
    words: WordTest | None = None

    @property
    def is_alarm(self) -> bool:
        """Whether its words differ from those of the reference weeks, of which it is none."""
        return not self.is_reference and self.words is not None and self.words.is_alarm

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        return {
            "week": self.monday.isoformat(),
            "searches": self.searches,
            "sampled": self.sampled,
            "is_reference": self.is_reference,
            "p": self.words and self.words.p,
            "by_days": self.words and self.words.by_days,
            "alarm": self.is_alarm,
        }

    def row(self) -> list[Any]:
        """A row of the table of weeks."""
        alarm = "reference" if self.is_reference else "yes" if self.is_alarm else ""
        alarm = alarm if self.is_enough else "too few sessions"
        p = None if self.words is None or self.is_reference else self.words.p
        return [self.monday.isoformat(), self.searches, p, alarm]


class Proposal(NamedTuple):
    """Queries to add, in the order in which they help most.

    `candidates` counts the queries that could be taken, `too_rare` those that too few people
    searched for.
    """

    queries: tuple[Query, ...]
    candidates: int
    too_rare: int

    def as_json(self) -> dict[str, Any]:
        """The counts, and the rows of a file of queries as `queries from-log` writes it."""
        rows = [{"_id": q.id, "text": q.text, "metadata": dict(q.metadata)} for q in self.queries]
        return {"queries": rows, "candidates": self.candidates, "too_rare": self.too_rare}

    def table(self) -> Table:
        """The queries."""
        columns = [Column("query", align="left"), Column("stratum", align="left")]
        about = [(q.text, q.metadata["stratum"], q.metadata["searches"]) for q in self.queries]
        return Table("queries to add", [*columns, Column("searches")], about)


@dataclass(frozen=True, eq=False, repr=False)
class QueryDrift(Result):
    """How users' queries change, by week, and which a collection lacks, which has `queries`."""

    weeks: tuple[WeekQueries, ...]
    proposal: Proposal | None
    queries: int
    dropped: Mapping[str, int]
    has_sessions: Hidden[bool] = False

    @property
    def last(self) -> WeekQueries | None:
        """The last week with sessions enough."""
        return next((week for week in reversed(self.weeks) if week.is_enough), None)

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
        return [*self.alarms, *self._of_tests(self.last), *self._of_reading()]

    @property
    def _reference(self) -> str:
        weeks = sum(week.is_reference for week in self.weeks)
        return f"the first {weeks} weeks" if weeks > 1 else "the first week"

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

    def _of_reading(self) -> Iterator[Finding]:
        if self.proposal and not self.proposal.queries:
            whose = f"none that the set lacks was searched for by {MIN_COUNT} people"
            yield Note(f"No query is proposed: {whose}.")
        elif self.proposal and self.proposal.too_rare:
            rare = count_of(self.proposal.too_rare, "query", "queries")
            yield Note(f"{rare} of fewer than {MIN_COUNT} people could not be proposed.")
        if self.dropped:
            reasons = ", ".join(f"{rows:,} {reason}" for reason, rows in self.dropped.items())
            yield Note(f"Searches left out: {reasons}.")
        sampled = [week for week in self.weeks if week.sampled < 0.9 * week.searches]
        if sampled:
            weeks = count_of(len(sampled), "week")
            yield Note(f"Of {weeks} a sample of about {MOST_SEARCHES:,} searches was looked at.")

    def tables(self) -> list[Table]:
        """The weeks, which words moved, and the proposed queries."""
        columns = [Column("week", align="left"), Column("searches"), Column("p")]
        note = (
            f"p: whether words differ from the first weeks', an alarm at {WEEKLY_LEVEL:.5f} or less"
        )
        rows = [week.row() for week in self.weeks]
        weeks = Table("weeks", [*columns, Column("alarm", align="left")], rows, note=note)
        moved = table_of("words that moved", WordChange, self.words, note="shares of searches")
        tables = [moved, *([self.proposal.table()] if self.proposal else [])]
        return [weeks, *(table for table in tables if table.rows)]

    def as_json(self) -> dict[str, Any]:
        """All figures by name, and what is said of them."""
        return self.picked(
            *("weeks", "words", "queries", "dropped", "alarms", "proposal"),
            weekly_level=WEEKLY_LEVEL,
            findings=self.findings,
        )


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
    """How the queries of a log change, and which of them a collection lacks.

    `searches` come with their days, in any order; `add` is how many queries are proposed. Vectors
    are those of the encoder that retrieval uses; a server is asked for the ones that are not kept.

    >>> from datetime import date
    >>> from labeler.testing import small_collection
    >>> days = [date(2024, 5, 1 + n % 14) for n in range(60)]
    >>> result = query_drift(small_collection(), [Search(day, "cats asleep") for day in days])
    >>> [week.searches for week in result.weeks]
    [24, 28, 8]
    """
    opened = open_collection(collection)
    queries = read_queries(opened.queries)
    if not queries:
        raise BadInput(f"{opened.queries}: no query in it to compare users' queries with")
    log = by_week(searches, seed=seed)
    if not log.weeks:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in log.dropped.items())
        why = reasons or "it is empty, or no search has a time"
        raise BadInput(f"the log has no search that can be looked at ({why})")
    enough = [week for week in log.weeks if week.people >= FEWEST]
    reference = enough[: min(REFERENCE_WEEKS, len(enough) // 2)]

    def figures(week: Week) -> WeekQueries:
        about = (week.monday, week.searches, len(week.query), week in reference)
        others = [other for other in reference if other is not week] if week in enough else []
        words = word_test(week, others, log.texts, seed) if others else None
        return WeekQueries(*about, week in enough, words)

    recent, proposal = log.weeks[-RECENT_WEEKS:], None
    if add and sum(len(week.query) for week in recent) >= FEWEST:
        encoding, watch = encoding or Encoding(), control or Control()
        texts = [*log.texts, *(query.text for query in queries.values())]
        encoder = encoding.ready(opened.vectors, EncoderTexts(queries=texts), control=watch)
        own = encoder.queries([query.text for query in queries.values()])
        vectors = encoder.queries(log.texts)
        asked = np.concatenate([week.query for week in recent])
        times = np.bincount(asked, minlength=len(log.texts)).astype(np.float64)
        proposal = propose(queries, log, times, Neighbors(own, vectors), add)
    weeks = tuple(map(figures, log.weeks))
    return QueryDrift(weeks, proposal, len(queries), log.dropped, log.has_sessions)


# Queries that would make an evaluation set current: those to which much traffic is near.
#
# At each step that query of the log is taken that brings the recent searches nearest to the set:
# the mean distance of a search to the nearest query falls most (facility location; taken greedily,
# it falls at least 1 - 1/e as much as it could: Nemhauser, Wolsey and Fisher 1978, Mathematical
# Programming 14).


class Neighbors(NamedTuple):
    """The vectors of the set's queries, and of the log's texts."""

    own: Points
    log: Points


def propose(
    queries: Mapping[str, Query], log: SearchLog, times: Floats, near: Neighbors, add: int
) -> Proposal:
    """Queries to add to a set, from how often each text was searched for of late.

    Nothing is proposed that the set holds, or that fewer than `MIN_COUNT` people searched for.
    """
    folded = {normalized(query.text).casefold() for query in queries.values()}
    is_new = np.array([text.casefold() not in folded for text in log.texts]) & (times > 0)
    may = np.flatnonzero(is_new & (log.people >= MIN_COUNT))
    may = may[np.argsort(-times[may], kind="stable")[:MOST_CANDIDATES]]
    taken = greedy(near, times, may, add)
    too_rare = int((is_new & (log.people < MIN_COUNT)).sum())
    return Proposal(tuple(_as_queries(queries, log, times, taken)), len(may), too_rare)


def greedy(near: Neighbors, times: Floats, candidates: Integers, add: int) -> list[int]:
    """The candidates to add, in order: each brings searches nearest to the set as it then is."""
    searched = np.flatnonzero(times)
    counts = times[searched].astype(np.float32)
    nearest = distances(near.log[searched], near.own).min(axis=1)
    away = distances(near.log[candidates], near.log[searched])
    taken: list[int] = []
    for _ in range(min(add, len(candidates))):
        # a row at a time, as all at once would double the memory
        gains = np.array([np.maximum(nearest - row, 0.0) @ counts for row in away])
        best = int(np.argmax(gains))
        if gains[best] <= 0:
            break  # every search that may be shown is a query of the set already
        taken.append(int(candidates[best]))
        nearest = np.minimum(nearest, away[best])
    return taken


def _as_queries(
    queries: Mapping[str, Query], log: SearchLog, times: Floats, taken: Sequence[int]
) -> Iterator[Query]:
    """The proposed queries under ids that are free, with what a log says of them.

    Their strata: the most frequent ones of the log with a third of all searches, and so on.
    """
    names = (name for number in count(1) if (name := f"w{number}") not in queries)
    order = np.argsort(-times, kind="stable")
    before = np.empty(len(times))
    before[order] = np.cumsum(times[order]) - times[order]
    strata = np.minimum(2, 3 * before // times.sum()).astype(int)
    for index in taken:
        searches = int(log.totals[index])
        about = {"origin": "real", "stratum": STRATA[strata[index]], "searches": searches}
        yield Query(next(names), log.texts[index], about)
