#!/usr/bin/env python3
"""How often do controls call an assessor drifted, stable or not? A year of them, one a fortnight.

Each pair has a usual grade from 0 to 3. In each session an assessor gives that grade, or with a
chance, its noise, the one next to it. Worlds in which nothing lasts: `stable`; `leaning`, where
each session grades a share of the pairs higher or lower; `weeks`, where it leans for weeks (AR .8);
`season`, a slow wave; `noise`, whose size differs from session to session; and `cached`, where
most sessions repeat nine of ten replies of the last, and others none.

`power`: from a session on, a share of the pairs is graded one lower for good.

Usage: simulate_drift.py years power [--repeats 400]
"""

from __future__ import annotations

from itertools import product

import numpy as np
from harness import parser, shown

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


def sessions(world: str, pairs: int, rng: np.random.Generator) -> np.ndarray:
    """The grades of each session of a year in which nothing lasts, `(pairs, 1 + controls)`."""
    usual, lean, columns = rng.integers(0, 4, pairs), 0.0, list[np.ndarray]()
    start = rng.random()
    for number in range(1 + CONTROLS):
        step = rng.normal() * LEAN
        lean = {
            "leaning": step,
            "weeks": 0.8 * lean + 0.6 * step,
            "season": LEAN * 2**0.5 * np.sin(2 * np.pi * (number / CONTROLS / 2 + start)),
        }.get(world, 0.0)
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
        year = shown("years", alarms.any(axis=1).mean(), repeats)
        print(f"{pairs:3} pairs, {world:8} controls {controls:.4f}  {year}", flush=True)


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
        cells = "  ".join(f"{value:.2f}" for value in np.mean(every, axis=0))
        print(
            f"{pairs} pairs, noise {noise}, {share:.2f} lower from session {at:2}: {cells}",
            flush=True,
        )


def main() -> None:
    what = "years", "power"
    given = parser(__doc__, what=what, repeats=400, seed=0).parse_args()
    rng = np.random.default_rng(given.seed)
    for name in given.what:
        {"years": years, "power": power}[name](given.repeats, rng)


if __name__ == "__main__":
    main()
