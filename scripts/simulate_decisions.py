"""How many judgements a decision between two systems takes, and how often it is wrong.

    python scripts/simulate_decisions.py                            # nothing is judged before
    python scripts/simulate_decisions.py --in-use                   # the system in use is judged
    python scripts/simulate_decisions.py --queries 200 --seeds 2    # of 200 queries like these
    python scripts/simulate_decisions.py --margin 0.01 --seeds 1

All pairs of DL 2019's systems, as NIST's grades answer for the assessor, by nDCG@10 over all
queries. Truth is the difference with all first ten documents of both judged. Beside it: a random
half of the queries judged, and the verdict of `compare`. With `--queries`, as many are drawn from
these with replacement, each a query of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from random import Random

import numpy as np
from harness import DL19, parser

from labeler.evaluation.differences import Differences
from labeler.exchange.qrels import read_qrels
from labeler.exchange.runs import read_run
from labeler.metrics import parse
from labeler.pipeline.decide import Draws, Grades
from labeler.stats.families import pair
from labeler.trec.runs import ranking

DIFFERENCES = Differences(parse("nDCG@10"), 3)
SIZES = ((0.05, 1.0), (0.02, 0.05), (0.0, 0.02), (0.0, 1.0))
"""Between which sizes of the true difference pairs are counted together."""


@dataclass(frozen=True)
class Case:
    """A pair of systems whose truth is known: its size, what was decided, and at which share."""

    truth: float
    verdict: str
    share: float
    of_half: str

    def is_wrong(self, verdict: str, margin: float) -> bool:
        """Whether a verdict is not so."""
        within = {"as good": abs(self.truth) <= margin}
        return not {"better": self.truth > 0, "worse": self.truth < 0, **within}.get(verdict, True)


def decided(draws: Draws, grades: Grades, margin: float) -> tuple[str, int]:
    """The verdict, and how many pairs were judged for it."""
    known = {query: dict(row) for query, row in draws.before.items()}
    drawn = 0
    while not (look := draws.look(known, drawn)).verdict(margin):
        if drawn == len(draws.order):
            break
        drawn = draws.further(drawn)
        while pairs := draws.to_judge(known, drawn):
            for query, doc in pairs:
                known.setdefault(query, {})[doc] = grades[query].get(doc, 0)
    return look.verdict(margin), look.judged


def cases(queries: int, seeds: int, margin: float, in_use: bool) -> Iterator[Case]:
    """Every pair of systems, with some seeds each."""
    human = {
        q: {d: max(g, 0) for d, g in row.items()}
        for q, row in read_qrels(DL19 / "nist.qrels").items()
    }
    runs = [read_run(path) for path in sorted((DL19 / "runs").glob("*.gz"))]
    tops = [{q: ranking(run.get(q, {}))[:10] for q in human} for run in runs]
    for number, (old, new) in enumerate(combinations(tops, 2)):
        for seed in range(seeds):
            draw = Random(f"{number} {seed}")
            some = draw.choices(sorted(human), k=queries) if queries else sorted(human)
            names = {f"{place} {query}": query for place, query in enumerate(some)}
            grades = {name: human[query] for name, query in names.items()}
            weights = {name: DIFFERENCES.weights(old[q], new[q]) for name, q in names.items()}
            before = {
                name: {doc: human[query].get(doc, 0) for doc in old[query]}
                for name, query in names.items()
            }
            draws = Draws(DIFFERENCES, weights, before if in_use else {}, f"order {number} {seed}")
            whole = {n: {d: grades[n].get(d, 0) for d in row} for n, row in weights.items()}
            truth = draws.look(whole, len(draws.order))
            verdict, judged = decided(draws, grades, margin)
            half = draw.sample(list(names), len(names) // 2)
            spans = [draws.span(query, whole) for query in half]
            of_half = pair(np.array([low for low, _ in spans])).word
            yield Case(truth.difference, verdict, judged / truth.judged, of_half)


def main() -> None:
    asked = parser(__doc__, queries=0, seeds=10, margin=0.05, in_use=False).parse_args()
    made = list(cases(asked.queries, asked.seeds, asked.margin, asked.in_use))
    print("difference  pairs  better/worse  as good  wrong  share judged  half: told  half: wrong")
    for low, high in SIZES:
        of = [case for case in made if low <= abs(case.truth) < high]
        told = sum(case.verdict in ("better", "worse") for case in of) / len(of)
        good = sum(case.verdict == "as good" for case in of) / len(of)
        wrong = sum(case.is_wrong(case.verdict, asked.margin) for case in of) / len(of)
        quarter, middle, more = np.quantile([case.share for case in of], [0.25, 0.5, 0.75])
        half = [case for case in of if case.of_half in ("better", "worse")]
        missed = sum(case.is_wrong(case.of_half, asked.margin) for case in half) / len(of)
        print(
            f"{low:.2f}-{high:.2f}  {len(of):5}  {told:12.2f}  {good:7.2f}  {wrong:5.3f}  "
            f"{middle:.2f} ({quarter:.2f}, {more:.2f})  {len(half) / len(of):10.2f}  {missed:.3f}"
        )


if __name__ == "__main__":
    main()
