#!/usr/bin/env python3
"""How often do 95 % intervals of agreement cover the truth? Five worlds and more, some sizes.

`simulated`: queries differ in how hard they are, so a judge is near perfect on one and guesses at
another; the truth is the statistic over very many such queries. `skewed`: the same, but pools are
lognormal (coefficient of variation .9) and grow with the share of relevant documents, the top grade
is rare and lies in few queries, and the judge is better where more is relevant. Every other world
is two files of grades, HUMAN:OTHER: their queries are the population, from which queries are drawn
with replacement; the truth is the statistic over all of them.

Of each interval: the share that holds the truth, the shares that lie above and below it, and the
median width beside that of the method named first.

Usage: simulate_coverage.py [--repeats 2000] [--worlds simulated skewed nist.qrels:gpt-4o.qrels]
       [--sizes 25 50] [--statistics kappa tau-b] [--methods of-tables cluster-bootstrap]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from harness import parser

from labeler.agreement.align import AssessorLabels, Rules, align
from labeler.agreement.statistics import find_statistic
from labeler.arrays import Floats
from labeler.stats.intervals import (
    Interval,
    Replicates,
    Sample,
    cluster_bootstrap,
    jackknife,
    of_tables,
    percentile,
    quantiles,
)
from labeler.trec.files import read_qrels
from labeler.trec.labels import read_labels

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


def skewed(rng: np.random.Generator, queries: int) -> Floats:
    """Tables of queries of very unequal size, the large ones rich and judged better."""
    spread = np.sqrt(np.log(1 + 0.9**2))
    wealth = rng.standard_normal(queries)
    own = rng.standard_normal(queries)
    sizes = np.exp(np.log(120) - spread**2 / 2 + spread * (0.6 * wealth + 0.8 * own))
    rich = 1 / (1 + np.exp(1.4 - 1.1 * wealth - 0.3 * rng.standard_normal(queries)))
    top = np.minimum(2 * rich * rng.beta(0.5, 6, queries), 0.9)
    middle = rng.beta(2, 3, queries)
    relevant = [rich * (1 - top) * (1 - middle), rich * (1 - top) * middle, rich * top]
    people = np.stack([1 - rich, *relevant], axis=1)
    habit = 0.6 * rng.dirichlet([2, 1, 0.7, 0.3], size=queries) + 0.4 * people
    keep = 0.5 * rng.beta(1.5, 1.5, queries) + 0.45 * rich
    cells = people[:, :, None] * (
        keep[:, None, None] * np.eye(4) + (1 - keep)[:, None, None] * habit[:, None, :]
    )
    counts = rng.multinomial(np.maximum(sizes, 5).astype(int), cells.reshape(queries, 16))
    return np.asarray(counts.reshape(queries, 4, 4), dtype=np.float64)


MADE: dict[str, World] = {"simulated": simulated, "skewed": skewed}


def tables_of(human: Path, other: Path) -> Floats:
    """The tables of the queries of two files of grades."""
    read = read_labels(other)
    labels = AssessorLabels(read.labels, read.failures)
    return align(read_qrels(human), labels, Rules(scale=range(4))).pairs.tables()


def dl19(folder: Path, judge: str) -> Floats:
    return tables_of(folder / "nist.qrels", folder / f"{judge}.qrels")


class Tally:
    """Of intervals of one kind: how many hold the truth, lie above or below it, and how wide."""

    def __init__(self) -> None:
        self.count = self.above = self.below = 0
        self.widths: list[float] = []

    def add(self, interval: Interval, truth: float) -> None:
        """Count an interval; one that is not there holds nothing."""
        self.count += 1
        if interval is not None:
            self.above += interval[0] > truth
            self.below += interval[1] < truth
            self.widths.append(interval[1] - interval[0])

    @property
    def missed(self) -> int:
        """How many intervals are not there."""
        return self.count - len(self.widths)

    @property
    def share(self) -> float:
        """The share of intervals that hold the truth."""
        return 1 - (self.above + self.below + self.missed) / self.count

    def __str__(self) -> str:
        return f"{self.share:.3f} ({self.above / self.count:.3f} {self.below / self.count:.3f})"


OURS, PLAIN = "of-tables", "cluster-bootstrap"
INTERVALS: dict[str, Callable[[Replicates], Interval]] = {
    OURS: of_tables,
    "percentile": percentile,
    "jackknife": jackknife,
}
METHODS = {**INTERVALS, PLAIN: cluster_bootstrap}


class Plan(NamedTuple):
    """How many samples are drawn, and of what intervals are made, by which methods."""

    repeats: int
    names: Sequence[str]
    methods: Sequence[str]
    draws: int = DRAWS


def tallies(world: World, truth: Floats, queries: int, plan: Plan) -> dict[str, dict[str, Tally]]:
    """By statistic and method, what became of the intervals."""
    statistics = {name: find_statistic(name, [0, 1, 2, 3]) for name in plan.names}
    by_name = {name: {method: Tally() for method in plan.methods} for name in plan.names}
    rng = np.random.default_rng(queries)
    for repeat in range(plan.repeats):
        # one draw of queries' numbers for all repeats: what is random is the sample
        sample = Sample(world(rng, queries), plan.draws)
        for name, statistic in statistics.items():
            of = Replicates(sample, statistic, statistic.bounded)
            true = float(statistic(truth))
            for method in plan.methods:
                interval = METHODS[method](of) if method != NAIVE else naive_of(of, repeat)
                by_name[name][method].add(interval, true)
    return by_name


NAIVE = "naive"


def naive_of(of: Replicates, seed: int) -> Interval:
    """The interval over single pairs."""
    total = of.sample.total
    shares = total.ravel() / total.sum()
    drawn = np.random.default_rng(seed).multinomial(int(total.sum()), shares, size=DRAWS // 2)
    values = of.compute(drawn.reshape(-1, *total.shape).astype(np.float64))
    return quantiles(values, 0.025, 0.975)


def covered_shares(
    world: World, truth: Floats, queries: int, repeats: int, names: Sequence[str]
) -> dict[str, dict[str, float]]:
    """By statistic and method, the share of intervals that hold the truth."""
    every = [*INTERVALS, NAIVE]
    counted = tallies(world, truth, queries, Plan(repeats, names, every))
    return {name: {m: t.share for m, t in row.items()} for name, row in counted.items()}


def print_tallies(queries: int, counted: dict[str, dict[str, Tally]]) -> None:
    """Print one line a statistic."""
    for name, row in counted.items():
        first = next(iter(row.values()))
        columns = [
            f"{tally}  {np.median(tally.widths) / np.median(first.widths):5.2f}"
            for tally in row.values()
        ]
        print(f"{queries:7d}  {name:15s}  {'   '.join(columns)}", flush=True)


def world_of(name: str) -> tuple[World, Floats]:
    """A world by its name or its two files, and the table that is its truth."""
    if name in MADE:
        return MADE[name], MADE[name](np.random.default_rng(1), 400_000).sum(axis=0)
    tables = tables_of(*map(Path, name.split(":")))
    return resampled(tables), tables.sum(axis=0)


def main() -> None:
    given = parser(
        __doc__,
        repeats=2000,
        worlds=list(MADE),
        sizes=list(SIZES),
        statistics=list(STATISTICS),
        methods=[PLAIN, *INTERVALS, NAIVE],
        draws=DRAWS,
    ).parse_args()
    started = time.perf_counter()
    for name in given.worlds:
        world, truth = world_of(name)
        print(f"\n{name}: {given.repeats} nominal 95 % intervals: hold (above, below) width")
        print(f"queries  {'statistic':15s}  {'   '.join(f'{m:>26s}' for m in given.methods)}")
        for queries in given.sizes:
            plan = Plan(given.repeats, given.statistics, given.methods, given.draws)
            print_tallies(queries, tallies(world, truth, queries, plan))
    print(f"\n{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
