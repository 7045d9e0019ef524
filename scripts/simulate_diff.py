#!/usr/bin/env python3
"""How often is what `diff` says wrong, where the truth is known? Grades of TREC DL 2019's pairs.

Queries are drawn with replacement from the 43, which stand for all queries.
`shares`: how often the intervals of the shares moved up and down, from gpt-4o to llama-3.1-8b, hold
the shares of all 43 queries; of all pairs, or of a random sample of them.
`closer`: two sets by one assessor, whose grades wobble; how often is either called closer to NIST's
by any statistic; and how often the interval of a difference of kappa holds that of all queries.
`floor`: two sets by one assessor, whose replies within a session are alike with a chance; how often
does the interval of what asking twice gives hold it.
`change`: pairs of a control of both prompts on one day, or of the new one beside four days of the
old one's; how often is a prompt that changes nothing called a change, and one that grades a share
of the pairs lower by one. A session may lean, by so many grades a pair.

Usage: simulate_diff.py shares closer floor change [--repeats 400] [--data FOLDER]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from harness import DL19, parser, shown
from numpy.typing import NDArray

from labeler.agreement.align import GradeMatrix
from labeler.agreement.compare import StatisticOptions, share_of
from labeler.agreement.diff.diff import STATISTICS
from labeler.agreement.differences import differences
from labeler.agreement.statistics import find_statistic
from labeler.data import Pair
from labeler.stats.drift import change
from labeler.trec.files import read_qrels
from labeler.trec.pairs import PairColumns

Grades = NDArray[np.int64]
OPTIONS = StatisticOptions(STATISTICS, draws=1000)
QUERIES = (10, 20, 43)
SCALE = (0, 1, 2, 3)


class Pairs(NamedTuple):
    """The query, and the grades by NIST, gpt-4o and llama-3.1-8b, of each pair."""

    query: Grades
    nist: Grades
    first: Grades
    second: Grades

    def drawn(self, queries: int, rng: np.random.Generator) -> Pairs:
        """The pairs of so many queries at random, each with a number of its own."""
        rows = [np.flatnonzero(self.query == q) for q in range(self.query.max() + 1)]
        chosen = [rows[q] for q in rng.integers(0, len(rows), queries)]
        numbers = np.repeat(np.arange(queries), [len(part) for part in chosen])
        part = np.concatenate(chosen)
        return Pairs(numbers, self.nist[part], self.first[part], self.second[part])

    def some(self, rows: NDArray[np.int64]) -> Pairs:
        """Some of the pairs, queries without any left out."""
        _, query = np.unique(self.query[rows], return_inverse=True)
        return Pairs(query, self.nist[rows], self.first[rows], self.second[rows])


def read(folder: Path) -> Pairs:
    nist, first, second = (
        read_qrels(folder / f"{name}.qrels") for name in ("nist", "gpt-4o", "llama-3.1-8b")
    )
    rows = [
        (number, nist[q][d], first[q][d], second[q][d])
        for number, q in enumerate(sorted(nist))
        for d in nist[q]
        if d in first[q] and d in second[q]
    ]
    return Pairs(*np.array(rows, dtype=np.int64).T)


def sums(query: Grades, values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.bincount(query, weights=values.astype(float), minlength=int(query.max()) + 1)


def line(label: str, counts: Sequence[tuple[str, int]], repeats: int) -> None:
    cells = [shown(name, count / repeats, repeats) for name, count in counts]
    print(f"{label:32} {'  '.join(cells)}", flush=True)


def shares(pairs: Pairs, repeats: int, rng: np.random.Generator) -> None:
    truth = (pairs.second > pairs.first).mean(), (pairs.second < pairs.first).mean()
    print(f"shares: intervals that hold the truth, up {truth[0]:.3f}, down {truth[1]:.3f}")
    for queries in QUERIES:
        for sample in (None, 500, 100):
            held = [0, 0]
            for _ in range(repeats):
                of = pairs.drawn(queries, rng)
                if sample is not None:
                    of = of.some(np.sort(rng.permutation(len(of.query))[:sample]))
                whole = sums(of.query, np.ones(len(of.query)))
                for side, moved in enumerate((of.second > of.first, of.second < of.first)):
                    share = share_of(sums(of.query, moved), whole, OPTIONS)
                    low, high = share.low or 0.0, 1.0 if share.high is None else share.high
                    held[side] += low <= truth[side] <= high
            label = f"{queries} queries, {'all pairs' if sample is None else f'{sample} pairs'}"
            line(label, [("up", held[0]), ("down", held[1])], repeats)


def asked(usual: Grades, noise: NDArray[np.float64], rng: np.random.Generator) -> Grades:
    """What an assessor gives: its usual grade, or with a chance, its noise, one next to it."""
    step = rng.choice([-1, 1], size=usual.shape)
    return np.clip(np.where(rng.random(usual.shape) < noise, usual + step, usual), 0, 3)


def noise_of(of: Pairs, mean: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """A noise for each pair, which differs from query to query."""
    by_query = rng.beta(2.0, 2.0 / mean - 2.0, int(of.query.max()) + 1)
    return by_query[of.query]


def graded(of: Pairs, grades: Grades) -> GradeMatrix:
    numbered = enumerate(of.query.tolist())
    pairs = PairColumns.of_pairs({Pair(f"q{q}", f"d{d}"): 0 for d, q in numbered}, np.int64)
    return GradeMatrix(("nist", "it"), SCALE, pairs, np.stack([of.nist, grades], axis=1))


def kappa(nist: Grades, grades: Grades) -> float:
    table = np.zeros((4, 4))
    np.add.at(table, (nist, grades), 1)
    return float(find_statistic("kappa", SCALE).compute(table, np.array(SCALE, dtype=float)))


def closer(pairs: Pairs, repeats: int, rng: np.random.Generator) -> None:
    statistics = [find_statistic(name, SCALE) for name in STATISTICS]
    truth = kappa(pairs.nist, pairs.second) - kappa(pairs.nist, pairs.first)
    print(f"closer: one assessor called closer; intervals that hold the difference {truth:.3f}")
    for queries in QUERIES:
        called, first_called, held = 0, 0, 0
        for _ in range(repeats):
            of = pairs.drawn(queries, rng)
            noise = noise_of(of, 0.2, rng)
            sides = [graded(of, asked(of.first, noise, rng)) for _ in range(2)]
            rows = differences(sides[1], sides[0], statistics, OPTIONS)
            called += any(row.told_apart for row in rows)
            first_called += rows[0].told_apart
            both = graded(of, of.second), graded(of, of.first)
            (row,) = differences(*both, statistics[:1], OPTIONS)
            held += (row.low or -2) <= truth <= (row.high or 2)
        counts = [("by any", called), ("by kappa", first_called), ("held", held)]
        line(f"{queries} queries", counts, repeats)


def floor(pairs: Pairs, repeats: int, rng: np.random.Generator) -> None:
    print("floor: intervals that hold what asking twice gives")
    for mean in (0.05, 0.2, 0.4):
        every = (twice(pairs.drawn(43, rng), mean, 0.0, rng) for _ in range(100))
        truth = np.mean([moved.mean() for _, moved in every])
        for alike in (0.0, 0.3, 1.0):
            held = 0
            for _ in range(repeats):
                of = pairs.drawn(20, rng)
                of = of.some(np.sort(rng.permutation(len(of.query))[:500]))
                query, moved = twice(of, mean, alike, rng)
                share = share_of(sums(query, moved), sums(query, np.ones(len(query))), OPTIONS)
                held += (share.low or 0.0) <= truth <= (1.0 if share.high is None else share.high)
            line(f"noise {mean}, alike {alike}", [("held", held)], repeats)


def twice(of: Pairs, mean: float, alike: float, rng: np.random.Generator) -> tuple[Grades, Grades]:
    """The queries of pairs that are asked about twice, and which get another grade."""
    noise = noise_of(of, mean, rng)
    old, again = (asked(of.first, noise, rng) for _ in range(2))
    return of.query, (old != again) & (rng.random(len(old)) >= alike)


def called(pairs: Pairs, repeats: int, rng: np.random.Generator) -> None:
    print("change: called a change, where nothing changed, and where 10 % are lower by one")
    for mean, size, alike, lean in product(
        (0.1, 0.3), (100, 200), (0.0, 0.3, 0.6, 1.0), (0.0, 0.08)
    ):
        calls = Counter[str]()
        for _ in range(repeats):
            of = pairs.drawn(20, rng)
            of = of.some(np.sort(rng.permutation(len(of.query))[:size]))
            noise, leans = noise_of(of, mean, rng), rng.normal(0, lean, 2)
            lower = np.clip(of.first - (rng.random(len(of.query)) < 0.1), 0, 3)
            old, beside = (session(of.first, noise, leaning, rng) for leaning in leans)
            for name, usual in (("same", of.first), ("lower", lower)):
                again = (rng.random(len(old)) < alike) & (usual == of.first)
                new = np.where(again, beside, session(usual, noise, leans[1], rng))
                calls[name] += bool(change(new, old[:, None], beside).alarms)
        label = f"noise {mean}, {size} pairs, alike {alike}, lean {lean}"
        line(label, [*calls.items()], repeats)


def session(
    usual: Grades, noise: NDArray[np.float64], lean: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """What an assessor gives in a session that grades a share of the pairs higher, or lower."""
    leaning = np.sign(lean) * (rng.random(usual.shape) < abs(lean))
    return np.clip(asked(usual, noise, rng) + leaning, 0.0, 3.0)


def main() -> None:
    what = "shares", "closer", "floor", "change"
    given = parser(__doc__, what=what, repeats=400, seed=0, data=DL19).parse_args()
    rng, pairs = np.random.default_rng(given.seed), read(given.data)
    run = {"shares": shares, "closer": closer, "floor": floor, "change": called}
    for what in given.what:
        run[what](pairs, given.repeats, rng)


if __name__ == "__main__":
    main()
