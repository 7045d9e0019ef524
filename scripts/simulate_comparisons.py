#!/usr/bin/env python3
"""How often do comparisons of runs err, and what do they find? Scores of TREC DL 2019.

`verdicts`: systems that are alike (each query's scores of the real systems dealt to them at
random), of which the best is compared with the others: how often some verdict is wrong, by the
randomised HSD test, by Holm against the best as if it had been named before, and by Holm against a
system that was. Then what each finds among real systems, of queries drawn with replacement: the
share of the others that are told from the best.

`gates`: how often a gate with a margin lets a run pass that truly loses the margin, and one that is
equal.

`power`: how often a difference is found with as many queries as `power` plans for, and how often
the range that it gives holds the truth.

`differences`: how often intervals of a difference hold the truth.

Usage: simulate_comparisons.py verdicts|gates|power|differences [--repeats 1000] [--data FOLDER]
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
from harness import DL19, parser, scores_of, shown

from labeler.evaluation.equivalence import most_lost
from labeler.stats.means import mean_interval, paired_interval
from labeler.stats.power import (
    PlannedTest,
    lower_bound,
    paired_deviations,
    pooled,
    queries_needed,
    variance_factors,
)
from labeler.stats.significance import holm, randomised_hsd, randomization_test
from labeler.stats.student import SIGNIFICANT

SIZES = (10, 25, 43)
SYSTEMS = (3, 5, 11, 20)
GATED = ("nDCG@10", "AP", "RR@10", "Success@1", "RR(rel=2)@10", "Success(rel=2)@1")
DRAWN = 2000
"""Assignments drawn by each test: a fifth of those that the command draws."""


def alike(real: np.ndarray, systems: int, queries: int, rng: np.random.Generator) -> np.ndarray:
    """Scores of systems that are alike: at each query those of real ones, dealt at random."""
    chosen = rng.integers(real.shape[1], size=queries)
    dealt = rng.permuted(np.tile(np.arange(len(real)), (queries, 2)), axis=1)[:, :systems]
    return real[dealt.T, chosen]


def told(values: np.ndarray, seed: int) -> np.ndarray:
    """Which of the others are told from the best, by both, and from the first: `(3, others)`."""
    best = int(values.mean(axis=1).argmax())
    p = []
    for baseline in (best, 0):
        others = np.arange(len(values)) != baseline
        alone = randomization_test(values[others] - values[baseline], seed, DRAWN)
        p.append(holm(alone))
        if len(p) == 1:
            p_of_pairs = randomised_hsd(values, seed, DRAWN).p[baseline][others]
            p.insert(0, np.maximum(alone, p_of_pairs))
    return np.array(p) < SIGNIFICANT


WAYS = ("HSD, best", "Holm, best", "Holm, named")


def verdicts(given: argparse.Namespace) -> None:
    real = scores_of(given.data, given.measure)
    rng = np.random.default_rng(given.seed)
    print(f"{given.measure}: systems alike, a wrong verdict (standard error)")
    for queries in SIZES:
        for systems in SYSTEMS:
            wrong = np.zeros(len(WAYS))
            for repeat in range(given.repeats):
                values = alike(real, systems, queries, rng)
                wrong += told(values, repeat).any(axis=1)
            rates = zip(WAYS, wrong / given.repeats, strict=True)
            cells = "  ".join(shown(name, share, given.repeats) for name, share in rates)
            print(f"{queries:3} queries {systems:3} systems  {cells}", flush=True)
    print("real systems: the share of the others told from the best of the sample")
    for queries in SIZES:
        for systems in (3, 5, 11):
            found = np.zeros(len(WAYS) - 1)
            for repeat in range(given.repeats // 4):
                some = rng.choice(len(real), systems, replace=False)
                values = real[some][:, rng.integers(real.shape[1], size=queries)]
                found += told(values, repeat)[:2].mean(axis=1)
            rates = zip(WAYS, found / (given.repeats // 4), strict=False)
            cells = "  ".join(f"{name} {share:.3f}" for name, share in rates)
            print(f"{queries:3} queries {systems:3} systems  {cells}", flush=True)


def gates(given: argparse.Namespace) -> None:
    """Of all pairs of real systems one of which truly loses: the margin is that loss."""
    rng = np.random.default_rng(given.seed)
    print("gate: how often a true loss of the margin passes; the worst pair; five runs at once")
    for name in GATED:
        real = scores_of(given.data, name)
        for queries in (15, 25, 50):
            passed, together = [], []
            for base in real:
                losing = [run for run in real if -0.15 < (run - base).mean() < -0.01]
                if not losing:
                    continue
                chosen = rng.integers(len(base), size=(given.repeats // 4, queries))
                each = np.array([passes(run, base, chosen, (base - run).mean()) for run in losing])
                passed += list(each.mean(axis=1))
                if len(losing) >= 5:
                    together.append(each[:5].all(axis=0).mean())
            cells = f"{np.mean(passed):.3f}  worst {max(passed):.2f}"
            five = f"five runs {np.mean(together):.3f}" if together else ""
            print(f"{name:17} {queries:3} queries  {cells}  {five}", flush=True)
    print("gate: how often an equal run passes a margin of .05")
    for name in GATED:
        real = scores_of(given.data, name)
        for queries in (25, 50, 100):
            passed = []
            for base, run in itertools.combinations(real, 2):
                if np.array_equal(base, run):
                    continue
                chosen = rng.integers(len(base), size=(given.repeats // 20, queries))
                signs = rng.choice([True, False], size=chosen.shape)
                ours = np.where(signs, run[chosen], base[chosen])
                theirs = np.where(signs, base[chosen], run[chosen])
                rows = [(a - b, most_lost(b)) for a, b in zip(ours, theirs, strict=True)]
                passed += [lower_bound(*row) > -0.05 for row in rows]
            print(f"{name:17} {queries:3} queries  {np.mean(passed):.3f}")


def passes(run: np.ndarray, base: np.ndarray, chosen: np.ndarray, margin: float) -> np.ndarray:
    """Whether a loss of the margin is excluded, for each row of queries."""
    return np.array(
        [
            lower_bound(run[row] - base[row], most_lost(base[row])) > -margin + 1e-12
            for row in chosen
        ]
    )


def power(given: argparse.Namespace) -> None:
    """Systems alike but one, which is better by .05, of as many queries as were planned."""
    real = scores_of(given.data, given.measure)
    rng = np.random.default_rng(given.seed)
    centred = real - real.mean(axis=1, keepdims=True)
    print("power: of a difference of .05 with as many queries as power plans for .80")
    for named in (False, True):
        for systems in (2, 3, 5, 11):
            deviation = pooled(list(paired_deviations(alike(centred, 11, 20_000, rng)).values()))
            test = PlannedTest(systems, named_baseline=named)
            queries = queries_needed(0.05, deviation, test=test)
            found = 0
            for repeat in range(given.repeats):
                values = alike(centred, systems, queries, rng)
                values[0] += 0.05
                found += bool(tested(values, repeat, named=named))
            which = "Holm" if named else "HSD "
            cells = shown("found", found / given.repeats, given.repeats)
            print(f"{which} {systems:3} systems {queries:4} queries  {cells}", flush=True)
    print("range: how often it holds the queries truly needed; power and assurance reached")
    for systems in (2, 3, 11):
        for queries in (10, 25, 43):
            ranged(real, systems, queries, given.repeats, rng)


def tested(values: np.ndarray, seed: int, *, named: bool) -> bool:
    """Whether the first is told from the second by the test of `evaluate`."""
    others = np.arange(len(values)) != 1
    alone = randomization_test(values[others] - values[1], seed, DRAWN)
    if named:
        return bool(holm(alone)[0] < SIGNIFICANT)
    p = alone[0] if len(values) == 2 else randomised_hsd(values, seed, DRAWN).p[0, 1]
    return bool(max(p, alone[0]) < SIGNIFICANT)


def ranged(
    real: np.ndarray, systems: int, queries: int, repeats: int, rng: np.random.Generator
) -> None:
    """Pilots of so many queries: are the queries truly needed within their range?"""
    held, assured = 0, 0
    for _ in range(repeats):
        some = real[rng.choice(len(real), systems, replace=False)]
        truth = pooled(list(paired_deviations(some).values())) * np.sqrt(42 / 43)
        pilot = some[:, rng.integers(some.shape[1], size=queries)]
        deviation = pooled(list(paired_deviations(pilot).values()))
        low, high = (deviation * np.sqrt(end) for end in variance_factors(pilot, 0.95))
        held += low <= truth <= high
        assured += truth <= deviation * np.sqrt(variance_factors(pilot, 0.8)[1])
    cells = f"held {held / repeats:.3f}  assurance of .80: {assured / repeats:.3f}"
    print(f"{systems:3} systems, pilot of {queries} queries  {cells}", flush=True)


def differences(given: argparse.Namespace) -> None:
    """All pairs of the real systems, of queries drawn with replacement."""
    rng = np.random.default_rng(given.seed)
    print("differences: intervals that hold the truth, their width; Student's; both empty")
    for name in (*GATED, "P@10", "Success@5", "R@100"):
        real = scores_of(given.data, name)
        for queries in (10, 25, 50):
            held, width, empty = np.zeros(2), np.zeros(2), 0
            repeats = max(given.repeats // 100, 1)
            pairs = list(itertools.combinations(real, 2)) * repeats
            for seed, (run, base) in enumerate(pairs):
                values = (run - base)[rng.integers(real.shape[1], size=queries)]
                both = [paired_interval(values, 1.0, seed), mean_interval(values, "t")]
                truth = (run - base).mean()
                held += [low - 1e-9 <= truth <= high + 1e-9 for low, high in both]
                width += [high - low for low, high in both]
                empty += both[1][0] == both[1][1]
            ours, students = (
                f"{share:.3f} wide {size:.3f}"
                for share, size in zip(held / len(pairs), width / len(pairs), strict=True)
            )
            print(
                f"{name:17} {queries:3} queries  {ours}  Student's {students}"
                f"  empty {empty / len(pairs):.2f}",
                flush=True,
            )


ACTS = {"differences": differences, "power": power, "verdicts": verdicts, "gates": gates}


def main() -> None:
    given = parser(
        __doc__, act=ACTS, repeats=1000, measure="nDCG@10", seed=0, data=DL19
    ).parse_args()
    ACTS[given.act](given)


if __name__ == "__main__":
    main()
