"""How often the interval of missed relevant documents holds the truth, and what its sampling gains.

python scripts/simulate_missed.py [--repeats 400]

Each repeat makes a world of queries whose documents at ranks 11 to 1,000 are relevant with a
probability that falls with rank, draws a sample as `labeler pool` does, and estimates. Beside it
stands the error of as many pairs drawn with equal probabilities. Standard errors in brackets.
"""

from __future__ import annotations

import numpy as np
from harness import parser

from labeler.data import Pair, Pooled
from labeler.pools.missed import estimate_missed
from labeler.stats.estimates import inclusions, systematic

RANKS = np.arange(11, 1001)
WORLDS = {"steep": 10 / RANKS**1.5, "medium": 0.3 / RANKS}
SIZES = ((50, 200), (50, 1000), (200, 1000))


def one(rng: np.random.Generator, chance: np.ndarray, queries: int, count: int) -> list[float]:
    """The estimate's error, whether the interval holds the truth, its width, the other's error."""
    likely = np.minimum(rng.gamma(0.5, 2, (queries, 1)) * chance, 1)
    relevant = rng.random(likely.shape) < likely
    shares = inclusions(RANKS**-0.5, count / queries)
    order = np.array([rng.permutation(len(RANKS)) for _ in range(queries)])
    inclusion, hits = shares[order].ravel(), np.take_along_axis(relevant, order, 1).ravel()
    drawn = systematic(inclusion, float(rng.random()))
    pool = [Pooled(Pair("q", str(i)), (), None, float(inclusion[i])) for i in drawn]
    result = estimate_missed(pool, {"q": {str(i): int(hits[i]) for i in drawn}})
    truth = int(relevant.sum())
    equal = rng.choice(hits.size, count, replace=False)
    other = hits[equal].sum() * hits.size / count - truth
    is_held = result.missed_low <= truth <= result.missed_high
    return [
        result.missed - truth,
        float(is_held),
        result.missed_high - result.missed_low,
        other,
        truth,
    ]


def main() -> None:
    repeats = parser(__doc__, repeats=400).parse_args().repeats
    rng = np.random.default_rng(1)
    for world, chance in WORLDS.items():
        for queries, count in SIZES:
            rows = np.array([one(rng, chance, queries, count) for _ in range(repeats)])
            error, held, width, other, truth = rows.T
            share, root = held.mean(), repeats**0.5
            print(
                f"{world}, {queries} queries, {count} draws: {truth.mean():.0f} missed;"
                f" bias {error.mean():+.1f} ({error.std() / root:.1f});"
                f" error {error.std():.0f}, of equal probabilities {other.std():.0f};"
                f" held {share:.1%} ({(share * (1 - share)) ** 0.5 / root:.1%});"
                f" width {width.mean():.0f}"
            )


if __name__ == "__main__":
    main()
