"""The searches of a log by week."""

from __future__ import annotations

import hashlib
import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labeler.arrays import Integers
from labeler.monitoring.log import EventLog
from labeler.monitoring.log_values import zone_of
from labeler.queries.filter import words
from labeler.queries.traffic import LONGEST, normalized, personal

if TYPE_CHECKING:
    from pandas import DataFrame

MOST_SEARCHES = 3000
"""Searches of a week that are looked at, whole sessions at random."""
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


class Week(NamedTuple):
    """The searches of seven days from a Monday on, each the place of its query in the log's texts.

    A query counts once in each session and day. `searches` counts all of the week, of which those
    of `query` may be a sample.
    """

    monday: date
    query: Integers
    searches: int


@dataclass(frozen=True, eq=False)
class SearchLog:
    """Searches by week, and what was left out, by reason.

    `texts` are those of the weeks' samples. `totals` is how often each was searched for in the
    whole log, and `people` in how many sessions, where one without a name counts as one.
    """

    texts: list[str]
    weeks: list[Week]
    totals: Integers
    people: Integers
    dropped: Mapping[str, int] = field(default_factory=dict)


def by_week(searches: Iterable[Search], most: int = MOST_SEARCHES, seed: int = 0) -> SearchLog:
    """The searches by week; of weeks with more than `most`, a sample of whole sessions.

    Queries with personal data, without a word, or pasted are left out and counted.

    >>> day = date(2024, 5, 1)
    >>> log = by_week([Search(day, "USB hub", "s"), Search(day, "@jo")])
    >>> log.texts, [str(week.monday) for week in log.weeks], dict(log.dropped)
    (['USB hub'], ['2024-04-29'], {'mail address or name with @': 1})
    """
    import pandas as pd

    places: dict[str, int] = {}
    forms: dict[int, Counter[str]] = defaultdict(Counter)
    dropped: Counter[str] = Counter()
    columns = {name: array("q") for name in ("query", "day", "session")}
    for search in searches:
        text = normalized(search.text)
        if text.casefold() not in places:
            if reason := _reason_to_drop(text):
                dropped[reason] += 1
                continue
            places[text.casefold()] = len(places)
        query = places[text.casefold()]
        forms[query][text] += 1
        row = query, search.day.toordinal(), _number(search.session)
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)
    frame = pd.DataFrame({name: np.asarray(column) for name, column in columns.items()})
    named = frame["session"] > 0
    # a query once in each session and day: rows without a session all count
    frame = frame[~named | ~frame.duplicated(["session", "day", "query"])]
    again = (frame["session"] > 0) & frame.duplicated(["session", "query"])
    totals = np.bincount(frame["query"], minlength=len(places))
    people = np.bincount(frame["query"][~again], minlength=len(places))
    weeks = [
        _sampled(date.fromordinal(_MONDAY + 7 * int(number)), rows, most, seed)
        for number, rows in frame.groupby((frame["day"] - _MONDAY) // 7)
    ]
    used = np.unique(np.concatenate([week.query for week in weeks])) if weeks else totals[:0]
    return SearchLog(
        [max(forms[q], key=lambda form: (forms[q][form], form)) for q in used.tolist()],
        [week._replace(query=np.searchsorted(used, week.query)) for week in weeks],
        totals[used],
        people[used],
        dict(dropped),
    )


def _reason_to_drop(text: str) -> str:
    kinds = personal(text)
    if kinds:
        return kinds[0]
    if not words(text):
        return "no word"
    return f"more than {LONGEST} characters" if len(text) > LONGEST else ""


def _number(session: str) -> int:
    """A number above 0 for the name of a session; 0 of none."""
    digest = hashlib.blake2b(session.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return ((int.from_bytes(digest) >> 1) or 1) if session else 0


def _sampled(monday: date, rows: DataFrame, most: int, seed: int) -> Week:
    """A week of at most `most` searches or so; each row is one session's, or of none."""
    query, session = (rows[name].to_numpy() for name in ("query", "session"))
    searches = len(rows)
    if searches > most:
        rng, share = np.random.default_rng((seed, monday.toordinal())), most / searches
        alone = session == 0
        taken_alone = rng.binomial(1, share, int(alone.sum())) > 0
        names, which = np.unique(session, return_inverse=True)
        taken = (rng.random(len(names)) < share)[which]
        taken[alone] = taken_alone
        query = query[taken]
    return Week(monday, query, searches)
