#!/usr/bin/env python3
"""Does a sample of pairs show what `people sample` says beforehand? DL 2019 and LLMJudge.

Queries are drawn with replacement from those that people graded, and pairs of them as `people
sample` draws. Printed are, of each number of queries and of pairs:

`reach`: the share of samples whose interval of kappa reaches no farther than was said.
`gain`: the share in which an assessor is told from a worse one by `agree`. The worse one is the
same, with some of its grades dealt anew within queries, until it has less kappa by the gain that
was said; "-" where that is all it has.
`equal`: the share in which it is told from one that lost as much as it: two such that are equal.
`real`: the share in which the best and the worst LLM are told apart, and by how much they differ.
`systems`, `favor`: of whole queries, how often a difference of nDCG@10 is told that was said to be.

Usage: simulate_sample.py [--repeats 40] [--sizes 50 100 200 500 1000] [--queries 25 50 100]
       [--llmjudge FOLDER] [--dl19 FOLDER]
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from correction_worlds import dl19
from harness import DL19, LLMJUDGE, parser

from labeler.agreement.align import Rules
from labeler.agreement.compare import Agreement, StatisticOptions, compare_labels
from labeler.agreement.differences import differences
from labeler.agreement.plan import FAVOR, SYSTEMS, reach
from labeler.agreement.statistics import find_statistic
from labeler.arrays import Floats
from labeler.data import Pair, Qrels
from labeler.people.sample import draw
from labeler.stats.families import each_pair
from labeler.stats.power import detectable
from labeler.trec.files import read_qrels
from labeler.trec.labels import read_labels

RULES, KAPPA = Rules(scale=range(4)), find_statistic("kappa", range(4))
OPTIONS = StatisticOptions(("kappa",), draws=400)


class World:
    """The pairs that people and the assessors graded, by query: `(pairs, 1 + assessors)` grades."""

    def __init__(self, human: Qrels, others: Sequence[Mapping[str, Mapping[str, object]]]) -> None:
        self.grades = [
            np.clip([[human[q][d], *(int(str(of[q][d])) for of in others)] for d in docs], 0, 3)
            for q in human
            if (docs := [d for d in human[q] if all(_is_grade(of, q, d) for of in others)])
        ]

    def kappa(self, column: int) -> float:
        """An assessor's kappa with people."""
        every = np.concatenate(self.grades)
        return float(KAPPA(_table(every[:, 0], every[:, column])))

    def add_worse(self, gain: float, rng: np.random.Generator) -> int:
        """Add the first assessor with `gain` less kappa; the place of its grades."""
        chances = [rng.random(len(of)) for of in self.grades]
        dealt = [rng.permutation(of[:, 1]) for of in self.grades]
        every, aim = np.concatenate(self.grades), self.kappa(1) - gain
        chance, anew = np.concatenate(chances), np.concatenate(dealt)
        low, high = 0.0, 1.0
        for _ in range(30):
            middle = (low + high) / 2
            worse = np.where(chance < middle, anew, every[:, 1])
            is_enough = KAPPA(_table(every[:, 0], worse)) < aim
            low, high = (low, middle) if is_enough else (middle, high)
        each = zip(self.grades, chances, dealt, strict=True)
        self.grades = [np.column_stack([g, np.where(c < high, d, g[:, 1])]) for g, c, d in each]
        return self.grades[0].shape[1] - 1

    def sample(self, columns: Sequence[int], size: tuple[int, int], seed: int) -> list[Agreement]:
        """What `agree` says of assessors on a sample of pairs of queries, which is drawn anew."""
        pairs, queries = size
        rng = np.random.default_rng(seed)
        drawn = [self.grades[at] for at in rng.integers(0, len(self.grades), queries)]
        rows = {
            Pair(f"q{q}", f"d{d}"): row for q, of in enumerate(drawn) for d, row in enumerate(of)
        }
        strata = {pair: int(row[columns[0]]) for pair, row in rows.items()}
        chances = draw(strata, pairs, None, seed)
        weights = {pair: 1 / chance for pair, chance in chances.items()}
        human, *others = ({} for _ in range(1 + len(columns)))
        for pair in chances:
            for qrels, column in zip((human, *others), (0, *columns), strict=True):
                qrels.setdefault(pair.query_id, {})[pair.doc_id] = int(rows[pair][column])
        return [compare_labels(human, other, RULES, OPTIONS, weights) for other in others]


def _is_grade(qrels: Mapping[str, Mapping[str, object]], query: str, doc: str) -> bool:
    return str(qrels.get(query, {}).get(doc, "")).isdigit()


def _table(human: Floats, other: Floats) -> Floats:
    return np.bincount(human * 4 + other, minlength=16).reshape(4, 4).astype(float)


def reached(agreement: Agreement, said: float) -> bool:
    """Whether the interval of kappa reaches no farther than was said, to two digits."""
    _, low, high = agreement.statistics["kappa"]
    return low is not None and high - low <= 2 * said + 0.01


def is_told(first: Agreement, second: Agreement) -> bool:
    """Whether the first is told to be the better one."""
    (row,) = differences(first.paired, second.paired, [KAPPA], OPTIONS)
    return row.told_apart and (row.value or 0.0) > 0


def shares_of(world: World, size: tuple[int, int], repeats: int) -> list[float]:
    """The shares of samples whose reach is as said, in which a gain is told, and in which none."""
    gain, whole = reach(*size, 2), world.grades
    columns = [1]
    if gain < world.kappa(1):
        rng = np.random.default_rng(size)
        columns += [world.add_worse(gain, rng), world.add_worse(gain, rng)]
    rows = []
    for seed in range(repeats):
        best, *worse = world.sample(columns, size, seed)
        told = [math.nan, math.nan]
        if worse:
            told = [is_told(best, worse[0]), is_told(*worse) or is_told(*worse[::-1])]
        rows.append([reached(best, reach(*size)), *told])
    world.grades = whole
    return np.mean(rows, axis=0).tolist()


def of_whole_queries(scores: Mapping[str, Floats], queries: int, repeats: int) -> None:
    """How often differences of systems, and of what an assessor gives them, are told as said."""
    people = scores["nist"][0]
    for what, deviation in (("systems", SYSTEMS), ("favor", FAVOR)):
        sides = [people] if what == "systems" else [of[0] - people for of in scores.values()][1:]
        least, told = detectable(queries, deviation), []
        rng = np.random.default_rng(queries)
        for side in sides:
            for i, j in combinations(range(len(side)), 2):
                apart = side[i] - side[j]
                drawn = apart - apart.mean() + least
                at = rng.integers(0, len(apart), (1 + repeats // 8, queries))
                verdicts = (each_pair(row[None])[0] for row in drawn[at])
                told.append(np.mean([v.is_told and v.estimate > 0 for v in verdicts]))
        print(f"{queries} whole queries, {what} {least:.3f}: told {np.mean(told):.2f}")


def main() -> None:
    given = parser(
        __doc__,
        repeats=40,
        sizes=[50, 100, 200, 500, 1000],
        queries=[25, 50, 100],
        llmjudge=LLMJUDGE,
        dl19=DL19,
    ).parse_args()
    nist, human = read_qrels(given.dl19 / "nist.qrels"), read_qrels(given.llmjudge / "human.qrels")
    llms = {
        path.stem: read_labels(path).labels
        for path in sorted((given.llmjudge / "labels").glob("*.txt"))
    }
    by = {name: World(human, [of]).kappa(1) for name, of in llms.items()}
    best, *_, middle, worst = sorted(by, key=lambda name: -by[name])
    names = ("gpt-4o", "llama-3.1-8b")
    of_dl19 = [read_qrels(given.dl19 / f"{name}.qrels") for name in names]
    worlds = {name: World(nist, [of]) for name, of in zip(names, of_dl19, strict=True)}
    worlds |= {name: World(human, [llms[name]]) for name in (best, middle)}
    real = [World(nist, of_dl19), World(human, [llms[best], llms[worst]])]
    apart = [world.kappa(1) - world.kappa(2) for world in real]
    for queries in given.queries:
        for pairs in given.sizes:
            size = pairs, queries
            said = f"within {reach(*size):.2f}, gain {reach(*size, 2):.2f}: reach, gain, equal"
            print(f"{pairs} pairs of {queries} queries, {said}")
            for name, world in worlds.items():
                cells = (f"{share:.2f}" for share in shares_of(world, size, given.repeats))
                print(f"  {name:18} {world.kappa(1):.2f}  {'  '.join(cells)}")
            for world, by_so_much in zip(real, apart, strict=True):
                both = (world.sample((1, 2), size, seed) for seed in range(given.repeats))
                share = np.mean([is_told(*each) for each in both])
                print(f"  real, apart by {by_so_much:.2f}: {share:.2f}")
    scores = dl19(given.dl19, ["nDCG@10"])
    for queries in (10, 20, 40):
        of_whole_queries(scores, queries, given.repeats)


if __name__ == "__main__":
    main()
