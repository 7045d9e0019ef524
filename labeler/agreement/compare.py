"""Every statistic of two assessors, with its interval over queries, from aligned labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from labeler.agreement.align import AssessorLabels, LeftOut, Rules, align_tally
from labeler.agreement.estimate import Estimate, Naive, StatisticOptions, estimate, value_of
from labeler.agreement.mismatch import suspicions
from labeler.agreement.statistics import STATISTICS, find_statistic
from labeler.agreement.statistics.contingency import GradedPairs, query_tables
from labeler.agreement.statistics.registry import Statistic, default_names
from labeler.agreement.tally import GradeTally, Labels, tally_of
from labeler.agreement.warnings import cautions, unused_cuts
from labeler.arrays import Floats
from labeler.data import Pair, Qrels
from labeler.errors import Misuse, about
from labeler.messages import no_pair_in_common
from labeler.report.finding import Finding
from labeler.stats.intervals import METHODS
from labeler.stats.resampling import Sample

__all__ = [
    "Agreement",
    "Estimate",
    "Naive",
    "Scenario",
    "StatisticOptions",
    "agreement_of",
    "compare_qrels",
    "estimated",
    "selected_statistics",
]

ALL = "all"
HEADLINE = ("agreement", "kappa", "bias", "spearman", "prevalence", "kappa-max", "ac1")
"""What a summary in words needs, whatever else was asked for."""
FAR_BELOW = -0.3
"""No assessor that reads the grades as people do comes to a rank correlation below this."""


@dataclass(frozen=True)
class Scenario:
    """A statistic, had the other graded what it did not: all as people, or all farthest off."""

    all_agree: float | None
    all_differ: float | None


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far two assessors agree; the `sample` is of tables by query, people's grades in rows.

    `statistics` are those asked for, `headline` those of `HEADLINE`; `unused` names the statistics
    at cuts that no pair lies beyond.
    """

    pairs: int
    queries: tuple[str, ...]
    scale: tuple[int, ...]
    paired: GradedPairs
    sample: Sample
    left_out: LeftOut
    statistics: dict[str, Estimate]
    headline: dict[str, Estimate]
    scenarios: dict[str, Scenario]
    warnings: tuple[Finding, ...]
    unused: frozenset[str] = frozenset()

    @property
    def is_weighted(self) -> bool:
        """Whether the pairs are a sample that is weighted back to the pool."""
        return self.paired.weight is not None

    @property
    def tables(self) -> Floats:
        """The contingency table of each query, `(queries, k, k)`."""
        return self.sample.sums

    @property
    def confusion(self) -> Floats:
        """The contingency table of all queries together."""
        return np.asarray(self.tables.sum(axis=0), dtype=np.float64)


def compare_qrels(
    human: Qrels,
    assessor: Labels,
    rules: Rules | None = None,
    options: StatisticOptions | None = None,
) -> Agreement:
    """How far `other` agrees with `people`, from the labels as they are."""
    return agreement_of(
        human, AssessorLabels(assessor), rules or Rules(), options or StatisticOptions()
    )


def agreement_of(
    human: Qrels,
    assessor: AssessorLabels,
    rules: Rules,
    options: StatisticOptions,
    weights: Mapping[Pair, float] | None = None,
) -> Agreement:
    """Every statistic that the options name, with what was left out and what looks wrong."""
    tally = assessor.tally or tally_of(human, assessor, weights)
    both = align_tally(tally, rules)
    paired, left_out = both.pairs, both.left_out
    scale, pairs = paired.grades, len(paired)
    grades = np.array(scale, dtype=np.float64)
    sample = Sample(query_tables(paired), options.draws, options.seed)
    statistics = selected_statistics(options, scale)
    headline = [find_statistic(name, scale) for name in HEADLINE]
    estimates = {s.name: estimate(s, sample, grades, options, pairs) for s in statistics}
    also = {s.name: estimate(s, sample, grades, options, pairs) for s in headline}
    against = _reversed_correlation(also["spearman"], pairs)
    warnings = [
        *_of_sample(sample.total, pairs, assessor.human, is_weighted=weights is not None),
        *_mismatch(human, assessor, tally),
        *suspicions(tally, assessor.human, rules, scale, against),
        *cautions(statistics, sample, scale, estimates, options.method),
    ]
    missing = left_out.missing
    return Agreement(
        pairs,
        paired.queries,
        scale,
        paired,
        sample,
        left_out,
        estimates,
        also,
        {s.name: _scenario(s, sample.total, missing, grades) for s in statistics},
        tuple(warnings),
        frozenset(unused_cuts(statistics, sample.total, scale)),
    )


def _mismatch(human: Qrels, assessor: AssessorLabels, tally: GradeTally) -> list[Finding]:
    """A finding that no pair has both a human grade and a label."""
    if tally.meets:
        return []
    return [Finding(no_pair_in_common(assessor.human, human, assessor.name, assessor.labels))]


def selected_statistics(options: StatisticOptions, grades: tuple[int, ...]) -> list[Statistic]:
    """The statistics that the options name; `Misuse` for one, or a method, that is unknown."""
    if options.method not in METHODS:
        problem = f"no method {options.method!r}; known: {', '.join(METHODS)}"
        raise Misuse(problem, parameter="method")
    names = default_names(grades) if options.names is None else list(options.names)
    everything = [*default_names(grades), *STATISTICS]
    expanded = [n for name in names for n in (everything if name == ALL else [name])]
    with about("statistics"):
        return [find_statistic(name, grades) for name in dict.fromkeys(expanded)]


def estimated(statistic: Statistic, agreement: Agreement, options: StatisticOptions) -> Estimate:
    """The estimate of a statistic that the agreement does not hold yet."""
    grades = np.array(agreement.scale, dtype=np.float64)
    return estimate(statistic, agreement.sample, grades, options, agreement.pairs)


def _scenario(statistic: Statistic, table: Floats, missing: Floats, grades: Floats) -> Scenario:
    """The statistic with the missing pairs filled in: none differ, or each as far as it can."""
    agree, differ = table.copy(), table.copy()
    for index, count in enumerate(missing):
        farthest = int(np.argmax(np.abs(grades - grades[index])))
        agree[index, index] += count
        differ[index, farthest] += count
    return Scenario(value_of(statistic, agree, grades), value_of(statistic, differ, grades))


def _reversed_correlation(e: Estimate, pairs: int) -> float | None:
    """The rank correlation, where it is surely below 0, or far below in more than a few pairs."""
    if e.value is None:
        return None
    far = e.value <= FAR_BELOW and e.value * math.sqrt(pairs) < -2
    return e.value if far or (e.high is not None and e.high < 0) else None


def _of_sample(table: Floats, pairs: int, human: str, *, is_weighted: bool) -> Iterator[Finding]:
    """A finding that the pairs are a sample, where they are one."""
    if is_weighted:
        whole = f"weighted to stand for about {table.sum():,.0f}"
        yield Finding(f"{human} graded a sample: {pairs:,} pairs, {whole}")
