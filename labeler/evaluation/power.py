"""How many queries are enough to tell runs apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labeler.collection.choose import named_runs
from labeler.errors import BadInput, Misuse
from labeler.evaluation.leaderboard import scores_of
from labeler.stats.power import detectable, paired_deviations, pooled, queries_needed


@dataclass(frozen=True)
class Plan:
    """What so many queries can tell, and how many a difference needs.

    `deviation` is that of the paired differences, pooled over all pairs of runs; `largest` is of
    the pair that varies most. Detectable differences are with both.
    """

    measure: str
    queries: int
    runs: int
    deviation: float
    largest: float
    widest_pair: tuple[str, str]
    power: float
    level: float
    detectable: dict[int, tuple[float, float]]
    needed: dict[float, tuple[int, int]]


@dataclass(frozen=True)
class Wishes:
    """What to plan for: numbers of queries, differences, power and significance level."""

    queries: tuple[int, ...] = ()
    differences: tuple[float, ...] = ()
    power: float = 0.8
    level: float = 0.05


def plan(qrels: Path, runs: Sequence[Path], measure: str, wishes: Wishes) -> tuple[Plan, list[str]]:
    """Plan a comparison from the per-query scores of earlier runs; warnings."""
    if len(named_runs(runs)) < 2:
        raise Misuse("power needs two or more runs, whose differences vary from query to query")
    if not (0 < wishes.level < 1 and wishes.level < wishes.power < 1):
        raise Misuse("--level lies between 0 and 1, and --power between the level and 1")
    if not all(0 < difference < np.inf for difference in wishes.differences):
        raise Misuse("--difference is a number above 0")
    warnings: list[str] = []
    names, queries, values = scores_of(qrels, runs, measure, warnings)
    if len(queries) < 2:
        raise BadInput("one query says nothing of how differences vary from query to query")
    deviations = paired_deviations(values)
    i, j = max(deviations, key=lambda pair: deviations[pair])
    spread, largest = pooled(list(deviations.values())), deviations[i, j]
    if not largest > 0:
        raise BadInput(f"the runs do not differ in {measure} at any query, so nothing varies")
    numbers = wishes.queries or (len(queries), 25, 50, 100, 200, 500, 1000)
    chance = (wishes.power, wishes.level)
    found = {
        n: (detectable(n, spread, *chance), detectable(n, largest, *chance))
        for n in sorted(set(numbers))
    }
    needed = {
        d: (queries_needed(d, spread, *chance), queries_needed(d, largest, *chance))
        for d in wishes.differences or (0.01, 0.02, 0.05, 0.1)
    }
    facts = (measure, len(queries), len(names), spread, largest, (names[i], names[j]))
    return Plan(*facts, wishes.power, wishes.level, found, needed), warnings
