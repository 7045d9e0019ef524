"""One run's scores: means, intervals, shares judged, and what unjudged documents leave open."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from labeler.arrays import Flags, Floats
from labeler.errors import BadInput
from labeler.evaluation.comparison.paired import summary_interval
from labeler.evaluation.holes.scenarios import scenarios
from labeler.evaluation.options import EvaluationOptions, Scoring
from labeler.evaluation.query_facts import Weights
from labeler.evaluation.weighted import weighted_summary
from labeler.metrics import Measure, Rankings, Scores, parse, score
from labeler.metrics.weighting import Weighting


@dataclass(frozen=True)
class RunScores:
    """One run's scores with their intervals, and what unjudged documents leave open.

    Runs with one and the same `mark` rank documents of the same grades alike in every query.
    `shares` are those judged of each query.
    """

    name: str
    scores: Scores
    intervals: dict[str, tuple[float, float]]
    judged: dict[str, float]
    scenarios: dict[str, dict[str, float]]
    mark: str = ""
    shares: Scores | None = None

    def values(self) -> dict[str, dict[str, float]]:
        """Measure to value, low and high."""
        return {
            name: {"value": value, "low": self.intervals[name][0], "high": self.intervals[name][1]}
            for name, value in self.scores.means().items()
        }


def run_scores(
    name: str,
    ranked: Rankings,
    measures: Sequence[Measure],
    options: EvaluationOptions,
    weighting: Weighting | None = None,
) -> RunScores:
    """One run's scores, their intervals, the shares judged, and the scenarios if asked for."""
    scores = replace(score(ranked, measures), weighting=weighting)
    cutoffs = sorted({m.cutoff for m in measures if isinstance(m.cutoff, int)}) or [10]
    shares = score(ranked, [parse(f"Judged@{cutoff}") for cutoff in cutoffs])
    shares = replace(shares, weighting=weighting)
    unjudged = scenarios(ranked, measures) if options.scenarios else {}
    ends = intervals(scores, options)
    return RunScores(name, scores, ends, shares.means(), unjudged, _mark(ranked), shares)


def _mark(ranked: Rankings) -> str:
    """A hash of which grades stand where, for each query."""
    columns = (ranked.retrieved, ranked.query, ranked.rank, ranked.grade)
    digest = hashlib.blake2b("\n".join(ranked.queries).encode(), digest_size=16)
    for column in columns:
        digest.update(np.ascontiguousarray(column, dtype=np.int64).tobytes())
    return digest.hexdigest()


def intervals(scores: Scores, options: EvaluationOptions) -> dict[str, tuple[float, float]]:
    """The 95 % interval over queries of each mean; `nan` for sums and where nothing is defined."""
    return {
        str(measure): summary_interval(measure, row, options.interval, options.seed)
        if scores.weighting is None
        else weighted_summary(measure, row, scores.weighting)
        for measure, row in zip(scores.measures, scores.values, strict=True)
    }


def counted(ranked: Rankings, scoring: Scoring, weights: Weights | None = None) -> Rankings:
    """The rankings of the queries that count, with the top grade and the verdicts given.

    With weights those count that have one.
    """
    counts = to_answer(ranked, scoring, weights)
    if scoring.missing == "skip":
        counts &= ranked.retrieved > 0
    if not counts.any():
        raise BadInput("no query is left to score: all are missing or have no relevant document")
    if not counts.all():
        ranked = ranked.choose(counts)
    if scoring.verdicts is not None:
        ranked = replace(ranked, passed=_passed(ranked.queries, scoring.verdicts))
    return ranked if scoring.max_grade is None else replace(ranked, max_grade=scoring.max_grade)


def to_answer(ranked: Rankings, scoring: Scoring, weights: Weights | None = None) -> Flags:
    """Which queries count of a run that answers all of them."""
    counts = np.ones(ranked.n, dtype=np.bool_)
    if weights is not None:
        counts &= np.array(weights.has(ranked.queries), dtype=np.bool_)
    if scoring.unanswerable == "skip":
        counts &= ranked.in_pool(1) > 0
    return counts


def _passed(queries: Sequence[str], verdicts: Mapping[str, bool]) -> Floats:
    """1 where a person passed the query's first documents, 0 where not, `nan` where none looked."""
    return np.array([float(verdicts[q]) if q in verdicts else np.nan for q in queries])


def over_common_queries(scores: Mapping[str, Scores]) -> dict[str, Scores]:
    """The scores of the queries that all runs have."""
    sets = [set(s.queries) for s in scores.values()]
    common = set.intersection(*sets)
    if all(len(queries) == len(common) for queries in sets):
        return dict(scores)
    return {name: s.choose([query in common for query in s.queries]) for name, s in scores.items()}
