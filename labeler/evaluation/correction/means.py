"""Corrected means of runs that both people and an assessor judged, and their differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.errors import BadInput
from labeler.evaluation.comparison.paired import Correction
from labeler.evaluation.correction.corrected import CorrectedDifference, CorrectedScores
from labeler.evaluation.ranges import UNBOUNDED
from labeler.metrics import Measure, Rankings, score
from labeler.stats.designs import Design, at_random, by_chance, with_replacement
from labeler.stats.estimates import UNIT
from labeler.stats.ppi import FEWEST, LIKE_THESE, Joint
from labeler.stats.randomization import holm


class Aim(NamedTuple):
    """Over which queries means are taken, and how likely each judged one was to be drawn.

    Where no chances are given, all queries were as likely.
    """

    target: str = LIKE_THESE
    chances: Mapping[str, float] | None = None


@dataclass(frozen=True)
class ScoredByBoth:
    """One run's scores by people's grades, `(measures, judged)`, and by the assessor's.

    Those of the assessor are `(measures, queries)`; `judged` are the places among them of the
    queries that people judged. `unjudged` is the share of what the assessor judged among the first
    ten documents of those queries that people did not. Where people graded a sample of pairs,
    `human` are estimates, and `sampled` what the same pairs say of the assessor's scores.
    """

    run: str
    queries: tuple[str, ...]
    judged: Integers
    human: Floats
    assessor: Floats
    unjudged: float
    sampled: Floats | None = None


def scored_by_both(
    name: str, by_human: Rankings, by_assessor: Rankings, measures: Sequence[Measure]
) -> ScoredByBoth:
    """One run's scores from its rankings against both qrels."""
    if by_human.n < FEWEST:
        has = f"{name} has {by_human.n} of the queries that people judged"
        raise BadInput(f"{has}; correcting needs {FEWEST}")
    human, assessor = (score(ranked, measures).values for ranked in (by_human, by_assessor))
    for measure, *rows in zip(measures, human, assessor, strict=True):
        if any(np.isnan(row).any() for row in rows):
            problem = f"{name}: {measure} is undefined for some queries, so its mean is of others"
            raise BadInput(f"{problem} with each side's grades; nothing can be corrected")
    position = {query: i for i, query in enumerate(by_assessor.queries)}
    judged = np.array([position[query] for query in by_human.queries])
    unjudged = _unjudged(by_human, by_assessor, judged)
    return ScoredByBoth(name, by_assessor.queries, judged, human, assessor, unjudged)


def _unjudged(by_human: Rankings, by_assessor: Rankings, judged: Integers) -> float:
    shares = [np.nan_to_num(score(r, ["Judged@10"]).values[0]) for r in (by_human, by_assessor)]
    human, assessor = shares[0].mean(), shares[1][judged].mean()
    return float(max(assessor - human, 0.0) / assessor) if assessor > 0 else 0.0


def corrected_scores(
    runs: Sequence[ScoredByBoth], measures: Sequence[Measure], aim: Aim
) -> list[CorrectedScores]:
    """Every run by every measure, with one lambda for all runs of the same queries."""
    rows = [row for i, m in enumerate(measures) for row in _by_measure(runs, i, m, aim)]
    order = {both.run: index for index, both in enumerate(runs)}
    return sorted(rows, key=lambda row: order[row.run])


def _by_measure(
    runs: Sequence[ScoredByBoth], index: int, measure: Measure, aim: Aim
) -> Iterator[CorrectedScores]:
    for group in _with_the_same_queries(runs):
        joint = _joint(group, index, measure, aim)
        for both, means in zip(group, joint.means(), strict=True):
            by_query = _by_query(both, index)
            yield CorrectedScores(both.run, str(measure), means, both.unjudged, by_query)


def _joint(group: Sequence[ScoredByBoth], index: int, measure: Measure, aim: Aim) -> Joint:
    """The runs' scores by one measure, which are corrected with one lambda."""
    human = np.array([both.human[index] for both in group])
    assessor = np.array([both.assessor[index] for both in group])
    bounds = None if measure.name in UNBOUNDED else UNIT
    rows = [both.sampled[index] for both in group if both.sampled is not None]
    sampled = np.array(rows) if rows else None
    return Joint(human, assessor, _design(group[0], aim), aim.target, bounds, sampled)


def _design(both: ScoredByBoth, aim: Aim) -> Design:
    """How the queries were drawn that people judged."""
    if both.sampled is not None:
        return with_replacement(both.judged)
    if aim.chances is None:
        return at_random(both.judged, len(both.queries))
    queries = [both.queries[i] for i in both.judged.tolist()]
    if unknown := [query for query in queries if query not in aim.chances]:
        problem = f"people judged {unknown[0]:.80}, and nothing says how likely it was to be drawn"
        raise BadInput(problem, parameter="chances")
    return by_chance(both.judged, np.array([aim.chances[query] for query in queries]))


def _by_query(both: ScoredByBoth, index: int) -> dict[str, tuple[float | None, float]]:
    """Each query's scores by both; `None` where people did not judge it, or single pairs of it."""
    if both.sampled is not None:
        return {
            q: (None, x) for q, x in zip(both.queries, both.assessor[index].tolist(), strict=True)
        }
    human = dict(zip(both.judged.tolist(), both.human[index].tolist(), strict=True))
    assessor = both.assessor[index].tolist()
    return {query: (human.get(i), assessor[i]) for i, query in enumerate(both.queries)}


def _with_the_same_queries(runs: Sequence[ScoredByBoth]) -> list[list[ScoredByBoth]]:
    groups: dict[tuple[str, ...], list[ScoredByBoth]] = {}
    for both in runs:
        groups.setdefault(both.queries, []).append(both)
    return list(groups.values())


def over_common_queries(runs: Sequence[ScoredByBoth]) -> list[ScoredByBoth]:
    """The runs over the queries that all of them have."""
    if len(_with_the_same_queries(runs)) == 1:
        return list(runs)
    common = set(runs[0].queries).intersection(*(both.queries for both in runs))
    return [_restricted(both, common) for both in runs]


def _restricted(both: ScoredByBoth, queries: set[str]) -> ScoredByBoth:
    remains = np.array([query in queries for query in both.queries])
    judged = remains[both.judged]
    if judged.sum() < FEWEST:
        few = f"the runs share fewer than {FEWEST} queries that people judged"
        raise BadInput(f"{few}; queries that a run lacks may count as 0", parameter="missing")
    return replace(
        both,
        queries=tuple(query for query in both.queries if query in queries),
        judged=(np.cumsum(remains) - 1)[both.judged[judged]],
        human=both.human[:, judged],
        assessor=both.assessor[:, remains],
        sampled=None if both.sampled is None else both.sampled[:, judged],
    )


def corrected_differences(
    runs: Sequence[ScoredByBoth], measures: Sequence[Measure], baseline: str | None, aim: Aim
) -> Iterator[CorrectedDifference]:
    """All runs against the baseline: the one asked for, else the best corrected one.

    The runs are over the same queries.
    """
    base = _baseline(runs, measures[0], baseline, aim)
    compared = [both for both in runs if both is not base]
    correction: Correction = "hsd" if baseline is None else "holm"
    for index, measure in enumerate(measures if compared else ()):
        joint = _joint(runs, index, measure, aim)
        differences = joint.differences([both is base for both in runs].index(True))
        p = np.array([difference.chance for difference in differences])
        # no p that allows for several tests is below that of the one test
        p_hsd = np.maximum(p, joint.adjusted(differences)) if len(p) > 1 else p
        columns = zip(p.tolist(), holm(p).tolist(), p_hsd.tolist(), strict=True)
        lower = measure.definition.lower_is_better
        for both, means, chances in zip(compared, differences, columns, strict=True):
            names = both.run, base.run, str(measure)
            yield CorrectedDifference(*names, means, *chances, correction, lower)


def _baseline(
    runs: Sequence[ScoredByBoth], first: Measure, name: str | None, aim: Aim
) -> ScoredByBoth:
    if name is not None:
        return next(both for both in runs if both.run == name)
    means = [row.means.corrected.value for row in _by_measure(runs, 0, first, aim)]
    sign = -1 if first.definition.lower_is_better else 1
    return runs[int(np.argmax(np.array(means) * sign))]
