#!/usr/bin/env python3
"""How often intervals of leaderboard correlations cover, and how near the noise ceiling comes.

    .venv/test/bin/python scripts/simulate_leaderboards.py ../shared/data/dl19 [--repeats 400]

Some queries are the world: what the two leaderboards are over all of them is the truth, and a
sample of n, with replacement, gives an interval for it. The worlds are the 43 queries of DL 2019
with its 11 systems, with 61 that are blends of two of these each, and one of our own: 61 systems
close together, 1,000 queries, and a judge that compresses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from harness import parser

from labeler.arrays import Floats
from labeler.evaluation.evaluate import evaluate
from labeler.stats.correlation import RANK_STATISTICS, noise_ceiling, of_sums, rank_interval, tau_b
from labeler.stats.intervals import Interval, Replicates, Sample, percentile

DRAWS = 400
World = tuple[str, Floats, Floats]


def worlds(folder: Path) -> Iterator[World]:
    """A name, and `(systems, queries)` scores by people and by a judge."""
    nist = scores_by(folder, "nist")
    for other in ("gpt-4o", "llama-3.1-8b"):
        judge = scores_by(folder, other)
        yield f"nist and {other}, 11 systems", nist, judge
        yield f"nist and {other}, 61 blends", *blends(nist, judge)
    yield "our own, 61 systems", *our_own()


def scores_by(folder: Path, judge: str) -> Floats:
    """nDCG@10 of the runs by one's grades, `(systems, queries)`."""
    runs = sorted((folder / "runs").iterdir())
    report = evaluate(folder / f"{judge}.qrels", runs, "nDCG@10", scenarios=False)
    return np.array([run.scores.values[0] for run in report.runs])


def blends(first: Floats, second: Floats, count: int = 61) -> tuple[Floats, Floats]:
    """So many systems, each between two of these, and off by the same noise under both."""
    rng = np.random.default_rng(3)
    pairs = np.array([rng.choice(len(first), 2, replace=False) for _ in range(count)]).T
    share, size = rng.random((count, 1)), 0.15 * rng.random((count, 1))
    noise = size * rng.normal(size=(count, first.shape[1])) - 0.5 * size
    made = [share * side[pairs[0]] + (1 - share) * side[pairs[1]] for side in (first, second)]
    own = [0.03 * rng.normal(size=noise.shape) for _ in made]
    sides = [np.clip(side + noise + e, 0, 1) for side, e in zip(made, own, strict=True)]
    return sides[0], sides[1]


def our_own(systems: int = 61, queries: int = 1000) -> tuple[Floats, Floats]:
    """Close systems over queries of very unequal ease; the judge halves what systems differ by."""
    rng = np.random.default_rng(9)
    ease, skill = rng.beta(1.2, 1.2, queries), rng.normal(0, 0.05, (systems, 1))
    people = np.clip(ease + skill + 0.18 * rng.normal(size=(systems, queries)), 0, 1)
    halved = 0.5 * people + 0.5 * people.mean(axis=0)
    taste = rng.normal(0, 0.02, (systems, 1))
    noise = 0.12 * rng.normal(size=people.shape)
    return people, np.clip(0.15 + 0.75 * halved + taste + noise, 0, 1)


def covered(first: Floats, second: Floats, n: int, repeats: int, names: Sequence[str]) -> None:
    """Print the coverage and the mean width of ours and of percentiles alone."""
    rng = np.random.default_rng(0)
    both = np.concatenate([first, second])
    statistics = {name: RANK_STATISTICS[name] for name in names}
    hits = {name: np.zeros(5) for name in names}
    means = first.mean(axis=1), second.mean(axis=1)
    for repeat in range(repeats):
        drawn = both[:, rng.integers(both.shape[1], size=n)]
        sample = Sample(drawn.T, DRAWS, repeat)
        for name, statistic in statistics.items():
            truth = float(statistic(*means))
            of = Replicates(sample, of_sums(statistic), freedom=n - 1.0)
            ours = held(rank_interval(of), truth)
            hits[name] += [*ours, *held(percentile(of), truth), of.value]
    for name, sums in hits.items():
        ours, width, alone, width_alone, value = sums / repeats
        truth = float(RANK_STATISTICS[name](*means))
        error = (ours * (1 - ours) / repeats) ** 0.5
        print(
            f"{n:4} {name:9} {ours:.3f} +- {error:.3f} ({width:.2f})   percentiles {alone:.3f}"
            f" ({width_alone:.2f})   truth {truth:.3f}, samples' mean {value:.3f}"
        )


def ceilings(scores: Floats, n: int, repeats: int) -> None:
    """Print the tau-b of two samples of n queries, and the mean of what one of them says of it."""
    rng = np.random.default_rng(1)
    rows = []
    for repeat in range(repeats):
        one, other = (scores[:, rng.integers(scores.shape[1], size=n)] for _ in range(2))
        rows.append(
            (tau_b(one.mean(axis=1), other.mean(axis=1)), noise_ceiling(one, repeat) or 0.0)
        )
    (truth, said), errors = np.mean(rows, axis=0), np.std(rows, axis=0) / repeats**0.5
    print(f"{n:4} ceiling   two samples {truth:.3f} +- {errors[0]:.3f}, said {said:.3f}")


def held(interval: Interval, truth: float) -> tuple[float, float]:
    """Whether an interval holds the truth, and its width."""
    if interval is None:
        return 0.0, 0.0
    low, high = interval
    return float(low - 1e-9 <= truth <= high + 1e-9), high - low


def main() -> None:
    options = parser(__doc__, folder=Path, repeats=400, queries=[25, 43, 100])
    options.add_argument("--statistic", action="append", choices=list(RANK_STATISTICS))
    given = options.parse_args()
    for name, first, second in worlds(given.folder):
        print(f"{name}: coverage of nominal 95 % intervals (mean width)", flush=True)
        for n in given.queries:
            covered(first, second, n, given.repeats, given.statistic or list(RANK_STATISTICS))
            ceilings(first, n, given.repeats)


if __name__ == "__main__":
    main()
