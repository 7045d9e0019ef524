#!/usr/bin/env python3
"""People's labels on a few queries, an assessor's on all: which intervals hold the truth?

TREC DL 2019: NIST's labels are kept for 10, 20 or 30 random queries and hidden for the rest; the
truth is each of eleven systems' mean over all 43. Prints the coverage of nominal 95 % intervals,
and their width against people alone.

Usage: simulate_correction.py [--draws 2000] [--data ../shared/data/dl19]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from labeler.agreement.leaderboard import leaderboard
from labeler.metrics import parse
from labeler.stats.ppi import simulate
from labeler.trec.files import read_qrels, read_run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/dl19"))
    parser.add_argument("--measures", nargs="+", default=["nDCG@10", "P@10", "AP"])
    given = parser.parse_args()
    runs = {path.name: read_run(path) for path in sorted((given.data / "runs").iterdir())}
    people = read_qrels(given.data / "nist.qrels")
    print("assessor      measure  labelled  covered: people  assessor  corrected  width ratio")
    for judge in ("gpt-4o", "llama-3.1-8b"):
        qrels = read_qrels(given.data / f"{judge}.qrels")
        for measure in given.measures:
            board = leaderboard(people, qrels, runs, parse(measure))
            for labelled in (10, 20, 30):
                found = simulate(*board.scores, labelled, given.draws, seed=1)
                shares = "  ".join(f"{share:8.3f}" for share in found.covered.values())
                ratio = found.width["corrected"] / found.width["people"]
                print(f"{judge:13s} {measure:8s} {labelled:8d}  {shares}  {ratio:10.2f}")


if __name__ == "__main__":
    main()
