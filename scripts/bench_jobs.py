#!/usr/bin/env python3
"""What do several processes gain in scoring runs: `evaluate --jobs 1, 2, ...` side by side.

61 runs of 43 queries and 1,000 documents each, as many as TREC's Deep Learning Track had in 2019,
with its number of judgements; `--queries` makes them larger. Every output is compared with that of
one process. Memory is that of all processes together: shared pages count once.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from harness import machine, parser

JUDGED, NEAR, DEPTH = 215, 4_000, 1_000
"""Judged documents a query, and others that the runs retrieve from."""


def qrels_of(queries: int) -> dict[str, dict[str, int]]:
    rng = random.Random(0)
    shares = (50, 20, 20, 10)
    return {
        f"q{number}": {
            str(doc): rng.choices(range(4), shares)[0]
            for doc in rng.sample(range(8_841_823), JUDGED)
        }
        for number in range(queries)
    }


def write(folder: Path, queries: int, runs: int) -> list[str]:
    """The words of the command: the qrels and the runs."""
    qrels = qrels_of(queries)
    rng = random.Random(1)
    near = {query: [str(rng.randrange(8_841_823)) for _ in range(NEAR)] for query in qrels}
    (folder / "made.qrels").write_text(
        "".join(f"{q} 0 {d} {g}\n" for q, row in qrels.items() for d, g in row.items())
    )
    for number in range(runs):
        rng, noise = random.Random(number), 0.8 + number / 40
        with (folder / f"run{number:02}.trec").open("w") as out:
            for query, row in qrels.items():
                scores = {doc: rng.gauss(-i / 1000, noise) for i, doc in enumerate(near[query])}
                scores |= {d: g + 1 + rng.gauss(0, noise) for d, g in row.items()}
                best = sorted(scores.items(), key=lambda item: -item[1])[:DEPTH]
                out.writelines(
                    f"{query} Q0 {doc} {rank} {score:.6f} run{number:02}\n"
                    for rank, (doc, score) in enumerate(best, start=1)
                )
    return [str(folder / "made.qrels"), *map(str, sorted(folder.glob("*.trec")))]


def family(pid: int) -> Iterator[int]:
    """A process and its children."""
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from family(int(child))


def memory(pid: int) -> int:
    """The memory of a family of processes in kilobytes, shared pages counted once."""
    total = 0
    for each in family(pid):
        for line in Path(f"/proc/{each}/smaps_rollup").read_text().splitlines():
            total += int(line.split()[1]) if line.startswith("Pss:") else 0
    return total


def measured(words: list[str], jobs: int) -> tuple[bytes, float, float, float]:
    """The output, seconds, seconds of CPU of all processes, and megabytes."""
    command = [sys.executable, "-m", "labeler", "evaluate", *words, "--jobs", str(jobs)]
    before, started = os.times(), time.monotonic()
    with subprocess.Popen(
        [*command, "--format", "json", "--per-query"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        most = 0

        def watch() -> None:
            nonlocal most
            while process.poll() is None:
                with suppress(OSError, ValueError):  # one of them has just ended
                    most = max(most, memory(process.pid))
                time.sleep(0.05)

        watcher = threading.Thread(target=watch)
        watcher.start()
        output = process.stdout.read() if process.stdout else b""
        watcher.join()
    after = os.times()
    cpu = after.children_user + after.children_system
    return (
        output,
        time.monotonic() - started,
        cpu - before.children_user - before.children_system,
        most / 1024,
    )


def main() -> None:
    asked = parser(__doc__, queries=43, runs=61, jobs=[1, 2]).parse_args()
    print(machine())
    with tempfile.TemporaryDirectory(prefix="bench-jobs-") as folder:
        words = write(Path(folder), asked.queries, asked.runs)
        first: tuple[bytes, float] | None = None
        for jobs in asked.jobs:
            output, seconds, cpu, megabytes = measured(words, jobs)
            first = first or (output, seconds)
            same = "the same output" if output == first[0] else "ANOTHER OUTPUT"
            print(
                f"{asked.runs} runs of {asked.queries} queries, --jobs {jobs}: {seconds:6.1f} s, "
                f"{cpu:6.1f} s of CPU, {megabytes:6.0f} MB, "
                f"{first[1] / seconds:.2f} times as fast, {same}"
            )
    print(f"peak of one process: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10} MB")


if __name__ == "__main__":
    main()
