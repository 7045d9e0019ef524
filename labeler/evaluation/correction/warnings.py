"""What a reader of corrected scores should know, one finding each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from labeler.arrays import Floats
from labeler.errors import BadInput
from labeler.evaluation.correction.corrected import (
    Aim,
    CorrectedDifference,
    CorrectedScores,
    ScoredByBoth,
)
from labeler.metrics import Measure
from labeler.report.finding import Finding
from labeler.stats.estimates import balance, by_chance
from labeler.stats.ppi import CorrectedMean
from labeler.stats.student import SIGNIFICANT
from labeler.trec.pool import Pool

# How often corrected intervals held the truth where it is known, by measure and judged queries.
#
# What `scripts/simulate_correction.py table` prints: of 300 samples of so many of the 43 queries of
# TREC DL 2019 and eleven systems, the lower and the higher coverage of the two assessors.

COVERED: dict[str, dict[int, tuple[float, float]]] = {
    "nDCG@10": {
        3: (0.97, 0.97),
        4: (0.97, 0.97),
        5: (0.96, 0.97),
        6: (0.97, 0.97),
        7: (0.95, 0.96),
        8: (0.95, 0.95),
        9: (0.96, 0.97),
        10: (0.95, 0.96),
        11: (0.95, 0.96),
        12: (0.96, 0.96),
        13: (0.95, 0.96),
        14: (0.95, 0.96),
    },
    "AP": {
        3: (0.95, 0.95),
        4: (0.97, 0.98),
        5: (0.96, 0.97),
        6: (0.96, 0.98),
        7: (0.96, 0.98),
        8: (0.95, 0.98),
        9: (0.96, 0.98),
        10: (0.95, 0.97),
        11: (0.94, 0.97),
        12: (0.95, 0.98),
        13: (0.94, 0.96),
        14: (0.94, 0.97),
    },
    "R@100": {
        3: (0.95, 0.95),
        4: (0.97, 0.97),
        5: (0.96, 0.96),
        6: (0.97, 0.97),
        7: (0.97, 0.98),
        8: (0.96, 0.97),
        9: (0.97, 0.98),
        10: (0.96, 0.97),
        11: (0.96, 0.96),
        12: (0.95, 0.96),
        13: (0.96, 0.97),
        14: (0.96, 0.96),
    },
    "P@10": {
        3: (0.99, 0.99),
        4: (0.97, 0.98),
        5: (0.96, 0.97),
        6: (0.96, 0.96),
        7: (0.96, 0.96),
        8: (0.97, 0.97),
        9: (0.96, 0.97),
        10: (0.96, 0.97),
        11: (0.96, 0.96),
        12: (0.96, 0.97),
        13: (0.96, 0.97),
        14: (0.97, 0.98),
    },
    "P@5": {
        3: (1.00, 1.00),
        4: (1.00, 1.00),
        5: (0.99, 1.00),
        6: (0.98, 0.99),
        7: (0.97, 0.98),
        8: (0.97, 0.97),
        9: (0.96, 0.96),
        10: (0.96, 0.96),
        11: (0.96, 0.96),
        12: (0.96, 0.96),
        13: (0.96, 0.96),
        14: (0.96, 0.97),
    },
    "P@1": {
        3: (1.00, 1.00),
        4: (1.00, 1.00),
        5: (1.00, 1.00),
        6: (1.00, 1.00),
        7: (1.00, 1.00),
        8: (1.00, 1.00),
        9: (0.99, 0.99),
        10: (1.00, 1.00),
        11: (1.00, 1.00),
        12: (1.00, 1.00),
        13: (1.00, 1.00),
        14: (1.00, 1.00),
    },
    "RR@10": {
        3: (1.00, 1.00),
        4: (1.00, 1.00),
        5: (1.00, 1.00),
        6: (1.00, 1.00),
        7: (1.00, 1.00),
        8: (1.00, 1.00),
        9: (1.00, 1.00),
        10: (1.00, 1.00),
        11: (1.00, 1.00),
        12: (1.00, 1.00),
        13: (1.00, 1.00),
        14: (1.00, 1.00),
    },
    "RR(rel=2)@10": {
        3: (1.00, 1.00),
        4: (0.99, 0.99),
        5: (1.00, 1.00),
        6: (1.00, 1.00),
        7: (0.99, 0.99),
        8: (0.99, 0.99),
        9: (1.00, 1.00),
        10: (0.99, 0.99),
        11: (0.99, 0.99),
        12: (0.98, 0.99),
        13: (0.98, 0.98),
        14: (0.98, 0.98),
    },
    "Success@5": {
        3: (1.00, 1.00),
        4: (1.00, 1.00),
        5: (1.00, 1.00),
        6: (1.00, 1.00),
        7: (1.00, 1.00),
        8: (1.00, 1.00),
        9: (1.00, 1.00),
        10: (1.00, 1.00),
        11: (1.00, 1.00),
        12: (1.00, 1.00),
        13: (1.00, 1.00),
        14: (1.00, 1.00),
    },
    "Success(rel=2)@1": {
        3: (1.00, 1.00),
        4: (0.98, 0.98),
        5: (0.99, 0.99),
        6: (1.00, 1.00),
        7: (0.99, 0.99),
        8: (0.99, 0.99),
        9: (0.99, 0.99),
        10: (0.98, 0.98),
        11: (0.98, 0.98),
        12: (0.98, 0.98),
        13: (0.98, 0.98),
        14: (0.98, 0.99),
    },
}


# Whether the queries that people judged were chosen, and what that could do to a verdict.

POOL_SIZE = "number of judged documents"
RELEVANT = "share of relevant documents"
MOST_UNEVEN = 0.75
"""Where weights leave fewer of the queries than this share, a few of them carry the mean."""


def selection_findings(
    runs: Sequence[ScoredByBoth], by_assessor: Pool, measures: Sequence[Measure], aim: Aim
) -> Iterator[Finding]:
    """That people's queries are no random sample of all, by what the assessor says of all.

    Where they were drawn with chances of their own, how many queries they count for instead.

    Its mean scores of the runs, how many documents it judged, and the share of relevant ones. They
    are those of the most queries that a run has.
    """
    most = max(runs, key=lambda both: len(both.queries))
    if aim.chances is not None:
        yield _of_chances(most, aim.chances)
        return
    names, features = _features(runs, most, by_assessor, measures)
    test = balance(features, most.judged)
    if test is None or test.p >= SIGNIFICANT:
        return
    name = names[test.furthest]
    own, others = test.labelled[test.furthest], test.others[test.furthest]
    yield Finding(
        f"the queries that people judged are not like the others (p {test.p:.2g}): the assessor's"
        f" {name} is {_shown(own)} on them and {_shown(others)} on the others; intervals do not"
        " allow for queries that were chosen"
    )


def _of_chances(most: ScoredByBoth, chances: Mapping[str, float]) -> Finding:
    judged = [chances[most.queries[i]] for i in most.judged.tolist()]
    effective = by_chance(most.judged, np.array(judged)).effective
    weigh = f"people's {len(judged)} queries, by their chances, tell as much as {effective:.1f}"
    more = "; intervals of so unequal weights hold less often than 95 times of 100"
    uneven = effective < MOST_UNEVEN * len(judged)
    text = f"{weigh} drawn alike{more if uneven else ''}"
    return Finding(text, level="warning" if uneven else "note")


def _shown(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.0f}"


def _features(
    runs: Sequence[ScoredByBoth], most: ScoredByBoth, pool: Pool, measures: Sequence[Measure]
) -> tuple[list[str], Floats]:
    """What the assessor says of each query, `(features, queries)`, and what it is called."""
    alike = [both.assessor for both in runs if both.queries == most.queries]
    scores = np.mean(alike, axis=0)
    sizes = np.bincount(pool.query, minlength=len(pool.queries))
    relevant = np.bincount(pool.query[pool.grade > 0], minlength=len(pool.queries))
    position = {query: i for i, query in enumerate(pool.queries)}
    order = np.array([position[query] for query in most.queries])
    of_pool = np.array([sizes, relevant / np.maximum(sizes, 1)])[:, order]
    return [*map(str, measures), POOL_SIZE, RELEVANT], np.concatenate([scores, of_pool])


def turning_finding(comparisons: Sequence[CorrectedDifference]) -> Iterator[Finding]:
    """How little the other queries would have to differ from the judged ones to turn a verdict."""
    turning = [(c.turns_at, c) for c in comparisons if c.turns_at is not None]
    if not turning:
        return
    least, c = min(turning, key=lambda row: row[0])
    yield Finding(
        f"that {c.run} is {c.verdict} than {c.baseline} by {c.measure} turns if the difference, on"
        f" queries that people did not judge, falls {least:.3f} short of what the others foretell",
        about=c.run,
        level="note",
    )


MOST_UNJUDGED = 0.2
"""With a larger share of documents that people left out, their scores say nothing."""


def correction_findings(
    runs: Sequence[ScoredByBoth], scores: Sequence[CorrectedScores]
) -> Iterator[Finding]:
    """All that there is to know; `BadInput` where people left out too much of their queries."""
    yield Finding("the intervals hold if the queries that people judged are a random sample of all")
    yield from _of_few(scores)
    yield from _of_unjudged(runs)
    yield from _of_no_interval(scores)
    yield from _not_followed(scores)


def _of_few(scores: Sequence[CorrectedScores]) -> Iterator[Finding]:
    """That few queries are judged: how often so few were enough, where that is known."""
    judged = max(row.means.judged for row in scores)
    if any(row.means.judged == row.means.queries for row in scores):
        return
    shares = []
    for measure in dict.fromkeys(row.measure for row in scores):
        if ends := COVERED.get(measure, {}).get(judged):
            low, high = (f"{100 * end:.0f}" for end in ends)
            shares.append(f"{measure} in {low if low == high else f'{low} to {high}'}")
    if shares:
        yield Finding(
            f"few queries are judged: with {judged} of the 43 of TREC DL 2019, intervals of 95 %"
            f" held the mean of all 43 for {', '.join(shares)} of 100 samples"
        )


def _of_unjudged(runs: Sequence[ScoredByBoth]) -> Iterator[Finding]:
    """That people left out documents which the assessor judged: their scores are too low."""
    worst = max(runs, key=lambda both: both.unjudged)
    share = f"{worst.unjudged:.1%} of what the assessor did in the top ten of {worst.run}"
    text = f"people did not judge {share}, so their scores are too low"
    if worst.unjudged > MOST_UNJUDGED:
        raise BadInput(f"{text}; correcting needs people's grades of whole queries")
    if worst.unjudged > 0:
        yield Finding(text, about=worst.run)


def _of_no_interval(scores: Sequence[CorrectedScores]) -> Iterator[Finding]:
    """Where all judged queries are alike, and no bound says how far others could be from them."""
    names = ", ".join(f"{row.run}'s {row.measure}" for row in scores if _has_no_ends(row.means))
    if names:
        yield Finding(f"{names}: no interval, as the judged queries do not differ")


def _has_no_ends(means: CorrectedMean) -> bool:
    return means.corrected.low is None


def _not_followed(scores: Sequence[CorrectedScores]) -> Iterator[Finding]:
    """Where the assessor was not followed though people did not judge all queries, and why."""
    partly_judged = [row for row in scores if row.means.judged < row.means.queries]
    count = sum(row.means.weight == 0 for row in partly_judged)
    why = "the judged queries do not show that following the assessor makes intervals narrower"
    if count:
        yield Finding(
            f"lambda is 0 for {count} of {len(partly_judged)} scores, which are people's own: {why}"
        )
