"""Whether the queries that people judged were chosen, and what that could do to a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from labeler.arrays import Floats
from labeler.evaluation.correction.corrected import CorrectedDifference
from labeler.evaluation.correction.means import Aim, ScoredByBoth
from labeler.metrics import Measure
from labeler.report.finding import Finding
from labeler.stats.balance import balance
from labeler.stats.designs import by_chance
from labeler.stats.levels import SIGNIFICANT
from labeler.trec.pool import Pool

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
