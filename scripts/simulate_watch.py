#!/usr/bin/env python3
"""Does each alarm of the watch come when it should, and none before? Whole weeks, end to end.

A made collection is judged by a made assessor with noise, and watched for 12 weeks: each week the
pairs are judged again and `monitor` runs. From week 6 on the assessor is lenient: of pairs
below the highest grade, `--lenient` get one grade more. At week 9 a fifth of the documents is
edited. In a quiet world neither happens.

Usage: simulate_watch.py [--repeats 20] [--quiet] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import hashlib
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from harness import parser

from labeler.corpus.ingest import ingest
from labeler.judging.judge import JudgeOptions, judge
from labeler.lab.control import DriftOptions, drift
from labeler.model import Model, Reply, Request
from labeler.monitoring.monitor import monitor
from labeler.pools.pool import pool
from labeler.testing import fake_model

WEEKS, LENIENT_FROM, EDITED_FROM = 12, 6, 9
START = datetime(2026, 6, 1, 6, 0, tzinfo=UTC)
WORDS = ["harbor", "bread", "engine", "garden", "violin", "planet", "winter", "ladder", "copper"]
DOCUMENTS, QUERIES = 40, 18


def documents(folder: Path, rng: np.random.Generator) -> None:
    """Files of one passage each."""
    folder.mkdir()
    for number in range(DOCUMENTS):
        words = " ".join(rng.choice(WORDS, 30))
        (folder / f"page{number:02}.md").write_text(f"# Page {number}\n\n{words}.\n")


def edit(folder: Path, rng: np.random.Generator) -> None:
    """Write a fifth of the documents anew."""
    for number in rng.choice(DOCUMENTS, DOCUMENTS // 5, replace=False):
        words = " ".join(rng.choice(WORDS, 30))
        (folder / f"page{number:02}.md").write_text(f"# Page {number}\n\nEdited: {words}.\n")


class Assessor:
    """Grades by a hash of what it is asked, with noise, and more leniently where it is told to."""

    def __init__(self, noise: float, lenient: float, rng: np.random.Generator) -> None:
        self.noise, self.lenient, self.rng, self.name = noise, lenient, rng, "made-1"
        self.is_lenient = False

    def model(self) -> Model:
        return fake_model(self.reply, "made")

    def reply(self, request: Request) -> Reply:
        digest = hashlib.sha256(str(request.messages).encode()).digest()
        grade = (0, 0, 0, 1, 1, 2, 2, 3)[digest[0] % 8]
        if self.is_lenient and digest[1] < 256 * self.lenient:
            grade += 1
        if self.rng.random() < self.noise:
            grade += int(self.rng.choice([-1, 1]))
        return Reply(f'{{"grade": {min(max(grade, 0), 3)}}}', model=self.name)


def weeks(folder: Path, given: argparse.Namespace, seed: int) -> Iterator[dict[str, int]]:
    """The kinds of alarms of each week."""
    rng = np.random.default_rng(seed)
    docs, made, asked = folder / "docs", folder / "coll", folder / "asked.txt"
    documents(docs, rng)
    asked.write_text("".join(f"{' '.join(rng.choice(WORDS, 2))} {n}\n" for n in range(QUERIES)))
    ingest(docs, made, asked)
    pool(made, depth=10)
    assessor = Assessor(given.noise, given.lenient, rng)
    judge(made, model=assessor.model(), name="llm")
    options = JudgeOptions("", assessor.model(), None, "llm")
    controlled = DriftOptions(given.pairs, judging=options)
    for week in range(1, WEEKS + 1):
        time = START + timedelta(weeks=week)
        assessor.is_lenient = week >= LENIENT_FROM and not given.quiet
        if week == EDITED_FROM and not given.quiet:
            edit(docs, rng)
        drift(made, options=controlled, now=lambda time=time: time)  # type: ignore[misc]
        run = monitor(made, docs, now=lambda time=time: time)  # type: ignore[misc]
        if week == WEEKS and given.keep:
            (folder / "monitor.html").write_text(run.page().html())
        yield run.kinds


def main() -> None:
    options = parser(__doc__, repeats=20, seed=0, pairs=80, noise=0.1, lenient=0.3, quiet=False)
    options.add_argument("--keep", type=Path)
    given = options.parse_args()
    by_kind: dict[str, Counter[int]] = {}
    first: dict[str, list[int]] = {}
    for repeat in range(given.repeats):
        with TemporaryDirectory() as temporary:
            folder = given.keep or Path(temporary)
            folder.mkdir(exist_ok=True)
            seen = set[str]()
            for week, kinds in enumerate(weeks(folder, given, given.seed + repeat), start=1):
                for kind in kinds:
                    by_kind.setdefault(kind, Counter())[week] += 1
                    if kind not in seen:
                        first.setdefault(kind, []).append(week)
                    seen.add(kind)
    for kind, counts in sorted(by_kind.items()):
        shares = [counts[week] / given.repeats for week in range(1, WEEKS + 1)]
        errors = [(share * (1 - share) / given.repeats) ** 0.5 for share in shares]
        cells = " ".join(f"{s:.2f}({e:.2f})" for s, e in zip(shares, errors, strict=True))
        median = float(np.median(first[kind]))
        print(f"{kind}: share of runs with the alarm, week 1 to {WEEKS}: {cells}; first: {median}")
    if not by_kind:
        print(f"no alarm in {given.repeats} runs of {WEEKS} weeks")


if __name__ == "__main__":
    main()
