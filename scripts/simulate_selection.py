"""Experiments on verdicts of several systems, and on queries and pairs that people chose."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from correction_worlds import JUDGES, dl19

from labeler.arrays import Floats
from labeler.data import Pair, Run
from labeler.evaluation.corrected import CorrectedDifference
from labeler.evaluation.gates import least_gain
from labeler.people.sample import draw
from labeler.stats.estimates import at_random, balance, with_replacement
from labeler.stats.ppi import THESE, CorrectedMean, Joint
from labeler.trec.qrels import read_qrels
from labeler.trec.runs import read_run

CHOSEN = 20
MARGIN = 0.05


def families(given: argparse.Namespace) -> Iterator[str]:
    """How often any of several equal systems is told from the best of the same scores."""
    scores = dl19(given.data, given.measures)
    yield "assessor      measure           n  systems  any told from the best"
    for judge in JUDGES:
        for row, measure in enumerate(given.measures):
            for systems in (3, 5, 11):
                for n in given.sizes:
                    both = scores["nist"][row], scores[judge][row]
                    share = _told(*both, (systems, n), given.draws)
                    yield f"{judge:13s} {measure:16s} {n:3d}  {systems:7d}  {share:.3f}"


def _told(human: Floats, assessor: Floats, size: tuple[int, int], draws: int) -> float:
    rng = np.random.default_rng(7)
    systems, judged = size
    told = 0
    for seed in range(draws):
        dealt = rng.permuted(np.tile(np.arange(len(human))[:, None], human.shape[1]), axis=0)
        dealt = dealt[:systems]
        own, other = (np.take_along_axis(side, dealt, axis=0) for side in (human, assessor))
        drawn = rng.choice(own.shape[1], judged, replace=False)
        joint = Joint(own[:, drawn], other, at_random(drawn, own.shape[1]))
        best = int(np.argmax([mean.corrected.value for mean in joint.means()]))
        told += bool((joint.adjusted(joint.differences(best), seed, 2000) < 0.05).any())
    return told / draws


def gates(given: argparse.Namespace) -> Iterator[str]:
    """How often a run that loses the margin in truth passes, and one that is equal."""
    scores = dl19(given.data, given.measures)
    yield "assessor      measure           n  passes with a loss of .05   with none"
    for judge in JUDGES:
        for row, measure in enumerate(given.measures):
            for n in given.sizes:
                both = scores["nist"][row], scores[judge][row]
                losing, equal = (_passes(*both, n, given.draws, loss) for loss in (MARGIN, 0.0))
                yield f"{judge:13s} {measure:16s} {n:3d}  {losing:.3f}  {equal:.3f}"


def _passes(human: Floats, assessor: Floats, judged: int, draws: int, loss: float) -> float:
    """Two systems whose values are exchanged at random, and one of which loses so much.

    The loss is the same in each query; what would lie below 0 stays so.
    """
    rng = np.random.default_rng(8)
    passed, queries = 0, human.shape[1]
    for _ in range(draws):
        pair = rng.choice(len(human), 2, replace=False)
        swapped = rng.random(queries) < 0.5
        own, other = (np.where(swapped, side[pair][::-1], side[pair]) for side in (human, assessor))
        drawn = rng.choice(queries, judged, replace=False)
        lost = np.array([[0.0], [loss]])
        joint = Joint((own - lost)[:, drawn], other - lost, at_random(drawn, queries), bounds=None)
        (means,) = joint.differences(0)
        passed += least_gain(_compared(means)) > -MARGIN
    return passed / draws


def _compared(means: CorrectedMean) -> CorrectedDifference:
    return CorrectedDifference("run", "baseline", "P@10", means, 1.0, 1.0, 1.0, "holm", False)


def selection(given: argparse.Namespace) -> Iterator[str]:
    """How often the balance check names queries that people chose, and what intervals cover."""
    scores = dl19(given.data, given.measures)
    yield f"{CHOSEN} of 43 queries chosen by; assessor; measure; named; covered: people, corrected"
    for judge in JUDGES:
        for row, measure in enumerate(given.measures):
            human, assessor = scores["nist"][row], scores[judge][row]
            for name, weights in _choices(human, assessor).items():
                cells = "  ".join(
                    f"{x:.3f}" for x in _chosen(human, assessor, weights, given.draws)
                )
                yield f"{name:36s} {judge:13s} {measure:10s} {cells}"


def _choices(human: Floats, assessor: Floats) -> Mapping[str, Floats]:
    """How much each query is preferred."""
    ease, foretold = (side.mean(axis=0) for side in (human, assessor))
    ease, foretold = ((x - x.mean()) / x.std() for x in (ease, foretold))
    return {
        "chance": 0 * ease,
        "ease": 1.5 * ease,
        "difficulty": -1.5 * ease,
        "ease, the easiest alone": 1e6 * ease,
        "difficulty, the hardest alone": -1e6 * ease,
        "what the assessor scores high": 1.5 * foretold,
    }


def _chosen(human: Floats, assessor: Floats, weights: Floats, draws: int) -> list[float]:
    rng = np.random.default_rng(9)
    truth, rows = human.mean(axis=1), []
    for _ in range(draws):
        drawn = np.argsort(-(weights + rng.gumbel(size=len(weights))))[:CHOSEN]
        found = balance(assessor.mean(axis=0)[None, :], drawn, shuffles=999)
        joint = Joint(human[:, drawn], assessor, at_random(drawn, len(weights)), THESE)
        rows.append([found is not None and found.p < 0.05, *_covered(joint, truth)])
    return list(np.mean(rows, axis=0))


def _covered(joint: Joint, truth: Floats) -> tuple[float, float]:
    """How many systems' intervals hold the truth: people's alone, and corrected."""
    shares = [
        np.mean([m.low <= true <= m.high for m, true in zip(side, truth, strict=True)])
        for side in zip(*((m.human, m.corrected) for m in joint.means()), strict=True)
    ]
    return float(shares[0]), float(shares[1])


@dataclass(frozen=True)
class PairWorld:
    """What each pair adds to each system's P@10, by people and by the assessor.

    `strata` holds the assessor's grades by query and document; `added` arrays of `(systems, 2)`.
    """

    strata: Mapping[str, Mapping[str, int]]
    added: Mapping[str, Mapping[str, Floats]]
    human: Floats
    assessor: Floats


def pairs(given: argparse.Namespace) -> Iterator[str]:
    """Coverage of P@10 where people grade a sample of pairs of 43 queries drawn from DL 2019's."""
    yield "assessor      pairs  covered: people  corrected  their widths"
    for judge in JUDGES:
        world = _pair_world(given, judge)
        for count in (400, 1000, 3000):
            cells = "  ".join(f"{x:.3f}" for x in _pair_trial(world, count, given.draws))
            yield f"{judge:13s} {count:6d}  {cells}"


def _pair_world(given: argparse.Namespace, judge: str) -> PairWorld:
    people, other = (read_qrels(given.data / f"{name}.qrels") for name in ("nist", judge))
    runs = [read_run(path) for path in sorted((given.data / "runs").iterdir())]
    added: dict[str, dict[str, Floats]] = {query: {} for query in people}
    for system, run in enumerate(runs):
        for query, row in added.items():
            for doc in _first_ten(run, query):
                grades = people[query].get(doc, 0), other[query].get(doc, 0)
                cell = row.setdefault(doc, np.zeros((len(runs), 2)))
                cell[system] = [(grade > 0) / 10 for grade in grades]
    sums = np.array([sum(row.values()) for row in added.values()])  # (queries, systems, 2)
    return PairWorld(other, added, sums[:, :, 0].T, sums[:, :, 1].T)


def _first_ten(run: Run, query: str) -> list[str]:
    scores = run.get(query, {})
    return sorted(scores, key=lambda doc: (scores[doc], doc), reverse=True)[:10]


def _pair_trial(world: PairWorld, count: int, draws: int) -> list[float]:
    """Queries are drawn with replacement, so that the truth is their mean in DL 2019."""
    rng = np.random.default_rng(10)
    queries = list(world.strata)
    truth, rows = world.human.mean(axis=1), []
    for seed in range(draws):
        drawn = rng.integers(len(queries), size=len(queries))
        human, sampled = _estimated(world, [queries[i] for i in drawn], count, seed)
        design = with_replacement(np.arange(len(drawn)))
        joint = Joint(human, world.assessor[:, drawn], design, sampled=sampled)
        widths = [(mean.human.width, mean.corrected.width) for mean in joint.means()]
        rows.append([*_covered(joint, truth), *np.mean(widths, axis=0)])
    return list(np.mean(rows, axis=0))


def _estimated(
    world: PairWorld, queries: list[str], count: int, seed: int
) -> tuple[Floats, Floats]:
    """`(systems, queries)` estimates from a drawn sample: by people, and by the assessor."""
    strata = {
        Pair(f"{i:03d} {query}", doc): grade
        for i, query in enumerate(queries)
        for doc, grade in world.strata[query].items()
    }
    totals = np.zeros((len(queries), world.human.shape[0], 2))
    for row in draw(strata, count, None, seed):
        number, query = row.pair.query_id.split(" ", 1)
        cell = world.added[query].get(row.pair.doc_id)
        if cell is not None:
            totals[int(number)] += cell / row.probability
    return totals[:, :, 0].T, totals[:, :, 1].T
