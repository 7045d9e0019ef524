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

from labeler.evaluation.inputs import runs_from
from labeler.evaluation.system_scores import scores_of
from labeler.stats.intervals import Interval, Replicates, percentile
from labeler.stats.rankings import RANK_STATISTICS, of_sums, rank_interval
from labeler.stats.resampling import Sample

DRAWS = 400


def covered(first: np.ndarray, second: np.ndarray, n: int, repeats: int) -> None:
    """Print the coverage and the mean width of ours and of percentiles alone."""
    rng = np.random.default_rng(0)
    both = np.concatenate([first, second])
    hits = {name: np.zeros(4) for name in RANK_STATISTICS}
    for repeat in range(repeats):
        drawn = both[:, rng.integers(both.shape[1], size=n)]
        sample = Sample(drawn.T, DRAWS, repeat)
        for name, statistic in RANK_STATISTICS.items():
            truth = statistic.compute(first.mean(axis=1), second.mean(axis=1))
            of = Replicates(sample, of_sums(statistic), freedom=n - 1.0)
            hits[name] += [*held(rank_interval(statistic, of), truth), *held(percentile(of), truth)]
    for name, sums in hits.items():
        ours, width, alone, width_alone = sums / repeats
        print(
            f"{n:4} {name:9} {ours:.3f} ({width:.2f})   percentiles {alone:.3f} ({width_alone:.2f})"
        )


def held(interval: Interval, truth: float) -> tuple[float, float]:
    """Whether an interval holds the truth, and its width."""
    if interval is None:
        return 0.0, 0.0
    low, high = interval
    return float(low - 1e-9 <= truth <= high + 1e-9), high - low


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="with nist.qrels, two others and runs/")
    parser.add_argument("--repeats", type=int, default=400)
    given = parser.parse_args()
    nist = given.folder / "nist.qrels"
    runs = runs_from(sorted((given.folder / "runs").iterdir()), nist)
    first = scores_of(nist, runs, "nDCG@10").values
    for other in ("gpt-4o", "llama-3.1-8b"):
        print(f"nist against {other}: coverage of nominal 95 % intervals (mean width)")
        second = scores_of(given.folder / f"{other}.qrels", runs, "nDCG@10").values
        for n in (25, 43, 100):
            covered(first, second, n, given.repeats)


if __name__ == "__main__":
    main()
