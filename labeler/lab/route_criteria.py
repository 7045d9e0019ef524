"""How much a person's grade of each pair is needed, by several criteria."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from labeler.agreement.shares import RoutingSources, entropy, spread
from labeler.arrays import Floats, Integers
from labeler.data import Pair, Run
from labeler.errors import Misuse, about
from labeler.lab.recalibration import CalibrationSet, folds_of
from labeler.trec.runs import ranking

Criterion = Literal["disagreement", "entropy", "doubt", "systems", "mixture"]
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
ABOUT: dict[Criterion, str] = {
    "disagreement": "how far the assessors' grades of the pair lie apart",
    "entropy": "how undecided they are between grades",
    "doubt": "how probably people give another grade, by a calibration on their grades",
    "systems": "how much another grade would change which system is ahead",
    "mixture": "by disagreement and by systems, each as a rank",
}
DEPTH = 10


def default_criterion(sources: RoutingSources) -> Criterion:
    """Disagreement, where anything tells of it; else doubt by people's grades."""
    if _tells_doubt(sources):
        return "disagreement"
    if sources.human is None:
        with about("people"):
            check_tells_doubt(sources)
    return "doubt"


def _tells_doubt(sources: RoutingSources) -> bool:
    return bool(sources.shares.distributed.any()) or len(sources.names) > 1


def check_tells_doubt(sources: RoutingSources) -> None:
    """`Misuse` where neither distributions nor other assessors tell which grades are in doubt."""
    if not _tells_doubt(sources):
        problem = "one assessor's plain grades do not say which of them are in doubt"
        ways = "name more assessors, or human qrels, by which doubt can be learned"
        raise Misuse(f"{problem}; {ways}")


def needs(sources: RoutingSources, by: Criterion, pairs: CalibrationSet | None) -> Floats:
    """How much a person's grade of each pair is needed; only the order counts.

    Doubt is by a calibration on `pairs`.
    """
    if by == "doubt" and pairs is None:
        problem = "doubt is learned from people's grades, and there are none"
        raise Misuse(f"{problem}; another criterion needs none", parameter="by")
    if by in {"systems", "mixture"} and len(sources.runs or {}) < 2:
        raise Misuse("which system is ahead takes two runs or more", parameter="runs")
    scores: dict[str, Callable[[], Floats]] = {
        "disagreement": lambda: spread(sources.shares),
        "entropy": lambda: entropy(sources.shares.matrix),
        "doubt": lambda: doubt_of(sources, pairs),
        "systems": lambda: _effect(sources),
        "mixture": lambda: ranks(spread(sources.shares)) + ranks(_effect(sources)),
    }
    return scores[by]()


class HeldOutNeeds(NamedTuple):
    """How much each pair of the pool is needed, for judging some of people's pairs by.

    `rows` are these among people's pairs. Where doubt was learned from people's grades, it was
    from those of other queries.
    """

    rows: NDArray[np.bool_]
    need: Floats


def held_out_needs(
    sources: RoutingSources, by: Criterion, pairs: CalibrationSet, seed: int = 0
) -> list[HeldOutNeeds]:
    """The needs by which each of people's pairs would have been routed, were it ungraded."""
    if by != "doubt":
        everywhere = np.ones(len(pairs), dtype=bool)
        return [HeldOutNeeds(everywhere, needs(sources, by, pairs))]
    return [HeldOutNeeds(rows, doubt_of(sources, pairs, ~rows)) for rows in folds_of(pairs, seed)]


def doubt_of(
    sources: RoutingSources, pairs: CalibrationSet | None, rows: NDArray[np.bool_] | None = None
) -> Floats:
    """The probability of another grade than the one that stands, by a fit to people's pairs."""
    if pairs is None:
        return np.zeros(len(sources.grades))
    everywhere = np.ones(len(pairs), dtype=bool)
    given = pairs.fitted_to(everywhere if rows is None else rows, "ordinal")(sources.shares)
    column = {grade: index for index, grade in enumerate(pairs.scale)}
    indices = np.array([column.get(int(grade), -1) for grade in sources.grades])
    same = given[np.arange(len(indices)), indices]
    return np.where(indices < 0, 1.0, 1.0 - same)


def _effect(sources: RoutingSources) -> Floats:
    """How far a standard deviation of each grade moves the systems' DCG@10 apart.

    A document's discount has a standard deviation over the systems; that of a pair is by the best
    DCG that the query's expected grades allow, as in nDCG.
    """
    discounts = _discounts(list((sources.runs or {}).values()))
    shares = sources.shares
    gains = np.maximum(shares.expected, 0.0)
    best = _best_by_query(shares.pairs, gains)
    apart = np.array([discounts.get(pair, 0.0) for pair in shares.pairs])
    ideal = np.array([best[pair.query_id] for pair in shares.pairs])
    return np.asarray(apart * spread(shares) / np.maximum(ideal, 1e-9), dtype=np.float64)


def _discounts(runs: list[Run]) -> dict[Pair, float]:
    """The standard deviation over systems of the discount at which each ranks a pair."""
    at: dict[Pair, list[float]] = {}
    for run in runs:
        for query_id, scores in run.items():
            for rank, doc_id in enumerate(ranking(scores)[:DEPTH], start=1):
                at.setdefault(Pair(query_id, doc_id), []).append(1 / math.log2(rank + 1))
    return {
        pair: float(np.std([*values, *[0.0] * (len(runs) - len(values))]))
        for pair, values in at.items()
    }


def _best_by_query(pairs: tuple[Pair, ...], gains: Floats) -> dict[str, float]:
    by_query: dict[str, list[float]] = {}
    for pair, gain in zip(pairs, gains.tolist(), strict=True):
        by_query.setdefault(pair.query_id, []).append(gain)
    return {
        query: sum(g / math.log2(r + 1) for r, g in enumerate(sorted(row, reverse=True)[:DEPTH], 1))
        for query, row in by_query.items()
    }


def ranks(values: Floats) -> Floats:
    """The rank of each value from 0, of equal ones their mean."""
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts + 1) / 2)[index], dtype=np.float64)


def order_of(values: Floats, candidates: Integers, seed: int) -> Integers:
    """The candidates from the most needed to the least, equal ones in random order."""
    noise = np.random.default_rng(seed).random(len(candidates))
    return candidates[np.lexsort((noise, -values[candidates]))]
