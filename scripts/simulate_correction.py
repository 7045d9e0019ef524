#!/usr/bin/env python3
"""People's labels on a few queries, an assessor's on all: which intervals hold the truth?

Experiments, of nominal 95 % intervals over all systems:

coverage   TREC DL 2019: NIST's labels are kept for some random queries of 43 and hidden for the
           rest; the truth is each of eleven systems' mean over all 43
worlds     the same of made-up judgements: other numbers of queries, shares of ones, and tails
verdicts   two systems of which neither is better (signs exchanged in every query): how often one is
           called better than the other
families   several equal systems, each with its own variance and skewness, also three that vary
           otherwise among ten: how often any is told from the best of the same scores
selection  queries that people chose by ease or difficulty: how often the balance check says so, and
           what intervals then cover

Usage: simulate_correction.py [coverage ...] [--draws 1000] [--data ../shared/data/dl19]
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from correction_worlds import JUDGES, WORLDS, dl19, made_up
from correction_worlds import MEASURES as MADE
from harness import DL19, parser
from simulate_selection import families, selection

from labeler.arrays import Floats
from labeler.stats.estimates import Design, Mean
from labeler.stats.ppi import THESE, Joint

MEASURES = (
    *("nDCG@10", "AP", "R@100", "P@10", "P@5", "P@1", "RR@10", "RR(rel=2)@10"),
    *("Success@1", "Success@5", "Success(rel=2)@1", "Success(rel=2)@5"),
)
SIZES = (5, 10, 20, 30)
HEADER = "people assessor corrected (least)  width empty"
SIDES = ("human", "assessor", "corrected")


@dataclass(frozen=True)
class Trial:
    """How often intervals held the truth, and how wide they were, over many random samples.

    `least` is the coverage of the system that was covered least, `empty` the share of corrected
    intervals without width.
    """

    judged: int
    draws: int
    covered: dict[str, float]
    width: dict[str, float]
    least: float = 0.0
    empty: float = 0.0


def simulate(human: Floats, assessor: Floats, judged: int, draws: int, seed: int) -> Trial:
    """Hide people's scores but for `judged` random queries, `draws` times.

    `human` and `assessor` are `(systems, queries)`; the truth is the mean of all of people's. All
    systems count alike.
    """
    rng = np.random.default_rng(seed)
    truth = human.mean(axis=1)
    held, width = np.zeros((3, len(truth))), np.zeros((3, len(truth)))
    empty = 0
    for _ in range(draws):
        drawn = rng.choice(human.shape[1], judged, replace=False)
        design = Design(drawn, human.shape[1])
        systems = Joint(human[:, drawn], assessor, design, THESE).means()
        for row, name in enumerate(SIDES):
            low, high = _ends([getattr(system, name) for system in systems])
            held[row] += (low <= truth + 1e-9) & (truth <= high + 1e-9)
            width[row] += high - low
        empty += int((high - low < 1e-9).sum())
    shares = dict(zip(SIDES, (held / draws).mean(axis=1).tolist(), strict=True))
    widths = dict(zip(SIDES, (width / draws).mean(axis=1).tolist(), strict=True))
    least = float(held[2].min() / draws)
    return Trial(judged, draws, shares, widths, least, empty / draws / len(truth))


def _ends(means: Sequence[Mean]) -> tuple[Floats, Floats]:
    """The ends of several intervals; one that is not there holds nothing."""
    ends = [(math.inf, -math.inf) if m.low is None else (m.low, m.high) for m in means]
    low, high = np.array(ends, dtype=np.float64).T
    return low, high


def coverage(given: argparse.Namespace) -> Iterator[str]:
    """Coverage on TREC DL 2019."""
    scores = dl19(given.data, given.measures)
    yield "assessor      measure           n  covered: " + HEADER
    for judge in JUDGES:
        for row, measure in enumerate(given.measures):
            for n in given.sizes:
                trial = simulate(scores["nist"][row], scores[judge][row], n, given.draws, seed=1)
                yield f"{judge:13s} {measure:16s} {_line(trial)}"


def _line(trial: Trial) -> str:
    shares = "    ".join(f"{share:.3f}" for share in trial.covered.values())
    ratio = trial.width["corrected"] / max(trial.width["human"], 1e-12)
    rest = f"({trial.least:.2f})  {ratio:5.2f}  {trial.empty:.2f}"
    return f"{trial.judged:3d}           {shares}    {rest}"


def worlds(given: argparse.Namespace) -> Iterator[str]:
    """Coverage in worlds that are made up, with six systems and with one."""
    yield "world       systems measure       n  covered: " + HEADER
    for name, world in WORLDS.items():
        for systems in (6, 1):
            trials: dict[tuple[str, int], list[Trial]] = {}
            for seed in range(max(given.draws // 10, 1)):
                human, assessor = made_up(world, systems, seed)
                for row, measure in enumerate(MADE):
                    for n in given.sizes:
                        trial = simulate(human[row], assessor[row], n, 10 // systems + 1, seed)
                        trials.setdefault((measure, n), []).append(trial)
            for (measure, _), several in trials.items():
                yield f"{name:11s} {systems:7d} {measure:10s} {_line(_mean(several))}"


def _mean(trials: Sequence[Trial]) -> Trial:
    covered = {side: float(np.mean([t.covered[side] for t in trials])) for side in SIDES}
    width = {side: float(np.mean([t.width[side] for t in trials])) for side in SIDES}
    empty = float(np.mean([t.empty for t in trials]))
    return Trial(trials[0].judged, len(trials), covered, width, covered["corrected"], empty)


def verdicts(given: argparse.Namespace) -> Iterator[str]:
    """How often one of two equal systems is called better than the other, by both targets."""
    scores = dl19(given.data, given.measures)
    yield "assessor      measure           n  called better or worse: like-these   these"
    for judge in JUDGES:
        for row, measure in enumerate(given.measures):
            for n in given.sizes:
                called = _called(scores["nist"][row], scores[judge][row], n, given.draws)
                yield f"{judge:13s} {measure:16s} {n:3d}   {called[0]:.3f}   {called[1]:.3f}"


def _called(human: Floats, assessor: Floats, judged: int, draws: int) -> list[float]:
    rng = np.random.default_rng(2)
    systems, queries = human.shape
    counts = np.zeros(2)
    for _ in range(draws):
        pair = rng.choice(systems, 2, replace=False)
        swapped = rng.random(queries) < 0.5
        both = [np.where(swapped, side[pair][::-1], side[pair]) for side in (human, assessor)]
        drawn = rng.choice(queries, judged, replace=False)
        design = Design(drawn, queries)
        for index, target in enumerate(("like-these", THESE)):
            joint = Joint(both[0][:, drawn], both[1], design, target)
            counts[index] += joint.compared(0)[0][1].is_told
    return list(counts / draws)


EXPERIMENTS = {f.__name__: f for f in (coverage, worlds, verdicts, families, selection)}


def main() -> None:
    options = parser(__doc__, draws=1000, data=DL19, measures=list(MEASURES), sizes=list(SIZES))
    options.add_argument("experiments", nargs="*", default=["coverage"], metavar="EXPERIMENT")
    given = options.parse_args()
    for name in given.experiments:
        print(f"== {name}: {EXPERIMENTS[name].__doc__} {given.draws} draws")
        for line in EXPERIMENTS[name](given):
            print(line, flush=True)


if __name__ == "__main__":
    main()
