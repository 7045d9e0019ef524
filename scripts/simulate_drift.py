#!/usr/bin/env python3
"""How often is an assessor called drifted, stable or not? Grades of TREC DL 2019's pairs.

Each pair's usual grade is gpt-4o's. In each session an assessor gives that grade, or with a chance,
its noise, one next to it. The second reply of a session is alike the first with a chance: at 1 it
repeats it. Worlds: `stable`; `lower`, where now a share of pairs is graded lower by one; `other`,
where a share gets another usual grade, up or down alike. Beside the old and the new session stand
no or one earlier control of the same pairs.

`weeks`: how often does one of 26 controls raise the alarm of `monitor`, by its p alone and by the
limits that eight calm controls give? Sessions are alike, lean at random or for weeks, or have
another noise each.

Usage: simulate_drift.py once weeks [--repeats 200] [--data FOLDER]
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product
from typing import NamedTuple

import numpy as np
from harness import DL19, parser, shown

from labeler.collection.controls import ControlRun, PairAgain, PromptAndModel
from labeler.data import Pair
from labeler.lab.control import DriftCheck
from labeler.monitoring.judge import LEVEL
from labeler.stats.drift import FEWEST_CALM, alarming, changed
from labeler.trec.files import read_qrels

PAIRS = (20, 50, 100)
NOISES = (0.0, 0.1, 0.3)
ALIKE = (0.0, 0.3, 0.6, 1.0)
DRAWN = 1000
"""Assignments drawn by each test: a tenth of those that the command draws."""


def asked(usual: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    """What an assessor gives, within the scale."""
    step = rng.choice([-1, 1], size=usual.shape)
    return np.clip(np.where(rng.random(usual.shape) < noise, usual + step, usual), 0, 3)


def moved(usual: np.ndarray, world: str, share: float, rng: np.random.Generator) -> np.ndarray:
    """The usual grades as they are now."""
    chosen = rng.random(usual.shape) < share
    step = -1 if world == "lower" else np.where(usual == 0, 1, np.where(usual == 3, -1, 0))
    if world == "other":
        step = np.where(step == 0, rng.choice([-1, 1], size=usual.shape), step)
    return np.clip(np.where(chosen, usual + step, usual), 0, 3)


def control(old: np.ndarray, new: np.ndarray, second: np.ndarray) -> ControlRun:
    made = PromptAndModel("p", "m")
    pairs = [
        PairAgain(Pair("q", str(n)), int(grade), tuple(map(int, both)))
        for n, (grade, *both) in enumerate(zip(old, new, second, strict=True))
    ]
    return ControlRun(1, datetime.now(UTC), made, made, pairs)


class World(NamedTuple):
    """The noise, how alike the replies of a session are, and how many controls came before."""

    noise: float
    alike: float
    earlier: int


def called(usual: np.ndarray, now: np.ndarray, world: World, seed: int) -> bool:
    """Whether one control calls the assessor drifted."""
    rng, (noise, alike, earlier) = np.random.default_rng(seed), world
    old, *before = (asked(usual, noise, rng) for _ in range(1 + earlier))
    new = asked(now, noise, rng)
    second = np.where(rng.random(len(new)) < alike, new, asked(now, noise, rng))
    check = DriftCheck(
        "a", control(old, new, second), earlier=[control(old, each, each) for each in before]
    )
    return changed(check.sessions, seed, DRAWN).is_shown()


def once(every: np.ndarray, repeats: int, rng: np.random.Generator) -> None:
    worlds = [("stable", 0.0, alike) for alike in ALIKE]
    worlds += [("lower", 0.15, 1.0), ("lower", 0.3, 1.0), ("other", 0.3, 1.0)]
    print("called drifted (standard error); alike is the chance that reply 2 repeats reply 1")
    for earlier, noise, pairs in product((0, 1), NOISES, PAIRS):
        cells = []
        for world, share, alike in worlds:
            found = 0
            for repeat in range(repeats):
                usual = rng.choice(every, pairs)
                now = moved(usual, world, share, rng)
                found += called(usual, now, World(noise, alike, earlier), repeat)
            label = f"alike {alike:.1f}" if world == "stable" else f"{world} {share:.2f}"
            cells.append(shown(label, found / repeats, repeats))
        print(f"{earlier} earlier, noise {noise:.1f} {pairs:3}  {'  '.join(cells)}", flush=True)


CONTROLS = 26


def sessions(world: str, rng: np.random.Generator) -> np.ndarray:
    """The grades of 100 pairs in each session, `(pairs, 1 + controls)`."""
    usual, lean, columns = rng.integers(0, 4, 100), 0.0, []
    for _ in range(1 + CONTROLS):
        step = rng.normal() * 0.08
        lean = {"random": step, "weeks": 0.8 * lean + 0.6 * step}.get(world, 0.0)
        noise = 0.2 * (rng.choice([0.3, 1, 1.7]) if world == "noise" else 1)
        grades = asked(usual, noise, rng) + np.sign(lean) * (rng.random(100) < abs(lean))
        columns.append(np.clip(grades, 0, 3))
    return np.array(columns, float).T


def weeks(_every: np.ndarray, repeats: int, rng: np.random.Generator) -> None:
    repeats = max(1, repeats // 12)
    print(f"share of controls with an alarm, {repeats} runs of {CONTROLS} controls")
    for world in ("stable", "random", "weeks", "noise"):
        alone, limited = [], []
        for _ in range(repeats):
            of = sessions(world, rng)
            changes = [
                changed(of[:, [0, *range(max(1, k - 4), k), k]], k, 3000)
                for k in range(1, 1 + CONTROLS)
            ]
            alone.append([change.is_shown(LEVEL) for change in changes])
            limited.append(alarming(changes, LEVEL))
        late = np.mean([each[FEWEST_CALM:] for each in alone])
        held = np.mean([each[FEWEST_CALM:] for each in limited])
        first = np.mean([each[:FEWEST_CALM] for each in alone])
        print(
            f"{world:8} late, alone {late:.3f}  limited {held:.3f}  first {first:.3f}", flush=True
        )


def main() -> None:
    what = "once", "weeks"
    given = parser(__doc__, what=what, repeats=200, seed=0, data=DL19).parse_args()
    rng = np.random.default_rng(given.seed)
    qrels = read_qrels(given.data / "gpt-4o.qrels")
    every = np.array([grade for graded in qrels.values() for grade in graded.values()])
    for name in given.what:
        {"once": once, "weeks": weeks}[name](every, given.repeats, rng)


if __name__ == "__main__":
    main()
