"""A part of a log made clean: events once, in order, in searches, without bots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labeler.arrays import Flags, Integers
from labeler.monitoring.log.options import BotRules, LogOptions
from labeler.monitoring.log.rows import KINDS_OF_PERSONAL, Rows
from labeler.monitoring.log.tally import RowTally
from labeler.monitoring.log.values import CLICKED, RETURNED

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
