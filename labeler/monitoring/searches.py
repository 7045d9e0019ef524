"""The searches of a log by week, and which words stand in more or fewer of them than before."""

from __future__ import annotations

import hashlib
import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.monitoring.log import EventLog
from labeler.monitoring.log_values import zone_of
from labeler.queries.filter import words
from labeler.queries.traffic import LONGEST, normalized, personal
from labeler.report.table import Column, Interval
from labeler.stats.blocks import BlockShare, BlockSides, block_share, shares_moved
from labeler.stats.means import difference_interval
from labeler.stats.student import SIGNIFICANT
from labeler.text.terms import term_of, words_to_stem

if TYPE_CHECKING:
    from pandas import DataFrame

WEEKLY_LEVEL = SIGNIFICANT / 52
"""Each week is tested at this level: a year without a change then has a false alarm with a chance
of 5 % at most, however the weeks hang together (Bonferroni)."""
MOST_SEARCHES = 3000
"""Searches of a week that are looked at, whole sessions at random."""
MIN_COUNT = 5
"""A query or a word is shown, counted or proposed only where so many people searched for it."""
MOST_TERMS = 300
MOST_NAMED = 12
BLOCKS_OF_A_WEEK = 56
"""Sessions are dealt into about so many blocks a week, eight a day."""
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
                day = datetime.fromtimestamp(time, zone).date()
                yield Search(day, texts[text], user)


@dataclass(frozen=True, eq=False)
class Week:
    """The searches of seven days from a Monday on: rows of a query, a day and a session.

    `query` are places in the texts of `SearchLog`. `session` is a number, below 0 of a search whose
    session the log does not name. A query counts once in each session and day. `searches` counts
    all of the week, of which those of the rows may be a sample.
    """

    monday: date
    query: Integers
    day: Integers
    session: Integers
    searches: int

    @property
    def people(self) -> int:
        """How many sessions it has; a search without a session counts as one."""
        return len(np.unique(self.session))


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


def by_week(searches: Iterable[Search], most: int = MOST_SEARCHES, seed: int = 0) -> SearchLog:
    """The searches by week; of weeks with more than `most`, a sample of whole sessions.

    Queries with personal data, without a word, or pasted are left out and counted.

    >>> day = date(2024, 5, 1)
    >>> log = by_week([Search(day, "USB hub", "s"), Search(day, "@jo")])
    >>> log.texts, [str(week.monday) for week in log.weeks], dict(log.dropped)
    (['USB hub'], ['2024-04-29'], {'name with @': 1})
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
        [
            Week(
                week.monday,
                np.searchsorted(used, week.query),
                week.day,
                week.session,
                week.searches,
            )
            for week in weeks
        ],
        totals[used],
        people[used],
        dict(dropped),
        bool(named.any()),
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
    query, day, session = (rows[name].to_numpy() for name in rows)
    searches = len(rows)
    if searches > most:
        rng, share = np.random.default_rng((seed, monday.toordinal())), most / searches
        alone = session == 0
        taken_alone = rng.binomial(1, share, int(alone.sum())) > 0
        names, which = np.unique(session, return_inverse=True)
        taken = (rng.random(len(names)) < share)[which]
        taken[alone] = taken_alone
        query, day, session = query[taken], day[taken], session[taken]
    # a search without a session is a session of its own, with a number below 0 that no other has
    own = -1 - np.arange(len(session)) - (monday.toordinal() << 32)
    return Week(monday, query, day, np.where(session == 0, own, session), searches)


# Searches in blocks: days, or a few sessions of a day.


@dataclass(frozen=True, eq=False)
class BlockRows:
    """Searches of some weeks, each in a block of a few sessions of one day.

    `first` says which blocks are of the week that is looked at, `day` which day each block is of,
    `people` how many sessions it has.
    """

    query: Integers
    session: Integers
    block: Integers
    day: Integers
    first: Flags
    people: Floats

    @property
    def mass(self) -> Floats:
        """How many searches each block has."""
        return np.bincount(self.block, minlength=len(self.day)).astype(np.float64)

    def of_days(self) -> tuple[Integers, BlockSides | None]:
        """The day of each block, from 0, and days as blocks that may change sides.

        None where so few days have searches that no assignment of them could be told from chance.
        """
        days, which = np.unique(self.day, return_inverse=True)
        first = np.isin(days, self.day[self.first])
        sides = BlockSides(first, days % 7)
        is_enough = first.sum() >= 3 and (~first).sum() >= 3 and sides.smallest_p <= WEEKLY_LEVEL
        return which, sides if is_enough else None


def rows_of(week: Week, others: Sequence[Week] = (), seed: int = 0) -> BlockRows:
    """A week's searches and those of others, in blocks of as many sessions each, at random."""
    weeks = [week, *others]
    size = max(1.0, float(np.median([each.people for each in weeks])) / BLOCKS_OF_A_WEEK)
    query, sessions, block, people = [], [], [], []
    day, first = list[int](), list[bool]()
    for number, each in enumerate(weeks):
        rng = np.random.default_rng((seed, each.monday.toordinal()))
        for this in np.unique(each.day):
            inside = np.flatnonzero(each.day == this)
            names, session = np.unique(each.session[inside], return_inverse=True)
            blocks = max(1, round(len(names) / size))
            dealt = rng.permutation(len(names)) % blocks
            query.append(each.query[inside])
            sessions.append(each.session[inside])
            block.append(len(first) + dealt[session])
            people.append(np.bincount(dealt, minlength=blocks).astype(np.float64))
            day += [int(this)] * blocks
            first += [number == 0] * blocks
    return BlockRows(
        np.concatenate(query),
        np.concatenate(sessions),
        np.concatenate(block),
        np.array(day),
        np.array(first),
        np.concatenate(people),
    )


# Whether a week's searches have other words than those of the reference weeks.


class WordChange(NamedTuple):
    """The share of searches with a word, before and now, and how sure it is that it moved.

    `p` allows for all words that were looked at.
    """

    word: str
    before: Annotated[BlockShare, Column(format=".1%", ends=".1%")]
    now: Annotated[BlockShare, Column(format=".1%", ends=".1%")]
    difference: Annotated[Interval, Column(format="+.1%", ends="+.1%")]
    p: Annotated[float, Column(format=".4f")]


@dataclass(frozen=True)
class WordTest:
    """Whether any word stands in another share of a week's searches than of the reference weeks'.

    `p` allows for the number of words. `by_days` says that whole days changed sides in the test, so
    that days may differ among each other; else sessions did, or single searches where the log has
    no sessions. `named` are the words that moved, the surest first, of `words` in all.
    """

    p: float
    by_days: bool
    words: int
    named: tuple[WordChange, ...]

    @property
    def is_alarm(self) -> bool:
        """Whether chance would do so in one year of fifty-two weeks in twenty at most."""
        return self.p <= WEEKLY_LEVEL


def word_test(
    week: Week, reference: Sequence[Week], texts: Sequence[str], seed: int = 0
) -> WordTest:
    """Hold a week against others; whole days change sides, or sessions where days are too few.

    Each difference is held against the largest of all words (Westfall and Young 1993).
    """
    rows = rows_of(week, reference, seed)
    names, counts = _counted_words(rows, texts)
    moved_with, sides = rows.of_days()
    by_days = sides is not None
    if sides is None:
        moved_with, sides = np.arange(len(rows.first)), BlockSides(rows.first, seed=seed)
    member = np.zeros((len(sides.first), len(rows.first)))
    member[moved_with, np.arange(len(rows.first))] = 1.0
    moved = shares_moved(member @ counts, member @ rows.mass, sides)
    apart = np.abs(moved.first - moved.second)
    sure = sorted(np.flatnonzero(moved.p <= SIGNIFICANT), key=lambda n: (moved.p[n], -apart[n]))
    named = []
    for number in sure[:MOST_NAMED]:
        now, before = (
            block_share(counts[side, number], rows.mass[side], float(rows.people[side].sum()))
            for side in (rows.first, ~rows.first)
        )
        ends = difference_interval(now, before)
        difference = Interval(now.value - before.value, *ends)
        p = float(moved.p[number])
        named.append(WordChange(names[number], before, now, difference, p))
    return WordTest(float(moved.p.min(initial=1.0)), by_days, len(names), tuple(named))


def _counted_words(rows: BlockRows, texts: Sequence[str]) -> tuple[list[str], Floats]:
    """The words with the most searches, and in how many of each block: `(blocks, words)`.

    Words of fewer than `MIN_COUNT` people are left out.
    """
    import pandas as pd

    forms = [
        (query, term_of(word), word)
        for query in np.unique(rows.query).tolist()
        for word in dict.fromkeys(words_to_stem(texts[query]))
    ]
    terms = pd.DataFrame(forms, columns=pd.Index(["query", "term", "word"]))
    terms = terms.drop_duplicates(["query", "term"])
    searches = pd.DataFrame({"query": rows.query, "session": rows.session, "block": rows.block})
    held = searches.merge(terms, on="query")
    by_term = held.groupby("term").agg(searches=("block", "size"), people=("session", "nunique"))
    often = by_term[by_term["people"] >= MIN_COUNT].reset_index()
    often = often.sort_values(["searches", "term"], ascending=[False, True])[:MOST_TERMS]
    number = pd.Series(range(len(often)), index=often["term"])
    held = held[held["term"].isin(often["term"])]
    counts = np.zeros((len(rows.first), len(often)))
    np.add.at(counts, (held["block"].to_numpy(), number[held["term"]].to_numpy()), 1.0)
    usual = held.groupby("term")["word"].agg(lambda words: words.value_counts().index[0])
    return usual[often["term"]].tolist(), counts
