"""The searches of a log by week: which query, on which day, in which session."""

from __future__ import annotations

import hashlib
import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection as Sized
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Flags, Floats, Integers
from labeler.collection.layout import Collection
from labeler.collection.search import Searched, dense_run
from labeler.data import Query
from labeler.errors import Misuse
from labeler.messages import Progress, no_progress
from labeler.queries.filter import words
from labeler.queries.traffic import LONGEST, normalized, personal
from labeler.stats.distances import DistanceName
from labeler.stats.student import SIGNIFICANT
from labeler.text.terms import TermStatistics, terms, text_to_search
from labeler.text.vectors import Encoder
from labeler.trec.qrels import read_qrels

# What may be set of the look at queries' density.

WEEKS_OF_A_YEAR = 52

WEEKLY_LEVEL = SIGNIFICANT / WEEKS_OF_A_YEAR
"""Each week is tested at this level: a year without a change then has a false alarm with a chance
of 5 % at most, however the weeks hang together (Bonferroni)."""


@dataclass(frozen=True, slots=True)
class DensityOptions:
    """How queries' density is measured.

    A query's distance to the corpus is the mean of those to its first `passages` passages. Weeks
    are compared with the first `reference_weeks` of the log; `recent_weeks` are what queries are
    proposed from. Of a week with fewer than
    `fewest` sessions nothing is said; a search without a session counts as one. Of
    each week at most `searches` are looked at, whole sessions at random. A query is shown, counted
    apart or proposed only where it was searched for `min_count` times, in so many sessions where
    the log has some. `add` is how many queries are proposed.
    """

    passages: int = 3
    reference_weeks: int = 8
    recent_weeks: int = 4
    fewest: int = 20
    searches: int = 3000
    min_count: int = 5
    add: int = 40
    distance: DistanceName = "energy"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("passages", "reference_weeks", "recent_weeks", "min_count"):
            if getattr(self, name) < 1:
                raise Misuse(f"{name} counts from 1", parameter=name)
        if self.fewest < 10:
            problem = "a week of fewer than 10 sessions says nothing; expected 10 or more"
            raise Misuse(problem, parameter="fewest")
        if self.searches < 100:
            raise Misuse("expected 100 searches of a week or more", parameter="searches")
        if self.add < 0:
            raise Misuse("expected how many queries to propose, from 0", parameter="add")


# The queries of a collection as a distribution, with which the traffic is compared.

Vectors = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class EvaluationSet:
    """The evaluation's queries: their ids, texts folded, vectors, and weights that sum to 1."""

    ids: tuple[str, ...]
    folded: frozenset[str]
    vectors: Vectors
    weights: Floats

    @classmethod
    def of(cls, queries: Mapping[str, Query], encoder: Encoder) -> EvaluationSet:
        """The queries of a collection, by their weights where all of them have one."""
        texts = [query.text for query in queries.values()]
        weights = [query.metadata.get("weight") for query in queries.values()]
        raw = np.array([w if isinstance(w, int | float) and w > 0 else 0.0 for w in weights])
        raw = raw if (raw > 0).all() else np.ones(len(texts))
        folded = frozenset(normalized(text).casefold() for text in texts)
        shares = np.asarray(raw / raw.sum(), dtype=np.float64)
        return cls(tuple(queries), folded, encoder.queries(texts), shares)


def answered_queries(collection: Collection, names: tuple[str, ...]) -> set[str]:
    """The queries for which some set of grades has a relevant document: a grade of 1 or more."""
    answered = set[str]()
    for name in names:
        qrels = read_qrels(Path(collection.existing_qrels(name)))
        answered |= {
            query for query, grades in qrels.items() if max(grades.values(), default=0) > 0
        }
    return answered


_DAYS = 7
_MONDAY = date(2024, 1, 1).toordinal()


class Search(NamedTuple):
    """A query that somebody typed on a day, `times` times; `session` is empty where unknown."""

    day: date
    text: str
    session: str = ""
    times: int = 1


@dataclass(frozen=True, eq=False)
class Week:
    """The searches of seven days from a Monday on: rows of a query, a day and a session.

    `query` are places in the texts of `SearchLog`. `session` is a number, 0 where the log has none.
    A query counts once in each session and day. `searches` counts all of the week, of which those
    of the rows may be a sample.
    """

    monday: date
    query: Integers
    day: Integers
    session: Integers
    count: Floats
    searches: int

    @property
    def people(self) -> int:
        """How many sessions it has; a search without a session counts as one."""
        return len(np.unique(self.session))

    @property
    def days(self) -> int:
        """How many of its days have a search."""
        return len(np.unique(self.day))


@dataclass(frozen=True, eq=False)
class SearchLog:
    """Searches by week, and what was left out, by reason.

    `texts` are those of the weeks' samples. `totals` is how often each was searched for in the
    whole log, and `people` in how many sessions; without sessions it is the same.
    """

    texts: list[str]
    weeks: list[Week]
    totals: Integers
    people: Integers
    dropped: Mapping[str, int] = field(default_factory=dict)
    has_sessions: bool = False

    def people_of(self, texts: Integers) -> int:
        """In how many different sessions some of the texts were searched for, in the samples."""
        starts, sessions = self._sessions
        parts = [sessions[starts[text] : starts[text + 1]] for text in texts.tolist()]
        return len(np.unique(np.concatenate(parts))) if parts else 0

    @cached_property
    def _sessions(self) -> tuple[Integers, Integers]:
        """The sessions of each text, one text after another, and where each begins."""
        query = np.concatenate([week.query for week in self.weeks])
        # searches without a session are numbered anew each week, below 0
        weeks = np.repeat(np.arange(len(self.weeks)), [len(week.query) for week in self.weeks])
        session = np.concatenate([week.session for week in self.weeks])
        session = np.where(session < 0, session - (weeks << 40), session)
        order = np.argsort(query, kind="stable")
        return np.searchsorted(query[order], np.arange(len(self.texts) + 1)), session[order]


@dataclass(slots=True)
class _Rows:
    """Rows as they come, in plain arrays: 28 bytes each."""

    query: array[int] = field(default_factory=lambda: array("q"))
    day: array[int] = field(default_factory=lambda: array("l"))
    session: array[int] = field(default_factory=lambda: array("q"))
    count: array[int] = field(default_factory=lambda: array("q"))


def by_week(searches: Iterable[Search], most: int, seed: int = 0) -> SearchLog:
    """The searches by week; of weeks with more than `most`, a sample of whole sessions.

    Queries with personal data, without a word, or pasted are left out and counted.

    >>> day = date(2024, 5, 1)
    >>> log = by_week([Search(day, "USB hub", "s"), Search(day, "@jo")], most=100)
    >>> log.texts, [str(week.monday) for week in log.weeks], dict(log.dropped)
    (['USB hub'], ['2024-04-29'], {'name with @': 1})
    """
    places: dict[str, int] = {}
    forms: dict[int, Counter[str]] = defaultdict(Counter)
    dropped: Counter[str] = Counter()
    rows, has_sessions = _Rows(), False
    for search in searches:
        text = normalized(search.text)
        index = places.get(text.casefold())
        if index is None:
            reason = _reason_to_drop(text)
            if reason:
                dropped[reason] += search.times
                continue
            index = places[text.casefold()] = len(places)
        forms[index][text] += search.times
        rows.query.append(index)
        rows.day.append(search.day.toordinal())
        rows.session.append(_number(search.session) if search.session else 0)
        rows.count.append(search.times)
        has_sessions |= bool(search.session)
    texts = [max(forms[p], key=lambda form: (forms[p][form], form)) for p in range(len(places))]
    weeks, totals, people = _in_weeks(rows, len(texts), most, seed)
    return _compact(SearchLog(texts, weeks, totals, people, dict(dropped), has_sessions))


def _compact(log: SearchLog) -> SearchLog:
    """The log with the texts of its weeks alone."""
    if not log.weeks:
        return log
    used, query = np.unique(np.concatenate([week.query for week in log.weeks]), return_inverse=True)
    ends = np.cumsum([len(week.query) for week in log.weeks])[:-1]
    parts = np.split(query, ends)
    weeks = [replace(week, query=part) for week, part in zip(log.weeks, parts, strict=True)]
    texts = [log.texts[index] for index in used.tolist()]
    totals, people = log.totals[used], log.people[used]
    return replace(log, texts=texts, weeks=weeks, totals=totals, people=people)


def _reason_to_drop(text: str) -> str:
    kinds = personal(text)
    if kinds:
        return kinds[0]
    if not words(text):
        return "no word"
    return f"more than {LONGEST} characters" if len(text) > LONGEST else ""


def _number(session: str) -> int:
    """A number above 0 for the name of a session."""
    digest = hashlib.blake2b(session.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return (int.from_bytes(digest) >> 1) or 1


def _in_weeks(
    rows: _Rows, texts: int, most: int, seed: int
) -> tuple[list[Week], Integers, Integers]:
    """The weeks, and how often each text was searched for, and in how many sessions."""
    query, day, session, count = (
        np.asarray(column, dtype=np.int64)
        for column in (rows.query, rows.day, rows.session, rows.count)
    )
    # a query once in each session and day: rows without a session all count
    named = np.flatnonzero(session)
    _, first = np.unique(_mixed(session, day, query)[named], return_index=True)
    keep = np.sort(np.concatenate([np.flatnonzero(session == 0), named[first]]))
    count = np.where(session > 0, 1, count)[keep]
    query, day, session = query[keep], day[keep], session[keep]
    totals = np.bincount(query, weights=count, minlength=texts).astype(np.int64)
    is_first = np.zeros(len(query), dtype=bool)
    is_first[np.unique(_mixed(session, query), return_index=True)[1]] = True
    each = np.where((session == 0) | is_first, count, 0)
    people = np.bincount(query, weights=each, minlength=texts).astype(np.int64)
    number = (day - _MONDAY) // _DAYS
    weeks = []
    for which in np.unique(number):
        inside = np.flatnonzero(number == which)
        monday = date.fromordinal(_MONDAY) + timedelta(days=int(which) * _DAYS)
        columns = query[inside], day[inside], session[inside], count[inside]
        weeks.append(_sampled(monday, columns, most, seed))
    return weeks, totals, people


def _mixed(*columns: Integers) -> Integers:
    """A number for each row that differs where a row does, but for one chance in 2 ** 64."""
    mixed = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        mixed ^= column.view(np.uint64)
        mixed *= np.uint64(0x9E3779B97F4A7C15)  # the golden ratio, as hashes use it
        mixed ^= mixed >> np.uint64(29)
    return mixed.view(np.int64)


def _sampled(
    monday: date, columns: tuple[Integers, Integers, Integers, Integers], most: int, seed: int
) -> Week:
    """A week of at most `most` searches or so; each row is one session's, or one search."""
    query, day, session, count = columns
    searches = int(count.sum())
    rng = np.random.default_rng((seed, monday.toordinal()))
    counted = np.flatnonzero(session == 0)
    taken = count.copy()
    if searches > most:
        share = most / searches
        taken[counted] = rng.binomial(count[counted], share)
        named, which = np.unique(session, return_inverse=True)
        drawn = rng.random(len(named)) < share
        taken[(session > 0) & ~drawn[which]] = 0
    repeats = np.repeat(np.arange(len(query)), taken)
    # a search without a session is a session of its own, with a number below 0
    alone = session[repeats] == 0
    sessions = np.where(alone, -1 - np.arange(len(repeats)), session[repeats])
    ones = np.ones(len(repeats))
    return Week(monday, query[repeats], day[repeats], sessions, ones, searches)


# How near the corpus is to each query: by vectors, and by the words that it lacks.

CALIBRATED = 0.95
"""The share of answered evaluation queries that count as covered."""
LACKING = 0.5
"""From this share of its words on, by idf, that the corpus lacks, a query lacks words in it."""


@dataclass(frozen=True, eq=False)
class CorpusDistance:
    """How near the corpus is to each of some queries.

    `distances` are 1 less the cosine, the mean over the first passages; `lacking` is the share of
    each query's terms, weighted by idf, that stand nowhere in the corpus.
    """

    distances: Floats
    lacking: Floats

    def part(self, places: slice) -> CorpusDistance:
        """The same of some of the queries."""
        return CorpusDistance(self.distances[places], self.lacking[places])

    @property
    def lacks_words(self) -> Flags:
        """Whether half of the query or more stands nowhere in the corpus."""
        lacks: Flags = self.lacking >= LACKING
        return lacks


def corpus_distance(
    searched: Searched,
    texts: Sequence[str],
    encoder: Encoder,
    passages: int,
    progress: Progress = no_progress,
) -> CorpusDistance:
    """The distances of queries to a corpus, of which a block at a time is in memory."""
    queries = [Query(str(index), text) for index, text in enumerate(texts)]
    run = dense_run(searched, queries, encoder, passages, progress)
    means = [float(np.mean([*run[query.id].values()] or [0.0])) for query in queries]
    return CorpusDistance(1.0 - np.array(means), _lacking(searched, texts, progress))


def _lacking(searched: Searched, texts: Sequence[str], progress: Progress) -> Floats:
    of_queries = [[*dict.fromkeys(terms(text))] for text in texts]
    vocabulary = {term for asked in of_queries for term in asked}
    statistics = _statistics(searched, vocabulary, progress)
    weights = {term: statistics.idf(term) for term in vocabulary}
    lacks = {term for term in vocabulary if term not in statistics.frequency}

    def share(asked: Sequence[str]) -> float:
        total = sum(weights[term] for term in asked)
        return sum(weights[term] for term in asked if term in lacks) / total if total else math.nan

    return np.array([share(asked) for asked in of_queries])


def _statistics(searched: Searched, vocabulary: Sized[str], progress: Progress) -> TermStatistics:
    """In how many documents each term of the queries stands; other terms are not counted."""
    with progress("counting words") as advance:
        documents = searched.counted(advance)
        return TermStatistics.of(
            [term for term in terms(text_to_search(document)) if term in vocabulary]
            for document in documents
        )


@dataclass(frozen=True, slots=True)
class Threshold:
    """From which distance on a query is not covered, and of which queries that was learnt.

    `value` is None where there are too few. A query like the `queries` answered ones is farther
    with a chance of 5 % at most: it is the order statistic of conformal prediction (Vovk,
    Gammerman and Shafer 2005, Algorithmic Learning in a Random World), not a mere percentile.
    """

    value: float | None
    queries: int
    answered: bool

    @classmethod
    def of(cls, distances: Floats, *, answered: bool) -> Threshold:
        """The threshold that the evaluation's queries give; 19 of them are needed.

        >>> Threshold.of(np.arange(99.0), answered=True).value
        94.0
        """
        index = math.ceil(CALIBRATED * (len(distances) + 1))
        if index > len(distances):
            return cls(None, len(distances), answered)
        return cls(float(np.sort(distances)[index - 1]), len(distances), answered)
