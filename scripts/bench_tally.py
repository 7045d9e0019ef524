#!/usr/bin/env python3
"""What does agreement of two files of many pairs take, beside pandas and scikit-learn?

Two qrels of 100 documents a query, sorted, are written for each size. `labeler agree` gives all of
its statistics with intervals over queries. The peers give the table and kappa alone, without an
interval: pandas reads and joins the files and counts (`crosstab`), scikit-learn's
`cohen_kappa_score` takes the two columns of grades. Each is a process of its own; CPU seconds and
peak memory are the system's. `--peers-up-to` bounds the size from which peers are left out.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import machine, parser, spent

PER_QUERY, BLOCK = 100, 10_000
PANDAS = """
import sys
import pandas as pd
columns = {0: str, 2: str, 3: int}
first, second = (
    pd.read_csv(path, sep=" ", header=None, usecols=list(columns), dtype=columns)
    for path in sys.argv[1:]
)
both = first.merge(second, on=[0, 2])
table = pd.crosstab(both["3_x"], both["3_y"])
from sklearn.metrics import cohen_kappa_score
print(table.to_numpy().sum(), round(cohen_kappa_score(both["3_x"], both["3_y"]), 4))
"""


def digits(numbers: np.ndarray, width: int) -> np.ndarray:
    """The decimal digits of numbers, `(numbers, width)` bytes."""
    powers = 10 ** np.arange(width - 1, -1, -1)
    return (numbers[:, None] // powers % 10 + ord("0")).astype(np.uint8)


def write(paths: tuple[Path, Path], queries: int) -> None:
    """Two files of the same pairs: the second keeps a grade about three times of five.

    Ten thousand queries at a time have the same documents, and grades of their own.
    """
    rng = np.random.default_rng(0)
    count = min(BLOCK, queries)
    steps = rng.integers(1, 800_000, (count, PER_QUERY))
    document = 10_000_000 + np.cumsum(steps, axis=1).ravel()
    lines = np.empty((count * PER_QUERY, 23), dtype=np.uint8)
    lines[:] = np.frombuffer(b"q0000000 0 d00000000 0\n", dtype=np.uint8)
    lines[:, 12:20] = digits(document, 8)
    with paths[0].open("wb") as people, paths[1].open("wb") as other:
        for start in range(0, queries, count):
            query = digits(np.arange(start, start + count), 7)
            lines[:, 1:8] = np.repeat(query, PER_QUERY, axis=0)
            human = np.searchsorted([0.55, 0.75, 0.9], rng.random(len(lines)))
            kept = rng.random(len(lines)) < np.repeat(rng.uniform(0.45, 0.75, count), PER_QUERY)
            for out, grade in (
                (people, human),
                (other, np.where(kept, human, rng.integers(0, 4, len(lines)))),
            ):
                lines[:, 21] = grade + ord("0")
                out.write(lines.tobytes())


def shown(output: str) -> str:
    """The first words of what was printed."""
    return " ".join(output.split())[:60]


def main() -> None:
    options = parser(__doc__, peers_up_to=1e7)
    options.add_argument("pairs", type=float, nargs="*", default=[1e6, 1e7])
    asked = options.parse_args()
    print(machine())
    for pairs in map(int, asked.pairs):
        with tempfile.TemporaryDirectory(prefix="bench-tally-") as folder:
            paths = Path(folder) / "human.qrels", Path(folder) / "other.qrels"
            write(paths, max(pairs // PER_QUERY, 1))
            files = list(map(str, paths))
            command = [sys.executable, "-m", "labeler", "agree", *files, "--format", "csv"]
            cpu, _, megabytes, said = spent(command)
            print(
                f"{pairs:,} pairs, labeler: {cpu:.1f} s of CPU, {megabytes:,.0f} MB; {shown(said)}"
            )
            if pairs > asked.peers_up_to:
                continue
            theirs, _, memory, said = spent([sys.executable, "-c", PANDAS, *files])
            print(
                f"{pairs:,} pairs, pandas and scikit-learn: {theirs:.1f} s of CPU, "
                f"{memory:,.0f} MB; {shown(said)}\n"
                f"  labeler takes {cpu / theirs:.2f} of the time and "
                f"{megabytes / memory:.2f} of the memory"
            )


if __name__ == "__main__":
    main()
