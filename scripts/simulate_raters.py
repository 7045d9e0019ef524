#!/usr/bin/env python3
"""How often is what is said of pages of results and of two runs wrong?

`lgtm`: how often the interval of LGTM@10 holds the share of all queries; of one rater and of
several, whose answers about a query go together.
`wins`: how often the interval of the win rate holds it, and how often the sign test tells two
systems apart; of one rater and of three.

Usage: simulate_raters.py lgtm wins [--repeats 2000]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from harness import parser, shown
from numpy.typing import NDArray

from labeler.stats.means import preferences, query_share
from labeler.stats.student import SIGNIFICANT

Floats = NDArray[np.float64]
QUERIES = (10, 25, 50, 100, 200)
SHARES = (0.05, 0.2, 0.5, 0.8, 0.95, 1.0)


def cell(name: str, count: int, repeats: int) -> str:
    return shown(name, count / max(repeats, 1), repeats)


def chances(share: float, alike: float, queries: int, rng: np.random.Generator) -> Floats:
    """The chance of each query to be called good: `alike` is their correlation over raters."""
    if share == 1 or alike == 0:
        return np.full(queries, share)
    scale = 1 / alike - 1
    return rng.beta(share * scale, (1 - share) * scale, queries)


def lgtm(repeats: int, rng: np.random.Generator) -> None:
    print("lgtm: intervals that hold the share of all queries")
    for raters, alike in ((1, 0.0), (2, 0.5), (3, 0.1), (3, 0.5), (3, 0.9)):
        for queries in QUERIES:
            cells = []
            for share in SHARES:
                held = 0
                for _ in range(repeats):
                    good = rng.binomial(raters, chances(share, alike, queries, rng)) / raters
                    ends = query_share(good, np.full(queries, float(raters)))
                    held += ends.low - 1e-9 <= share <= ends.high + 1e-9
                cells.append(cell(f"{share:g}", held, repeats))
            print(
                f"{raters} raters, alike {alike}, {queries:3} queries  {'  '.join(cells)}",
                flush=True,
            )


def wins(repeats: int, rng: np.random.Generator) -> None:
    print("wins: intervals that hold the win rate; pairs that the sign test tells apart")
    for better, worse in ((0.3, 0.3), (0.1, 0.1), (0.5, 0.3), (0.7, 0.1), (0.2, 0.0)):
        for raters in (1, 3):
            for queries in QUERIES:
                held, told = 0, 0
                for repeat in range(repeats):
                    values = preferred(better, worse, raters, queries, rng)
                    of = preferences(values, seed=repeat)
                    truth = (1 + better - worse) / 2
                    held += (of.low or 0.0) - 1e-9 <= truth <= (of.high or 1.0) + 1e-9
                    told += of.p < SIGNIFICANT
                cells = [cell("held", held, repeats), cell("told apart", told, repeats)]
                label = f"wins {better}, losses {worse}, {raters} raters, {queries:3} queries"
                print(f"{label}  {'  '.join(cells)}", flush=True)


def preferred(
    better: float, worse: float, raters: int, queries: int, rng: np.random.Generator
) -> Floats:
    """Means over raters; half of them say what all say of the query, the others what they like."""
    shares = [better, 1 - better - worse, worse]
    usual = rng.choice([1.0, 0.0, -1.0], (queries, 1), p=shares)
    own = rng.choice([1.0, 0.0, -1.0], (queries, raters), p=shares)
    return np.where(rng.random((queries, raters)) < 0.5, usual, own).mean(axis=1)


WORLDS = {"lgtm": lgtm, "wins": wins}


def main(arguments: Sequence[str] | None = None) -> None:
    given = parser(__doc__, what=tuple(WORLDS), repeats=2000, seed=0).parse_args(arguments)
    rng = np.random.default_rng(given.seed)
    for what in given.what:
        WORLDS[what](given.repeats, rng)


if __name__ == "__main__":
    main()
