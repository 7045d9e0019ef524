"""Two leaderboards of the same systems: how alike they are, and which pairs swap."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.stats.correlation import (
    competition_ranks,
    max_drop,
    rbo,
    swapped_pairs,
    tau_ap,
    tau_ap_b,
    tau_b,
)
from labeler.stats.resampling import (
    LEVEL,
    ROUNDS,
    bootstrap,
    holm,
    interval,
    randomisation,
    widened_level,
)
from labeler.stats.student import t_quantile

SIGNIFICANT = 0.05


class Statistic(NamedTuple):
    """A function of two vectors of scores, the ends of its range, and whether less is more alike.

    Resampling queries adds noise of its own, so that resampled leaderboards are less alike than
    those they come from. An interval is therefore, on the unlike side, the bootstrap's percentile
    (moved out for few queries), and on the alike side whichever is farther, that or the
    jackknife's t interval: see scripts/simulate_leaderboards.py for how often that covers.
    """

    of: Callable[[Floats, Floats], float]
    least: float = -1.0
    most: float = 1.0
    less_is_alike: bool = False


STATISTICS = {
    "tau_b": Statistic(tau_b),
    "tau_ap": Statistic(tau_ap),
    "tau_ap_b": Statistic(tau_ap_b),
    "rbo": Statistic(rbo, 0.0),
    "max_drop": Statistic(lambda x, y: float(max_drop(x, y)), 0.0, math.inf, less_is_alike=True),
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


def leaderboards(
    runs: Sequence[str], first: Floats, second: Floats, seed: int = 0, *, lower: bool = False
) -> Leaderboards:
    """Compare `(runs, queries)` scores by two qrels; higher ones are better, or `lower` ones."""
    if lower:
        found = leaderboards(runs, -first, -second, seed)
        swaps = [replace(swap, first=-swap.first, second=-swap.second) for swap in found.swaps]
        x, y = (-side for side in found.means)
        return replace(found, means=(x, y), swaps=swaps)
    x, y = first.mean(axis=1), second.mean(axis=1)
    ranks = (competition_ranks(x).tolist(), competition_ranks(y).tolist())
    statistics = {
        name: (statistic.of(x, y), *ends)
        for name, statistic, ends in _intervals(first, second, seed)
    }
    swaps = _swaps(runs, first, second, seed)
    return Leaderboards(tuple(runs), first.shape[1], (x, y), ranks, statistics, swaps)


def _intervals(
    first: Floats, second: Floats, seed: int
) -> Iterator[tuple[str, Statistic, tuple[float, float]]]:
    both, n = np.concatenate([first, second]), first.shape[1]
    if n < 2:
        yield from ((name, one, (math.nan, math.nan)) for name, one in STATISTICS.items())
        return
    drawn = np.split(bootstrap(both, seed, ROUNDS), 2, axis=1)
    left = np.split((both.sum(axis=1) - both.T) / (n - 1), 2, axis=1)
    for name, statistic in STATISTICS.items():
        values = [
            np.array([statistic.of(x, y) for x, y in zip(*pair, strict=True)])
            for pair in (drawn, left)
        ]
        value = statistic.of(first.mean(axis=1), second.mean(axis=1))
        yield name, statistic, interval_of(statistic, value, *values)


def interval_of(
    statistic: Statistic, value: float, drawn: Floats, left: Floats
) -> tuple[float, float]:
    """The interval of a value from those of resampled queries and of all queries but one each."""
    n = len(left)
    ends = interval(drawn[:, None], widened_level(n))
    low, high = float(ends[0][0]), float(ends[1][0])
    error = math.sqrt((n - 1) / n * float(np.sum((left - left.mean()) ** 2)))
    reach = t_quantile(0.5 + LEVEL / 2, n - 1) * error
    if statistic.less_is_alike:
        low, high = min(low, value - reach), max(high, value)
    else:
        low, high = min(low, value), max(high, value + reach)
    if statistic.most == math.inf:
        low, high = math.floor(low), math.ceil(high)
    return max(low, statistic.least), min(high, statistic.most)


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
