"""Searches of users, and the documents that each showed, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.monitoring.log.cleaning import CleanRows, mixed
from labeler.monitoring.log.rows import Rows
from labeler.monitoring.log.values import BOUGHT, CLICKED, DOWN, RETURNED, SHOWN, UP


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
