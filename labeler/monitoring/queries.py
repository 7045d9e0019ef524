"""What users searched for of late, and which of it an evaluation set lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Floats
from labeler.collection.layout import AnyCollection, open_collection
from labeler.collection.queries import read_queries
from labeler.data import Query
from labeler.errors import BadInput
from labeler.messages import count_of
from labeler.models.encoders import EncoderTexts, Encoding
from labeler.models.session import Control
from labeler.monitoring.searches import Search, SearchLog, by_week
from labeler.queries.traffic import STRATA, normalized
from labeler.report.finding import Finding
from labeler.report.result import Result
from labeler.report.table import Column, Table, table_of
from labeler.text.terms import Encoder

RECENT_WEEKS = 4
"""Queries are proposed from so many last weeks."""
FEWEST = 20
"""With fewer searches in them nothing is proposed."""
MIN_COUNT = 5
"""A query is shown and proposed only where so many people searched for it."""
MOST_CANDIDATES = 2000
"""Of more candidates those with the most searches."""

Note = partial(Finding, level="note")


class WeekSearches(NamedTuple):
    """A week by its Monday, and its searches, of which `sampled` were looked at."""

    week: str
    searches: int
    sampled: int


class Proposal(NamedTuple):
    """Queries to add, in the order in which they help most.

    `candidates` counts the queries that could be taken, `too_rare` those that too few people
    searched for.
    """

    queries: Sequence[Query]
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
class SearchedQueries(Result):
    """Users' searches by week, and queries that a collection lacks, which has `queries`.

    `dropped` counts the searches that were left out, by reason.
    """

    weeks: Sequence[WeekSearches]
    queries: int
    dropped: Mapping[str, int]
    proposal: Proposal | None

    @property
    def findings(self) -> list[Finding]:
        """What a reader should know."""
        return list(self._findings())

    def _findings(self) -> Iterator[Finding]:
        if self.proposal is None:
            yield Finding(
                f"No query is proposed: the last {RECENT_WEEKS} weeks have fewer than {FEWEST} "
                "searches."
            )
        elif not self.proposal.queries:
            yield Note(
                f"No query is proposed: none that the set lacks was searched for by {MIN_COUNT} "
                "people."
            )
        elif self.proposal.too_rare:
            rare = count_of(self.proposal.too_rare, "query", "queries")
            yield Note(f"{rare} of fewer than {MIN_COUNT} people could not be proposed.")
        if self.dropped:
            reasons = ", ".join(f"{rows:,} {reason}" for reason, rows in self.dropped.items())
            yield Note(f"Searches left out: {reasons}.")

    def tables(self) -> list[Table]:
        """The weeks, and the proposed queries."""
        weeks = table_of("weeks", WeekSearches, self.weeks)
        return [weeks, self.proposal.table()] if self.proposal else [weeks]

    def as_json(self) -> dict[str, Any]:
        """All figures by name, and what is said of them."""
        return self.picked("weeks", "queries", "dropped", "proposal", findings=self.findings)


def searched_queries(
    collection: AnyCollection,
    searches: Iterable[Search],
    encoding: Encoding | None = None,
    control: Control | None = None,
    *,
    add: int = 40,
) -> SearchedQueries:
    """What users searched for, and which of it a collection lacks.

    `searches` come with their days, in any order; `add` is how many queries are proposed. Vectors
    are those of the encoder that retrieval uses; a server is asked for the ones that are not kept.

    >>> from datetime import date
    >>> from labeler.testing import small_collection
    >>> days = [date(2024, 5, 1 + n % 14) for n in range(60)]
    >>> result = searched_queries(small_collection(), [Search(day, "cats asleep") for day in days])
    >>> [week.searches for week in result.weeks]
    [24, 28, 8]
    """
    opened = open_collection(collection)
    queries = read_queries(opened.queries)
    if not queries:
        raise BadInput(f"{opened.queries}: no query in it to compare users' queries with")
    log = by_week(searches)
    if not log.weeks:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in log.dropped.items())
        why = reasons or "it is empty, or no search has a time"
        raise BadInput(f"the log has no search that can be looked at ({why})")
    recent, proposal = log.weeks[-RECENT_WEEKS:], None
    if add and sum(len(week.query) for week in recent) >= FEWEST:
        encoding, watch = encoding or Encoding(), control or Control()
        texts = [*log.texts, *(query.text for query in queries.values())]
        encoder = encoding.ready(opened.vectors, EncoderTexts(queries=texts), control=watch)
        asked = np.concatenate([week.query for week in recent])
        times = np.bincount(asked, minlength=len(log.texts)).astype(float)
        proposal = propose(queries, log, times, encoder, add)
    weeks = (WeekSearches(w.monday.isoformat(), w.searches, len(w.query)) for w in log.weeks)
    return SearchedQueries(tuple(weeks), len(queries), log.dropped, proposal)


# Queries that would make an evaluation set current: those to which much traffic is near.
#
# At each step that query of the log is taken that brings the recent searches nearest to the set:
# the mean distance of a search to the nearest query falls most (facility location; taken greedily,
# it falls at least 1 - 1/e as much as it could: Nemhauser, Wolsey and Fisher 1978, Mathematical
# Programming 14).


Points = NDArray[np.float32]


def propose(
    queries: Mapping[str, Query], log: SearchLog, times: Floats, encoder: Encoder, add: int
) -> Proposal:
    """Queries to add to a set, from how often each text was searched for of late.

    Nothing is proposed that the set holds, or that fewer than `MIN_COUNT` people searched for.
    """
    folded = {normalized(query.text).casefold() for query in queries.values()}
    is_new = np.array([text.casefold() not in folded for text in log.texts]) & (times > 0)
    may = np.flatnonzero(is_new & (log.people >= MIN_COUNT))
    may = may[np.argsort(-times[may], kind="stable")[:MOST_CANDIDATES]]
    own, vectors = encoder.queries([q.text for q in queries.values()]), encoder.queries(log.texts)
    searched, taken = np.flatnonzero(times), list[int]()
    counts = times[searched].astype(np.float32)
    nearest = _distances(vectors[searched], own).min(axis=1)
    away = _distances(vectors[may], vectors[searched])
    for _ in range(min(add, len(may))):
        # a row at a time, as all at once would double the memory
        gains = np.array([np.maximum(nearest - row, 0.0) @ counts for row in away])
        best = int(np.argmax(gains))
        if gains[best] <= 0:
            break  # every search that may be shown is a query of the set already
        taken.append(int(may[best]))
        nearest = np.minimum(nearest, away[best])
    too_rare = int((is_new & (log.people < MIN_COUNT)).sum())
    return Proposal(tuple(_as_queries(queries, log, times, taken)), len(may), too_rare)


_AT_ONCE = 512


def _distances(some: Points, points: Points) -> Points:
    """The Euclidean distances of all pairs, `(some, points)`; those of equal points are 0."""
    lengths = np.einsum("ij,ij->i", points, points)
    away = np.empty((len(some), len(points)), np.float32)
    for first in range(0, len(some), _AT_ONCE):
        rows = some[first : first + _AT_ONCE]
        own = np.einsum("ij,ij->i", rows, rows)
        squared = own[:, None] + lengths[None, :] - 2 * (rows @ points.T)
        # what rounding leaves of equal points would count as a distance once its root is taken
        squared[squared < 1e-6] = 0.0
        away[first : first + _AT_ONCE] = np.sqrt(squared)
    return away


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
