"""The searches of a log by week: which query, on which day, in which session."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cached_property
from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.queries.filter import words
from labeler.queries.personal import personal
from labeler.queries.traffic import LONGEST, normalized

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
