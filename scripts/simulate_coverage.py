#!/usr/bin/env python3
"""How often do 95 % intervals of agreement cover the truth? Two worlds, every method, some sizes.

`simulated`: queries differ in how hard they are, so a judge is near perfect on one and guesses at
another; the truth is the statistic over very many such queries. `dl19`: the 43 queries of TREC DL
2019 with the labels of NIST and of gpt-4o (or another file of that folder) are the population, from
which queries are drawn with replacement; the truth is the statistic over all 43.

Usage: simulate_coverage.py [--repeats 2000] [--data ../shared/data/dl19] [--judge gpt-4o]
       [--sizes 25 50] [--statistics kappa tau-b]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from labeler.agreement.align import AssessorLabels, Rules, align
from labeler.agreement.contingency import query_tables
from labeler.agreement.statistics import Statistic, find_statistic
from labeler.arrays import Floats
from labeler.stats.intervals import METHODS, Compute, Replicates, naive
from labeler.stats.resampling import Sample
from labeler.trec.labels import read_labels
from labeler.trec.qrels import read_qrels

GRADES = np.array([0.0, 1.0, 2.0, 3.0])
STATISTICS = ("kappa", "kappa-quadratic", "alpha-ordinal", "kappa>=2", "bias")
SIZES = (10, 15, 25, 50, 100, 200)
DRAWS = 1000
World = Callable[[np.random.Generator, int], Floats]


def simulated(rng: np.random.Generator, queries: int) -> Floats:
    """Tables of queries on which a judge keeps people's grade with a probability of the query's.

    Otherwise it guesses from the query's own habit; people's grades follow the query's prevalence.
    Queries have 40 to 300 pairs.
    """
    people = rng.dirichlet([1.6, 1.0, 0.7, 0.4], size=queries)
    habit = rng.dirichlet([1.6, 1.0, 0.7, 0.4], size=queries)
    keep = rng.beta(1.2, 1.8, size=queries)
    cells = people[:, :, None] * (
        keep[:, None, None] * np.eye(4) + (1 - keep)[:, None, None] * habit[:, None, :]
    )
    sizes = rng.integers(40, 301, size=queries)
    counts = rng.multinomial(sizes, cells.reshape(queries, 16))
    return np.asarray(counts.reshape(queries, 4, 4), dtype=np.float64)


def resampled(tables: Floats) -> World:
    """A world whose queries are these, drawn with replacement."""
    return lambda rng, queries: tables[rng.integers(0, len(tables), queries)]


def dl19(folder: Path, judge: str) -> Floats:
    found = read_labels(folder / f"{judge}.qrels")
    other = AssessorLabels(found.labels, found.failures)
    return query_tables(align(read_qrels(folder / "nist.qrels"), other, Rules()).pairs)


def covers(interval: tuple[float, float] | None, truth: float) -> bool:
    return interval is not None and interval[0] <= truth <= interval[1]


def on_grades(statistic: Statistic) -> Compute:
    """The statistic of tables whose grades are those of both worlds."""
    return lambda tables: statistic.compute(tables, GRADES)


def covered_shares(
    world: World, truth: Floats, queries: int, repeats: int, names: Sequence[str]
) -> dict[str, dict[str, float]]:
    """By statistic and method, the share of intervals that hold the truth."""
    statistics = {name: find_statistic(name, [0, 1, 2, 3]) for name in names}
    hits = {name: dict.fromkeys([*METHODS, "naive"], 0.0) for name in names}
    rng = np.random.default_rng(queries)
    for repeat in range(repeats):
        sample = Sample(world(rng, queries), DRAWS, seed=repeat)
        for name, statistic in statistics.items():
            compute = on_grades(statistic)
            replicates = Replicates(sample, compute, statistic.bounded)
            true = float(compute(truth))
            for method, interval in METHODS.items():
                hits[name][method] += covers(interval(replicates), true) / repeats
            pairs = int(sample.total.sum())
            single, _ = naive(sample.total, compute, pairs, DRAWS // 2, repeat)
            hits[name]["naive"] += covers(single, true) / repeats
    return hits


def print_shares(queries: int, found: dict[str, dict[str, float]]) -> None:
    """Print one line a statistic."""
    for name, shares in found.items():
        columns = "  ".join(f"{share:17.3f}" for share in shares.values())
        print(f"{queries:7d}  {name:15s}  {columns}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/dl19"))
    parser.add_argument("--judge", default="gpt-4o")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--statistics", nargs="+", default=STATISTICS)
    given = parser.parse_args()
    worlds = {"simulated": (simulated, simulated(np.random.default_rng(1), 400_000).sum(axis=0))}
    if given.data.is_dir():
        tables = dl19(given.data, given.judge)
        worlds[f"dl19, {given.judge}"] = (resampled(tables), tables.sum(axis=0))
    started = time.perf_counter()
    for title, (world, truth) in worlds.items():
        print(f"\n{title}: share of {given.repeats} nominal 95 % intervals that cover the truth")
        methods = "  ".join(f"{method:>17s}" for method in [*METHODS, "naive"])
        print(f"queries  {'statistic':15s}  {methods}")
        for queries in given.sizes:
            names = given.statistics
            print_shares(queries, covered_shares(world, truth, queries, given.repeats, names))
    print(f"\n{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
