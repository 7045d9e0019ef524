#!/usr/bin/env python3
"""What does routing pairs to people bring on LLMJudge?

Half of the queries choose the assessors that agree most with people, and pairs of the other half
are routed: kappa by how many pairs people grade, routed by doubt and by chance, with standard
errors over repetitions.

Usage: simulate_routing.py [--repeats 40] [--data FOLDER]
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from harness import LLMJUDGE, parser

from labeler.agreement.align import GradeMatrix
from labeler.agreement.shares import RoutingSources, graded_together
from labeler.agreement.sources import source_of_file
from labeler.agreement.statistics import find_statistic
from labeler.arrays import Integers
from labeler.data import Pair, Qrels
from labeler.lab.route import needs, order_of
from labeler.trec.files import read_qrels
from labeler.trec.pairs import NONE

SCALE = (0, 1, 2, 3)
SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6)


class World:
    """The pairs that people and all 22 assessors graded."""

    def __init__(self, folder: Path) -> None:
        self.human = read_qrels(folder / "human.qrels")
        files = sorted((folder / "labels").glob("*.txt"))
        each = [graded_together([source_of_file(path, path.stem)])[0] for path in files]
        by_all = [self.human.rows_in(of.pairs) != NONE for of in each]
        self.pairs = self.human.keep(np.all(by_all, axis=0))
        self.truth = self.pairs.value
        names, self.query = self.pairs.by_query_id()
        self.queries = len(names)
        self.assessors = {of.assessors[0]: self._clipped(of) for of in each}

    def _clipped(self, of: GradeMatrix) -> Integers:
        return np.clip(of.beside(self.pairs)[:, 0].astype(int), 0, 3)

    def grades(self, name: str) -> Integers:
        """An assessor's grades."""
        return self.assessors[name]

    def qrels(self, pairs: Iterable[Pair]) -> Qrels:
        """People's grades of some pairs."""
        qrels: Qrels = {}
        for query_id, doc_id in pairs:
            qrels.setdefault(query_id, {})[doc_id] = self.human[query_id][doc_id]
        return qrels

    def sources(
        self, names: list[str], human: Qrels, weights: dict[Pair, float] | None
    ) -> RoutingSources:
        """What routing would read, had people graded these pairs."""
        grades = np.stack([self.grades(name) for name in names], axis=1)
        matrix = GradeMatrix(tuple(names), SCALE, self.pairs, grades)
        return RoutingSources(matrix, "human", human, weights, (human,))


def kappa(truth: Integers, grades: Integers) -> float:
    """Cohen's kappa."""
    table = np.zeros((4, 4))
    np.add.at(table, (truth, grades), 1)
    return float(find_statistic("kappa", SCALE).compute(table, np.arange(4.0)))


def in_doubt_first(sources: RoutingSources, by: str, seed: int, rows: Integers) -> Integers:
    """The rows in the order in which people would see them."""
    if by == "chance":
        return np.random.default_rng(seed).permutation(rows)
    return order_of(needs(sources), rows, seed)


def curve(world: World, seed: int, members: int) -> dict[tuple[str, float], float]:
    """Kappa on half of the queries, by criterion and share, with members chosen on the other."""
    rng = np.random.default_rng(seed)
    chosen_on = np.isin(world.query, rng.permutation(world.queries)[: world.queries // 2])
    ranked = sorted(
        world.assessors,
        key=lambda name: -kappa(world.truth[chosen_on], world.grades(name)[chosen_on]),
    )
    human = world.qrels(world.pairs.keep(chosen_on).pairs())
    sources = world.sources(ranked[:members], human, None)
    rows = np.flatnonzero(~chosen_on)
    result = {}
    for by in ("chance", "doubt"):
        order = in_doubt_first(sources, by, seed, rows)
        for share in SHARES:
            grades = sources.grades.copy()
            routed = order[: round(share * len(rows))]
            grades[routed] = world.truth[routed]
            result[by, share] = kappa(world.truth[rows], grades[rows])
    return result


def show_curve(world: World, count: int) -> None:
    """Print the curves of one, three and five assessors."""
    for members in (1, 3, 5):
        runs = [curve(world, seed, members) for seed in range(count)]
        print(f"the {members} assessors that agree most on the other queries:")
        for by in ("chance", "doubt"):
            cells = []
            for share in SHARES:
                values = np.array([run[by, share] for run in runs])
                gain = values - np.array([run["chance", share] for run in runs])
                error = gain.std(ddof=1) / np.sqrt(count)
                cells.append(f"{share:.0%} {values.mean():.3f} (+{gain.mean():.3f} ±{error:.3f})")
            print(f"  {by:>13}: {'  '.join(cells)}")


def main() -> None:
    given = parser(__doc__, repeats=40, data=LLMJUDGE).parse_args()
    show_curve(World(given.data), given.repeats)


if __name__ == "__main__":
    main()
