#!/usr/bin/env python3
"""How often is what is said of groups of queries wrong? Scores of TREC DL 2019, by people's grades.

`worst`: groups of queries of unlike difficulty, and alike ones: how often the interval of the worst
group's score holds its true one, beside the plain interval of the group whose mean is lowest; how
often the truly worst is among those that may be it, and what share of the groups that is.

`gates`: how often a gate on the worst group passes where a group truly lies below its bound, and
fails where none does: by the mean, by the interval's low end.

`differences`: two runs by group: how often a difference is said to depend on the group where it
does not, with spreads alike and unlike, and how often where it does; beside them the rule of thumb
"better on one group and not told apart on another".

`weights`: samples of a made log, as `queries from-log` draws them: how often the interval of the
weighted mean holds the mean over all searches of logs like it, and the plain mean's.

Usage: simulate_groups.py worst|gates|differences|weights [--repeats 1000] [--data FOLDER]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from harness import DL19, parser, scores_of, shown

from labeler.metrics.scores import Weighting
from labeler.queries.traffic import TrafficOptions, from_log
from labeler.stats.groups import GroupMean, interaction_p, least_mean, may_be_least
from labeler.stats.means import bounded_interval, weighted_bounded
from labeler.stats.randomization import holm, randomization_test
from labeler.stats.student import SIGNIFICANT

GROUPS = (2, 4, 8)
SIZES = (5, 10, 25, 50)
UNIT = (0.0, 1.0)
SAMPLES, LOGS = 50, 200
"""So many samples are drawn of a log, whose scores are drawn anew each time and for each truth."""


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


def mean_of(values: np.ndarray, seed: int) -> GroupMean:
    low, high = bounded_interval(values, "bootstrap", seed, UNIT) or (0.0, 1.0)
    return GroupMean(float(values.mean()), low, high, len(values))


def worst(given: argparse.Namespace) -> None:
    real, rng = scores_of(given.data, given.measure), np.random.default_rng(given.seed)
    print(f"worst group by {given.measure}: intervals that hold the true score (standard error)")
    for alike in (False, True):
        for groups in GROUPS:
            for queries in SIZES[1:]:
                held = np.zeros(3)
                possible = 0.0
                for repeat in range(given.repeats):
                    parts = groups_of(real[repeat % len(real)], groups, rng, alike=alike)
                    truths = np.array([part.mean() for part in parts])
                    samples = [drawn(part, queries, rng) for part in parts]
                    means = [mean_of(sample, repeat) for sample in samples]
                    low, high = least_mean(means)
                    plain = min(means, key=lambda mean: mean.value)
                    may = may_be_least(samples)
                    possible += len(may) / groups
                    held += [
                        low - 1e-9 <= truths.min() <= high + 1e-9,
                        plain.low - 1e-9 <= truths.min() <= plain.high + 1e-9,
                        alike or int(truths.argmin()) in may,
                    ]
                names = ("held", "plain", "among")
                cells = "  ".join(
                    shown(name, share / given.repeats, given.repeats)
                    for name, share in zip(names, held, strict=True)
                )
                world = "alike " if alike else "unlike"
                of = f"may be it {possible / given.repeats:.2f}"
                print(f"{world} {groups} groups of {queries:3}  {cells}  {of}", flush=True)


def gates(given: argparse.Namespace) -> None:
    real, rng = scores_of(given.data, given.measure), np.random.default_rng(given.seed)
    apart = np.array([0.0, 0.05, 0.1])
    print("gate: passes where the worst group is truly 0, .05, .1 below; fails where .05, .1 above")
    for groups in GROUPS:
        for queries in SIZES:
            # (by mean, by low end) and how far the bound lies from the true score of the worst
            passed, failed = np.zeros((2, 3)), np.zeros((2, 3))
            for repeat in range(given.repeats):
                parts = groups_of(real[repeat % len(real)], groups, rng, alike=False)
                truth = min(part.mean() for part in parts)
                means = [mean_of(drawn(part, queries, rng), repeat) for part in parts]
                least = np.array([min(m.value for m in means), min(m.low for m in means)])
                passed += least[:, None] >= truth + apart - 1e-12
                failed += least[:, None] < truth - apart - 1e-12
            by = "  ".join(
                f"{name}: pass {' '.join(f'{x:.3f}' for x in passed[i] / given.repeats)}"
                f" fail {' '.join(f'{x:.3f}' for x in failed[i, 1:] / given.repeats)}"
                for i, name in enumerate(("mean", "low end"))
            )
            print(f"{groups} groups of {queries:3}  {by}", flush=True)


def tested(parts: list[np.ndarray], seed: int) -> tuple[bool, bool, bool]:
    """Whether it is said that groups differ, that a run wins and loses; and the rule of thumb."""
    depends = interaction_p(parts, seed) < SIGNIFICANT
    p = np.array([randomization_test(part[None, :], seed, 2000)[0][0] for part in parts])
    told = holm(p) < SIGNIFICANT
    signs = {np.sign(part.mean()) for part, is_told in zip(parts, told, strict=True) if is_told}
    thumb = bool((p < SIGNIFICANT).any() and not (p < SIGNIFICANT).all())
    return bool(depends), bool(depends and len(signs - {0.0}) == 2), thumb


WORLDS = {
    "alike": "the same differences in each group",
    "unlike": "the same mean; the first group's differences five times as large",
    "more": "one group gains .1 more than the others",
    "crossed": "half of the groups gain .1, the others lose .1",
}


def differences(given: argparse.Namespace) -> None:
    real, rng = scores_of(given.data, given.measure), np.random.default_rng(given.seed)
    print("said: depends on the group; wins on one and loses on another; rule of thumb")
    for world, words in WORLDS.items():
        print(f"{world}: {words}")
        for groups in GROUPS[:2]:
            for sizes in ((10, 10), (25, 25), (50, 50), (10, 50), (50, 10)):
                said = np.zeros(3)
                for repeat in range(given.repeats):
                    first, second = rng.choice(len(real), 2, replace=False)
                    apart = real[first] - real[second]
                    n = [sizes[0], *[sizes[1]] * (groups - 1)]
                    parts = [drawn(apart, size, rng) for size in n]
                    said += tested(moved(world, parts, float(apart.mean())), repeat)
                names = ("depends", "crosses", "thumb")
                cells = "  ".join(
                    shown(name, share / given.repeats, given.repeats)
                    for name, share in zip(names, said, strict=True)
                )
                print(f"{groups} groups of {sizes[0]}, {sizes[1]}  {cells}", flush=True)


def moved(world: str, parts: list[np.ndarray], mean: float) -> list[np.ndarray]:
    """The differences of each group as a world has them."""
    if world == "unlike":
        return [mean + (part - mean) * (1.0 if i == 0 else 0.2) for i, part in enumerate(parts)]
    if world == "more":
        return [part + (0.1 if i == 0 else 0.0) for i, part in enumerate(parts)]
    if world == "crossed":
        half = len(parts) // 2
        return [part - mean + (0.1 if i < half else -0.1) for i, part in enumerate(parts)]
    return parts


def weights(given: argparse.Namespace) -> None:
    real, rng = scores_of(given.data, given.measure), np.random.default_rng(given.seed)
    print("weighted mean: intervals that hold that over all searches, width; the plain mean's")
    for count, exponent in ((3000, 1.0), (3000, 0.6), (300, 1.0)):
        times = np.ceil(1000 / np.arange(1, count + 1) ** exponent)
        truths = [
            np.mean([np.average(scored(row, count, rng), weights=times) for _ in range(LOGS)])
            for row in real
        ]
        for queries in (30, 100, 300):
            held, width, worth = np.zeros(2), 0.0, 0.0
            samples = samples_of(times, queries)
            for repeat in range(given.repeats):
                run = repeat % len(real)
                chosen, weighting = samples[repeat % SAMPLES]
                sample = scored(real[run], count, rng)[chosen]
                low, high = weighted_bounded(sample, weighting, UNIT) or UNIT
                plain = bounded_interval(sample, "bootstrap", repeat, UNIT) or UNIT
                held += [low <= truths[run] <= high, plain[0] <= truths[run] <= plain[1]]
                width += high - low
                worth += weighting.effective
            ours, theirs = held / given.repeats
            cells = f"{shown('held', ours, given.repeats)}  {shown('plain', theirs, given.repeats)}"
            wide = f"wide {width / given.repeats:.3f}, as {worth / given.repeats:.0f} alike"
            print(
                f"{count} queries, (1/rank)^{exponent}, {queries:3} drawn  {cells}  {wide}",
                flush=True,
            )


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
            weights = np.array([query.metadata["weight"] for query in found])
            chosen = np.array([place[query.text] for query in found])
            samples.append((chosen, Weighting(weights)))
    return samples


def in_letters(number: int) -> str:
    """A number as a word: digits could be taken for personal data."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


ACTS = {"worst": worst, "gates": gates, "differences": differences, "weights": weights}


def main() -> None:
    given = parser(
        __doc__, act=ACTS, repeats=1000, measure="nDCG@10", seed=0, data=DL19
    ).parse_args()
    ACTS[given.act](given)


if __name__ == "__main__":
    main()
