#!/usr/bin/env python3
"""How often do comparisons of runs err, and what do they find? Scores of TREC DL 2019.

`verdicts`: systems that are alike (each query's scores of the real systems dealt to them at
random), of which the best is compared with the others: how often some verdict is wrong, by the
randomised HSD test, by Holm against the best as if it had been named before, and by Holm against a
system that was. Then what each finds among real systems, of queries drawn with replacement: the
share of the others that are told from the best.

Usage: simulate_comparisons.py verdicts [--repeats 1000] [--data ../shared/data/dl19]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from labeler.metrics import score
from labeler.stats.hsd import randomised_hsd
from labeler.stats.levels import SIGNIFICANT
from labeler.stats.randomization import holm, randomization_test
from labeler.trec.rankings import read_pool, read_rankings

SIZES = (10, 25, 43)
SYSTEMS = (3, 5, 11, 20)
DRAWN = 2000
"""Assignments drawn by each test: a fifth of those that the command draws."""


def scores_of(folder: Path, measure: str) -> np.ndarray:
    """The real systems' scores, `(systems, queries)`, by people's grades."""
    pool = read_pool(folder / "nist.qrels", print)
    runs = sorted((folder / "runs").glob("*.gz"))
    return np.array([score(read_rankings(run, pool)[0], [measure]).values[0] for run in runs])


def alike(real: np.ndarray, systems: int, queries: int, rng: np.random.Generator) -> np.ndarray:
    """Scores of systems that are alike: at each query those of real ones, dealt at random."""
    chosen = rng.integers(real.shape[1], size=queries)
    dealt = rng.permuted(np.tile(np.arange(len(real)), (queries, 2)), axis=1)[:, :systems]
    return real[dealt.T, chosen]


def told(values: np.ndarray, seed: int) -> np.ndarray:
    """Which of the others are told from the best, by both, and from the first: `(3, others)`."""
    best = int(values.mean(axis=1).argmax())
    p = []
    for baseline in (best, 0):
        others = np.arange(len(values)) != baseline
        alone, _ = randomization_test(values[others] - values[baseline], seed, DRAWN)
        p.append(holm(alone))
        if len(p) == 1:
            p_of_pairs = randomised_hsd(values, seed, DRAWN).p[baseline][others]
            p.insert(0, np.maximum(alone, p_of_pairs))
    return np.array(p) < SIGNIFICANT


WAYS = ("HSD, best", "Holm, best", "Holm, named")


def shown(name: str, share: float, repeats: int) -> str:
    return f"{name} {share:.3f} ({np.sqrt(share * (1 - share) / repeats):.3f})"


def verdicts(given: argparse.Namespace) -> None:
    real = scores_of(given.data, given.measure)
    rng = np.random.default_rng(given.seed)
    print(f"{given.measure}: systems alike, a wrong verdict (standard error)")
    for queries in SIZES:
        for systems in SYSTEMS:
            wrong = np.zeros(len(WAYS))
            for repeat in range(given.repeats):
                values = alike(real, systems, queries, rng)
                wrong += told(values, repeat).any(axis=1)
            rates = zip(WAYS, wrong / given.repeats, strict=True)
            cells = "  ".join(shown(name, share, given.repeats) for name, share in rates)
            print(f"{queries:3} queries {systems:3} systems  {cells}", flush=True)
    print("real systems: the share of the others told from the best of the sample")
    for queries in SIZES:
        for systems in (3, 5, 11):
            found = np.zeros(len(WAYS) - 1)
            for repeat in range(given.repeats // 4):
                some = rng.choice(len(real), systems, replace=False)
                values = real[some][:, rng.integers(real.shape[1], size=queries)]
                found += told(values, repeat)[:2].mean(axis=1)
            rates = zip(WAYS, found / (given.repeats // 4), strict=False)
            cells = "  ".join(f"{name} {share:.3f}" for name, share in rates)
            print(f"{queries:3} queries {systems:3} systems  {cells}", flush=True)


ACTS = {"verdicts": verdicts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("act", choices=ACTS)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--measure", default="nDCG@10")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/dl19"))
    given = parser.parse_args()
    ACTS[given.act](given)


if __name__ == "__main__":
    main()
