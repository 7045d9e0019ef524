"""What the disagreement does to decisions: the same systems under people's and other labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from labeler.arrays import Floats
from labeler.data import Qrels, Run
from labeler.evaluation.leaderboards import SIGNIFICANT, Leaderboards, leaderboards
from labeler.metrics import Measure, evaluate
from labeler.stats.intervals import Sample, cluster_bootstrap


@dataclass(frozen=True)
class System:
    """A run's mean score and rank under both, and the other's score minus people's."""

    run: str
    people: float
    other: float
    people_rank: int
    other_rank: int
    bias: float
    bias_low: float | None
    bias_high: float | None


@dataclass(frozen=True)
class Swap:
    """Two systems that the other orders differently.

    `p` is of their difference under people, after Holm over all swapped pairs.
    """

    better: str
    worse: str
    p: float

    @property
    def significant(self) -> bool:
        """Whether people's labels tell the two apart, at 5 %."""
        return self.p < SIGNIFICANT


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Two leaderboards of the same systems over the same queries, and how alike they are.

    `tau_low` and `tau_high` come from resampling queries, as `labeler leaderboard` does; `scores`
    is `(2, systems, queries)`.
    """

    measure: str
    queries: tuple[str, ...]
    systems: tuple[System, ...]
    tau_b: float | None
    tau_low: float | None
    tau_high: float | None
    tau_ap: float | None
    max_drop: int
    swaps: tuple[Swap, ...]
    scores: Floats

    @property
    def bias(self) -> float:
        """The mean over systems of the other's score minus people's."""
        return float(np.mean([system.bias for system in self.systems]))


def leaderboard(
    people: Qrels, other: Qrels, runs: Mapping[str, Run], measure: Measure, seed: int = 0
) -> Leaderboard | None:
    """Score the runs with both over the queries that both have; `None` where they share none."""
    shared = sorted(people.keys() & other.keys())
    if not shared or not runs:
        return None
    sides = [{query: qrels[query] for query in shared} for qrels in (people, other)]
    scores = np.array([[_scores(side, run, measure) for run in runs.values()] for side in sides])
    lower = measure.definition.lower_is_better
    found = leaderboards(list(runs), scores[0], scores[1], seed, lower=lower)
    order = np.argsort(found.ranks[0], kind="stable")
    tau, low, high = (_defined(value) for value in found.statistics["tau_b"])
    return Leaderboard(
        str(measure),
        tuple(shared),
        tuple(_system(found, scores, place, seed) for place in order),
        tau,
        low,
        high,
        _defined(found.statistics["tau_ap"][0]),
        int(found.statistics["max_drop"][0]),
        tuple(sorted((Swap(s.better, s.worse, s.p_first) for s in found.swaps), key=lambda s: s.p)),
        scores[:, order],
    )


def _system(found: Leaderboards, scores: Floats, place: int, seed: int) -> System:
    people, other = (float(mean[place]) for mean in found.means)
    first, second = (rank[place] for rank in found.ranks)
    low, high = _bias(scores, place, seed)
    return System(found.runs[place], people, other, first, second, other - people, low, high)


def _scores(qrels: Qrels, run: Run, measure: Measure) -> Floats:
    """By query, sorted; a query of which the measure is undefined scores 0 on both sides."""
    return np.nan_to_num(evaluate(qrels, run, [measure]).of(measure))


def _bias(scores: Floats, place: int, seed: int) -> tuple[float | None, float | None]:
    """The interval over queries of one system's mean difference."""
    return mean_interval(scores[1, place] - scores[0, place], seed)


def mean_interval(values: Floats, seed: int) -> tuple[float | None, float | None]:
    """The interval of a mean over queries; `None` for fewer than two."""
    sample = Sample(np.stack([values, np.ones_like(values)], axis=1), seed=seed)
    ends = cluster_bootstrap(sample, lambda sums: sums[..., 0] / sums[..., 1])
    return ends or (None, None)


def _defined(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
