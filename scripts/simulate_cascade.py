#!/usr/bin/env python3
"""Does a cascade lose and save what it says? LLMJudge: people's drawn pairs against the whole pool.

Each time three assessors are drawn as cheap ones, whose disagreement tells doubt, and as strong
one an assessor among the best five. People's grades are drawn as `people sample` does; the
threshold is chosen on them, and its loss and saving are said of other queries. Beside them stands
what that threshold does to all other pairs. A strong reply costs ten cheap ones.

And how often the same pairs show that calibrated probabilities of one of the 22 assessors gain.

Usage: simulate_cascade.py [--repeats 100] [--data FOLDER] [--people 200 400] [--tolerance 0.01]
"""

from __future__ import annotations

import numpy as np
from harness import LLMJUDGE, parser, shown
from simulate_routing import SCALE, World, kappa

from labeler.agreement.align import GradeMatrix
from labeler.agreement.statistics import find_statistic
from labeler.lab.calibrate import (
    calibration_set,
    folds_of,
    held_out,
    log_losses,
    mean_by_query,
)
from labeler.lab.thresholds import CascadeEvidence, CascadePairs, agreement_of
from labeler.people.sample import draw
from labeler.trec.pairs import NONE, PairColumns

AGREEMENT = agreement_of(find_statistic("kappa", SCALE))
PRICES = (1.0, 10.0)


def gains(world: World, seed: int, people: int) -> bool:
    """Whether probabilities by `calibrate` are told to be better than people's shares of grades."""
    name = sorted(world.assessors)[seed % len(world.assessors)]
    pool = zip(world.pairs.pairs(), world.grades(name).tolist(), strict=True)
    weights = {pair: 1 / chance for pair, chance in draw(dict(pool), people, None, seed).items()}
    human = world.qrels(weights)
    pairs = calibration_set(human, world.sources([name], human, weights).matrix, weights)
    held = held_out(pairs)
    losses = [log_losses(each, pairs.outcome) for each in (held.shares_alone, held.calibrated)]
    return (mean_by_query(pairs, losses[0] - losses[1]).low or 0.0) > 0


def once(world: World, seed: int, people: int, tolerance: float) -> tuple[list[float], list[float]]:
    """Loss with its ends, saving with its ends; and what both truly are on all other pairs."""
    rng = np.random.default_rng(seed)
    ranked = sorted(world.assessors, key=lambda name: -kappa(world.truth, world.grades(name)))
    strong = world.grades(ranked[rng.integers(5)])
    names = [str(name) for name in rng.permutation(ranked[5:])[:3]]
    cheap = world.grades(names[0])
    drawn = draw(dict(zip(world.pairs.pairs(), cheap.tolist(), strict=True)), people, None, seed)
    weights = {pair: 1 / chance for pair, chance in drawn.items()}
    sources = world.sources(names, world.qrels(weights), weights)
    drawn_pairs = PairColumns.of_pairs(weights, np.float64)
    is_drawn = sources.matrix.pairs.rows_in(drawn_pairs) != NONE
    rows = np.flatnonzero(is_drawn)
    _, query = np.unique(world.query[rows], return_inverse=True)
    weight = sources.matrix.pairs.beside(drawn_pairs, 0.0)[rows]
    cost = np.tile(PRICES, (len(rows), 1))
    grades = np.stack([world.truth, cheap, strong], axis=1)[rows]
    drawn_rows = sources.matrix.pairs.keep(is_drawn)
    matrix = GradeMatrix(("people", "cheap", "strong"), SCALE, drawn_rows, grades, weight)
    pairs = CascadePairs(matrix, query, cost, AGREEMENT)
    evidence = CascadeEvidence(sources, pairs, rows, "tokens")
    everywhere = evidence.doubts()
    threshold = pairs.threshold_for(np.ones(len(rows), dtype=bool), everywhere, tolerance)
    sent = np.zeros(len(rows), dtype=bool)
    for part in folds_of(query, seed):
        doubts = evidence.doubts(part)
        chosen = pairs.threshold_for(~part, doubts, tolerance)
        sent[part] = doubts.of_pairs[part] >= chosen
    checked = pairs.check(sent, everywhere.of_pairs >= threshold)
    others = np.setdiff1d(np.arange(world.pairs.size), rows)
    sent_of_pool = everywhere.of_pool >= threshold
    both = np.where(sent_of_pool, strong, cheap)[others]
    truth = world.truth[others]
    loss = kappa(truth, strong[others]) - kappa(truth, both)
    saving = 1 - (PRICES[0] + PRICES[1] * sent_of_pool[others].mean()) / PRICES[1]
    told = [getattr(side, end) or 0.0 for side in (checked.loss, checked.saving) for end in ENDS]
    return told, [loss, saving]


ENDS = ("value", "low", "high")


def main() -> None:
    given = parser(
        __doc__, repeats=100, data=LLMJUDGE, people=[200, 400], tolerance=0.01
    ).parse_args()
    world, count = World(given.data), given.repeats
    for people in given.people:
        runs = [once(world, seed, people, given.tolerance) for seed in range(count)]
        told, true = (np.array(side) for side in zip(*runs, strict=True))
        beyond = float((true[:, 0] > given.tolerance).mean())
        gained = np.mean([gains(world, seed, people) for seed in range(count)])
        print(f"{people} pairs by people: more than {given.tolerance} lost in {beyond:.3f}")
        print(f"{people} pairs by people: a gain of calibrating told in {gained:.3f}")
        for column, what in ((0, "loss of kappa"), (1, "cost saved")):
            value, low, high = told[:, 3 * column : 3 * column + 3].T
            error = value - true[:, column]
            held = (low <= true[:, column]) & (true[:, column] <= high)
            print(
                f"{people} pairs by people, {what}: said {value.mean():.3f}, true "
                f"{true[:, column].mean():.3f} ±{true[:, column].std(ddof=1) / count**0.5:.3f}, "
                f"error {error.mean():+.3f} ±{error.std(ddof=1) / np.sqrt(count):.3f}, "
                f"{shown('interval held', held.mean(), count)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
