"""Scoring runs against qrels: files in, one report out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from labeler.data import Qrels, Run
from labeler.errors import BadInput, Misuse
from labeler.formats.trec import read_qrels, read_run
from labeler.metrics import Measure, Rankings, Scores, parse, parse_all, rankings, score
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
    judgements = read_qrels(qrels, report.warnings.append)
    report.warnings += qrels_warnings(judgements, measures, options)
    for name, path in named.items():
        run = read_run(path)
        report.warnings += overlap_warnings(name, qrels, judgements, run)
        ranked = chosen(
            rankings(judgements, run, options.missing, options.ties, options.max_grade), options
        )
        report.runs.append(run_scores(name, ranked, measures, options))
    if len(report.runs) > 1:
        report.comparisons = comparisons(report.runs, measures[0], options)
    if len(report.runs[0].scores.queries) < FEW_QUERIES:
        report.warnings.append(_few(report.runs[0]))
    return report


def chosen(ranked: Rankings, options: Options) -> Rankings:
    """The queries that count."""
    return ranked.choose(ranked.in_pool(1) > 0) if options.unanswerable == "skip" else ranked


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


def qrels_warnings(qrels: Qrels, measures: Sequence[Measure], options: Options) -> list[str]:
    """What a reader of the scores should know about the qrels."""
    found = []
    empty = sum(1 for grades in qrels.values() if max(grades.values()) < 1)
    if empty:
        what = (
            "left out" if options.unanswerable == "skip" else "they score 0 (--unanswerable skip)"
        )
        found.append(f"{empty} of {len(qrels)} queries have no relevant document; {what}")
    scaled = [str(m) for m in measures if m.name in SCALED]
    if scaled and options.max_grade is None:
        top = max(max(grades.values()) for grades in qrels.values())
        source = "the largest in the qrels; --max-grade says otherwise"
        found.append(f"{', '.join(scaled)}: took {top} for the scale's top grade, {source}")
    return found


def overlap_warnings(name: str, path: Path, qrels: Qrels, run: Run) -> list[str]:
    """Counts of queries that only one side has; `BadInput` where they share none."""
    common = qrels.keys() & run.keys()
    if not common:
        raise BadInput(_nothing_in_common(name, path, list(qrels), list(run)))
    found = []
    if missing := len(qrels) - len(common):
        found.append(f"{name}: {missing} of {len(qrels)} queries are missing from the run")
    if extra := len(run) - len(common):
        found.append(f"{name}: {extra} queries of the run are not in the qrels and are ignored")
    return found


def _nothing_in_common(name: str, path: Path, qrels: list[str], run: list[str]) -> str:
    sides = f"the qrels have {', '.join(qrels[:3])}; the run has {', '.join(run[:3])}"
    guess = _guess(qrels, set(run))
    return f"{path} and the run {name} share no query: {sides}" + (f"; {guess}" if guess else "")


def _guess(qrels: list[str], run: set[str]) -> str:
    """Why two sets of ids that share nothing might be meant to be the same."""
    if {q.lstrip("0") for q in qrels} & {q.lstrip("0") for q in run}:
        return "one side is padded with zeros (007 and 7)"
    if {q.removesuffix(".0") for q in qrels} & {q.removesuffix(".0") for q in run}:
        return "one side was read as numbers with decimals (7.0 and 7)"
    digits = {"".join(filter(str.isdigit, q)) for q in qrels} - {""}
    if digits & {"".join(filter(str.isdigit, q)) for q in run}:
        return "they differ in a prefix or suffix (q7 and 7)"
    return ""
