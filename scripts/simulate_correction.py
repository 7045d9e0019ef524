#!/usr/bin/env python3
"""People's labels on a few queries, an assessor's on all: which intervals hold the truth?

TREC DL 2019: NIST's labels are kept for 10, 20 or 30 random queries and hidden for the rest; the
truth is each of eleven systems' mean over all 43. Prints the coverage of nominal 95 % intervals,
and their width against people alone.

Usage: simulate_correction.py [--draws 2000] [--data ../shared/data/dl19]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labeler.arrays import Floats
from labeler.evaluation.leaderboard import leaderboard_of_dicts
from labeler.metrics import parse
from labeler.stats.ppi import Mean, correct_together
from labeler.trec.qrels import read_qrels
from labeler.trec.runs import read_run


@dataclass(frozen=True)
class Trial:
    """How often intervals held the truth, and how wide they were, over many random samples."""

    judged: int
    draws: int
    covered: dict[str, float]
    width: dict[str, float]


def simulate(human: Floats, assessor: Floats, judged: int, draws: int, seed: int) -> Trial:
    """Hide people's scores but for `judged` random queries, `draws` times.

    `human` and `assessor` are `(systems, queries)`; the truth is the mean of all of people's. All
    systems count alike.
    """
    rng = np.random.default_rng(seed)
    hits = dict.fromkeys(("human", "assessor", "corrected"), 0)
    width = dict.fromkeys(hits, 0.0)
    truth = human.mean(axis=1)
    for _ in range(draws):
        drawn = rng.choice(human.shape[1], judged, replace=False)
        systems = correct_together(human[:, drawn], assessor, drawn)
        for system, true in zip(systems, truth, strict=True):
            for name in hits:
                mean: Mean = getattr(system, name)
                if mean.low is not None and mean.high is not None:
                    hits[name] += mean.low <= true <= mean.high
                    width[name] += mean.high - mean.low
    count = draws * len(truth)
    covered = {name: hit / count for name, hit in hits.items()}
    return Trial(judged, draws, covered, {name: w / count for name, w in width.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/dl19"))
    parser.add_argument("--measures", nargs="+", default=["nDCG@10", "P@10", "AP"])
    given = parser.parse_args()
    runs = {path.name: read_run(path) for path in sorted((given.data / "runs").iterdir())}
    people = read_qrels(given.data / "nist.qrels")
    print("assessor      measure    judged  covered: people  assessor  corrected  width ratio")
    for judge in ("gpt-4o", "llama-3.1-8b"):
        qrels = read_qrels(given.data / f"{judge}.qrels")
        for measure in given.measures:
            board = leaderboard_of_dicts(people, qrels, runs, parse(measure))
            for judged in (10, 20, 30):
                trial = simulate(*board.scores, judged, given.draws, seed=1)
                shares = "  ".join(f"{share:8.3f}" for share in trial.covered.values())
                ratio = trial.width["corrected"] / trial.width["human"]
                print(f"{judge:13s} {measure:8s} {judged:8d}  {shares}  {ratio:10.2f}")


if __name__ == "__main__":
    main()
