"""How often intervals of the number of independent assessors hold the number that was put in.

    python scripts/simulate_panels.py [REPEATS]

Each member of a panel makes, on each pair, either an error that all of them share, or one of its
own; two members' errors then correlate by the chance that both take the shared one. That chance
differs from query to query. Truth lies within the scale by a grade, so that no end cuts errors off.
Prints the mean of the estimated numbers beside the true one, and how often the interval held it.
"""

from __future__ import annotations

import math
import sys

import numpy as np

from labeler.agreement.align import GradeMatrix
from labeler.agreement.compare import StatisticOptions
from labeler.data import Pair
from labeler.lab.panel import effective_number, independence
from labeler.trec.pairs import PairColumns

PAIRS, SPREAD = 20, 0.2
CORRELATIONS = (0.0, 0.3, 0.6)
MEMBERS = (3, 8)
QUERIES = (10, 25, 50)


def world(
    correlation: float, members: int, queries: int, rng: np.random.Generator
) -> tuple[GradeMatrix, PairColumns[int]]:
    """Grades of the members, and the true ones."""
    n = queries * PAIRS
    query = np.repeat(np.arange(queries), PAIRS)
    spread = SPREAD * rng.choice([-1, 1], queries) if correlation else np.zeros(queries)
    chance = np.sqrt(correlation + spread)[query, None]
    true = rng.integers(1, 4, n)
    shared, own = rng.integers(-1, 2, (n, 1)), rng.integers(-1, 2, (n, members))
    grades = true[:, None] + np.where(rng.random((n, members)) < chance, shared, own)
    pairs = tuple(Pair(f"q{q}", f"d{i}") for i, q in enumerate(query.tolist()))
    names = tuple(f"m{number}" for number in range(members))
    human = PairColumns.of_pairs(dict(zip(pairs, true.tolist(), strict=True)), np.int64)
    return GradeMatrix(names, tuple(range(5)), human, grades), human


def main(repeats: int = 200) -> None:
    print(f"{repeats} repeats; standard error of a share {math.sqrt(0.05 * 0.95 / repeats):.3f}")
    print("members  correlation  queries  true  mean  held")
    for members in MEMBERS:
        for correlation in CORRELATIONS:
            for queries in QUERIES:
                rng, true = np.random.default_rng(queries), effective_number(members, correlation)
                values, held = [], 0
                for _ in range(repeats):
                    votes, human = world(correlation, members, queries, rng)
                    number = independence(
                        votes, human, StatisticOptions(draws=400)
                    ).effective_number
                    values.append(number.value or math.nan)
                    held += (number.low or 0) - 1e-9 <= true <= (number.high or 0) + 1e-9
                print(
                    f"{members:7}  {correlation:11}  {queries:7}  {true:.2f}  "
                    f"{np.mean(values):.2f}  {held / repeats:.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
