#!/usr/bin/env python3
"""How often do controls call an assessor drifted, stable or not? A year of them, one a fortnight.

Each pair has a usual grade from 0 to 3. In each session an assessor gives that grade, or with a
chance, its noise, the one next to it. Worlds in which nothing lasts: `stable`; `leaning`, where
each session grades a share of the pairs higher or lower; `weeks`, where it leans for weeks (AR .8);
`season`, a slow wave; `noise`, whose size differs from session to session; and `cached`, where
most sessions repeat nine of ten replies of the last, and others none.

`power`: from a session on, a share of the pairs is graded one lower for good.

`searches`: 52 weeks of searches for 1,000 queries in 40 topics, whose popularity does not move, or
moves from week to week in the same worlds. From week 30 on a share of the searches goes to three
topics.

Usage: simulate_drift.py years power searches [--repeats 400]
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from harness import parser, shown

from labeler.monitoring.queries import shift_of_weeks
from labeler.stats.drift import FEWEST_SESSIONS, drifts

CONTROLS = 26
PAIRS = (20, 60, 100)
LEAN = 0.08
"""The deviation of how far a session leans, in grades a pair."""
WORLDS = ("stable", "leaning", "weeks", "season", "noise", "cached")


def asked(usual: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    """What an assessor gives, within the scale."""
    step = rng.choice([-1, 1], size=usual.shape)
    return np.clip(np.where(rng.random(usual.shape) < noise, usual + step, usual), 0, 3)


def leaning(world: str, before: Any, size: float, turn: Any, rng: np.random.Generator) -> Any:
    """How far a session, or each topic of a week, leans after the one before it."""
    step = size * rng.normal(size=np.shape(before))
    wave = size * 2**0.5 * np.sin(2 * np.pi * turn)
    return {"leaning": step, "weeks": 0.8 * before + 0.6 * step, "season": wave}.get(
        world, 0 * step
    )


def sessions(world: str, pairs: int, rng: np.random.Generator) -> np.ndarray:
    """The grades of each session of a year in which nothing lasts, `(pairs, 1 + controls)`."""
    usual, lean, columns = rng.integers(0, 4, pairs), 0.0, list[np.ndarray]()
    start = rng.random()
    for number in range(1 + CONTROLS):
        lean = leaning(world, lean, LEAN, number / CONTROLS / 2 + start, rng)
        noise = 0.2 * (rng.choice([0.3, 1, 1.7]) if world == "noise" else 1)
        grades = asked(usual, noise, rng) + np.sign(lean) * (rng.random(pairs) < abs(lean))
        if world == "cached" and columns and rng.random() < 0.7:
            grades = np.where(rng.random(pairs) < 0.9, columns[-1], grades)
        columns.append(np.clip(grades, 0, 3))
    return np.array(columns, float).T


def years(repeats: int, rng: np.random.Generator) -> None:
    print(f"{repeats} years of {CONTROLS} controls: share of controls, of years with an alarm")
    for pairs, world in product(PAIRS, WORLDS):
        every = (drifts(sessions(world, pairs, rng)) for _ in range(repeats))
        alarms = np.array([[bool(each.alarms) for each in of] for of in every])
        controls = alarms[:, FEWEST_SESSIONS - 1 :].mean()
        year = alarms.any(axis=1).mean()
        print(f"{pairs} pairs, {world}: {controls:.4f}", shown("years", year, repeats))


def power(repeats: int, rng: np.random.Generator) -> None:
    print("a share of pairs one grade lower for good: alarm at once, within four, and in the end")
    for pairs, noise, share, at in product((100, 300), (0.0, 0.05, 0.2), (0.05, 0.1, 0.3), (1, 12)):
        every = []
        for _ in range(repeats):
            usual = rng.integers(0, 4, pairs)
            now = np.clip(usual - (rng.random(pairs) < share * 4 / 3), 0, 3)  # a 0 stays 0
            columns = [asked(now if n >= at else usual, noise, rng) for n in range(at + 8)]
            alarms = [bool(each.alarms) for each in drifts(np.array(columns, float).T)]
            since = alarms[max(at, FEWEST_SESSIONS) - 1 :]
            every.append((since[0], any(since[:4]), since[-1]))
        cells = np.mean(every, axis=0).round(2)
        print(f"{pairs} pairs, noise {noise}, {share:.2f} lower from {at:2}:", *cells)


WEEKS, QUERIES, TOPICS, SINCE = 52, 1000, 40, 30
MOVES = 0.3
"""The deviation of the logarithm of how often a topic is searched for."""


def searched(world: str, sessions: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """The searches of each week, `(queries, weeks)`."""
    usual = rng.permutation(np.arange(1, QUERIES + 1) ** -0.7)
    topics, away, weeks = np.arange(QUERIES) % TOPICS, np.zeros(TOPICS), []
    starts, is_new = rng.random(TOPICS), topics < 3
    for week in range(WEEKS):
        away = leaning(world, away, MOVES, week / WEEKS + starts, rng)
        chances = usual * np.exp(away)[topics]
        if week >= SINCE:
            new = share * chances.sum() * is_new * chances / chances[is_new].sum()
            chances = (1 - share) * chances + new
        weeks.append(rng.multinomial(rng.poisson(sessions), chances / chances.sum()))
    return np.array(weeks).T


def searches(repeats: int, rng: np.random.Generator) -> None:
    print("share of years with an alarm; a shift of .1, .2, .3 seen at once, and within four weeks")
    for sessions, world in product((200, 1000), ("stable", "leaning", "weeks", "season")):
        cells = []
        for share in (0.0, 0.1, 0.2, 0.3):
            ends = range(SINCE + 1, SINCE + 5) if share else range(FEWEST_SESSIONS, WEEKS + 1)
            logs = (searched(world, sessions, share, rng) for _ in range(repeats))
            alarms = [[bool(shift_of_weeks(log[:, :end]).alarms) for end in ends] for log in logs]
            cells += [np.mean(alarms, axis=0)[0], np.any(alarms, axis=1).mean()]
        print(f"{sessions:4} {world:8}", *np.round(cells[1:], 2), flush=True)


def main() -> None:
    run = {"years": years, "power": power, "searches": searches}
    given = parser(__doc__, what=(*run,), repeats=400, seed=0).parse_args()
    rng = np.random.default_rng(given.seed)
    for name in given.what:
        run[name](given.repeats, rng)


if __name__ == "__main__":
    main()
