"""What users searched for of late, and which of it an evaluation set lacks."""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from labeler.arrays import Integers
from labeler.collection.layout import AnyCollection, open_collection
from labeler.collection.queries import read_queries
from labeler.data import Query
from labeler.errors import BadInput
from labeler.messages import count_of, counts_of
from labeler.monitoring.log import EventLog
from labeler.monitoring.log_values import zone_of
from labeler.queries.filter import words
from labeler.queries.traffic import STRATA, no_query, normalized
from labeler.report.finding import Finding
from labeler.report.result import Result
from labeler.report.table import Column, Table, table_of
from labeler.stats.drift import Drift, shift

# The searches of a log: how often each query was searched for, by how many people, of late.

RECENT_WEEKS = 4
"""Queries are proposed from so many last weeks."""
MOST_COMPARED = 1000
"""Weeks are compared by so many queries, those searched for most, and by all others."""
_MONDAY = date(2024, 1, 1).toordinal()


class Search(NamedTuple):
    """A query that somebody typed on a day; `session` is empty where unknown."""

    day: date
    text: str
    session: str = ""


def searches_of(log: EventLog) -> Iterator[Search]:
    """The searches of a log that have a time; what they count once in is a user's day.

    Days are those of the log's time zone.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from labeler.monitoring.log import open_log
    >>> path = Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = path.write_text("time,session,query\\n2024-05-01 10:00,s1,usb hub\\n")
    >>> with open_log(path) as log:
    ...     print([(str(search.day), search.text) for search in searches_of(log)])
    [('2024-05-01', 'usb hub')]
    """
    zone, texts = zone_of(log.options.time_zone), log.texts
    for number, part in enumerate(log.parts()):
        columns = (part.searches[name].tolist() for name in ("text", "time", "client"))
        for text, time, client in zip(*columns, strict=True):
            if math.isfinite(time):
                user = f"{number}/{client}" if client >= 0 else ""
                yield Search(datetime.fromtimestamp(time, zone).date(), texts[text], user)


class WeekSearches(NamedTuple):
    """A week by its Monday, and its searches."""

    week: str
    searches: int


class SearchLog(NamedTuple):
    """Searches by week and by query, and what was left out, by reason.

    Of each of `texts`, `recent` is how often it was searched for in the last weeks, `totals` in the
    whole log, and `people` in how many sessions, where one without a name counts as one. `by_week`
    has the searches of each whole week, `(queries, weeks)`: of those searched for most, and of all
    others.
    """

    weeks: Sequence[WeekSearches]
    texts: Sequence[str]
    recent: Integers
    totals: Integers
    people: Integers
    dropped: Mapping[str, int]
    by_week: Integers


def counted(searches: Iterable[Search]) -> SearchLog:
    """The searches by week and by query, which counts once in each session and day.

    Queries with personal data, without a word, or pasted are left out and counted.

    >>> day = date(2024, 5, 1)
    >>> log = counted([Search(day, "USB hub", "s"), Search(day, "@jo")])
    >>> log.texts, [row.week for row in log.weeks], log.dropped
    (['USB hub'], ['2024-04-29'], {'mail address or name with @': 1})
    """
    import pandas as pd

    places: dict[str, int] = {}
    forms: dict[int, Counter[str]] = defaultdict(Counter)
    dropped: Counter[str] = Counter()
    query, day, session = array("q"), array("q"), array("q")
    for search in searches:
        text = normalized(search.text)
        key = text.casefold()
        if key not in places:
            if reason := no_query(text):
                dropped[reason] += 1
                continue
            places[key] = len(places)
        forms[places[key]][text] += 1
        query.append(places[key])
        day.append(search.day.toordinal())
        session.append(hash(search.session) if search.session else 0)
    columns = {"query": query, "day": day, "session": session}
    frame = pd.DataFrame({name: np.asarray(column) for name, column in columns.items()})
    # rows without a session all count
    frame = frame[(frame["session"] == 0) | ~frame.duplicated(["session", "day", "query"])]
    first = (frame["session"] == 0) | ~frame.duplicated(["session", "query"])
    week = (frame["day"] - _MONDAY) // 7
    recent, asked = week > week.max() - RECENT_WEEKS, frame["query"]
    of_queries = partial(np.bincount, minlength=len(places))
    mondays, searched = np.unique(week, return_counts=True)
    totals = of_queries(asked)
    monday, days = _MONDAY + 7 * week, frame["day"]
    # the first and the last week may be parts of one
    whole = frame[(monday >= days.min()) & (monday + 6 <= days.max())]
    rare = np.sort(totals)[:-MOST_COMPARED].max(initial=0)
    compared = whole["query"].where(totals[whole["query"]] > rare, -1)
    return SearchLog(
        [
            WeekSearches(date.fromordinal(_MONDAY + 7 * number).isoformat(), searches)
            for number, searches in zip(mondays.tolist(), searched.tolist(), strict=True)
        ],
        [max(of, key=lambda form: (of[form], form)) for of in forms.values()],
        of_queries(asked[recent]),
        totals,
        of_queries(asked[first]),
        dict(dropped),
        pd.crosstab(compared, week[whole.index]).to_numpy(),
    )


# What is said of them, and which queries a set lacks.

FEWEST = 20
"""With fewer recent searches nothing is proposed."""
MIN_COUNT = 5
"""A query is shown and proposed only where so many people searched for it."""

Note = partial(Finding, level="note")


class Proposal(NamedTuple):
    """Queries to add, those first that were searched for most.

    `candidates` counts the queries that could be taken, `too_rare` those that too few people
    searched for.
    """

    queries: Sequence[Query]
    candidates: int
    too_rare: int

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of a file of queries as `queries from-log` writes it."""
        return [{"_id": q.id, "text": q.text, "metadata": dict(q.metadata)} for q in self.queries]

    def as_json(self) -> dict[str, Any]:
        """The counts, and the rows."""
        return {**self._asdict(), "queries": self.rows}

    def table(self) -> Table:
        """The queries."""
        columns = [Column("query", align="left"), Column("stratum", align="left")]
        about = [(q.text, q.metadata["stratum"], q.metadata["searches"]) for q in self.queries]
        return Table("queries to add", [*columns, Column("searches")], about)


@dataclass(frozen=True, eq=False, repr=False)
class SearchedQueries(Result):
    """Users' searches by week, and queries that a collection lacks, which has `queries`.

    `dropped` counts the searches that were left out, by reason. `shift` says whether the last whole
    week is as those before it.
    """

    weeks: Sequence[WeekSearches]
    queries: int
    dropped: Mapping[str, int]
    proposal: Proposal | None
    shift: Drift

    @property
    def alarms(self) -> list[Finding]:
        """That users search for other things than in the weeks before."""
        text = f"users search for other things {self.shift.beside('week')}"
        return [Finding(text, about="query-drift")] if self.shift.alarms else []

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
            yield Note(f"Searches left out: {counts_of(self.dropped)}.")
        if not self.shift.alarms:
            yield Note(f"The last whole week: {self.shift.beside('week')}.")

    def tables(self) -> list[Table]:
        """The weeks, and the proposed queries."""
        weeks = table_of("weeks", WeekSearches, self.weeks)
        return [weeks, self.proposal.table()] if self.proposal else [weeks]

    def as_json(self) -> dict[str, Any]:
        """All figures by name, and what is said of them."""
        names = "weeks", "queries", "dropped", "proposal", "shift", "alarms"
        return self.picked(*names, findings=self.findings)


def searched_queries(
    collection: AnyCollection,
    searches: Iterable[Search],
    *,
    add: int = 40,
) -> SearchedQueries:
    """What users searched for, and which of it a collection lacks.

    `searches` come with their days, in any order; `add` is how many queries are proposed.

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
    log, proposal = counted(searches), None
    if not log.weeks:
        why = counts_of(log.dropped) or "it is empty, or no search has a time"
        raise BadInput(f"the log has no search that can be looked at ({why})")
    if log.recent.sum() >= FEWEST:
        proposal = propose(queries, log, add)
    shift = shift_of_weeks(log.by_week)
    return SearchedQueries(log.weeks, len(queries), log.dropped, proposal, shift)


def shift_of_weeks(by_week: Integers, seed: int = 0) -> Drift:
    """Whether the last of some weeks is as those before it, by the searches `(queries, weeks)`.

    Of each with half as many searches as the middle one or more, as many are drawn: fewer look less
    alike by chance.
    """
    sizes, rng = by_week.sum(axis=0), np.random.default_rng(seed)
    if not sizes.size:
        return Drift(0)
    usable = by_week[:, 2 * sizes >= np.median(sizes)]
    least = int(usable.sum(axis=0).min())
    drawn = [rng.multivariate_hypergeometric(of, least) / least for of in usable.T]
    return shift(np.array(drawn))


def propose(queries: Mapping[str, Query], log: SearchLog, add: int) -> Proposal:
    """Queries to add to a set: those that were searched for most of late, each in one wording.

    Nothing is proposed whose words are those of a query of the set, or of one that is proposed
    already, nor what fewer than `MIN_COUNT` people searched for.
    """
    wordings = {_wording(query.text) for query in queries.values()}
    order = np.argsort(-log.recent, kind="stable")
    order = order[log.recent[order] > 0]
    # the most frequent ones with a third of all searches are one stratum, and so on
    counts = log.recent[order]
    strata = np.minimum(2, 3 * (np.cumsum(counts) - counts) // counts.sum())
    names = (name for number in count(1) if (name := f"w{number}") not in queries)
    proposed, too_rare = list[Query](), 0
    for at, stratum in zip(order.tolist(), strata.tolist(), strict=True):
        wording = _wording(log.texts[at])
        if wording in wordings:
            continue
        if log.people[at] < MIN_COUNT:
            too_rare += 1
            continue
        wordings.add(wording)
        about = {"origin": "real", "stratum": STRATA[stratum], "searches": int(log.totals[at])}
        proposed.append(Query(next(names), log.texts[at], about))
    return Proposal(tuple(proposed[:add]), len(proposed), too_rare)


def _wording(text: str) -> frozenset[str]:
    return frozenset(words(normalized(text).casefold()))
