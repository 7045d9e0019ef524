#!/usr/bin/env python3
"""How long do intervals over queries take: ours, a bootstrap by one product, and scikit-learn's.

A million pairs of 5,000 queries, 1,000 draws, kappa, quadratic kappa and ordinal alpha. The loop
computes the two kappas only, for a few draws, and its time is scaled up to 1,000.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.metrics import cohen_kappa_score

from labeler.agreement.align import GradeMatrix
from labeler.agreement.statistics import find_statistic
from labeler.stats.intervals import Replicates, Sample, cluster_bootstrap, of_tables
from labeler.trec.pairs import PairColumns

METHODS = {
    "of-tables": of_tables,
    "cluster-bootstrap": cluster_bootstrap,
}
PAIRS, QUERIES, DRAWS = 1_000_000, 5_000, 1_000
LOOPED = 5
STATISTICS = ("kappa", "kappa-quadratic", "alpha-ordinal")


def made_up() -> GradeMatrix:
    """A judge that keeps people's grade three times of five and else guesses."""
    rng = np.random.default_rng(0)
    people = rng.integers(0, 4, PAIRS)
    other = np.where(rng.random(PAIRS) < 0.6, people, rng.integers(0, 4, PAIRS))
    query = np.sort(rng.integers(0, QUERIES, PAIRS))
    ids, places = [str(place) for place in range(PAIRS)], np.arange(PAIRS)
    edges = np.searchsorted(query, np.arange(QUERIES + 1))
    pairs = PairColumns(tuple(ids[:QUERIES]), edges, ids, places, people)
    grades = np.stack([people, other], axis=1)
    return GradeMatrix(("people", "judge"), (0, 1, 2, 3), pairs, grades)


def ours(pairs: GradeMatrix, method: str) -> dict[str, tuple[float, float] | None]:
    sample = Sample(pairs.tables(), DRAWS, seed=1)
    found = {}
    for name in STATISTICS:
        statistic = find_statistic(name, pairs.grades)
        found[name] = METHODS[method](Replicates(sample, statistic, statistic.bounded))
    return found


def looped(pairs: GradeMatrix, draws: int) -> None:
    """What others do: gather each draw's pairs, and ask scikit-learn."""
    rng = np.random.default_rng(1)
    starts = pairs.pairs.edges
    for _ in range(draws):
        chosen = rng.integers(0, QUERIES, QUERIES)
        rows = np.concatenate([np.arange(starts[q], starts[q + 1]) for q in chosen])
        for weights in (None, "quadratic"):
            cohen_kappa_score(*pairs.values[rows].T, weights=weights)


def main() -> None:
    pairs = made_up()
    for method in METHODS:
        started = time.process_time()
        found = ours(pairs, method)
        print(f"{method}: {time.process_time() - started:.2f} s of CPU")
        for name, interval in found.items():
            print(f"  {name:16s} [{interval[0]:.4f}, {interval[1]:.4f}]")
    started = time.process_time()
    looped(pairs, LOOPED)
    spent = time.process_time() - started
    scaled = spent * DRAWS / LOOPED
    print(f"a loop over scikit-learn, two of the three: {spent:.1f} s of CPU for {LOOPED} draws,")
    print(f"  so about {scaled:,.0f} s for {DRAWS:,}")


if __name__ == "__main__":
    main()
