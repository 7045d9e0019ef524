"""Scoring runs against qrels: files in, one report out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labeler.collection.choose import collection_qrels, collection_runs, named_runs
from labeler.collection.layout import Collection
from labeler.collection.scale import top_grade_of
from labeler.errors import BadInput, Misuse
from labeler.evaluation.compare import Comparison, best, compare, summary_interval
from labeler.evaluation.holes.scenarios import scenarios
from labeler.evaluation.warnings import (
    few_queries,
    hole_warnings,
    label_warnings,
    name_warnings,
    qrels_warnings,
    run_warnings,
    score_warnings,
    verdict_warnings,
)
from labeler.messages import count_of
from labeler.metrics import Measure, Rankings, Scores, parse, parse_all, score
from labeler.trec.rankings import read_pool, read_rankings

DEFAULT_MEASURES = ("nDCG@10", "RR@10", "AP", "R@100")
CHOICES = {
    "missing": ("zero", "skip"),
    "unanswerable": ("count", "skip"),
    "ties": ("trec", "file"),
    "interval": ("bootstrap", "t"),
}


@dataclass(frozen=True)
class Options:
    """What to compute and how.

    `missing`: queries that a run lacks are `zero` or `skip`. `unanswerable`: queries without any
    relevant document `count` or `skip`. `interval`: `bootstrap` over queries, or Student's `t`.
    `passed` are the queries that a person looked at, for LGTM.
    """

    measures: tuple[str, ...] = DEFAULT_MEASURES
    missing: str = "zero"
    unanswerable: str = "count"
    ties: str = "trec"
    max_grade: int | None = None
    interval: str = "bootstrap"
    baseline: str | None = None
    scenarios: bool = True
    seed: int = 0
    passed: Mapping[str, bool] | None = None

    def __post_init__(self) -> None:
        for option, known in CHOICES.items():
            if (value := getattr(self, option)) not in known:
                raise Misuse(f"--{option} is {' or '.join(known)}, not {value!r}")

    def also(self, measures: Sequence[Measure]) -> Options:
        """The same with more measures."""
        return replace(self, measures=(*self.measures, *map(str, measures)))


@dataclass(frozen=True)
class RunScores:
    """One run's scores with their intervals, and what unjudged documents leave open."""

    name: str
    scores: Scores
    intervals: dict[str, tuple[float, float]]
    judged: dict[str, float]
    scenarios: dict[str, dict[str, float]]

    def values(self) -> dict[str, dict[str, float]]:
        """Measure to value, low and high."""
        return {
            name: {"value": value, "low": self.intervals[name][0], "high": self.intervals[name][1]}
            for name, value in self.scores.means().items()
        }


@dataclass
class Report:
    """All that `labeler evaluate` says."""

    qrels: str
    measures: list[str]
    runs: list[RunScores] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def evaluate_files(qrels: Path, runs: Sequence[Path], options: Options) -> Report:
    """Score the runs of some files."""
    if options.max_grade is None:
        options = replace(options, max_grade=top_grade_of(qrels))
    measures = parse_all(options.measures)
    report = Report(str(qrels), [str(measure) for measure in measures])
    report.warnings += name_warnings(options.measures)
    named = named_runs(runs)
    if options.baseline is not None and options.baseline not in named:
        raise Misuse(f"no run {options.baseline!r} for a baseline; runs: {', '.join(named)}")
    pool = read_pool(qrels, report.warnings.append)
    skipped = options.unanswerable == "skip"
    report.warnings += qrels_warnings(pool, measures, skipped=skipped, max_grade=options.max_grade)
    if options.passed is not None:
        report.warnings += verdict_warnings(options.passed, pool)
    for name, path in named.items():
        ranked, facts = read_rankings(path, pool, options.ties)
        skipped = options.missing == "skip"
        report.warnings += run_warnings(name, pool, facts, ties=options.ties, skipped=skipped)
        run = run_scores(name, chosen(ranked, options), measures, options)
        report.warnings += score_warnings(name, run.scores)
        report.runs.append(run)
    if len(report.runs) > 1:
        report.comparisons = comparisons(report.runs, measures[0], options, report.warnings.append)
    few = min(report.runs, key=lambda run: len(run.scores.queries))
    report.warnings += few_queries(few.name, few.scores, few.intervals)
    least = min(report.runs, key=lambda run: next(iter(run.judged.values())))
    report.warnings += hole_warnings(least.name, least.judged, least.scenarios)
    return report


def chosen(ranked: Rankings, options: Options) -> Rankings:
    """The queries that count, on the scale that was asked for."""
    wanted = np.ones(ranked.n, dtype=np.bool_)
    if options.missing == "skip":
        wanted &= ranked.retrieved > 0
    if options.unanswerable == "skip":
        wanted &= ranked.in_pool(1) > 0
    if not wanted.any():
        raise BadInput("no query is left to score: all are missing or have no relevant document")
    if not wanted.all():
        ranked = ranked.choose(wanted)
    if options.passed is not None:
        ranked = replace(ranked, passed=_verdicts(ranked, options.passed))
    return ranked if options.max_grade is None else replace(ranked, max_grade=options.max_grade)


def _verdicts(ranked: Rankings, passed: Mapping[str, bool]) -> NDArray[np.float64]:
    """1 where a person passed the query's first documents, 0 where not, `nan` where none looked."""
    return np.array([float(passed[q]) if q in passed else np.nan for q in ranked.queries])


def comparisons(
    runs: Sequence[RunScores], first: Measure, options: Options, warn: Callable[[str], None]
) -> list[Comparison]:
    """All runs against the baseline: the one asked for, else the best by the first measure.

    Over the queries that all runs have.
    """
    scores = in_common({run.name: run.scores for run in runs})
    queries, every = (len(s.queries) for s in (next(iter(scores.values())), _longest(runs)))
    if queries < every:
        common = count_of(queries, "query", "queries")
        warn(f"runs are compared over the {common} that all of them have")
    if not queries:
        return []
    baseline = options.baseline or best(scores, first)
    return compare(scores, baseline, options.interval, options.seed)


def _longest(runs: Sequence[RunScores]) -> Scores:
    return max((run.scores for run in runs), key=lambda scores: len(scores.queries))


def in_common(scores: Mapping[str, Scores]) -> dict[str, Scores]:
    """The scores of the queries that all runs have."""
    sets = [set(s.queries) for s in scores.values()]
    common = set.intersection(*sets)
    if all(len(queries) == len(common) for queries in sets):
        return dict(scores)
    return {name: s.choose([query in common for query in s.queries]) for name, s in scores.items()}


def run_scores(
    name: str, ranked: Rankings, measures: Sequence[Measure], options: Options
) -> RunScores:
    """One run's scores, their intervals, the shares judged and the scenarios."""
    scores = score(ranked, measures)
    cutoffs = sorted({m.cutoff for m in measures if isinstance(m.cutoff, int)}) or [10]
    judged = score(ranked, [parse(f"Judged@{cutoff}") for cutoff in cutoffs])
    open_ends = scenarios(ranked, measures) if options.scenarios else {}
    return RunScores(name, scores, intervals(scores, options), judged.means(), open_ends)


def intervals(scores: Scores, options: Options) -> dict[str, tuple[float, float]]:
    """The 95 % interval over queries of each mean; `nan` for sums and where nothing is defined."""
    return {
        str(measure): summary_interval(measure, row, options.interval, options.seed)
        for measure, row in zip(scores.measures, scores.values, strict=True)
    }


def evaluate_collection(folder: Path, qrels: str | None, options: Options) -> Report:
    """Score the runs of a collection, `runs/*.trec[.gz]`, against one of its qrels."""

    path = collection_qrels(folder, qrels)
    report = evaluate_files(path, collection_runs(folder), options)
    report.warnings += label_warnings(Collection(folder).judgements(path.stem))
    return report
