#!/usr/bin/env python3
"""How far off are scores whose holes an assessor fills? Eleven systems of TREC DL 2019.

People's grades are NIST's, but for the pairs that one system alone returns in its top ten: these
are holes, as a new system has them. Its score with the holes as they are, filled as the assessor
grades them, and corrected by pairs that both graded, less the score by NIST's grades of all.

Usage: simulate_filling.py [--overlaps 25 100 10000] [--repeats 10] [--data FOLDER]
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from harness import DL19, parser

from labeler.evaluation.verdicts import as_people_grade, merged_grades
from labeler.metrics import JudgedPairs, score
from labeler.trec.files import ranking, read_qrels, read_run
from labeler.trec.pairs import PairColumns

MEASURES = ("nDCG@10", "P(rel=2)@10")
Grades = Mapping[str, Mapping[str, int]]


def columns(grades: Grades) -> PairColumns[int]:
    return PairColumns.of(grades, np.int32)


def scored(grades: Grades, run: Mapping[str, Mapping[str, float]]) -> np.ndarray:
    values = score(JudgedPairs.of(columns(grades)).rank(run)[0], MEASURES).values
    return np.nan_to_num(values).mean(axis=1)


def some(own: Grades, number: int, rng: np.random.Generator) -> Grades:
    """So many of the pairs, at random."""
    pairs = [(query, doc) for query, row in own.items() for doc in row]
    chosen: dict[str, dict[str, int]] = {}
    for at in rng.permutation(len(pairs))[:number].tolist():
        query, doc = pairs[at]
        chosen.setdefault(query, {})[doc] = own[query][doc]
    return chosen


def main() -> None:
    defaults = {"overlaps": [25, 100, 10_000], "repeats": 10, "seed": 0, "data": DL19}
    given = parser(__doc__, **defaults).parse_args()
    nist, rng = read_qrels(given.data / "nist.qrels"), np.random.default_rng(given.seed)
    runs = [read_run(path) for path in sorted((given.data / "runs").glob("*.gz"))]
    tops = [{query: ranking(row)[:10] for query, row in run.items()} for run in runs]
    for name in ("gpt-4o", "llama-3.1-8b"):
        assessor, errors = read_qrels(given.data / f"{name}.qrels"), dict[str, list[np.ndarray]]()
        for run, top in zip(runs, tops, strict=True):
            others = [each for each in tops if each is not top]
            seen = {query: {d for each in others for d in each.get(query, ())} for query in nist}
            alone = {q: set(top.get(q, ())) - seen[q] for q in nist}
            own = {
                q: {d: g for d, g in row.items() if d not in alone[q]} for q, row in nist.items()
            }
            first = {q: {d: g for d, g in own[q].items() if d in top.get(q, ())} for q in nist}
            holes = {
                q: {d: assessor[q][d] for d in top.get(q, ()) if d in row and d not in own[q]}
                for q, row in nist.items()
            }
            truth = scored(
                merged_grades([own, {q: {d: nist[q][d] for d in of} for q, of in holes.items()}]),
                run,
            )
            whole = merged_grades([own, holes])
            errors.setdefault("holes stay", []).append(scored(own, run) - truth)
            errors.setdefault("as it is", []).append(scored(whole, run) - truth)
            for overlap in given.overlaps:
                for _ in range(given.repeats):
                    both = some(first, overlap, rng)
                    graded = {q: {d: assessor[q][d] for d in row} for q, row in both.items()}
                    other = columns(merged_grades([holes, graded]))
                    filled, _ = as_people_grade(columns(whole), columns(own), other, {"new": run})
                    errors.setdefault(f"corrected by {overlap}", []).append(
                        scored(filled.as_dict(), run) - truth
                    )
        for kind, every in errors.items():
            roots = np.sqrt(np.mean(np.square(every), axis=0))
            cells = "  ".join(f"{m} {e:.4f}" for m, e in zip(MEASURES, roots, strict=True))
            print(f"{name}, {kind}: {cells}", flush=True)


if __name__ == "__main__":
    main()
