#!/usr/bin/env python3
"""Do scores over drawn grades hold the truth? TREC DL 2019, people's grades of some drawn pairs.

An LLM graded all pairs, people a sample drawn as `people sample` does. The mean score of each of
eleven systems over drawn grades, with its interval, stands beside that by all of people's grades.
They do not: so no command scores runs by expected grades, and `correct` is there for it.

Usage: simulate_calibration.py [--repeats 40] [--draws 100] [--data FOLDER]
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from drawn_grades import GradeDraws, expected_scores
from harness import DL19, parser

from labeler.agreement.shares import graded_together
from labeler.agreement.sources import source_of_file
from labeler.data import Pair, Qrels, Run
from labeler.lab.calibrate import calibration_set
from labeler.metrics import evaluate, parse_all
from labeler.people.sample import draw
from labeler.trec.files import read_qrels, read_run

MEASURES = ("nDCG@10", "P(rel=2)@10")
DEPTH = 20


def runs_of(folder: Path, queries: Qrels) -> dict[str, Run]:
    """The top of each run, by name."""
    runs = {}
    for path in sorted((folder / "runs").glob("*.trec.gz")):
        run = read_run(path)
        tops = {q: sorted(run[q].items(), key=lambda row: -row[1])[:DEPTH] for q in queries}
        runs[path.name] = {q: dict(top) for q, top in tops.items()}
    return runs


def main() -> None:
    given = parser(__doc__, repeats=40, draws=100, data=DL19).parse_args()
    people = read_qrels(given.data / "nist.qrels")
    runs, measures = runs_of(given.data, people), parse_all(MEASURES)
    truth = [evaluate(people, run, list(MEASURES)).means() for run in runs.values()]
    true = np.array([[means[name] for name in MEASURES] for means in truth])
    for name in ("gpt-4o", "llama-3.1-8b"):
        matrix, _ = graded_together([source_of_file(given.data / f"{name}.qrels", name)])
        grades = np.array(matrix.grades)[matrix.values[:, 0]].tolist()
        for size in (200, 400, 800):
            rows = []
            for seed in range(given.repeats):
                drawn = draw(dict(zip(matrix.pairs.pairs(), grades, strict=True)), size, None, seed)
                weights = {pair: 1 / chance for pair, chance in drawn.items()}
                sample = graded(people, weights)
                pairs = calibration_set(sample, matrix, weights)
                drawing = GradeDraws(matrix, pairs, sample, seed=seed)
                rows.append(expected_scores(drawing, runs, measures, given.draws))
            show(name, size, rows, true)


def graded(people: Qrels, pairs: dict[Pair, float]) -> Qrels:
    """People's grades of these pairs."""
    qrels: Qrels = {}
    for query_id, doc_id in pairs:
        qrels.setdefault(query_id, {})[doc_id] = people[query_id][doc_id]
    return qrels


def show(name: str, size: int, rows: list, true: np.ndarray) -> None:
    """Print error and coverage, with standard errors over repetitions."""
    count = len(rows)
    table = np.array([[row[2:] for row in run] for run in rows], dtype=float)
    table = table.reshape(count, len(true), len(MEASURES), 4)
    for column, measure in enumerate(MEASURES):
        as_graded, value, low, high = np.moveaxis(table[:, :, column], -1, 0)
        truth = true[:, column]
        error, held = value - truth, (low <= truth) & (truth <= high)
        by_repeat = held.mean(axis=1)
        print(
            f"{name}, {size} pairs by people, {measure}: by its own grades off by "
            f"{(as_graded - truth).mean():+.3f}, over drawn grades {error.mean():+.4f} "
            f"±{error.mean(axis=1).std(ddof=1) / count**0.5:.4f}, interval held "
            f"{held.mean():.3f} ±{by_repeat.std(ddof=1) / count**0.5:.3f}, "
            f"wide {(high - low).mean():.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
