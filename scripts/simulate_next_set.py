#!/usr/bin/env python3
"""How often does another set of queries lie where it is said to? Queries of TREC DL 2019.

Two sets of as many queries are drawn with replacement from the 43. Of the first come the intervals
for another set; the second has a score, a difference of two systems and a kappa of gpt-4o with
NIST's grades, which these should hold in .95 of cases. Beside it: how often the interval of all
queries holds the second set's figure, as which many read it.

Usage: simulate_next_set.py [--repeats 600] [--sizes 10 25 43] [--data FOLDER]
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from harness import DL19, parser, scores_of, shown
from numpy.typing import NDArray

from labeler.agreement.align import grade_matrix
from labeler.agreement.compare import estimate
from labeler.agreement.statistics import find_statistic
from labeler.evaluation.scores import most_difference, summary_interval
from labeler.metrics.registry import parse
from labeler.stats.families import Systems, compared
from labeler.stats.intervals import Sample, of_next_set
from labeler.trec.files import read_qrels

MEASURES = ("nDCG@10", "AP", "P@10", "RR@10")
SCALE = (0, 1, 2, 3)
Figures = tuple[float, float, float]
"""A value and the ends of its interval."""


def held(of: Figures, bounds: tuple[float, float], other: float) -> NDArray[np.bool_]:
    """Whether the interval of another set holds its value, and whether that of all queries does."""
    ends = of_next_set(*of, bounds), of[1:]
    return np.array([low - 1e-9 <= other <= high + 1e-9 for low, high in ends])


def of_scores(
    folder: Path, name: str, size: int, repeats: int, rng: np.random.Generator
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    scores, measure = scores_of(folder, name), parse(name)
    most = most_difference(measure)
    for _ in range(repeats):
        two = scores[rng.permutation(len(scores))[:2]]
        first, second = (two[:, rng.integers(0, two.shape[1], size)] for _ in range(2))
        of = float(first[0].mean()), *summary_interval(measure, first[0])
        yield f"{name}, mean", held(of, (0.0, most), float(second[0].mean()))
        (v,) = compared(Systems(first, most=most), 1)
        other = float((second[0] - second[1]).mean())
        yield f"{name}, difference", held((v.estimate, v.low, v.high), (-most, most), other)


def of_kappa(
    folder: Path, size: int, repeats: int, rng: np.random.Generator
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    both = {name: read_qrels(folder / f"{name}.qrels") for name in ("nist", "gpt-4o")}
    tables = grade_matrix(both, SCALE, fewest=2).tables()
    kappa = find_statistic("kappa", SCALE)
    for _ in range(repeats):
        first, second = (tables[rng.integers(0, len(tables), size)] for _ in range(2))
        value, low, high = estimate(kappa, Sample(first, 400))
        if value is not None and low is not None and high is not None:
            yield "kappa", held((value, low, high), (-1.0, 1.0), float(kappa(second.sum(axis=0))))


def main() -> None:
    given = parser(__doc__, repeats=600, sizes=[10, 25, 43], seed=0, data=DL19).parse_args()
    print("holds another set's figure: its own interval, and the interval of all such queries")
    for size in given.sizes:
        rng, rows = np.random.default_rng(given.seed), dict[str, list[NDArray[np.bool_]]]()
        parts = [of_scores(given.data, m, size, given.repeats, rng) for m in MEASURES]
        for each in (*parts, of_kappa(given.data, size, given.repeats, rng)):
            for name, is_held in each:
                rows.setdefault(name, []).append(is_held)
        for name, every in rows.items():
            own, plain = np.mean(every, axis=0)
            n = len(every)
            print(f"{size} queries, {name}: {shown('own', own, n)}  {shown('plain', plain, n)}")


if __name__ == "__main__":
    main()
