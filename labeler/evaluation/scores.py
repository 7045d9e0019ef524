"""One run's scores with their intervals and findings, and runs against each other."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labeler.arrays import Floats
from labeler.errors import BadInput
from labeler.evaluation.holes import Holes, UnjudgedOfAllRuns, has_ends, scenarios
from labeler.evaluation.inputs import Doubt
from labeler.evaluation.options import Compare, Scoring
from labeler.messages import count_of, no_query_in_common
from labeler.metrics import Rankings, score
from labeler.metrics.judged import Facts, JudgedPairs
from labeler.metrics.registry import Measure, parse, renamed
from labeler.metrics.scores import SMALLEST_IN_GEOMETRIC_MEAN, Scores, Weighting
from labeler.report.finding import Finding, Setting
from labeler.report.result import Hidden, Merged, as_plain
from labeler.report.table import Column, Interval, shown
from labeler.stats.families import Family, Systems, Verdict, compared, wins_ties_losses
from labeler.stats.intervals import of_next_set
from labeler.stats.means import bounded_interval, effect_of, share_interval
from labeler.trec.columns import Words

if TYPE_CHECKING:
    from labeler.stats.ppi import CorrectedMean

# Which measures are means over queries, and between which values they lie.

MEANS = ("mean", "share")
"""How measures that are means over queries are summed up."""
UNBOUNDED = frozenset({"DCG"})
"""Measures whose values have no highest one; all others lie between 0 and 1."""
UNDEFINED = (math.nan, math.nan)


def most_difference(measure: Measure) -> float:
    """The most by which two values of a measure can differ."""
    return math.inf if measure.name in UNBOUNDED else 1.0


NOT_KNOWN = "not known"


@dataclass(frozen=True)
class Comparison:
    """One run against the baseline by one measure, over the queries where all runs have a value.

    The verdict, its `p` and the interval allow for the whole `family`: `baseline`, the runs
    compared with one that was named before; `best`, those with the best of the same scores; `may be
    best`, the same of few queries; `all pairs`; `hsd`; and `pair`, of two runs alone.

    `effect` is the difference in standard deviations of the queries' differences, with an interval
    of this pair alone that leaves 0 out exactly where the test tells the two apart: `by_test` is
    what it says. Where holes are filled, `low` and `high` lie further out (`GradesUsed.lean`). With
    a `doubt` the verdict is not known. `unchecked` is the assessor whose grades these scores are
    by, where nobody checked them.
    """

    run: str
    baseline: str
    measure: str
    queries: int
    difference: float
    percent: float
    effect: Interval
    low: float
    high: float
    wins: int
    ties: int
    losses: int
    p: float
    family: Family
    by_test: Hidden[str]
    doubt: Doubt | None = None
    unchecked: str = ""

    @property
    def interval(self) -> Interval:
        """The difference with its interval."""
        return Interval(self.difference, self.low, self.high)

    @shown
    def next_set(self) -> Interval:
        """The difference, with where it lies on another set of as many queries like these."""
        most = most_difference(parse(self.measure))
        ends = of_next_set(self.difference, self.low, self.high, (-most, most))
        return Interval(self.difference, *ends)

    @property
    def counts(self) -> str:
        """Wins, ties and losses, as `3/0/1`."""
        return f"{self.wins}/{self.ties}/{self.losses}"

    @shown
    def verdict(self) -> str:
        """In words, at the 5 % level for the family; whose grades, where nobody checked."""
        if not self.queries:
            return "undefined"
        if self.doubt is not None:
            return NOT_KNOWN
        unchecked = f" by {self.unchecked}'s grades, unchecked" if self.unchecked else ""
        return f"{self.by_test}{unchecked}"


@dataclass(frozen=True)
class CorrectedDifference:
    """A run less the baseline by one measure, over the queries that count for both.

    The corrected interval, `p` and the verdict allow for the family of comparisons.
    """

    run: str
    baseline: str
    measure: str
    means: Merged[CorrectedMean]
    p: float
    family: Family
    verdict: str


def summary_interval(
    measure: Measure,
    values: Floats,
    seed: int = 0,
    weighting: Weighting | None = None,
) -> tuple[float, float]:
    """The interval of what a measure's queries are summed up to; `nan` for counts."""
    summary = measure.definition.summary
    if summary == "sum":
        return UNDEFINED
    if summary == "geometric":
        logs = np.log(np.maximum(values, SMALLEST_IN_GEOMETRIC_MEAN))
        bounds = math.log(SMALLEST_IN_GEOMETRIC_MEAN), 0.0
        low, high = bounded_interval(logs, bounds, seed, weighting) or UNDEFINED
        return math.exp(low), math.exp(high)
    if summary == "share" and weighting is None:
        return share_interval(values)
    most = 1.0
    if measure.name in UNBOUNDED:  # a query that nobody saw may have twice the largest value
        most = 2 * float(np.max(values, initial=0.5, where=~np.isnan(values)))
    return bounded_interval(values, (0.0, most), seed, weighting) or UNDEFINED


@dataclass(frozen=True, eq=False)
class Comparing:
    """Runs over the same queries, compared by a measure once that is asked for.

    With a `baseline`, or with the best by each measure; `compare` asks for another family.
    """

    scores: Mapping[str, Scores]
    baseline: str | None
    seed: int
    compare: Compare = "best"

    @cached_property
    def measures(self) -> list[Measure]:
        """The measures that are means over queries."""
        measures = next(iter(self.scores.values())).measures
        return [measure for measure in measures if measure.definition.summary in MEANS]

    @cached_property
    def by(self) -> Callable[[Measure], list[Comparison]]:
        """By a measure every other run against the baseline, or every pair; each is made once."""
        return cache(self._by)

    def _by(self, measure: Measure) -> list[Comparison]:
        names = list(self.scores)
        values = np.array([scores.of(measure) for scores in self.scores.values()])
        defined = ~np.isnan(values).any(axis=0)
        if not defined.any() or len(names) < 2:
            return []
        values, weighting = values[:, defined], next(iter(self.scores.values())).weighting
        weighting = None if weighting is None else weighting.choose(defined)
        systems = Systems(values, weighting, most_difference(measure))
        base = None if self.baseline is None else names.index(self.baseline)
        family = FAMILIES[self.compare]
        starts = systems.estimates.tolist()
        return [
            Comparison(
                names[v.first],
                names[v.second],
                str(measure),
                v.queries,
                v.estimate,
                100 * v.estimate / start if (start := starts[v.second]) else math.nan,
                _effect(values[v.first] - values[v.second], weighting, v),
                v.low,
                v.high,
                *wins_ties_losses(values[v.first] - values[v.second]),
                v.p,
                v.family,
                v.word,
            )
            for v in compared(systems, base, family, self.seed)
        ]


def _effect(differences: Floats, weighting: Weighting | None, verdict: Verdict) -> Interval:
    """The size of an effect, with an interval that leaves 0 out where the verdict's does."""
    value, low, high = effect_of(differences, weighting)
    low = min(low, 0.0) if verdict.low <= 0 else max(low, 0.0)
    high = max(high, 0.0) if verdict.high >= 0 else min(high, 0.0)
    return Interval(value, low, high)


FAMILIES: Mapping[Compare, Family | None] = {"best": None, "all": "all pairs", "hsd": "hsd"}


@dataclass(frozen=True)
class Weights:
    """The weights of queries by a field of their metadata, which `source` has.

    `chances` are those of being drawn, empty where they are not known of all.
    """

    by: str
    weights: Mapping[str, float]
    source: str
    chances: Mapping[str, float] = field(default_factory=dict)

    def has(self, queries: Sequence[str]) -> list[bool]:
        """Which queries have a weight; `BadInput` where none has."""
        mask = [query in self.weights for query in queries]
        if not any(mask):
            raise BadInput(
                f"no query of {self.source} that is scored has a {self.by}", parameter="weights"
            )
        return mask

    def of(self, queries: Sequence[str]) -> Weighting:
        """The weights of these queries."""
        weights, chances = (
            np.array([of[query] for query in queries if of], dtype=np.float64)
            for of in (self.weights, self.chances)
        )
        return Weighting(weights, chances if self.chances else None)


@dataclass(frozen=True)
class RunScores:
    """One run's scores with their intervals, and what unjudged documents leave open.

    `of_all` is `None` where nobody asks for scenarios. `outside` are the run's documents outside
    the qrels, where there are other runs. What is not asked for is not worked out. `file` is the
    run's, where it has one.
    """

    name: str
    scores: Scores
    seed: int
    ranked: Rankings
    outside: Words | None = None
    of_all: UnjudgedOfAllRuns | None = None
    file: Path | None = None

    @cached_property
    def shares(self) -> Scores:
        """The shares judged of each query, at the measures' cutoffs."""
        measures = self.scores.measures
        cutoffs = sorted({m.cutoff for m in measures if isinstance(m.cutoff, int)}) or [10]
        shares = score(self.ranked, [f"Judged@{cutoff}" for cutoff in cutoffs])
        return replace(shares, weighting=self.scores.weighting)

    @cached_property
    def judged(self) -> dict[str, float]:
        """The shares judged, summed up over the queries."""
        return self.shares.means()

    @cached_property
    def mark(self) -> str:
        """A hash of which grades stand where: runs with one rank grades alike in every query."""
        ranked = self.ranked
        digest = hashlib.blake2b("\n".join(ranked.queries).encode(), digest_size=16)
        for column in (ranked.retrieved, ranked.query, ranked.rank, ranked.grade):
            digest.update(np.ascontiguousarray(column, dtype=np.int64).tobytes())
        return digest.hexdigest()

    @cached_property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """The interval of each mean, by measure."""
        return intervals(self.scores, self.seed)

    @cached_property
    def holes(self) -> Holes | None:
        """The unjudged documents, those of other runs, too; None where nobody asks."""
        if self.of_all is None:
            return None
        return Holes(self.ranked, self.of_all.others(self.outside, self.ranked.queries))

    @cached_property
    def scenarios(self) -> dict[str, dict[str, float]]:
        """By measure, its mean if all unjudged documents were irrelevant, or of top grade."""
        return {} if self.holes is None else scenarios(self.holes, self.scores.measures)

    @cached_property
    def ends(self) -> Callable[[str], dict[str, float]]:
        """The least and the most that a mean can be, as `low` and `high`; empty if not known."""
        return cache(self._ends)

    def _ends(self, measure: str) -> dict[str, float]:
        if self.holes is None or not has_ends(parse(measure)):
            return {}
        of: dict[str, dict[str, float]] | None = vars(self).get("scenarios")
        return (of or scenarios(self.holes, [parse(measure)], ends_alone=True))[measure]

    def means(self) -> dict[str, Interval]:
        """Measure to its value with the interval."""
        means = self.scores.means().items()
        return {name: Interval(value, *self.intervals[name]) for name, value in means}

    def next_set(self) -> dict[str, Interval]:
        """Measure to its value, with where it lies on another set of as many queries like these."""
        highest = {str(m): most_difference(m) for m in self.scores.measures}
        ends, weighting = self.intervals, self.scores.weighting
        if weighting is not None:  # of all queries, not of those that a log had
            weighting = replace(weighting, chances=None)
            ends = intervals(replace(self.scores, weighting=weighting), self.seed)
        return {
            name: Interval(mean, *of_next_set(mean, *ends[name], (0.0, highest[name])))
            for name, mean in self.scores.means().items()
        }

    def as_json(self, *, per_query: bool = False) -> dict[str, Any]:
        """The scores; what is undefined is None."""
        figures: dict[str, object] = {
            "run": self.name,
            "queries": len(self.scores.queries),
            "scores": self.means(),
            "next_set": self.next_set(),
            "judged": self.judged,
            "scenarios": self.scenarios,
        }
        if self.scores.weighting is not None:
            figures["effective_queries"] = self.scores.weighting.effective
        if per_query:
            figures["per_query"] = self.scores.per_query()
        plain: dict[str, Any] = as_plain(figures)
        return plain


def intervals(scores: Scores, seed: int) -> dict[str, tuple[float, float]]:
    """The 95 % interval over queries of each mean; `nan` for sums and where nothing is defined.

    It reaches further where grades that fill holes may be off.
    """
    ends = {}
    for measure, row in zip(scores.measures, scores.values, strict=True):
        low, high = summary_interval(measure, row, seed, scores.weighting)
        most = most_difference(measure)
        ends[str(measure)] = max(low - scores.lean, 0.0), min(high + scores.lean, most)
    return ends


def counted(ranked: Rankings, scoring: Scoring, weights: Weights | None = None) -> Rankings:
    """The rankings of the queries that count, with the top grade given.

    With weights those count that have one.
    """
    counts = np.ones(ranked.n, dtype=np.bool_)
    if weights is not None:
        counts &= np.array(weights.has(ranked.queries), dtype=np.bool_)
    if scoring.unanswerable == "skip":
        counts &= ranked.in_pool(1) > 0
    if scoring.missing == "skip":
        counts &= ranked.retrieved > 0
    if not counts.any():
        raise BadInput("no query is left to score: all are missing or have no relevant document")
    if not counts.all():
        ranked = ranked.choose(counts)
    return ranked if scoring.max_grade is None else replace(ranked, max_grade=scoring.max_grade)


def over_common_queries(scores: Mapping[str, Scores]) -> dict[str, Scores]:
    """The scores of the queries that all runs have."""
    common = set.intersection(*(set(s.queries) for s in scores.values()))
    return {
        name: s
        if len(s.queries) == len(common)
        else s.choose([query in common for query in s.queries])
        for name, s in scores.items()
    }


def in_order(runs: Sequence[RunScores], measure: str) -> list[RunScores]:
    """The runs by their score, the best first; undefined ones last, equal ones as they stood."""
    return sorted(runs, key=lambda run: -np.nan_to_num(run.scores.means()[measure], nan=-np.inf))


# Columns and words of scores.

NAMED = 3
"""So many runs are named; of more their number is said."""


def is_sum(measure: str) -> bool:
    """Whether a measure counts, so that its queries are added up."""
    return parse(measure).definition.summary == "sum"


def measure_column(name: str) -> Column:
    """The column of a measure: means with their intervals."""
    return Column(name, format=".0f" if is_sum(name) else ".4f", ends=".3f", undefined="undefined")


def listed(names: Sequence[str]) -> str:
    """Names in a sentence; of many, how many there are."""
    if len(names) > NAMED:
        return f"{len(names)} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# What a reader of scores should know, one finding each.

FEW_QUERIES = 25
WELL_JUDGED = 0.95
SCALED = ("ERR", "nERR", "RBP")
"""Measures whose gain depends on the scale's top grade."""


def name_findings(texts: Sequence[str]) -> list[Finding]:
    """Which measures go by another name than they were asked for by."""
    return [
        Finding(f"{word} goes by the name {name} here", about=name, level="note")
        for word, name in renamed(texts).items()
    ]


def qrels_findings(
    pool: JudgedPairs, measures: Sequence[Measure], scoring: Scoring, *, may_skip: bool = True
) -> list[Finding]:
    """Of the qrels: queries without a relevant document, and a top grade that nobody named.

    `may_skip` says whether the caller can leave such queries out.
    """
    findings = []
    n = len(pool.queries)
    empty = int((np.bincount(pool.query[pool.grade > 0], minlength=n) == 0).sum())
    if empty:
        what = f"{_of(empty, n)} without a relevant document"
        skip = Setting("unanswerable", "skip")
        counted = Finding(f"{what}; counted as 0")
        findings.append(_left_out(what, skip, scoring.unanswerable) if may_skip else counted)
    scaled = [str(m) for m in measures if m.name in SCALED and "rel" not in dict(m.parameters)]
    if scaled and scoring.max_grade is None:
        top = Setting("max_grade")
        source, advice = "the largest in the qrels", f"; {top} says otherwise"
        text = f"{', '.join(scaled)}: took {pool.max_grade} for the scale's top, {source}{advice}"
        findings.append(Finding(text, settings=(top,), advice=advice))
    return findings


def run_findings(name: str, pool: JudgedPairs, facts: Facts, scoring: Scoring) -> list[Finding]:
    """What a reader of the scores should know about a run; `BadInput` where no query is common."""
    if not facts.common:
        raise BadInput(
            no_query_in_common(pool.name, pool.queries, f"the run {name}", facts.some_ids)
        )
    findings = []
    if missing := len(pool.queries) - facts.common:
        what = f"{name}: {_of(missing, len(pool.queries))} missing from the run"
        finding = _left_out(what, Setting("missing", "skip"), scoring.missing, name)
        each = finding.text.partition(f"{missing:,} ")[2]
        findings.append(replace(finding, each=each, count=missing))
    if not facts.matched:
        text = "none of its documents stands in the qrels; are their ids the same?"
        findings.append(Finding(f"{name}: {text}", name, each=text))
    ordered = "ordered as trec_eval does"
    counts = (
        (facts.extra, ("query", "queries"), "of the run not in the qrels: ignored"),
        (facts.tied_pairs, ("pair", "pairs"), f"of documents tied in score; {ordered}"),
        (facts.contradictions, ("line", "lines"), f"whose rank contradicts the score; {ordered}"),
    )
    return findings + [
        Finding(f"{name}: {count_of(n, *nouns)} {rest}", name, each=f"{nouns[1]} {rest}", count=n)
        for n, nouns, rest in counts
        if n
    ]


def _left_out(what: str, skip: Setting, value: str, about: str = "") -> Finding:
    """That some queries are left out, or which setting would leave them out."""
    if value == skip.value:
        return Finding(f"{what}; left out", about)
    advice = f" ({skip} leaves them out)"
    return Finding(f"{what}; counted as 0{advice}", about, (skip,), advice=advice)


def _of(some: int, every: int) -> str:
    """`1 of 3 queries`, `1 of 1 query`."""
    return f"{some:,} of {count_of(every, 'query')}"


def score_findings(name: str, scores: Scores) -> list[Finding]:
    """Of a run's values: the queries for which a measure is undefined, and so not in its mean."""
    findings, every = [], count_of(len(scores.queries), "query")
    for measure, values in zip(scores.measures, scores.values, strict=True):
        if n := int(np.isnan(values).sum()):
            each = f"of {every} for which {measure} is undefined, left out"
            text = f"{name}: {measure} is undefined for {n:,} of {every}: left out"
            findings.append(Finding(text, about=name, each=each, count=n))
    return findings


def identical_findings(runs: Sequence[RunScores]) -> list[Finding]:
    """Which runs rank documents of the same grades alike in every query, as copies of a run do."""
    names_by_mark = defaultdict[str, list[str]](list)
    for run in runs:
        names_by_mark[run.mark].append(run.name)
    same = "rank documents of the same grades alike in every query: copies of one run?"
    return [
        Finding(f"{' and '.join(names)} {same}", about=names[0])
        for names in names_by_mark.values()
        if len(names) > 1
    ]


def few_queries(queries: int) -> list[Finding]:
    """That so many are few."""
    if queries >= FEW_QUERIES:
        return []
    wide = f"{queries} queries: intervals are wide"
    return [Finding(f"only {wide if queries != 1 else '1 query: there is no interval'}")]


def hole_findings(runs: Sequence[RunScores]) -> list[Finding]:
    """Of the run that is judged least: what its unjudged documents could do to a score."""
    run = min(runs, key=lambda run: next(iter(run.judged.values())))
    share_name, share = next(iter(run.judged.items()))
    measure = next(filter(has_ends, run.scores.measures), None)
    if measure is None or share >= WELL_JUDGED or not (case := run.ends(str(measure))):
        return []
    low, high = (f"{case[end]:.3f}" for end in ("low", "high"))
    if low == high:  # what is open changes nothing
        return []
    table = Setting("scenarios")
    what = f"were the rest judged, its {measure} could be anything from {low} to {high} ({table})"
    return [Finding(f"{run.name}: {share_name} is {share:.2f}; {what}", run.name, (table,))]
