#!/usr/bin/env python3
"""How often do 95 % intervals of a mean over queries cover the truth? Queries of TREC DL 2019.

The 43 queries of every system are a population, from which queries are drawn with replacement; the
truth is the mean over all 43.

Usage: simulate_means.py [--repeats 150] [--data ../shared/data/dl19] [--sizes 10 25 50]
"""

from __future__ import annotations

import numpy as np
from harness import DL19, parser

from labeler.evaluation.scores import summary_interval
from labeler.metrics import JudgedPairs, Scores, score
from labeler.stats.intervals import percentile
from labeler.stats.means import replicates_of_mean
from labeler.trec.files import read_qrels

MEASURES = ("nDCG@10", "AP", "P@10", "R@100", "RR@10")


def covered(scores: Scores, size: int, repeats: int, seed: int) -> np.ndarray:
    """For each measure, how many intervals hold the truth: ours, and plain percentiles."""
    rng = np.random.default_rng(seed)
    truth = scores.values.mean(axis=1)
    held = np.zeros((2, len(scores.measures)))
    for repeat in range(repeats):
        drawn = scores.values[:, rng.integers(0, scores.values.shape[1], size)]
        plain = np.array([percentile(replicates_of_mean(row, repeat)) for row in drawn]).T
        ours = np.array(
            [
                summary_interval(measure, row, repeat)
                for measure, row in zip(scores.measures, drawn, strict=True)
            ]
        ).T
        for kind, (low, high) in enumerate((ours, plain)):
            held[kind] += (low <= truth) & (truth <= high)
    return held


def main() -> None:
    given = parser(__doc__, repeats=150, data=DL19, sizes=[10, 25, 50]).parse_args()
    pool = JudgedPairs.of(read_qrels(given.data / "nist.qrels"))
    runs = sorted((given.data / "runs").glob("*.trec.gz"))
    systems = [score(pool.rank(path)[0], MEASURES) for path in runs]
    print(f"{len(runs)} systems, {given.repeats} samples of each: ours (plain percentiles)")
    print("queries  " + "  ".join(f"{name:>11}" for name in MEASURES))
    for size in given.sizes:
        held = sum(covered(one, size, given.repeats, seed) for seed, one in enumerate(systems))
        shares = held / (given.repeats * len(systems))
        cells = (f"{our:.3f} ({plain:.3f})"[:13] for our, plain in shares.T)
        print(f"{size:7}  " + "  ".join(f"{cell:>11}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
