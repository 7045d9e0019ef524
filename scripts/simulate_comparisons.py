#!/usr/bin/env python3
"""How often do comparisons of runs err, and what do they find? Scores of TREC DL 2019.

`verdicts`: systems whose true means are alike, or of which half are worse: each real system's
scores less their mean, queries drawn with replacement, so that every pair keeps its own variance
and skewness. How often some verdict is wrong, by each family of comparisons and by Tukey's HSD, and
which share of the worse half is found. Of few queries: how often a given best system is left out.

`company`: three real systems of 43 drawn queries, and some bad ones beside them: which share of the
truly lower ones is told from the best of the sample, and how many verdicts on the three change
because bad ones came along.

`gates`: how often a gate with a margin lets a run pass that truly loses the margin, and one that is
equal.

`looks`: how often a gate with a margin fails at any of 100 looks after commits of which none loses
the margin, on the same queries; how often it finds a loss of .05 at one look, and many small ones.

`power`: how often a difference is found with as many queries as `power` plans for, and how often
the range that it gives holds the truth.

`differences`: how often intervals of a difference hold the truth; `effects`: those of a difference
in standard deviations, also in made worlds that are skewed or tied.

Usage: simulate_comparisons.py verdicts|company|gates|looks|power|differences|effects
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import numpy as np
from harness import DL19, parser, scores_of, shown

from labeler.evaluation.equivalence import bounds, most_lost
from labeler.evaluation.evaluator import Evaluator
from labeler.metrics import parse
from labeler.runs.fuse import rrf
from labeler.stats.families import FEW, Family, Systems, compared, each_pair
from labeler.stats.intervals import jackknife
from labeler.stats.means import effect_of, mean_interval
from labeler.stats.power import (
    level_of,
    lower_bound,
    pooled_deviation,
    queries_needed,
    variance_factors,
)
from labeler.trec.files import read_run

SIZES = (10, 25, 43)
GATED = ("nDCG@10", "AP", "RR@10", "Success@1", "RR(rel=2)@10", "Success(rel=2)@1")
DRAWN = 499
"""Draws of each test: a twentieth of those that the command makes."""
DEEP = 30
"""A bad system starts this far down the list of a real one."""
WORSE = 0.1
"""How much lower the worse half of a world truly is."""


def systems_of(folder: Path, measure: str, assessor: str = "nist") -> tuple[np.ndarray, np.ndarray]:
    """The scores of good systems, `(systems, queries)`, and of bad ones.

    The good ones are the eleven, and the first pairs of them fused by reciprocal rank; a bad one is
    what a real one ranks from `DEEP` on.
    """
    evaluator = Evaluator(folder / f"{assessor}.qrels", measure)
    runs = [read_run(path).as_dict() for path in sorted((folder / "runs").glob("*.gz"))]
    fused = [rrf(pair) for pair in itertools.combinations(runs, 2)]
    deep = [
        {q: dict(sorted(row.items(), key=by_score)[DEEP:]) for q, row in r.items()} for r in runs
    ]
    of_each = [
        np.array([evaluator.score(run).values[0] for run in some])
        for some in ([*runs, *fused], deep)
    ]
    return of_each[0], of_each[1]


def by_score(item: tuple[str, float]) -> float:
    return -item[1]


def centred(values: np.ndarray) -> np.ndarray:
    return values - values.mean(axis=1, keepdims=True)


NULLS = ("equal", "wild", "half bad")


def null_world(
    name: str, good: np.ndarray, bad: np.ndarray, systems: int, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """Systems each with its own variance and skewness, and how many of them, the first, are best.

    Of `wild` ones 3 of 10 are bad systems, with other variances; of `half bad` ones half are worse.
    """
    chosen = rng.choice(len(good), min(systems, len(good)), replace=False)
    if name == "wild":
        some = centred(good[chosen[: max(systems * 7 // 10, 2)]])
        wild = rng.choice(len(bad), max(systems - len(some), 1), replace=systems > len(bad))
        return np.concatenate([some, centred(bad[wild])]), systems
    world = centred(good[chosen])
    best = systems - systems // 2 if name == "half bad" else systems
    world[best:] -= WORSE
    return world, best


def told(values: np.ndarray, family: str, seed: int) -> np.ndarray:
    """Which systems are told from the best of the sample, or with `all pairs` which pairs are."""
    systems = Systems(values, most=1.0)
    way = WAYS.get(family)
    verdicts = compared(systems, 0 if family == "baseline" else None, way, seed, DRAWN)
    apart = np.zeros((len(values), len(values)), dtype=bool)
    for verdict in verdicts:
        apart[verdict.first, verdict.second] = verdict.is_told
        apart[verdict.second, verdict.first] = verdict.is_told and family == "all pairs"
    return apart if way == "all pairs" else apart.any(axis=1)


FAMILIES = ("best", "baseline", "all pairs", "HSD")
WAYS: dict[str, Family] = {"all pairs": "all pairs", "HSD": "hsd"}


def verdicts(given: argparse.Namespace) -> None:
    """How often some verdict is wrong, among systems that are truly alike."""
    good, bad = systems_of(given.data, given.measure)
    print(f"{given.measure}: some verdict wrong, or of few queries a given best system left out")
    for queries, systems in itertools.product(SIZES, given.systems):
        for name in NULLS:
            rng = np.random.default_rng(given.seed)
            wrong, found = np.zeros(len(FAMILIES)), np.zeros(len(FAMILIES))
            for repeat in range(given.repeats):
                world, best = null_world(name, good, bad, systems, rng)
                values = world[:, rng.integers(world.shape[1], size=queries)]
                for place, family in enumerate(FAMILIES):
                    apart = told(values, family, repeat)
                    alike = apart[:best, :best] if apart.ndim == 2 else apart[:best]
                    alone = family == "best" and queries < FEW
                    wrong[place] += alike.mean() if alone else alike.any()
                    lower = apart[best:, :best] if apart.ndim == 2 else apart[best:]
                    found[place] += lower.mean() if lower.size else 0.0
            cells = "  ".join(
                f"{family} {share:.3f} ({(share * (1 - share) / given.repeats) ** 0.5:.3f})"
                + (f" finds {some:.2f}" if best < systems else "")
                for family, share, some in zip(
                    FAMILIES, wrong / given.repeats, found / given.repeats, strict=True
                )
            )
            print(f"{queries:3} queries {systems:3} systems {name:8} {cells}", flush=True)


BESIDE = (0, 1, 7, 12)
"""So many worse systems stand beside three."""


def company(given: argparse.Namespace) -> None:
    """Three systems and some worse ones: what is told of the three, and which verdicts change.

    The worse ones are bad, or the lower half of the real ones.
    """
    real, bad = systems_of(given.data, given.measure)
    is_good = real.mean(axis=1) > np.median(real.mean(axis=1))
    for name, others in (("bad", np.concatenate([bad, bad])), ("lower", real[~is_good])):
        rng = np.random.default_rng(given.seed)
        lower, found, changed = 0, np.zeros(len(BESIDE)), np.zeros(len(BESIDE))
        for _ in range(given.repeats):
            some = rng.integers(real.shape[1], size=43)
            three = rng.choice(real[is_good], 3, replace=False)
            drawn, worse = three[:, some], rng.permutation(others)[:, some]
            truth = three.mean(axis=1)
            is_lower = truth < truth[drawn.mean(axis=1).argmax()] - 1e-9
            apart = np.array([told_of_three(drawn, worse[:count]) for count in BESIDE])
            lower += int(is_lower.sum())
            found += (apart & is_lower).sum(axis=1)
            changed += (apart != apart[0]).sum(axis=1)
        pairs = 2 * given.repeats
        for count, told_apart, other in zip(BESIDE, found, changed, strict=True):
            cells = (
                shown("found", told_apart / lower, lower),
                shown("changed", other / pairs, pairs),
            )
            print(f"3 systems, {count:2} {name:5}  {'  '.join(cells)}", flush=True)


def told_of_three(three: np.ndarray, beside: np.ndarray) -> np.ndarray:
    """Which of three systems are told from the best, where others stand beside them."""
    verdicts = compared(Systems(np.concatenate([three, beside]), most=1.0))
    return np.isin(np.arange(3), [verdict.first for verdict in verdicts if verdict.is_told])


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


NDCG = parse("nDCG@10")
MARGIN = 0.01
LOOKS = 100


def fails(new: np.ndarray, base: np.ndarray, level: float, margin: float = MARGIN) -> bool:
    """Whether more than the margin is shown to be lost."""
    is_below = (new - base).mean() < -margin  # else no bound lies below
    return bool(is_below and bounds(new, base, NDCG, level)[1] < -margin)


def committed(
    system: np.ndarray, real: np.ndarray, loss: float, rng: np.random.Generator
) -> np.ndarray:
    """What a commit makes of a system: some queries come out as another system's, which lose so."""
    size = (100, system.size)
    others = real[rng.integers(len(real), size=size), np.arange(system.size)]
    new = np.where(rng.random(size) < max(0.2, 8 * loss), others, system)
    return new[np.abs(new.mean(axis=1) - system.mean() + loss).argmin()]


CELLS = (
    *("alike, each", "alike, sequential", "edge, each", "edge, sequential"),
    *(".05 alone", ".05 at look 2", ".05 at look 10", ".05 at look 100"),
    *("slow by look 10", "slow by look 20"),
)


def looked(real: np.ndarray, drawn: np.ndarray, rng: np.random.Generator) -> list[bool]:
    """Whether a gate fails at any look, or finds what is lost, on the same drawn queries."""
    # of the worst system no other takes anything
    first = system = losing = real[rng.choice(real.mean(axis=1).argsort()[1:])]
    any_false, slow = np.zeros((2, 2), dtype=bool), [False, False]
    for look in range(LOOKS):
        new = committed(system, real, system.mean() - first.mean(), rng)
        run, base = rng.permutation(real)[:2]
        loss, half = (base - run).mean(), level_of(look + 1) / 2
        for way, level in enumerate((0.05, half)):
            any_false[0, way] |= fails(new[drawn], system[drawn], level)
            any_false[1, way] |= loss > 0 and fails(run[drawn], base[drawn], level, loss)
        any_false[0, 1] |= fails(new[drawn], first[drawn], half)
        system = new
        if look < 20:
            losing = committed(losing, real, 0.005, rng)
            slow[look // 10] |= fails(losing[drawn], first[drawn], half)
    worse = committed(first, real, 0.05, rng)
    levels = 0.05, *(level_of(look) / 2 for look in (2, 10, 100))
    found = [fails(worse[drawn], first[drawn], level) for level in levels]
    return [*any_false.ravel().tolist(), *found, slow[0], any(slow)]


def looks(given: argparse.Namespace) -> None:
    """A gate after every commit: its false failures, and what it finds."""
    real = scores_of(given.data, "nDCG@10")
    for queries in (50, 200, 1000):
        rng = np.random.default_rng(given.seed)
        draws = rng.integers(real.shape[1], size=(given.repeats, queries))
        shares = np.mean([looked(real, drawn, rng) for drawn in draws], axis=0)
        for name, share in zip(CELLS, shares, strict=True):
            print(f"{queries:4} queries  {shown(name, share, given.repeats)}", flush=True)


def power(given: argparse.Namespace) -> None:
    """Systems alike but one, which is better by .05, of as many queries as were planned."""
    real = scores_of(given.data, given.measure)
    rng = np.random.default_rng(given.seed)
    alike = real - real.mean(axis=1, keepdims=True)
    print("power: of a difference of .05 with as many queries as power plans for .80")
    for systems in (2, 3, 5, 11):
        found, planned = 0, []
        for repeat in range(given.repeats // 3):
            some = alike[rng.choice(len(alike), systems, replace=False)]
            planned.append(queries_needed(0.05, pooled_deviation(some), runs=systems))
            values = some[:, rng.integers(some.shape[1], size=planned[-1])]
            values[0] += 0.05
            verdicts = compared(Systems(values, most=1.0), None, None, repeat, DRAWN)
            found += any({v.first, v.second} == {0, 1} and v.is_told for v in verdicts)
        cells = shown("found", found / len(planned), len(planned))
        print(f"{systems:3} systems {np.mean(planned):4.0f} queries  {cells}", flush=True)
    print("range: how often it holds the queries truly needed; power and assurance reached")
    for systems in (2, 3, 11):
        for queries in (10, 25, 43):
            ranged(real, systems, queries, given.repeats, rng)


def ranged(
    real: np.ndarray, systems: int, queries: int, repeats: int, rng: np.random.Generator
) -> None:
    """Pilots of so many queries: are the queries truly needed within their range?"""
    held, assured = 0, 0
    for _ in range(repeats):
        some = real[rng.choice(len(real), systems, replace=False)]
        truth = pooled_deviation(some) * np.sqrt(42 / 43)
        pilot = some[:, rng.integers(some.shape[1], size=queries)]
        deviation = pooled_deviation(pilot)
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
                (verdict,) = each_pair(values[None], 1.0, seed)
                both = [(verdict.low, verdict.high), mean_interval(values, jackknife)]
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


def made_differences(rng: np.random.Generator, queries: int) -> dict[str, np.ndarray]:
    """Differences of queries: normal, skewed, tied, of heavy tails, and with a few large losses."""
    normal, some = rng.normal(0.3, 1, queries), rng.random(queries)
    return {
        "normal": normal,
        "lognormal": np.exp(rng.normal(0, 0.8, queries)) - 1.2,
        "60 % tied": np.where(some < 0.6, 0, normal),
        "80 % tied": np.where(some < 0.8, 0, rng.exponential(0.3, queries) - 0.1),
        "t of 3": rng.standard_t(3, queries) + 0.5,
        "10 % lose": 0.12 + 0.1 * normal - 0.75 * (some < 0.1),
    }


def effects(given: argparse.Namespace) -> None:
    """Made differences, and those of random pairs of the real systems."""
    print("effects: intervals that hold the truth, lie above and below, mean width; none given")
    rng = np.random.default_rng(given.seed)
    many = made_differences(rng, 400_000)
    real = {name: scores_of(given.data, name) for name in ("nDCG@10", "AP", "P@10", "RR@10")}
    for name, queries in itertools.product([*many, *real], (10, 25, 50)):
        rows = []
        for _ in range(given.repeats):
            if name in real:
                run, base = rng.choice(real[name], 2, replace=False)
                every, values = run - base, rng.choice(run - base, queries)
            else:
                every, values = many[name], made_differences(rng, queries)[name]
            truth, (_, low, high) = every.mean() / max(every.std(), 1e-12), effect_of(values)
            rows.append((low <= truth <= high, low > truth, high < truth, high - low))
        given_rows = np.array([row for row in rows if row[3] > 0])
        cells = "  ".join(f"{share:.3f}" for share in given_rows.mean(axis=0))
        none = 1 - len(given_rows) / given.repeats
        print(f"{name:11} {queries:3} queries  {cells}  none {none:.2f}", flush=True)


ACTS = {
    "differences": differences,
    "effects": effects,
    "power": power,
    "verdicts": verdicts,
    "company": company,
    "gates": gates,
    "looks": looks,
}


def main() -> None:
    given = parser(
        __doc__, act=ACTS, repeats=600, measure="nDCG@10", seed=0, data=DL19, systems=[10]
    ).parse_args()
    ACTS[given.act](given)


if __name__ == "__main__":
    main()
