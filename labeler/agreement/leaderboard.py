"""What the disagreement does to decisions: the same systems under people's and other labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from labeler.agreement.intervals import DRAWS, Sample, cluster_bootstrap, expanded_percentile
from labeler.agreement.tables import FloatArray
from labeler.data import Qrels, Run
from labeler.metrics import Measure, evaluate
from labeler.metrics.correlation import competition_ranks, max_drop, swapped_pairs, tau_ap, tau_b
from labeler.metrics.resampling import randomisation

SIGNIFICANT = 0.05


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
    """Two systems that the other orders differently; `p` is of their difference under people."""

    better: str
    worse: str
    p: float

    @property
    def significant(self) -> bool:
        """Whether people's labels tell the two apart, at 5 %, uncorrected."""
        return self.p < SIGNIFICANT


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """Two leaderboards of the same systems over the same queries, and how alike they are.

    `tau_low` and `tau_high` come from resampling queries; `scores` is `(2, systems, queries)`.
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
    scores: FloatArray

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
    names, (ours, theirs) = list(runs), np.nanmean(scores, axis=2)
    low, high = _tau_interval(scores, seed)
    order = np.argsort(-ours, kind="stable")
    ranks = competition_ranks(ours), competition_ranks(theirs)
    biases = [_bias(scores, place, seed) for place in range(len(names))]
    systems = tuple(
        System(
            names[i],
            float(ours[i]),
            float(theirs[i]),
            int(ranks[0][i]),
            int(ranks[1][i]),
            float(theirs[i] - ours[i]),
            *biases[i],
        )
        for i in order
    )
    return Leaderboard(
        str(measure),
        tuple(shared),
        systems,
        _defined(tau_b(ours, theirs)),
        low,
        high,
        _defined(tau_ap(ours, theirs)),
        max_drop(ours, theirs),
        _swaps(names, scores, seed),
        scores[:, order],
    )


def _scores(qrels: Qrels, run: Run, measure: Measure) -> FloatArray:
    """By query, sorted; a query of which the measure is undefined scores 0 on both sides."""
    return np.nan_to_num(evaluate(qrels, run, [measure]).of(measure))


def _bias(scores: FloatArray, place: int, seed: int) -> tuple[float | None, float | None]:
    """The interval over queries of one system's mean difference."""
    return mean_interval(scores[1, place] - scores[0, place], seed)


def mean_interval(values: FloatArray, seed: int) -> tuple[float | None, float | None]:
    """The interval of a mean over queries; `None` for fewer than two."""
    sample = Sample(np.stack([values, np.ones_like(values)], axis=1), seed=seed)
    ends = cluster_bootstrap(sample, lambda sums: sums[..., 0] / sums[..., 1])
    return ends or (None, None)


def _tau_interval(scores: FloatArray, seed: int) -> tuple[float | None, float | None]:
    """tau-b over resampled queries."""
    sample = Sample(np.moveaxis(scores, -1, 0), DRAWS, seed)
    ends = expanded_percentile(
        sample, lambda sums: np.array([tau_b(*both) for both in sums.reshape(-1, *sums.shape[-2:])])
    )
    return ends or (None, None)


def _swaps(names: list[str], scores: FloatArray, seed: int) -> tuple[Swap, ...]:
    means = scores.mean(axis=2)
    swapped = swapped_pairs(means[0].tolist(), means[1].tolist())
    if not swapped:
        return ()
    differences = np.array([scores[0, better] - scores[0, worse] for better, worse in swapped])
    p, _ = randomisation(differences, seed)
    found = [
        Swap(names[better], names[worse], float(chance))
        for (better, worse), chance in zip(swapped, p, strict=True)
    ]
    return tuple(sorted(found, key=lambda swap: swap.p))


def _defined(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
