"""Two leaderboards of the same systems: how alike they are, and which pairs swap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from labeler.metrics.correlation import (
    competition_ranks,
    max_drop,
    rbo,
    swapped_pairs,
    tau_ap,
    tau_ap_b,
    tau_b,
)
from labeler.metrics.rankings import Floats
from labeler.metrics.resampling import ROUNDS, bootstrap, holm, interval, randomisation

SIGNIFICANT = 0.05
STATISTICS: dict[str, Callable[[Floats, Floats], float]] = {
    "tau_b": tau_b,
    "tau_ap": tau_ap,
    "tau_ap_b": tau_ap_b,
    "rbo": rbo,
    "max_drop": lambda x, y: float(max_drop(x, y)),
}


@dataclass(frozen=True)
class Swap:
    """Two systems whose order differs: `better` is so by the first qrels, not by the second.

    `p_first` and `p_second` are of their differences by each, after Holm over all swapped pairs.
    """

    better: str
    worse: str
    first: float
    second: float
    p_first: float
    p_second: float

    @property
    def verdict(self) -> str:
        """By which qrels the difference can be told from chance."""
        told = (self.p_first < SIGNIFICANT, self.p_second < SIGNIFICANT)
        words = {(True, True): "both", (True, False): "the first alone"}
        return words.get(told, "the second alone" if told[1] else "neither")


@dataclass(frozen=True)
class Leaderboards:
    """Mean scores and ranks by two qrels, statistics with intervals over queries, and swaps."""

    runs: tuple[str, ...]
    queries: int
    means: tuple[Floats, Floats]
    ranks: tuple[list[int], list[int]]
    statistics: dict[str, tuple[float, float, float]]
    swaps: list[Swap]


def leaderboards(runs: Sequence[str], first: Floats, second: Floats, seed: int = 0) -> Leaderboards:
    """Compare `(runs, queries)` scores by two qrels over the same queries."""
    x, y = first.mean(axis=1), second.mean(axis=1)
    ranks = (competition_ranks(x).tolist(), competition_ranks(y).tolist())
    drawn = bootstrap(np.concatenate([first, second]), seed, ROUNDS)
    found = {}
    for name, statistic in STATISTICS.items():
        resampled = [statistic(row[: len(runs)], row[len(runs) :]) for row in drawn]
        low, high = interval(np.array(resampled)[:, None])
        found[name] = (statistic(x, y), float(low[0]), float(high[0]))
    swaps = _swaps(runs, first, second, seed)
    return Leaderboards(tuple(runs), first.shape[1], (x, y), ranks, found, swaps)


def _swaps(runs: Sequence[str], first: Floats, second: Floats, seed: int) -> list[Swap]:
    pairs = swapped_pairs(first.mean(axis=1), second.mean(axis=1))
    if not pairs:
        return []
    better, worse = ([pair[side] for pair in pairs] for side in (0, 1))
    both = [scores[better] - scores[worse] for scores in (first, second)]
    p_first, p_second = (holm(randomisation(rows, seed)[0]) for rows in both)
    by_first, by_second = (rows.mean(axis=1) for rows in both)
    return [
        Swap(runs[i], runs[j], float(a), float(b), float(p), float(q))
        for (i, j), a, b, p, q in zip(pairs, by_first, by_second, p_first, p_second, strict=True)
    ]
