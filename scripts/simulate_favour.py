#!/usr/bin/env python3
"""How often unrelated systems are called favoured, how often a planted favour is, and the slope.

    .venv/test/bin/python scripts/simulate_favour.py ../shared/data/dl19 [--repeats 200]

Each system of DL 2019 is taken for kin in turn, and so is each of 61 blends of two of them, with
both judges. Then worlds of our own: systems of known worth, a judge that compresses, an effect of
its own on each system, queries of unequal ease; a favour of known size is planted on one system.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from harness import parser
from simulate_leaderboards import blends

from labeler.arrays import Floats
from labeler.evaluation.evaluate import scores_of
from labeler.evaluation.favour import FEWEST_OTHERS
from labeler.evaluation.inputs import runs_from
from labeler.stats.intervals import cluster_bootstrap
from labeler.stats.means import replicates_of_mean
from labeler.stats.regression import components, trend

MEASURES = ("nDCG@10", "P@10", "AP")
COMPRESSION, OWN = 0.5, 0.02


def is_favoured(first: Floats, second: Floats, kin: int) -> bool:
    """Whether the system lies above what an unrelated one would."""
    x, bias = first.mean(axis=1), (second - first).mean(axis=1)
    line = trend(np.delete(x, kin), np.delete(bias, kin))
    return line is not None and bool(bias[kin] - line.at(x[kin]) > line.reach(x[kin]))


def was_favoured(first: Floats, second: Floats, kin: int) -> bool:
    """The same by noise of queries alone around the mean bias, as it was until November 2026."""
    change = second - first
    residual = change[kin] - np.delete(change, kin, axis=0).mean(axis=0)
    ends = cluster_bootstrap(replicates_of_mean(residual))
    return ends is not None and ends[0] > 0


def in_turn(name: str, first: Floats, second: Floats) -> None:
    """Print how many systems are called favoured, each taken for the one kin."""
    count = len(first)
    now, before = (
        sum(test(first, second, kin) for kin in range(count))
        for test in (is_favoured, was_favoured)
    )
    of = components(first, second)
    slope = "none" if of is None else f"{of.slope:.2f} [{of.low:.2f}, {of.high:.2f}]"
    own = "" if of is None else f", own {of.own:.3f}, noise {of.noise:.3f}"
    print(f"{name:36} favoured {now:2} of {count}, before {before:2}; slope {slope}{own}")


def world(rng: np.random.Generator, systems: int, queries: int) -> tuple[Floats, Floats, float]:
    """Scores by people and by a judge that shrinks differences to `COMPRESSION` of them.

    And the slope of these systems' true scores, of which each has an effect of its own.
    """
    worth = rng.normal(0, 0.06, (systems, 1))
    people = rng.beta(1.5, 1.2, queries) + worth + rng.normal(0, 0.2, (systems, queries))
    effect = rng.normal(0, OWN, (systems, 1))
    fit = COMPRESSION * (worth - worth.mean()) + effect
    shared = COMPRESSION * (people - worth - people.mean(axis=0) + worth.mean())
    noise = rng.normal(0, 0.1, (systems, queries))
    slope = float(np.polyfit(worth[1:, 0], fit[1:, 0], 1)[0])
    return people, 0.2 + 0.7 * people.mean(axis=0) + fit + shared + noise, slope


def own_worlds(systems: int, queries: int, repeats: int) -> None:
    """Print the false rate, the power for planted favours, and how often the slope's ends hold."""
    rng = np.random.default_rng(systems)
    hits, before, held, slopes = np.zeros(4), 0, 0, []
    for _ in range(repeats):
        first, second, true_slope = world(rng, systems + 1, queries)
        before += was_favoured(first, second, 0)
        for place, planted in enumerate((0.0, 0.02, 0.05, 0.1)):
            favoured = second.copy()
            favoured[0] += planted
            hits[place] += is_favoured(first, favoured, 0)
        of = components(first[1:], second[1:])
        if of is not None:
            slopes.append(of.slope - true_slope)
            held += of.low <= true_slope <= of.high
    rates = ", ".join(f"{rate:.3f}" for rate in hits / repeats)
    print(
        f"our own, {systems} others, {queries} queries: favoured without favour, with .02, .05,"
        f" .10: {rates}; before, without: {before / repeats:.3f}; slope off by"
        f" {np.mean(slopes):+.3f}, held {held / len(slopes):.3f} of {len(slopes)}",
        flush=True,
    )


def main() -> None:
    given = parser(__doc__, folder=Path, repeats=200).parse_args()
    nist = given.folder / "nist.qrels"
    runs = runs_from(sorted((given.folder / "runs").iterdir()), nist)
    for measure in MEASURES:
        first = scores_of(nist, runs, measure).values
        for other in ("gpt-4o", "llama-3.1-8b"):
            second = scores_of(given.folder / f"{other}.qrels", runs, measure).values
            in_turn(f"{other}, {measure}, 11 systems", first, second)
            in_turn(f"{other}, {measure}, 61 blends", *blends(first, second))
    for systems in (FEWEST_OTHERS, 10, 20, 60):
        own_worlds(systems, 43, given.repeats)


if __name__ == "__main__":
    main()
