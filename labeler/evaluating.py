"""Scoring runs against qrels: files in, one report out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from labeler.errors import BadInput, Misuse
from labeler.formats.ranked import Facts, Pool, read_pool, read_rankings
from labeler.metrics import Measure, Rankings, Scores, parse, parse_all, score
from labeler.metrics.comparing import Comparison, best, compare, summary_interval
from labeler.metrics.scenarios import scenarios

DEFAULT_MEASURES = ("nDCG@10", "RR@10", "AP", "R@100")
FEW_QUERIES = 25
SCALED = ("ERR", "nERR", "RBP", "RBPresidual")
CHOICES = {
    "missing": ("zero", "skip"),
    "unanswerable": ("count", "skip"),
    "ties": ("trec", "file"),
    "interval": ("bootstrap", "t"),
}
RUN_SUFFIXES = (".gz", ".trec", ".run", ".txt")


@dataclass(frozen=True)
class Options:
    """What to compute and how.

    `missing`: queries that a run lacks are `zero` or `skip`. `unanswerable`: queries without any
    relevant document `count` or `skip`. `interval`: `bootstrap` over queries, or Student's `t`.
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
    measures = parse_all(options.measures)
    report = Report(str(qrels), [str(measure) for measure in measures])
    named = named_runs(runs)
    if options.baseline is not None and options.baseline not in named:
        raise Misuse(f"no run {options.baseline!r} for a baseline; runs: {', '.join(named)}")
    pool = read_pool(qrels, report.warnings.append)
    report.warnings += qrels_warnings(pool, measures, options)
    for name, path in named.items():
        ranked, facts = read_rankings(path, pool, options.ties)
        report.warnings += run_warnings(name, pool, facts)
        ranked = chosen(ranked, options)
        report.runs.append(run_scores(name, ranked, measures, options))
    if len(report.runs) > 1:
        report.comparisons = comparisons(report.runs, measures[0], options)
    if len(report.runs[0].scores.queries) < FEW_QUERIES:
        report.warnings.append(_few(report.runs[0]))
    return report


def chosen(ranked: Rankings, options: Options) -> Rankings:
    """The queries that count, on the scale that was asked for."""
    wanted = np.ones(ranked.n, dtype=np.bool_)
    if options.missing == "skip":
        wanted &= ranked.retrieved > 0
    if options.unanswerable == "skip":
        wanted &= ranked.in_pool(1) > 0
    if not wanted.all():
        ranked = ranked.choose(wanted)
    return ranked if options.max_grade is None else replace(ranked, max_grade=options.max_grade)


def comparisons(runs: Sequence[RunScores], first: Measure, options: Options) -> list[Comparison]:
    """All runs against the baseline: the one asked for, else the best by the first measure."""
    scores = {run.name: run.scores for run in runs}
    if len({s.queries for s in scores.values()}) > 1:
        raise Misuse("the runs cover different queries, so they cannot be paired; --missing zero")
    baseline = options.baseline or best(scores, first)
    return compare(scores, baseline, options.interval, options.seed)


def evaluate_collection(folder: Path, qrels: str | None, options: Options) -> Report:
    """Score the runs of a collection, `runs/*.trec[.gz]`, against one of its qrels."""
    runs = sorted([*folder.glob("runs/*.trec"), *folder.glob("runs/*.trec.gz")])
    if not runs:
        raise Misuse(f"{folder}/runs holds no run (*.trec, *.trec.gz); make some: labeler pool")
    return evaluate_files(collection_qrels(folder, qrels), runs, options)


def collection_qrels(folder: Path, name: str | None) -> Path:
    """`qrels/NAME.qrels` of a collection: by default `human`, else the only one there is."""
    found = {path.stem: path for path in sorted(folder.glob("qrels/*.qrels"))}
    if name is None and len(found) > 1 and "human" not in found:
        raise Misuse(f"{folder} has several qrels; choose with --qrels: {', '.join(found)}")
    chosen = name or ("human" if "human" in found else next(iter(found), None))
    if chosen not in found:
        known = ", ".join(found) or "none; make some: labeler judge"
        raise Misuse(f"{folder} has no qrels {chosen or ''}".rstrip() + f"; there are: {known}")
    return found[chosen]


def run_name(path: Path) -> str:
    """A run's file name less `.trec`, `.run`, `.txt` and `.gz`."""
    name = path.name
    while name.endswith(RUN_SUFFIXES):
        name = name[: name.rindex(".")]
    return name or path.name


def named_runs(paths: Sequence[Path]) -> dict[str, Path]:
    """Run names to files; two of one name are `Misuse`."""
    named: dict[str, Path] = {}
    for path in paths:
        name = run_name(path)
        if name in named:
            raise Misuse(f"{named[name]} and {path} are both the run {name!r}; rename one")
        named[name] = path
    return named


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


def _few(run: RunScores) -> str:
    name, (low, high) = next(iter(run.intervals.items()))
    n = len(run.scores.queries)
    wide = f"; {run.name}'s {name} lies anywhere from {low:.3f} to {high:.3f}"
    return f"only {n} queries: intervals are wide{wide if high > low else ''}"


def qrels_warnings(pool: Pool, measures: Sequence[Measure], options: Options) -> list[str]:
    """What a reader of the scores should know about the qrels."""
    found = []
    n = len(pool.queries)
    empty = n - len(np.unique(pool.query[pool.grade > 0]))
    if empty:
        what = (
            "left out" if options.unanswerable == "skip" else "they score 0 (--unanswerable skip)"
        )
        found.append(f"{empty} of {n} queries have no relevant document; {what}")
    scaled = [str(m) for m in measures if m.name in SCALED]
    if scaled and options.max_grade is None:
        source = "the largest in the qrels; --max-grade says otherwise"
        found.append(f"{', '.join(scaled)}: took {pool.max_grade} for the scale's top, {source}")
    return found


def run_warnings(name: str, pool: Pool, facts: Facts) -> list[str]:
    """What a reader of the scores should know about a run; `BadInput` where no query is common."""
    if not facts.common:
        raise BadInput(_nothing_in_common(name, pool, facts))
    found = []
    n = len(pool.queries)
    if missing := n - facts.common:
        found.append(f"{name}: {missing} of {n} queries are missing from the run")
    if facts.extra:
        found.append(f"{name}: {facts.extra} queries of the run are not in the qrels: ignored")
    if facts.tied_pairs:
        found.append(f"{name}: {facts.tied_pairs} pairs of documents tie in score")
    if facts.contradictions:
        found.append(f"{name}: the rank of {facts.contradictions} lines contradicts their score")
    return found


def _nothing_in_common(name: str, pool: Pool, facts: Facts) -> str:
    qrels, run = pool.queries, facts.some_ids
    sides = f"the qrels have {', '.join(qrels[:3])}; the run has {', '.join(run)}"
    guess = _guess(qrels, set(run))
    return f"{pool.path} and the run {name} share no query: {sides}" + (
        f"; {guess}" if guess else ""
    )


def _guess(qrels: Sequence[str], run: set[str]) -> str:
    """Why two sets of ids that share nothing might be meant to be the same."""
    if {q.lstrip("0") for q in qrels} & {q.lstrip("0") for q in run}:
        return "one side is padded with zeros (007 and 7)"
    if {q.removesuffix(".0") for q in qrels} & {q.removesuffix(".0") for q in run}:
        return "one side was read as numbers with decimals (7.0 and 7)"
    digits = {"".join(filter(str.isdigit, q)) for q in qrels} - {""}
    if digits & {"".join(filter(str.isdigit, q)) for q in run}:
        return "they differ in a prefix or suffix (q7 and 7)"
    return ""
