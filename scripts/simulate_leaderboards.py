#!/usr/bin/env python3
"""How often the intervals of leaderboard correlations cover: queries of DL 2019 drawn anew.

    .venv/test/bin/python scripts/simulate_leaderboards.py ../shared/data/dl19 [--repeats 400]

The 43 queries are the world: what the two leaderboards of 11 systems are over all of them is the
truth, and a sample of n queries, with replacement, gives an interval for it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from labeler.evaluation.leaderboard import scores_of
from labeler.evaluation.leaderboards import STATISTICS, interval_of
from labeler.stats.resampling import bootstrap, interval, widened_level

ROUNDS = 400


def means(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return first.mean(axis=1), second.mean(axis=1)


def covered(first: np.ndarray, second: np.ndarray, n: int, repeats: int) -> None:
    """Print the coverage and the mean width of ours and of percentiles alone."""
    rng = np.random.default_rng(0)
    systems = len(first)
    hits = {name: np.zeros(4) for name in STATISTICS}
    for repeat in range(repeats):
        drawn = rng.integers(first.shape[1], size=n)
        x, y = first[:, drawn], second[:, drawn]
        both = np.concatenate([x, y])
        resampled = bootstrap(both, repeat, ROUNDS)
        left = (both.sum(axis=1) - both.T) / (n - 1)
        for name, statistic in STATISTICS.items():
            truth = statistic.of(*means(first, second))
            rows = [
                np.array([statistic.of(row[:systems], row[systems:]) for row in part])
                for part in (resampled, left)
            ]
            low, high = interval_of(statistic, statistic.of(*means(x, y)), *rows)
            plain = [float(end[0]) for end in interval(rows[0][:, None], widened_level(n))]
            hits[name] += [
                low - 1e-9 <= truth <= high + 1e-9,
                high - low,
                plain[0] - 1e-9 <= truth <= plain[1] + 1e-9,
                plain[1] - plain[0],
            ]
    for name, found in hits.items():
        ours, width, alone, width_alone = found / repeats
        print(
            f"{n:4} {name:9} {ours:.3f} ({width:.2f})   percentiles {alone:.3f} ({width_alone:.2f})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="with nist.qrels, two others and runs/")
    parser.add_argument("--repeats", type=int, default=400)
    given = parser.parse_args()
    runs = sorted((given.folder / "runs").iterdir())
    first = scores_of(given.folder / "nist.qrels", runs, "nDCG@10", [])[2]
    for other in ("gpt-4o", "llama-3.1-8b"):
        print(f"nist against {other}: coverage of nominal 95 % intervals (mean width)")
        second = scores_of(given.folder / f"{other}.qrels", runs, "nDCG@10", [])[2]
        for n in (25, 43, 100):
            covered(first, second, n, given.repeats)


if __name__ == "__main__":
    main()
