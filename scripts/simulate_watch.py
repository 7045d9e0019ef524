#!/usr/bin/env python3
"""Does each alarm of the watch come when it should, and none before? Whole weeks, end to end.

A made collection is judged by a made assessor with noise, and watched for 12 weeks: each week the
pairs are judged again and `monitor` runs. From week 6 on the assessor is lenient: of pairs
below the highest grade, `--lenient` get one grade more. At week 9 a fifth of the documents is
edited. In a quiet world neither happens.

Usage: simulate_watch.py [--repeats 20] [--quiet]
"""

from __future__ import annotations

import argparse
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from harness import parser

from labeler.corpus.ingest import ingest
from labeler.judging.judge import JudgeOptions, judge
from labeler.lab.control import DriftOptions, drift
from labeler.model import Reply, Request
from labeler.monitoring.monitor import monitor
from labeler.pools.pool import pool
from labeler.testing import fake_model

WEEKS, LENIENT_FROM, EDITED_FROM = 12, 6, 9
START = datetime(2026, 6, 1, 6, 0, tzinfo=UTC)
WORDS = ["harbor", "bread", "engine", "garden", "violin", "planet", "winter", "ladder", "copper"]
DOCUMENTS, QUERIES = 40, 18


def write(folder: Path, numbers: Iterable[int], rng: np.random.Generator) -> None:
    """Files of one passage each."""
    for number in numbers:
        words = " ".join(rng.choice(WORDS, 30))
        (folder / f"page{number:02}.md").write_text(f"# Page {number}\n\n{words}.\n")


class Assessor:
    """Grades by a hash of what it is asked, with noise, and more leniently where it is told to."""

    def __init__(self, noise: float, lenient: float, rng: np.random.Generator) -> None:
        self.noise, self.lenient, self.rng = noise, lenient, rng
        self.is_lenient = False

    def reply(self, request: Request) -> Reply:
        digest = hashlib.sha256(str(request.messages).encode()).digest()
        grade = (0, 0, 0, 1, 1, 2, 2, 3)[digest[0] % 8]
        if self.is_lenient and digest[1] < 256 * self.lenient:
            grade += 1
        if self.rng.random() < self.noise:
            grade += int(self.rng.choice([-1, 1]))
        return Reply(f'{{"grade": {min(max(grade, 0), 3)}}}', model="made-1")


def weeks(folder: Path, given: argparse.Namespace, seed: int) -> Iterator[dict[str, int]]:
    """The kinds of alarms of each week."""
    rng = np.random.default_rng(seed)
    docs, made, asked = folder / "docs", folder / "coll", folder / "asked.txt"
    docs.mkdir()
    write(docs, range(DOCUMENTS), rng)
    asked.write_text("".join(f"{' '.join(rng.choice(WORDS, 2))} {n}\n" for n in range(QUERIES)))
    ingest(docs, made, asked)
    pool(made, depth=10)
    assessor = Assessor(given.noise, given.lenient, rng)
    model = fake_model(assessor.reply, "made")
    judge(made, model=model, name="llm")
    options = JudgeOptions("", model, None, "llm")
    controlled = DriftOptions(given.pairs, judging=options)
    for week in range(1, WEEKS + 1):
        time = START + timedelta(weeks=week)
        assessor.is_lenient = week >= LENIENT_FROM and not given.quiet
        if week == EDITED_FROM and not given.quiet:
            write(docs, rng.choice(DOCUMENTS, DOCUMENTS // 5, replace=False), rng)
        drift(made, options=controlled, now=lambda time=time: time)  # type: ignore[misc]
        run = monitor(made, docs, now=lambda time=time: time)  # type: ignore[misc]
        yield run.kinds


def main() -> None:
    options = parser(__doc__, repeats=20, seed=0, pairs=80, noise=0.1, lenient=0.3, quiet=False)
    given = options.parse_args()
    first = dict[str, list[int]]()
    counts = Counter[tuple[str, int]]()
    for repeat in range(given.repeats):
        with TemporaryDirectory() as folder:
            every = list(weeks(Path(folder), given, given.seed + repeat))
        for kind in dict.fromkeys(kind for kinds in every for kind in kinds):
            alarms = [week for week, kinds in enumerate(every, start=1) if kind in kinds]
            counts.update((kind, week) for week in alarms)
            first.setdefault(kind, []).append(alarms[0])
    for kind, begins in sorted(first.items()):
        shares = (f"{counts[kind, week] / given.repeats:.2f}" for week in range(1, WEEKS + 1))
        print(f"{kind}: weeks with the alarm: {' '.join(shares)}; first: {np.median(begins)}")
    if not first:
        print(f"no alarm in {given.repeats} runs of {WEEKS} weeks")


if __name__ == "__main__":
    main()
