"""How many judgements a decision between two systems takes, and how often it is wrong.

    python scripts/simulate_decisions.py                            # nothing is judged before
    python scripts/simulate_decisions.py --in-use                   # the system in use is judged
    python scripts/simulate_decisions.py --queries 200 --seeds 2    # of 200 queries like these
    python scripts/simulate_decisions.py --margin 0.01 --seeds 1
    python scripts/simulate_decisions.py --measure "RR(rel=2)@10"
    python scripts/simulate_decisions.py --assessor gpt-4o          # an LLM's grades, not NIST's
    python scripts/simulate_decisions.py --forecast gpt-4o          # NIST's, which an LLM forecasts

All pairs of DL 2019's systems, as NIST's grades answer for the assessor, over all queries. Truth is
the difference with all first documents of both judged. Beside it: a random half of the queries
judged, and the verdict of `compare`. With `--queries`, as many are drawn from these with
replacement, each a query of its own. With `--assessor` its grades decide, and the truth is NIST's.
The last columns are what was judged after 24 queries, as a part of what was said to be likely then,
in the sum of all decisions, and how often that sufficed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from random import Random

import numpy as np
from harness import DL19, parser

from labeler.evaluation.differences import Differences
from labeler.evaluation.draws import Draws, Grades
from labeler.exchange.qrels import read_qrels
from labeler.exchange.runs import read_run
from labeler.metrics import parse
from labeler.stats.families import each_pair
from labeler.trec.files import ranking

SIZES = ((0.05, 1.0), (0.02, 0.05), (0.0, 0.02), (0.0, 1.0))
"""Between which sizes of the true difference pairs are counted together."""
AFTER = 24
"""After so many queries it is said how many more pairs are likely to be judged."""


@dataclass(frozen=True)
class Case:
    """A pair of systems whose truth is known: its size, what was decided, and at which share."""

    truth: float
    verdict: str
    share: float
    of_half: str
    likely: int
    left: int

    def is_wrong(self, verdict: str, margin: float) -> bool:
        """Whether a verdict is not so."""
        within = {"as good": abs(self.truth) <= margin}
        return not {"better": self.truth > 0, "worse": self.truth < 0, **within}.get(verdict, True)


def decided(draws: Draws, whole: Grades, margin: float) -> tuple[str, int, int, int]:
    """The verdict, and how many pairs were judged; `whole` has the grades of all.

    Third, how many of these were likely after some queries, and how many there were.
    """
    grades, drawn = {query: dict(draws.before.get(query, {})) for query in whole}, 0
    likely = judged = 0
    while not (look := draws.look(grades, drawn)).verdict(margin) and drawn < len(draws.order):
        if drawn == AFTER:
            likely, judged = draws.likely(grades, margin, draws.forecasts) or 0, look.judged
        drawn = draws.further(drawn)
        while pairs := draws.to_judge(grades, drawn):
            for query, doc in pairs:
                grades[query][doc] = whole[query][doc]
    return look.verdict(margin), look.judged, likely, look.judged - judged if likely else 0


def cases(asked: argparse.Namespace) -> Iterator[Case]:
    """Every pair of systems, with some seeds each."""
    differences, queries = Differences(parse(asked.measure), 3), asked.queries
    depth = int(differences.measure.cutoff or 0)
    human, judging, forecast = (
        read_qrels(DL19 / f"{name}.qrels")
        for name in ("nist", asked.assessor, asked.forecast or "nist")
    )
    runs = [read_run(path) for path in sorted((DL19 / "runs").glob("*.gz"))]
    tops = [{query: ranking(run.get(query, {}))[:depth] for query in human} for run in runs]
    for (number, (old, new)), seed in product(enumerate(combinations(tops, 2)), range(asked.seeds)):
        draw = Random(f"{number} {seed}")
        some = draw.choices(sorted(human), k=queries) if queries else sorted(human)
        names = {f"{place} {query}": query for place, query in enumerate(some)}
        documents = {name: differences.documents(old[q], new[q]) for name, q in names.items()}
        whole, by_people, forecasts = (
            {
                name: {doc: max(qrels[query].get(doc, 0), 0) for doc in documents[name]}
                for name, query in names.items()
            }
            for qrels in (judging, human, forecast)
        )
        before = {
            n: {doc: whole[n][doc] for doc in old[q]} for n, q in names.items() if asked.in_use
        }
        known = forecasts if asked.forecast else {}
        draws = Draws(differences, documents, before, f"order {number} {seed}", known)
        truth = draws.look(by_people, len(draws.order))
        verdict, judged, *outlook = decided(draws, whole, asked.margin)
        half = draw.sample(list(names), len(names) // 2)
        (alone,) = each_pair(np.array([[draws.span(query, whole)[0] for query in half]]))
        yield Case(truth.difference, verdict, judged / truth.judged, alone.word, *outlook)


def main() -> None:
    options = parser(__doc__, queries=0, seeds=5, margin=0.05, in_use=False)
    options.add_argument("--measure", default="nDCG@10")
    options.add_argument("--assessor", default="nist")
    options.add_argument("--forecast", default="")
    asked = options.parse_args()
    made = list(cases(asked))
    print(
        "difference  pairs  better/worse  as good  wrong  share judged  half: told  half: wrong"
        "  left/likely  sufficed"
    )
    for low, high in SIZES:
        of = [case for case in made if low <= abs(case.truth) < high]
        told, good = (
            np.mean([case.verdict in verdicts for case in of])
            for verdicts in (("better", "worse"), ("as good",))
        )
        wrong = np.mean([case.is_wrong(case.verdict, asked.margin) for case in of])
        quarter, middle, more = np.quantile([case.share for case in of], [0.25, 0.5, 0.75])
        half = [case for case in of if case.of_half in ("better", "worse")]
        foretold = [case for case in of if case.likely]
        left, likely = (sum(getattr(c, n) for c in foretold) for n in ("left", "likely"))
        sufficed = np.mean([case.left <= case.likely for case in foretold] or [np.nan])
        missed = sum(case.is_wrong(case.of_half, asked.margin) for case in half) / len(of)
        print(
            f"{low:.2f}-{high:.2f}  {len(of):5}  {told:12.2f}  {good:7.2f}  {wrong:5.3f}  "
            f"{middle:.2f} ({quarter:.2f}, {more:.2f})  {len(half) / len(of):10.2f}  {missed:10.3f}"
            f"  {left / max(likely, 1):11.2f}  {sufficed:8.2f}"
        )


if __name__ == "__main__":
    main()
