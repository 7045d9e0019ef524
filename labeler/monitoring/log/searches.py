"""Searches of users, and the documents that each showed, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.monitoring.log.rows import GROUPS, KINDS_OF_PERSONAL, Rows, RowTally
from labeler.monitoring.log.values import (
    BOUGHT,
    CLICKED,
    DOWN,
    RETURNED,
    SHOWN,
    UP,
    BotRules,
    LogOptions,
    spread,
)

# A part of a log made clean: events once, in order, in searches, without bots.

_ODD = np.uint64(0x9E3779B97F4A7C15)
MINUTE, DAY = 60.0, 86400.0


@dataclass(frozen=True, eq=False)
class CleanRows:
    """Rows of a part in the order of their times, and the search of each, numbered from 0.

    `texts` are the queries, `text` that of each search.
    """

    rows: Rows
    search: Integers
    text: Integers
    texts: Sequence[str]


def cleaned(
    rows: Rows, texts: Sequence[str], options: LogOptions, has_clicks: bool, tally: RowTally
) -> CleanRows:
    """The rows of a part that count; `tally` counts the others."""
    times = np.nan_to_num(rows["time"], nan=0.0)
    rows = rows[np.lexsort((rows["line"], rows["file"], times))]
    rows = _dropped(rows, _again(rows), "the same event again", tally)
    search = searches_of(rows, options.pause * MINUTE)
    rows, search, text = _with_queries(rows, search, tally)
    reasons = _bots(rows, search, options.bots, has_clicks)
    is_person = np.ones(len(rows), dtype=bool)
    for reason, flags in reasons.items():
        _dropped(rows, is_person & flags, reason, tally)
        is_person &= ~flags
    if not is_person.all():
        rows, search = rows[is_person], search[is_person]
    left, numbers = np.unique(search, return_inverse=True)
    return CleanRows(rows, numbers.astype(np.int64), text[left], texts)


def _dropped(rows: Rows, flags: Flags, reason: str, tally: RowTally) -> Rows:
    """The rows without the flagged ones, which are counted; one that was made of another is not."""
    if not flags.any():
        return rows
    lost = rows[flags & (rows["kind"] != RETURNED)]
    for file in np.unique(lost["file"]).tolist():
        tally.add_rows(reason, file, lost["line"][lost["file"] == file])
    return rows[~flags]


def mixed(*parts: Rows) -> Integers:
    """One number for each combination of some columns' values."""
    key = np.zeros(len(parts[0]), dtype=np.uint64)
    for part in parts:
        bits = np.ascontiguousarray(part)
        bits = bits.view(np.uint64) if bits.dtype.kind == "f" else bits.astype(np.int64)
        key = (key ^ bits.astype(np.uint64)) * _ODD
        key ^= key >> np.uint64(29)
    return key.view(np.int64)


def _again(rows: Rows) -> Flags:
    """Whether a row says what an earlier one says, of the same user at the same time."""
    doubles = rows["clicks"].astype(np.float64), rows["dwell"].astype(np.float64)
    columns = ("client", "session", "search", "document", "text", "rank", "kind", "variant")
    key = mixed(rows["time"], *doubles, *(rows[name] for name in columns))
    _, first = np.unique(key, return_index=True)
    is_first = np.zeros(len(rows), dtype=bool)
    is_first[first] = True
    is_named = (rows["client"] != 0) | (rows["search"] != 0)
    flags: Flags = ~is_first & is_named & ~np.isnan(rows["time"])
    return flags


def searches_of(rows: Rows, pause: float) -> Integers:
    """The search of each row, numbered in the order of the first row of each.

    Rows of one search id are of one search; else those of one query in one session, or of one user,
    unless `pause` seconds lie between them. Where no name tells, rows of one query at one time are,
    and without a document each row alone.
    """
    by_id = rows["search"] != 0
    by_name = ~by_id & (rows["client"] != 0)
    alone = ~by_id & ~by_name & (rows["document"] == 0)
    nothing, places = np.zeros(len(rows), dtype=np.int64), np.arange(len(rows))
    who = np.where(by_id, rows["client"], np.where(by_name, rows["session"], 0))
    what = np.where(by_id, rows["search"], rows["text"].astype(np.int64))
    when = np.where(by_id | by_name, 0.0, np.nan_to_num(rows["time"], nan=-1.0))
    sort = np.where(by_id, 0, np.where(by_name, 1, np.where(alone, 2, 3)))
    client = np.where(by_name, rows["client"], nothing)
    key = mixed(sort, who, client, what, when, np.where(alone, places, nothing))
    key = mixed(key, _visits(rows, key, by_name, pause))
    _, first, search = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    number = np.empty(len(first), dtype=np.int64)
    number[order] = np.arange(len(first))
    return number[search]


def _visits(rows: Rows, key: Integers, by_name: Flags, pause: float) -> Integers:
    """How many pauses lie before each row among the rows of the same key."""
    times = np.nan_to_num(rows["time"], nan=0.0)
    order = np.lexsort((times, key))
    same = key[order][1:] == key[order][:-1]
    is_new = same & (np.diff(times[order]) > pause) & by_name[order][1:]
    visits = np.zeros(len(rows), dtype=np.int64)
    visits[order[1:]] = np.cumsum(is_new)
    starts = np.zeros(len(rows), dtype=np.int64)  # what was counted before each key began
    begins = np.append(True, ~same)
    starts[order] = np.maximum.accumulate(np.where(begins, visits[order], 0))
    result: Integers = visits - starts
    return result


def _with_queries(rows: Rows, search: Integers, tally: RowTally) -> tuple[Rows, Integers, Integers]:
    """The rows of searches whose query may be shown, and each search's text."""
    count = int(search.max(initial=-1)) + 1
    text = np.full(count, -1, dtype=np.int64)
    has_text = np.flatnonzero(rows["text"] >= 0)[::-1]  # so that the first of a search stays
    text[search[has_text]] = rows["text"][has_text]
    personal = np.zeros(count, dtype=np.int64)
    np.maximum.at(personal, search, rows["personal"].astype(np.int64))
    flags = personal[search] > 0
    for number in np.unique(personal[personal > 0]).tolist():
        of_kind = personal[search] == number
        _dropped(rows, of_kind, _why_personal(number), tally)
    nameless = ~flags & (text[search] < 0)
    _dropped(rows, nameless, "no query", tally)
    keep = ~flags & ~nameless
    if keep.all():
        return rows, search, text
    return rows[keep], search[keep], text


def _why_personal(number: int) -> str:
    if number > len(KINDS_OF_PERSONAL):
        return "a query too long to be typed"
    return f"personal data in the query ({KINDS_OF_PERSONAL[number - 1]})"


def _bots(rows: Rows, search: Integers, rules: BotRules, has_clicks: bool) -> dict[str, Flags]:
    """The rows of programs, by what tells that they are."""
    named = np.flatnonzero(rows["client"] != 0)
    _, client = np.unique(rows["client"], return_inverse=True)
    flagged = np.zeros(int(client.max(initial=-1)) + 1, dtype=bool)
    flagged[client[(rows["bot"] > 0) & (rows["client"] != 0)]] = True
    reasons = {"a bot (its user agent)": flagged[client] | (rows["bot"] > 0)}
    if not len(named):
        return reasons
    _, first = np.unique(search[named], return_index=True)  # one row a search, the earliest
    earliest = named[first]
    who, times = client[earliest], rows["time"][earliest]
    size = len(flagged)
    if has_clicks and rules.searches_without_click:
        count, clicks = np.bincount(who, minlength=size), np.zeros(size)
        np.add.at(clicks, client, (rows["kind"] & CLICKED > 0).astype(float))
        without = (count > rules.searches_without_click) & (clicks == 0)
        reasons[f"a bot (more than {rules.searches_without_click} searches, no click)"] = without[
            client
        ]
    if np.isnan(times).all():
        return reasons
    for name, most, length in (
        ("minute", rules.searches_a_minute, MINUTE),
        ("day", rules.searches_a_day, DAY),
    ):
        if most:
            flags = np.zeros(size, dtype=bool)
            flags[who[_exceeding(who, times, most, length)]] = True
            reasons[f"a bot (more than {most} searches within a {name})"] = flags[client]
    return reasons


def _exceeding(who: Integers, times: Rows, most: int, length: float) -> Flags:
    """Whether a user's searches within `length` seconds from a search on are more than `most`."""
    order = np.lexsort((times, who))
    ordered, moments = who[order], times[order]
    later = np.arange(len(order)) + most
    inside = later < len(order)
    last = np.minimum(later, len(order) - 1)
    close = (ordered[last] == ordered) & (moments[last] - moments < length)
    flags = np.zeros(len(who), dtype=bool)
    flags[order] = inside & close
    return flags


@dataclass(frozen=True, eq=False)
class Searches:
    """Some searches of a log, one a place in every array, in the order of their first events.

    `text` numbers the query in `texts`. `time` is in seconds since 1970, nan without one. `client`
    numbers the user, or the session where no user is named; -1 where neither is. `group` is one of
    400 groups of users. `times` is how often it was searched for, more than once where the log only
    counts; `delay` the seconds to the first click, nan without one. `variant` and `session` are
    numbers, 0 where there is none.
    """

    texts: Sequence[str]
    text: Integers
    time: Floats
    client: Integers
    session: Integers
    group: Integers
    times: Floats
    is_clicked: Flags
    is_bought: Flags
    ups: Floats
    downs: Floats
    delay: Floats
    variant: Integers

    def __len__(self) -> int:
        return len(self.text)

    @property
    def queries(self) -> list[str]:
        """The query of each search."""
        return [self.texts[number] for number in self.text.tolist()]


@dataclass(frozen=True, eq=False)
class Impressions:
    """Documents that searches showed, one a place in every array; `search` numbers the search.

    `document` is a hash of its id, `rank` counts from 1, 0 where it is missing. `shown` is 0 of a
    click on what the log does not say was shown. `dwell` is in seconds, nan where it is not known.
    """

    search: Integers
    document: Integers
    rank: Integers
    shown: Floats
    clicks: Floats
    dwell: Floats

    def __len__(self) -> int:
        return len(self.search)


@dataclass(frozen=True, eq=False)
class LogPart:
    """All searches of some users, and what these showed."""

    searches: Searches
    impressions: Impressions


def part_of_log(clean: CleanRows, is_from_0: bool) -> LogPart:
    """The searches and impressions of clean rows; `is_from_0` says that ranks count from 0."""
    rows, search = _without_returned(clean.rows, clean.search)
    impressions = _impressions(rows, search, is_from_0)
    return LogPart(_searches(clean, impressions), impressions)


def _without_returned(rows: Rows, search: Integers) -> tuple[Rows, Integers]:
    """The rows, without what a query returned where the log says what of it was shown."""
    size = int(search.max(initial=-1)) + 1
    is_shown = (rows["kind"] & SHOWN > 0) & (rows["document"] != 0)
    has_shown = np.zeros(size, dtype=bool)
    has_shown[search[is_shown]] = True
    keep = ~(has_shown[search] & (rows["kind"] == RETURNED))
    return rows[keep], search[keep]


def _impressions(rows: Rows, search: Integers, is_from_0: bool) -> Impressions:
    """One for each document of each search."""
    about = rows["document"] != 0
    rows, search = rows[about], search[about]
    rank = rows["rank"].astype(np.int64)
    if is_from_0:
        rank = np.where((rank >= 0) & (rows["kind"] != RETURNED), rank + 1, rank)
    rank = np.maximum(rank, 0)
    shown = rows["kind"] & (SHOWN | RETURNED) > 0
    key = mixed(search, rows["document"])
    order = np.lexsort((np.where(rank > 0, rank, 1 << 30), ~shown, key))
    begins = np.flatnonzero(np.append(True, key[order][1:] != key[order][:-1]))
    if not len(rows):
        begins = begins[:0]
    counts = (rows["client"] == 0) & (rows["search"] == 0)
    times = np.where(shown, rows["times"], 0.0)[order]
    clicks = rows["clicks"].astype(np.float64)[order]
    dwell = np.nan_to_num(rows["dwell"].astype(np.float64), nan=-1.0)[order]
    first = order[begins]
    is_count = counts[first]
    of_shown = np.where(is_count, _sums(times, begins), _most(shown[order].astype(float), begins))
    of_clicks = np.where(is_count, _sums(clicks, begins), np.minimum(_most(clicks, begins), 1.0))
    longest = _most(dwell, begins)
    result = Impressions(
        search[first],
        rows["document"][first],
        rank[first],
        of_shown,
        np.where(of_shown > 0, np.minimum(of_clicks, of_shown), of_clicks),
        np.where(longest < 0, np.nan, longest),
    )
    return _sorted(result, first)


def _sorted(impressions: Impressions, row: Integers) -> Impressions:
    """By search and rank; those of one rank as the log has them, in whatever order hashes are."""
    order = np.lexsort((row, impressions.rank, impressions.search))
    columns = (getattr(impressions, name)[order] for name in Impressions.__dataclass_fields__)
    return Impressions(*columns)


def _sums(values: Floats, begins: Integers) -> Floats:
    return np.add.reduceat(values, begins) if len(begins) else np.zeros(0)


def _most(values: Floats, begins: Integers) -> Floats:
    return np.maximum.reduceat(values, begins) if len(begins) else np.zeros(0)


def _searches(clean: CleanRows, impressions: Impressions) -> Searches:
    rows, search = clean.rows, clean.search
    count = len(clean.text)
    _, first = np.unique(search, return_index=True)
    head = rows[first]
    times = np.zeros(count)
    np.maximum.at(times, search, np.where(rows["document"] == 0, rows["times"], 0.0))
    np.maximum.at(times, impressions.search, impressions.shown)
    is_named = (head["client"] != 0) | (head["search"] != 0)
    times = np.where(is_named & (times == 0), 1.0, times)
    kind = rows["kind"]
    client = numbered_as_they_come(head["client"])
    return Searches(
        clean.texts,
        clean.text,
        head["time"].astype(np.float64),
        np.where(head["client"] == 0, -1, client),
        _of_search(rows["session"], search, count),
        head["group"].astype(np.int64),
        times,
        _has(kind & CLICKED, search, count),
        _has(kind & BOUGHT, search, count),
        np.bincount(search[kind & UP > 0], minlength=count).astype(np.float64),
        np.bincount(search[kind & DOWN > 0], minlength=count).astype(np.float64),
        _delays(rows, search, head["time"]),
        _of_search(rows["variant"], search, count),
    )


def numbered_as_they_come(names: Any) -> Integers:
    """The number of each name, from 0 in the order of their first places.

    Names are hashes that differ from run to run, so that their own order would make figures do so.
    """
    _, first, which = np.unique(names, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first, kind="stable")] = np.arange(len(first))
    return number[which]


def _has(flags: Any, search: Integers, count: int) -> Flags:
    has = np.zeros(count, dtype=bool)
    has[search[flags > 0]] = True
    return has


def _of_search(values: Any, search: Integers, count: int) -> Integers:
    """The first value of each search's rows that is not 0."""
    result = np.zeros(count, dtype=np.int64)
    named = np.flatnonzero(values)[::-1]
    result[search[named]] = values[named]
    return result


def _delays(rows: Rows, search: Integers, starts: Any) -> Floats:
    """Seconds from each search to its first click: by the click's own time, or its event's.

    A click in the same row as the document's impression, without a time of its own, tells nothing.
    """
    clicked = rows["kind"] & CLICKED > 0
    is_event = clicked & (rows["kind"] & SHOWN == 0)
    own = rows["delay"].astype(np.float64)
    away = np.where(np.isnan(own) & is_event, rows["time"] - starts[search], own)
    away = np.where(clicked & (away >= 0), away, np.inf)
    delays = np.full(len(starts), np.inf)
    np.minimum.at(delays, search, away)
    return np.where(np.isinf(delays), np.nan, delays)


# Searches and clicks from arrays, without a file: for simulations.


def part_of_clicks(columns: Mapping[str, Any]) -> LogPart:
    """The searches of rows with a time, a session, a query, a document, a rank and clicks.

    Rows of one time are of one search. A `variant` is a number from 1.

    >>> rows = {"time": [0.0, 0.0], "session": [1, 1], "query": ["lcd", "lcd"]}
    >>> part = part_of_clicks(rows | {"doc_id": ["a", "b"], "rank": [1, 2], "clicked": [0, 1]})
    >>> len(part.searches), part.impressions.clicks.tolist()
    (1, [0.0, 1.0])
    """
    rows = {name: np.asarray(values) for name, values in columns.items()}
    count = len(rows["time"])
    nothing = np.zeros(count, dtype=np.int64)
    times, first, search = np.unique(rows["time"], return_index=True, return_inverse=True)
    texts, text = np.unique(rows["query"].astype(str), return_inverse=True)
    _, client = np.unique(rows["session"], return_inverse=True)
    groups = [spread(str(name)) % GROUPS for name in rows["session"][first].tolist()]
    clicks = rows["clicked"].astype(np.float64)
    clicked = np.bincount(search, weights=clicks) > 0
    variant = rows.get("variant", nothing)[first]
    undone = np.zeros(len(times))
    return LogPart(
        Searches(
            texts.tolist(),
            text[first],
            times.astype(np.float64),
            client[first],
            client[first] + 1,
            np.array(groups, dtype=np.int64),
            np.ones(len(times)),
            clicked,
            np.zeros(len(times), dtype=bool),
            undone,
            undone,
            np.full(len(times), np.nan),
            variant.astype(np.int64),
        ),
        Impressions(
            search,
            np.array([hash(str(name)) or 1 for name in rows["doc_id"].tolist()], dtype=np.int64),
            rows["rank"].astype(np.int64),
            np.ones(count),
            clicks,
            np.full(count, np.nan),
        ),
    )
