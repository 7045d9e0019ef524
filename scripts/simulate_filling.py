#!/usr/bin/env python3
"""Do scores and differences hold where an assessor fills holes? Eleven systems of TREC DL 2019.

People's grades are NIST's, but for a share of the pairs that one system alone returns in its top
ten: these are holes, as a new system has them. It is held against another system, by so many of the
43 queries drawn with replacement. The truth is by NIST's grades of all pairs, over all 43.
A line says how often a score's and a difference's interval held,
and the shares of comparisons told apart, not known for the holes' sake, and wrong.

Usage: simulate_filling.py [--queries 25 43] [--shares 0.1 0.3 0.6 1] [--overlap 10000]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import numpy as np
from harness import DL19, parser

from labeler.evaluation.scores import Comparing, intervals
from labeler.evaluation.verdicts import TOLD, GradesUsed, as_people_grade
from labeler.metrics import JudgedPairs, Scores, score
from labeler.trec.files import ranking, read_qrels, read_run
from labeler.trec.pairs import PairColumns

MEASURES = ("nDCG@10", "P(rel=2)@10")


def columns(grades: Mapping[str, Mapping[str, int]]) -> PairColumns[int]:
    return PairColumns.of(grades, np.int32)


def scored(grades: PairColumns[int], run: PairColumns[int], lean: float = 0.0) -> Scores:
    made = score(JudgedPairs.of(grades).rank(run)[0], MEASURES)
    return replace(made, values=np.nan_to_num(made.values), lean=lean)


def main() -> None:
    sizes = {"queries": [25, 43], "shares": [0.1, 0.3, 0.6, 1.0], "overlap": 10_000}
    given = parser(__doc__, **sizes, repeats=40, data=DL19).parse_args()
    nist = read_qrels(given.data / "nist.qrels").as_dict()
    runs = [
        {q: {d: -n for n, d in enumerate(ranking(row)[:10])} for q, row in read_run(path).items()}
        for path in sorted((given.data / "runs").glob("*.gz"))
    ]
    truths = [scored(columns(nist), columns(run)).values.mean(axis=1) for run in runs]
    for name, n, share in product(("gpt-4o", "llama-3.1-8b"), given.queries, given.shares):
        grader = read_qrels(given.data / f"{name}.qrels").as_dict()
        rng, figures = np.random.default_rng(0), []
        for new in [*range(len(runs))] * given.repeats:
            old = (new + int(rng.integers(1, len(runs)))) % len(runs)
            drawn = {f"{q}#{at}": q for at, q in enumerate(rng.choice([*nist], n).tolist())}
            people, other, *of = (
                columns({each: grades[q] for each, q in drawn.items()})
                for grades in (nist, grader, runs[new], runs[old])
            )
            found = np.array([[d in run[drawn[q]] for run in runs] for q, d in people.pairs()])
            is_alone = found[:, new] & (found.sum(axis=1) == 1)
            hole = is_alone & (rng.random(len(found)) < share)
            whole = replace(people, value=np.where(hole, people.beside(other, 0), people.value))
            first = np.flatnonzero(found[:, [new, old]].any(axis=1) & ~hole)
            some = rng.permutation(first)[: given.overlap]
            filled, both = as_people_grade(whole, people.keep(~hole), other, some)
            lean = GradesUsed(by_both=both, filled={"new": hole[found[:, new]].mean()}).lean("new")
            scores = {"new": scored(filled, of[0], lean), "old": scored(filled, of[1])}
            ends, by = intervals(scores["new"], 0).values(), Comparing(scores, "old", 0)
            for at, (low, high) in enumerate(ends):
                (c,) = by.by(by.measures[at])
                apart = truths[new][at] - truths[old][at]
                least, most = c.low - lean, c.high + lean
                holds = low <= truths[new][at] <= high, least <= apart <= most
                told = not least <= 0 <= most
                verdicts = told, told < (c.by_test in TOLD), told and c.difference * apart < 0
                figures.append((*holds, *verdicts))
        for at, measure in enumerate(MEASURES):
            shares = np.mean(figures[at :: len(MEASURES)], axis=0)
            print(name, n, share, measure, np.round(shares, 3), flush=True)


if __name__ == "__main__":
    main()
