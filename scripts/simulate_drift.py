#!/usr/bin/env python3
"""How often is an assessor called drifted, stable or not? Grades of TREC DL 2019's pairs.

Each pair's usual grade is gpt-4o's. Each time it is asked about, an assessor gives that grade, or
with a chance, its noise, one next to it. Worlds: `stable`; `lower`, where now a share of pairs is
graded lower by one; `other`, where a share gets another usual grade, up or down alike.

Usage: simulate_drift.py [--repeats 1000] [--data FOLDER]
"""

from __future__ import annotations

import numpy as np
from harness import DL19, parser, shown

from labeler.stats.drift import retest
from labeler.stats.student import SIGNIFICANT
from labeler.trec.qrels import read_qrels

PAIRS = (20, 50, 100)
NOISES = (0.0, 0.1, 0.3)
DRAWN = 2000
"""Assignments drawn by each test: a fifth of those that the command draws."""


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


def main() -> None:
    given = parser(__doc__, repeats=1000, seed=0, data=DL19).parse_args()
    rng = np.random.default_rng(given.seed)
    qrels = read_qrels(given.data / "gpt-4o.qrels")
    every = np.array([grade for graded in qrels.values() for grade in graded.values()])
    print("called drifted (standard error): stable; a share of pairs lower by one; another grade")
    for noise in NOISES:
        for pairs in PAIRS:
            cells = []
            worlds = (("stable", 0.0), ("lower", 0.15), ("lower", 0.3), ("other", 0.3))
            for world, share in worlds:
                found = 0
                for repeat in range(given.repeats):
                    usual = rng.choice(every, pairs)
                    now = moved(usual, world, share, rng)
                    old = asked(usual, noise, rng).astype(float)
                    new = np.column_stack([asked(now, noise, rng) for _ in range(2)])
                    found += retest(old, new.astype(float), repeat, DRAWN).either < SIGNIFICANT
                rate = found / given.repeats
                cells.append(shown(f"{world} {share:.2f}", rate, given.repeats))
            print(f"noise {noise:.1f} {pairs:3} pairs  {'  '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
