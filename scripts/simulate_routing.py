#!/usr/bin/env python3
"""What does routing pairs to people bring on LLMJudge, and does the forecast of it hold?

`curve` takes half of the queries to choose the assessors that agree most with people, and routes
pairs of the other half: kappa by how many pairs people grade, for each criterion, and by chance.
`forecast` draws people's grades as `people sample` does, asks for the expectation, and compares it
with the kappa that all grades of the pool then give. Both print standard errors over repetitions.

Usage: simulate_routing.py curve|forecast [--repeats 40] [--data FOLDER]
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from harness import LLMJUDGE, parser

from labeler.agreement.shares import GradeShares, RoutingSources, combined, shares_of
from labeler.agreement.sources import source_of_file
from labeler.agreement.statistics import find_statistic
from labeler.arrays import Floats, Integers
from labeler.data import Pair, Qrels
from labeler.lab.calibrate import calibration_set
from labeler.lab.route import RouteOptions, route_opened
from labeler.lab.route_criteria import Criterion, needs, order_of
from labeler.people.sample import draw
from labeler.trec.qrels import read_qrels

SCALE = (0, 1, 2, 3)
SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6)


class World:
    """The pairs that people and all 22 assessors graded."""

    def __init__(self, folder: Path) -> None:
        self.human = read_qrels(folder / "human.qrels")
        files = sorted((folder / "labels").glob("*.txt"))
        assessors = {path.stem: shares_of(source_of_file(path, path.stem)) for path in files}
        pairs = [Pair(q, d) for q, row in self.human.items() for d in row]
        self.pairs = tuple(p for p in pairs if all(p in a.row for a in assessors.values()))
        self.truth = np.array([self.human[q][d] for q, d in self.pairs])
        names = sorted({pair.query_id for pair in self.pairs})
        self.queries = len(names)
        self.query = np.array([names.index(pair.query_id) for pair in self.pairs])
        self.assessors = {name: self._clipped(shares) for name, shares in assessors.items()}

    def _clipped(self, shares: GradeShares) -> GradeShares:
        rows = [shares.row[pair] for pair in self.pairs]
        grades = np.clip(np.array(shares.grades)[shares.matrix[rows].argmax(axis=1)], 0, 3)
        return GradeShares(SCALE, self.pairs, np.eye(4)[grades], np.zeros(len(rows)))

    def grades(self, name: str) -> Integers:
        """An assessor's grades."""
        return self.assessors[name].matrix.argmax(axis=1)

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
        shares = combined([self.assessors[name] for name in names])
        looked_at = frozenset(Pair(q, d) for q, row in human.items() for d in row)
        grades = self.grades(names[0])
        return RoutingSources(tuple(names), shares, grades, "human", human, weights, looked_at)


def kappa(truth: Integers, grades: Integers) -> float:
    """Cohen's kappa."""
    table = np.zeros((4, 4))
    np.add.at(table, (truth, grades), 1)
    return float(find_statistic("kappa", SCALE).compute(table, np.arange(4.0)))


def by_chance(truth: Integers, grades: Integers, share: float) -> float:
    """Kappa where people's grades stand for a share of all pairs, drawn by chance."""
    table, agreed = np.zeros((4, 4)), np.zeros((4, 4))
    np.add.at(table, (truth, grades), 1 - share)
    np.add.at(agreed, (truth, truth), share)
    return float(find_statistic("kappa", SCALE).compute(table + agreed, np.arange(4.0)))


def in_doubt_first(sources: RoutingSources, by: str, seed: int, rows: Integers) -> Integers:
    """The rows in the order in which people would see them."""
    if by == "chance":
        return np.random.default_rng(seed).permutation(rows)
    human = sources.human or {}
    judged = calibration_set(human, sources.shares, None, "no pair") if human else None
    criterion: Criterion = by  # type: ignore[assignment]  # one of the names below
    return order_of(needs(sources, criterion, judged), rows, seed)


def curve(world: World, seed: int, members: int) -> dict[tuple[str, float], float]:
    """Kappa on half of the queries, by criterion and share, with members chosen on the other."""
    rng = np.random.default_rng(seed)
    chosen_on = np.isin(world.query, rng.permutation(world.queries)[: world.queries // 2])
    ranked = sorted(
        world.assessors,
        key=lambda name: -kappa(world.truth[chosen_on], world.grades(name)[chosen_on]),
    )
    human = world.qrels([world.pairs[row] for row in np.flatnonzero(chosen_on)])
    sources = world.sources(ranked[:members], human, None)
    rows = np.flatnonzero(~chosen_on)
    result = {}
    for by in ("chance", "disagreement", "entropy", "doubt"):
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
        for by in ("chance", "disagreement", "entropy", "doubt"):
            cells = []
            for share in SHARES:
                values = np.array([run[by, share] for run in runs])
                gain = values - np.array([run["chance", share] for run in runs])
                error = gain.std(ddof=1) / np.sqrt(count)
                cells.append(f"{share:.0%} {values.mean():.3f} (+{gain.mean():.3f} ±{error:.3f})")
            print(f"  {by:>13}: {'  '.join(cells)}")


def forecast(world: World, seed: int, by: Criterion, people: int) -> tuple[Floats, Floats]:
    """The expectations as they are, routed and by chance, with their ends; and what came true."""
    rng = np.random.default_rng(seed)
    names = [str(name) for name in rng.permutation(sorted(world.assessors))[:3]]
    grades = world.grades(names[0])
    drawn = draw(dict(zip(world.pairs, grades.tolist(), strict=True)), people, None, seed)
    human = world.qrels([row.pair for row in drawn])
    weights = {pair.pair: 1 / pair.probability for pair in drawn}
    sources = world.sources(names, human, weights)
    rows = np.array([row for row, pair in enumerate(world.pairs) if pair not in weights])
    budget = round(0.2 * len(rows))
    result = route_opened(sources, RouteOptions(budget, by, seed=seed))
    routed = [sources.shares.row[row.pair] for row in result.pairs]
    after = grades.copy()
    after[routed] = world.truth[routed]
    point = result.point
    assert point is not None
    estimates = point.routed, result.expected[0].routed, point.gain
    told = [[e.value or 0, e.low or 0, e.high or 0] for e in estimates]
    truth, now = world.truth[rows], kappa(world.truth[rows], grades[rows])
    true = [kappa(truth, after[rows]), now]
    true.append(true[0] - by_chance(truth, grades[rows], point.share))
    return np.array(told), np.array(true)


def show_forecast(world: World, count: int) -> None:
    """Print how far the expectation lies from what came true, and how often its interval held."""
    for people in (200, 400):
        for by in ("disagreement", "doubt"):
            runs = [forecast(world, seed, by, people) for seed in range(count)]
            told, true = (np.array(side) for side in zip(*runs, strict=True))
            for row, name in ((0, "routed 20 %"), (1, "as it is"), (2, "gain over chance")):
                error = told[:, row, 0] - true[:, row]
                held = (told[:, row, 1] <= true[:, row]) & (true[:, row] <= told[:, row, 2])
                se = error.std(ddof=1) / np.sqrt(count)
                share_se = np.sqrt(held.mean() * (1 - held.mean()) / count)
                print(
                    f"{people} pairs by people, {by}, {name}: true {true[:, row].mean():.3f}, "
                    f"error {error.mean():+.3f} ±{se:.3f}, "
                    f"mean absolute {np.abs(error).mean():.3f}, "
                    f"interval held {held.mean():.3f} ±{share_se:.3f}",
                    flush=True,
                )


def main() -> None:
    given = parser(
        __doc__, what=dict.fromkeys(["curve", "forecast"]), repeats=40, data=LLMJUDGE
    ).parse_args()
    show = show_curve if given.what == "curve" else show_forecast
    show(World(given.data), given.repeats)


if __name__ == "__main__":
    main()
