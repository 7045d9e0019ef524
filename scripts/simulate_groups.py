#!/usr/bin/env python3
"""How often is what is said of groups of queries wrong? Scores of TREC DL 2019, by people's grades.

`gates`: how often a gate on the worst group passes, by the mean and by the interval's low end, and
fails, where the worst group truly lies so far below its bound; with `--alike` all groups do.

`weights`: samples of a made log, as `queries from-log` draws them: how often the interval of the
weighted mean holds the mean over all searches of that log, and the plain mean's does; and the
interval of a plain sample of its queries that is weighted by their counts.

Usage: simulate_groups.py gates|weights [--repeats 1000] [--alike]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from harness import DL19, parser, scores_of, shown

from labeler.evaluation.gates import reach_for
from labeler.metrics.scores import Weighting
from labeler.queries.traffic import TrafficOptions, from_log
from labeler.stats.means import bounded_interval

GROUPS = (2, 4, 8)
SIZES = (5, 10, 25, 50)
UNIT = (0.0, 1.0)
SAMPLES = 50
"""So many samples are drawn of a log, whose scores are drawn anew each time."""


def groups_of(
    values: np.ndarray, groups: int, rng: np.random.Generator, *, alike: bool
) -> list[np.ndarray]:
    """One run's scores in groups: all of one kind, or the harder queries together, with noise."""
    if alike:
        return [values] * groups
    order = np.argsort(values + rng.normal(0, 0.3, len(values)))
    return list(np.array_split(values[order], groups))


def drawn(group: np.ndarray, queries: int, rng: np.random.Generator) -> np.ndarray:
    return group[rng.integers(len(group), size=queries)]


def held(values: np.ndarray, groups: int, seed: int) -> list[float]:
    """The mean, the low end of its interval, and the high end that allows for all groups."""
    (low, high), mean = bounded_interval(values, UNIT, seed) or UNIT, values.mean()
    return [mean, low, mean + (high - mean) * reach_for(groups, len(values))]


def gates(given: argparse.Namespace) -> None:
    real, rng = scores_of(given.data, given.measure), np.random.default_rng(given.seed)
    apart = np.array([0.0, 0.05, 0.1, 0.2])
    print("gate: the worst group truly lies 0, .05, .1, .2 below the bound")
    for groups in GROUPS:
        for queries in SIZES:
            # passes by mean, by low end, and fails, by how far the bound lies above the worst
            told = np.zeros((3, len(apart)))
            for repeat in range(given.repeats):
                parts = groups_of(real[repeat % len(real)], groups, rng, alike=given.alike)
                bounds = min(part.mean() for part in parts) + apart
                ends = [held(drawn(part, queries, rng), groups, repeat) for part in parts]
                mean, low, high = np.array(ends).min(axis=0)
                told += [mean >= bounds - 1e-12, low >= bounds - 1e-12, high < bounds - 1e-12]
            mean, low, fails = (" ".join(map("{:.3f}".format, row / given.repeats)) for row in told)
            by = f"mean passes {mean}  low end passes {low}  fails {fails}"
            print(f"{groups} groups of {queries:3}  {by}", flush=True)


def weights(given: argparse.Namespace) -> None:
    real, rng = scores_of(given.data, given.measure), np.random.default_rng(given.seed)
    print("weighted mean: intervals that hold that over all searches of the log, width; others")
    for count, exponent in ((3000, 1.0), (3000, 0.6), (300, 1.0)):
        times = np.ceil(1000 / np.arange(1, count + 1) ** exponent)
        for queries in (30, 100, 300):
            held, width, worth = np.zeros(3), 0.0, 0.0
            samples = samples_of(times, queries)
            for repeat in range(given.repeats):
                of_log = scored(real[repeat % len(real)], count, rng)
                truth = np.average(of_log, weights=times)
                chosen, weighting = samples[repeat % SAMPLES]
                plain = rng.permutation(count)[:queries]
                ends = [
                    bounded_interval(of_log[chosen], UNIT, weighting=weighting),
                    bounded_interval(of_log[chosen], UNIT, repeat),
                    bounded_interval(of_log[plain], UNIT, weighting=Weighting(times[plain])),
                ]
                held += [low - 1e-9 <= truth <= high + 1e-9 for low, high in ends]
                width += ends[0][1] - ends[0][0]
                worth += weighting.effective
            shares = held / given.repeats
            names = "held", "plain mean", "counts of a plain sample"
            cells = (shown(*each, given.repeats) for each in zip(names, shares, strict=True))
            wide = f"wide {width / given.repeats:.3f}, as {worth / given.repeats:.0f} alike"
            label = f"{count} queries, (1/rank)^{exponent}, {queries:3} drawn"
            print(f"{label}  {'  '.join(cells)}  {wide}", flush=True)


def scored(real: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Scores of the queries of a log, the most frequent first, which are a little easier."""
    values = drawn(real, count, rng)
    return values[np.argsort(-values + rng.normal(0, 1.0, count))]


def samples_of(times: np.ndarray, queries: int) -> list[tuple[np.ndarray, Weighting]]:
    """Samples as `from_log` draws them: which queries, and their weights."""
    place = {f"query {in_letters(i)}": i for i in range(len(times))}
    samples = []
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.csv"
        rows = "".join(f"{text},{times[i]:.0f}\n" for text, i in place.items())
        log.write_text(f"query,count\n{rows}")
        for seed in range(SAMPLES):
            found = from_log(log, TrafficOptions(queries=queries, seed=seed)).queries
            weights, chances = (
                np.array([query.metadata[name] for query in found]) for name in ("weight", "chance")
            )
            chosen = np.array([place[query.text] for query in found])
            samples.append((chosen, Weighting(weights, chances)))
    return samples


def in_letters(number: int) -> str:
    """A number as a word: digits could be taken for personal data."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


ACTS = {"gates": gates, "weights": weights}


def main() -> None:
    given = parser(
        __doc__, act=ACTS, repeats=1000, measure="nDCG@10", seed=0, data=DL19, alike=False
    ).parse_args()
    ACTS[given.act](given)


if __name__ == "__main__":
    main()
