#!/usr/bin/env python3
"""How often is a week called drifted, and is what is said of it true? Logs made of known sources.

People's sessions hold a query or a few, drawn by Zipf's law from texts of one corpus; from some
week on a share of sessions draws from another one. Worlds without a change: `sessions` (repeats
within sessions), `hidden` (the same, and the log names no session), `days` (each day favors some
queries at random), `growth` (traffic grows by 5 % a week).

Usage: simulate_query_drift.py [--repeats 200] [--part size|power|year]
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import numpy as np
from harness import parser, shown

from labeler.monitoring.searches import WEEKLY_LEVEL, Week, word_test

MONDAY = date(2024, 1, 1).toordinal()
TEXTS, NEW = 1000, 60
WEEKS = 8
"""Reference weeks, as many as the command takes."""
WORDS = [f"t{n % 40} w{n % 170} v{n}" for n in range(TEXTS)]
NEW_WORDS = [f"n{n % 3} w{n % 170} u{n}" for n in range(NEW)]
"""Each text has the word of its topic, one that other topics have too, and one of its own."""


def zipf(count: int) -> np.ndarray:
    shares = 1 / np.arange(1, count + 1)
    return shares / shares.sum()


def made_week(
    number: int,
    sessions: int,
    rng: np.random.Generator,
    world: str = "sessions",
    share: float = 0.0,
) -> Week:
    """A week's searches: sessions of 1 + Poisson(1) queries, each typed 1 + Poisson(.5) times."""
    usual, new = np.cumsum(zipf(TEXTS)), np.cumsum(zipf(NEW))
    count = round(sessions * 1.05**number) if world == "growth" else sessions
    lengths = 1 + rng.poisson(1.0, count)
    session = np.repeat(np.arange(count), lengths)
    on = rng.integers(7, size=count)[session]
    is_new = (rng.random(count) < share)[session]
    drawn = rng.random(len(session))
    query = np.searchsorted(usual, drawn).clip(max=TEXTS - 1)
    if world == "days":
        tilted = np.cumsum(zipf(TEXTS) * rng.gamma(0.5, 1, (7, TEXTS)), axis=1)
        for each in range(7):
            at = np.flatnonzero(on == each)
            query[at] = np.searchsorted(tilted[each], drawn[at] * tilted[each, -1])
        query = query.clip(max=TEXTS - 1)
    query = np.where(is_new, TEXTS + np.searchsorted(new, drawn).clip(max=NEW - 1), query)
    times = 1 + rng.poisson(0.5, len(query)) if world == "hidden" else np.ones(len(query), int)
    query, session, on = (np.repeat(column, times) for column in (query, session, on))
    day = MONDAY + 7 * number + on
    named = -1 - np.arange(len(query)) if world == "hidden" else session
    monday = date.fromordinal(MONDAY + 7 * number)
    return Week(monday, query, day, named, len(query))


def rate(flags: Sequence[bool]) -> str:
    return shown("", float(np.mean(flags)), len(flags)).strip()


def tested(repeats: int, rng: np.random.Generator, world: str, share: float, sessions: int) -> None:
    """A row: how often the test says so, at 5 % and at the weekly level."""
    ps = []
    for repeat in range(repeats):
        weeks = [made_week(n, sessions, rng, world) for n in range(WEEKS)]
        week = made_week(WEEKS, sessions, rng, world, share)
        ps.append(word_test(week, weeks, WORDS + NEW_WORDS, repeat).p)
    levels = [rate([p <= level for p in ps]) for level in (0.05, WEEKLY_LEVEL)]
    print(f"{world:9} {share:4.0%} {sessions:5}: {' '.join(levels)}", flush=True)


def a_year(repeats: int, rng: np.random.Generator, world: str, sessions: int) -> None:
    """How many years of 52 weeks without a change have an alarm."""
    years, single = [], []
    for repeat in range(repeats):
        weeks = [made_week(n, sessions, rng, world) for n in range(WEEKS + 52)]
        ps = [word_test(week, weeks[:WEEKS], WORDS, repeat).p for week in weeks[WEEKS:]]
        years.append(min(ps) <= WEEKLY_LEVEL)
        single += [p <= 0.05 for p in ps]
    print(f"{world}: years with an alarm {rate(years)}; weeks at 5 % {rate(single)}", flush=True)


def main() -> None:
    options = parser(__doc__, repeats=200, seed=0)
    options.add_argument("--part", choices=["size", "power", "year"], default="size")
    given = options.parse_args()
    rng = np.random.default_rng(given.seed)
    if given.part == "size":
        print(
            "world, share of a new topic, sessions a week: share of p <= .05, <= the weekly level"
        )
        for world in ("sessions", "hidden", "days", "growth"):
            tested(given.repeats, rng, world, 0.0, 200)
        tested(given.repeats, rng, "sessions", 0.0, 30)
    elif given.part == "power":
        for sessions in (100, 400):
            for share in (0.05, 0.1, 0.2):
                tested(given.repeats, rng, "sessions", share, sessions)
    else:
        for world in ("sessions", "days"):
            a_year(given.repeats, rng, world, 60)


if __name__ == "__main__":
    main()
