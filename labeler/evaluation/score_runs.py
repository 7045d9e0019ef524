"""The runs of an evaluation scored, by one process or several, with what is to be said of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path
from typing import NamedTuple, TypeVar

from labeler.data import Run
from labeler.evaluation.holes.several import LeftOpen, SeveralRuns, depths_of
from labeler.evaluation.inputs import RunsByName, rank
from labeler.evaluation.jobs.workers import Workers
from labeler.evaluation.options import EvaluationOptions
from labeler.evaluation.query_facts import Weights
from labeler.evaluation.scores import RunScores, counted, run_scores, to_answer
from labeler.evaluation.warnings import run_findings, score_findings
from labeler.files.read import copies_of, reading_copies, rereadable
from labeler.messages import Progress, no_progress
from labeler.metrics import Measure, Rankings
from labeler.report.finding import Finding
from labeler.trec.holes import RunHoles
from labeler.trec.pool import Pool

Item = TypeVar("Item")


class ScoredRuns(NamedTuple):
    """The scores of runs, what several leave open together, and what is to be said of each.

    `queries` count of a run that answers all of them.
    """

    runs: list[RunScores]
    together: SeveralRuns | None
    findings: list[Finding]
    queries: list[str]


@dataclass(frozen=True)
class _Against:
    """What all runs are scored against, and how; `shares_holes` where several runs' are weighed."""

    pool: Pool
    measures: Sequence[Measure]
    options: EvaluationOptions
    weights: Weights | None
    shares_holes: bool

    @property
    def depths(self) -> tuple[float, ...] | None:
        """The ranks down to which unjudged documents are kept, where several runs' are weighed."""
        return depths_of(self.measures) if self.shares_holes else None

    @property
    def parts(self) -> Sequence[object]:
        """The arrays of the qrels, which rankings hold too."""
        return self.pool.queries, self.pool.query, self.pool.grade


@dataclass(frozen=True)
class _Scorable:
    """A run to score; `copies` hold what can be read only once."""

    name: str
    run: Path | Run
    copies: Mapping[Path, Path] = field(default_factory=dict)


class _Scored(NamedTuple):
    """One run's scores and findings; its rankings and holes where several runs' are weighed."""

    scores: RunScores
    findings: list[Finding]
    queries: list[str]
    ranked: Rankings | None
    holes: RunHoles | None


def score_runs(
    runs: RunsByName,
    pool: Pool,
    measures: Sequence[Measure],
    options: EvaluationOptions,
    weights: Weights | None,
) -> ScoredRuns:
    """Each run's scores, and of several runs what their unjudged documents leave open together.

    Of weighted means nothing is said of unjudged documents. With several `options.jobs` each run is
    scored by one process, and the qrels' arrays are mapped by all.
    """
    shares_holes = options.scenarios and weights is None and len(runs) > 1
    alone = options.scenarios and weights is None and not shares_holes
    how = replace(options, scenarios=alone, progress=no_progress)
    against = _Against(pool, measures, how, weights, shares_holes)
    together = SeveralRuns(pool.queries, measures)
    scored: list[RunScores] = []
    findings: list[Finding] = []
    queries: list[str] = []
    has_others = options.jobs > 1
    with Workers(options.jobs) as workers, rereadable() if has_others else nullcontext():
        items = _scorable(runs, copied=has_others)
        each = workers.map(_score, against, items)
        for run in _counted_by(options.progress, "runs scored", each, len(items)):
            scored.append(run.scores)
            findings += run.findings
            queries = queries or run.queries
            if run.ranked is not None and run.holes is not None:
                together.add(run.scores.name, run.ranked, run.holes)
        if not shares_holes:
            return ScoredRuns(scored, None, findings, queries)
        names = [run.name for run in scored]
        opened = workers.map(_left_open, together, names)
        step = "unjudged documents of runs"
        for number, left in enumerate(_counted_by(options.progress, step, opened, len(names))):
            together.hold(names[number], left)
            scored[number] = replace(scored[number], scenarios=left.scenarios)
    return ScoredRuns(scored, together, findings, queries)


def _scorable(runs: RunsByName, *, copied: bool) -> list[_Scorable]:
    """The runs; what can be read only once is copied first where other processes read it."""
    return [
        _Scorable(name, run, copies_of([run]) if copied and isinstance(run, Path) else {})
        for name, run in runs.items()
    ]


def _counted_by(progress: Progress, step: str, items: Iterable[Item], total: int) -> Iterator[Item]:
    """The items, of which `progress` is told how many are done."""
    with progress(step) as advance:
        for number, item in enumerate(items, start=1):
            yield item
            advance(number, total)


def _score(against: _Against, item: _Scorable) -> _Scored:
    """One run's scores, in whichever process."""
    pool, scoring, weights = against.pool, against.options.scoring, against.weights
    with reading_copies(item.copies):
        ranked, facts = rank(item.run, pool, scoring.ties, holes=against.depths)
    findings = run_findings(item.name, pool, facts, scoring)
    queries = list(compress(ranked.queries, to_answer(ranked, scoring, weights)))
    ranked = counted(ranked, scoring, weights)
    weighting = None if weights is None else weights.of(ranked.queries)
    scores = run_scores(item.name, ranked, against.measures, against.options, weighting)
    findings += score_findings(item.name, scores.scores)
    if facts.holes is None:
        return _Scored(scores, findings, queries, None, None)
    plain = replace(ranked)  # without what was derived from it for measures
    return _Scored(scores, findings, queries, plain, facts.holes)


def _left_open(together: SeveralRuns, name: str) -> LeftOpen:
    return together.left_open(name)
