#!/usr/bin/env python3
"""How soon does the chart of controls show that an assessor changed, and how often where none did?

Grades are those of TREC DL 2019's pairs by gpt-4o, with noise as in simulate_drift.py. A fixed set
of pairs is judged again at each control. In the worlds `lower` and `other` the assessor changes
after `--before` controls, in the world `stable` it never does.

Usage: simulate_chart.py [--repeats 100] [--before 8] [--after 8] [--data FOLDER]
"""

from __future__ import annotations

import argparse

import numpy as np
from harness import DL19, parser
from simulate_drift import asked, moved

from labeler.stats.drift import GivenAgain, chart
from labeler.trec.qrels import read_qrels

CELLS = ((0.1, 50), (0.1, 100), (0.3, 100))
WORLDS = (("stable", 0.0), ("lower", 0.15), ("lower", 0.3))


def first_alarm(
    every: np.ndarray,
    cell: tuple[float, int],
    world: tuple[str, float],
    given: argparse.Namespace,
    rng: np.random.Generator,
) -> tuple[int, int, int | None]:
    """Alarms before the change, controls before it, and the first control after it that alarms."""
    (noise, pairs), (name, share) = cell, world
    usual = rng.choice(every, pairs)
    later = moved(usual, name, share, rng) if share else usual
    old, everyone = asked(usual, noise, rng).astype(float), np.arange(pairs)
    controls = [
        GivenAgain(everyone, asked(usual if at < given.before else later, noise, rng).astype(float))
        for at in range(given.before + given.after)
    ]
    out = [point.is_out for point in chart(old, controls)]
    before = len(out) if not share else given.before
    after = [at - given.before for at in range(given.before, len(out)) if out[at]]
    return sum(out[:before]), before, after[0] + 1 if share and after else None


def main() -> None:
    given = parser(
        __doc__,
        repeats=100,
        before=8,
        after=8,
        worlds=list(range(len(WORLDS))),
        cells=list(range(len(CELLS))),
        seed=0,
        data=DL19,
    ).parse_args()
    rng = np.random.default_rng(given.seed)
    qrels = read_qrels(given.data / "gpt-4o.qrels")
    every = np.array([grade for graded in qrels.values() for grade in graded.values()])
    for world in [WORLDS[number] for number in given.worlds]:
        for cell in [CELLS[number] for number in given.cells]:
            runs = [first_alarm(every, cell, world, given, rng) for _ in range(given.repeats)]
            rates = np.array([alarms / before for alarms, before, _ in runs])
            error = rates.std(ddof=1) / np.sqrt(len(runs))
            any_alarm = np.mean([alarms > 0 for alarms, _, _ in runs])
            spread = np.sqrt(any_alarm * (1 - any_alarm) / len(runs))
            line = f"{world[0]} {world[1]:.2f} noise {cell[0]:.1f} {cell[1]:3} pairs  "
            line += f"false alarms a control {rates.mean():.4f} ({error:.4f}), "
            line += f"any in {runs[0][1]} controls {any_alarm:.3f} ({spread:.3f})"
            if world[1]:
                for within in (1, 2, 4, 8):
                    share = np.mean([at is not None and at <= within for _, _, at in runs])
                    spread = np.sqrt(share * (1 - share) / len(runs))
                    line += f"; shown within {within}: {share:.2f} ({spread:.2f})"
            print(line, flush=True)


if __name__ == "__main__":
    main()
