"""Experiments on verdicts of several systems, and on queries that people chose."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from correction_worlds import JUDGES, dl19
from simulate_comparisons import systems_of

from labeler.arrays import Floats
from labeler.stats.estimates import Design, balance
from labeler.stats.families import FEW
from labeler.stats.ppi import THESE, Joint

CHOSEN = 20


def families(given: argparse.Namespace) -> Iterator[str]:
    """How often any of equal systems is told from the best, or of few queries a given one."""
    yield "assessor      measure           n  systems         told from the best"
    for measure, judge in itertools.product(given.measures, JUDGES):
        sides = [systems_of(given.data, measure, name) for name in ("nist", judge)]
        for (name, (good, bad)), n in itertools.product(KINDS.items(), given.sizes):
            share = _told(sides, (good, bad, n), given.draws)
            yield f"{judge:13s} {measure:16s} {n:3d}  {name:14s}  {share:.3f}"


KINDS = {"3": (3, 0), "10": (10, 0), "7 and 3 wild": (7, 3)}
"""How many good systems and how many bad ones, which vary otherwise."""


def _told(sides: Sequence[tuple[Floats, Floats]], sizes: tuple[int, int, int], draws: int) -> float:
    """Of 100 queries drawn, each system's scores less their mean; of few judged, a given one."""
    rng = np.random.default_rng(7)
    good, bad, judged = sizes
    human, assessor = (np.concatenate(side) for side in sides)
    alike, first_bad = human - human.mean(axis=1, keepdims=True), len(sides[0][0])
    told = 0.0
    for seed in range(draws):
        some = rng.choice(first_bad, good, replace=False)
        some = np.append(some, rng.choice(np.arange(first_bad, len(human)), bad, replace=False))
        queries = rng.integers(human.shape[1], size=100)
        own, other = alike[some][:, queries], assessor[some][:, queries]
        drawn = rng.choice(100, judged, replace=False)
        joint = Joint(own[:, drawn], other, Design(drawn, 100), bounds=None)
        is_told = [verdict.is_told for _, verdict in joint.compared(None, seed)]
        told += sum(is_told) / len(some) if judged < FEW else any(is_told)
    return told / draws


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
        joint = Joint(human[:, drawn], assessor, Design(drawn, len(weights)), THESE)
        rows.append([found is not None and found.p < 0.05, *_covered(joint, truth)])
    return list(np.mean(rows, axis=0))


def _covered(joint: Joint, truth: Floats) -> tuple[float, float]:
    """How many systems' intervals hold the truth: people's alone, and corrected."""
    shares = [
        np.mean([m.low <= true <= m.high for m, true in zip(side, truth, strict=True)])
        for side in zip(*((m.human, m.corrected) for m in joint.means()), strict=True)
    ]
    return float(shares[0]), float(shares[1])
