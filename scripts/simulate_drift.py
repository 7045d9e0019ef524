#!/usr/bin/env python3
"""How often is an assessor called drifted, stable or not? Grades of TREC DL 2019's pairs.

Each pair's usual grade is gpt-4o's. In each session an assessor gives that grade, or with a chance,
its noise, one next to it. The second reply of a session is alike the first with a chance: at 1 it
repeats it. Worlds: `stable`; `lower`, where now a share of pairs is graded lower by one; `other`,
where a share gets another usual grade, up or down alike. Beside the old and the new session stand
no or one earlier control of the same pairs.

Usage: simulate_drift.py [--repeats 200] [--data FOLDER]
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product
from typing import NamedTuple

import numpy as np
from harness import DL19, parser, shown

from labeler.collection.controls import ControlRun, PairAgain, PromptAndModel
from labeler.data import Pair
from labeler.lab.control_check import DriftCheck
from labeler.stats.drift import changed
from labeler.trec.qrels import read_qrels

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


def main() -> None:
    given = parser(__doc__, repeats=200, seed=0, data=DL19).parse_args()
    rng = np.random.default_rng(given.seed)
    qrels = read_qrels(given.data / "gpt-4o.qrels")
    every = np.array([grade for graded in qrels.values() for grade in graded.values()])
    worlds = [("stable", 0.0, alike) for alike in ALIKE]
    worlds += [("lower", 0.15, 1.0), ("lower", 0.3, 1.0), ("other", 0.3, 1.0)]
    print("called drifted (standard error); alike is the chance that reply 2 repeats reply 1")
    for earlier, noise, pairs in product((0, 1), NOISES, PAIRS):
        cells = []
        for world, share, alike in worlds:
            found = 0
            for repeat in range(given.repeats):
                usual = rng.choice(every, pairs)
                now = moved(usual, world, share, rng)
                found += called(usual, now, World(noise, alike, earlier), repeat)
            label = f"alike {alike:.1f}" if world == "stable" else f"{world} {share:.2f}"
            cells.append(shown(label, found / given.repeats, given.repeats))
        print(f"{earlier} earlier, noise {noise:.1f} {pairs:3}  {'  '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
