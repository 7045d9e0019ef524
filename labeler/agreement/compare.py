"""Every statistic of two assessors, with its interval over queries, from aligned labels."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, floor

import numpy as np

from labeler.agreement.align import (
    PEOPLE,
    Aligned,
    AssessorLabels,
    GradeMatrix,
    Labels,
    LeftOut,
    PairWeights,
    Rules,
    align,
)
from labeler.agreement.statistics import (
    NO_PAIRS,
    STATISTICS,
    Statistic,
    default_names,
    find_statistic,
)
from labeler.arrays import Floats
from labeler.data import Qrels
from labeler.errors import about
from labeler.messages import no_pair_in_common
from labeler.options import DRAWS, SEED, Options, option
from labeler.report.finding import Finding, Setting
from labeler.report.table import Interval
from labeler.stats.intervals import (
    Compute,
    Replicates,
    Sample,
    between,
    jackknife,
    of_next_set,
    of_tables,
)
from labeler.stats.means import share_interval

# One statistic of an assessor and people: its value and its interval over queries.

INTERVALS_OF = "Intervals"
IN_GRADES = ("mae", "bias")
"""Statistics that cannot exceed the width of the scale."""


@dataclass(frozen=True)
class StatisticOptions(Options):
    """Which statistics (the default ones where `None`), and the draws of their intervals."""

    names: Sequence[str] | None = option(
        None, "A statistic, or 'all' of them; repeatable.", flags="-s --statistic"
    )
    draws: int | None = option(
        None,
        "Draws for differences and ceilings (1,000; of few queries up to 10,000).",
        DRAWS,
        panel=INTERVALS_OF,
        rare=True,
    )
    seed: int = option(0, "Seed of these draws.", SEED, panel=INTERVALS_OF)


UNDEFINED = Interval(None, None, None)


def estimate(statistic: Statistic, sample: Sample) -> Interval:
    """One statistic's value and interval; nothing but `None` where it is undefined."""
    value = defined(statistic(sample.total))
    if value is None:
        return UNDEFINED
    ends = of_tables(Replicates(sample, statistic))
    if ends is None:
        return Interval(value, None, None)
    return Interval(value, *np.clip(ends, *_limits(statistic)).tolist())


def interval_of(sample: Sample, compute: Compute, *, bounded: bool = False) -> Interval:
    """A function of sums over queries with its interval; `None` alone where it is undefined."""
    value = defined(compute(sample.total))
    if value is None:
        return UNDEFINED
    return Interval(value, *between(sample, compute, bounded=bounded))


def defined(value: float | Floats) -> float | None:
    """A value as a number, `None` where it is `nan` or infinite."""
    number = float(value)
    return number if math.isfinite(number) else None


def _limits(statistic: Statistic) -> tuple[float, float]:
    """Between what the statistic's values lie, on its scale."""
    most = math.inf
    if statistic.name in IN_GRADES:
        most = float(statistic.grades[-1] - statistic.grades[0])
    low, high = statistic.low, statistic.high
    return -most if low is None else low, most if high is None else high


# What to say beside statistics: too few queries, undefined values, intervals that are not there.
#
# What intervals cover was measured by scripts/simulate_coverage.py, in its two made worlds and in
# those of TREC DL 2019, LLMJudge and Chorus. It is said by the number of queries alone: what a
# sample shows of its own oddness says the opposite of what it seems to. Samples that missed the
# odd queries look even, and it is their intervals that miss the truth.

FEW_QUERIES = 50
COVERED_BY_FEW = "87 to 100"
"""Of 100 intervals over 3 to 50 queries; the least are Pearson's, over 20."""


def cautions(statistics: Sequence[Statistic], agreement: Agreement) -> Iterator[str]:
    """Every warning that the values and their intervals call for, the general ones first."""
    sample, estimates = agreement.sample, agreement.statistics
    queries = sample.queries
    if queries == 1:
        yield "one query only: no interval can be given, for nothing shows how queries differ"
    elif 1 < queries < FEW_QUERIES:
        yield (
            f"only {queries} queries: in simulations with 3 to {FEW_QUERIES} of them "
            f"{COVERED_BY_FEW} of 100 such intervals held the truth, instead of 95"
        )
    reasons: dict[str, list[str]] = {}
    for statistic in statistics:
        if estimates[statistic.name].value is None:
            reason = statistic.undefined if sample.total.sum() else NO_PAIRS
            reasons.setdefault(reason, []).append(statistic.name)
    for reason, undefined in reasons.items():
        yield f"{', '.join(undefined)} undefined: {reason}"
    if queries < 2:
        return
    if open_ := [n for n, e in estimates.items() if e.value is not None and e.low is None]:
        yield f"{_names(open_)}: no interval, for without some of these queries it is undefined"
    exact = [n for n, e in estimates.items() if e.low is not None and (e.high or 0) - e.low < 1e-9]
    if exact:
        yield (
            f"{_names(exact)}: no width to the interval, for every query here says the same; no "
            "certainty"
        )


def _names(names: Sequence[str]) -> str:
    """All of up to four names, three of more."""
    more = f" and {len(names) - 3} more" if len(names) > 4 else ""
    return ", ".join(names[:3] if more else names) + more


ALL = "all"
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

    `statistics` are those asked for.
    """

    paired: GradeMatrix
    sample: Sample
    left_out: LeftOut
    statistics: dict[str, Interval]
    scenarios: dict[str, Scenario]
    warnings: Sequence[Finding] = ()

    def of(self, name: str) -> Interval:
        """A statistic with its interval, whether it was asked for or not."""
        statistic = find_statistic(name, self.scale)
        return self.statistics.get(statistic.name) or estimate(statistic, self.sample)

    @property
    def next_set(self) -> dict[str, Interval]:
        """The statistics, with where they lie on another set of as many queries like these."""
        ends = {}
        for name, (value, low, high) in self.statistics.items():
            if value is not None and low is not None and high is not None:
                limits = _limits(find_statistic(name, self.scale))
                ends[name] = Interval(value, *of_next_set(value, low, high, limits))
        return ends

    @property
    def pairs(self) -> int:
        """How many pairs both graded."""
        return self.paired.pairs.size

    @property
    def queries(self) -> Sequence[str]:
        """The queries of these pairs."""
        return self.paired.pairs.queries

    @property
    def scale(self) -> Sequence[int]:
        """The grades, as they were read."""
        return self.paired.grades

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
        return self.sample.total


def compare_labels(
    human: Qrels,
    assessor: Labels | AssessorLabels,
    rules: Rules | None = None,
    options: StatisticOptions | None = None,
    weights: PairWeights = None,
) -> Agreement:
    """How far `assessor` agrees with `human`, with what was left out and what looks wrong."""
    assessor = assessor if isinstance(assessor, AssessorLabels) else AssessorLabels(assessor)
    options, both = options or StatisticOptions(), align(human, assessor, rules or Rules(), weights)
    scale, people = both.pairs.grades, assessor.human
    sample = Sample(both.pairs.tables(), options.draws, options.seed)
    statistics = selected_statistics(options, scale)
    agreement = Agreement(
        both.pairs,
        sample,
        both.left_out,
        {s.name: estimate(s, sample) for s in statistics},
        _scenarios(statistics, sample.total, both.left_out.missing, scale),
    )
    warnings = []
    if agreement.is_weighted:
        warnings.append(
            f"{people} graded a sample: {agreement.pairs:,} pairs, weighted to stand for about "
            f"{sample.total.sum():,.0f}"
        )
    if not both.labels:
        warnings.append(no_pair_in_common(people, human, assessor.name, assessor.labels))
    in_use = GradesInUse.of(both, people)
    findings = [
        *map(Finding, warnings),
        *in_use.suspicions(_against_each_other(agreement)),
        *map(Finding, cautions(statistics, agreement)),
    ]
    return replace(agreement, warnings=tuple(findings))


def _against_each_other(agreement: Agreement) -> float | None:
    """The rank correlation, where it is surely below 0, or far below in more than a few pairs."""
    order, _, most = agreement.of("spearman")
    is_far = order is not None and order <= FAR_BELOW and order * math.sqrt(agreement.pairs) < -2
    return order if is_far or (most is not None and most < 0) else None


def selected_statistics(options: StatisticOptions, grades: Sequence[int]) -> list[Statistic]:
    """The statistics that the options name; `Misuse` for one that is unknown."""
    names = default_names(grades) if options.names is None else list(options.names)
    everything = [*default_names(grades), *STATISTICS]
    expanded = [n for name in names for n in (everything if name == ALL else [name])]
    with about("names"):
        return [find_statistic(name, grades) for name in dict.fromkeys(expanded)]


def _scenarios(
    statistics: Sequence[Statistic], table: Floats, missing: Floats, scale: Sequence[int]
) -> dict[str, Scenario]:
    """The statistics with the missing pairs filled in: none differ, or each as far as it can."""
    agree, differ = table + np.diag(missing), table.copy()
    differ[np.arange(len(scale)), np.abs(np.subtract.outer(scale, scale)).argmax(axis=1)] += missing
    return {s.name: Scenario(defined(s(agree)), defined(s(differ))) for s in statistics}


# A share of pairs, as a ratio of sums over queries, with its interval of 95 % over these.

TINY = 1e-12


def share_of(part: Floats, whole: Floats, options: StatisticOptions) -> Interval:
    """The share of the sums of a part in those of the whole, `(queries,)` each.

    Where none or all is in the part, resampling shows nothing else than what was seen; the interval
    is then as wide as so many queries leave open. A share near 0 or 1 is skewed, and the jackknife
    of its log odds reaches farther toward the middle: the interval holds both
    (scripts/simulate_diff.py).
    """
    value = float(part.sum() / whole.sum())
    if value < TINY or value > 1 - TINY:
        return Interval(float(round(value)), *share_interval((part > TINY).astype(np.float64)))
    sample = Sample(np.stack([part, whole], axis=1), options.draws, options.seed)
    low, high = between(sample, _ratio)
    if low is None or high is None:
        return Interval(value, None, None)
    skewed = jackknife(Replicates(sample, _log_odds))
    ends = (1 / (1 + math.exp(-end)) for end in skewed or ())
    every = [max(low, 0.0), min(high, 1.0), *ends]
    return Interval(value, min(every), max(every))


def _log_odds(sums: Floats) -> Floats:
    """`(..., 2)` sums of a part and of the whole to `(...)` log odds, infinite of none or all."""
    shares = _ratio(sums)
    with np.errstate(divide="ignore"):
        return np.log(shares * (shares > TINY)) - np.log((1 - shares) * (shares < 1 - TINY))


def _ratio(sums: Floats) -> Floats:
    """`(..., 2)` sums of a part and of the whole to `(...)` shares."""
    return sums[..., 0] / sums[..., 1]


# Signs that two sets of labels do not mean the same by their grades, or not the same pairs.

SHARE_OUTSIDE = 0.05
"""From this share of labels outside the scale on, the scale is suspicious."""
RARE = 0.005
"""Grades of a smaller share say nothing about a scale: a stray 10 is a slip."""


@dataclass(frozen=True, eq=False)
class GradesInUse:
    """People's grades and the other's `numbers` on their pairs, as the rules map both.

    `numbers` counts how often each stands there; `people` is what those are called.
    """

    people: str
    ours: set[int]
    numbers: Counter[float]
    scale: Sequence[int]
    rules: Rules

    @classmethod
    def of(cls, both: Aligned, people: str) -> GradesInUse:
        """Those of labels that stand beside human grades."""
        rules = both.reader.rules
        ours = {rules.map_human.get(grade, grade) for grade in both.human_grades if grade >= 0}
        numbers: Counter[float] = Counter()
        for label, count in both.labels.items():
            value = both.reader.number(label)
            if value is not None:
                numbers[value] += count
        return cls(people, ours, numbers, both.pairs.grades, rules)

    @cached_property
    def usual(self) -> set[float]:
        """The numbers that are no mere slips."""
        least = RARE * self.numbers.total()
        return {value for value, n in self.numbers.items() if n >= least} or set(self.numbers)

    @property
    def ranges(self) -> str:
        """From where to where the grades of both sides go, in words."""
        return (
            f"{self.people}'s grades are {min(self.ours)} to {max(self.ours)}, the other's "
            f"{min(self.usual):g} to {max(self.usual):g}"
        )

    def suspicions(self, order: float | None) -> Iterator[Finding]:
        """What looks wrong, each with the setting that would mend it; nothing is mended here.

        `order` is the rank correlation of the labels, where that is low enough to mean something.
        """
        if not self.numbers:
            return
        gives = "people give" if self.people == PEOPLE else f"{self.people} gives"
        sides = ((gives, self.ours), ("the other gives", set(self.numbers)))
        for side, grades in sides:
            if len(grades) == 1 and (len(self.ours) > 1 or len(self.numbers) > 1):
                yield Finding(
                    f"{side} the grade {next(iter(grades)):g} to every pair: kappa is then 0 or "
                    "undefined"
                )
        if self.rules.cut is None:
            of_scale = [*self._another_scale()]
            yield from of_scale
            if not any(finding.settings for finding in of_scale):
                yield from self._binary()
        if order is not None:
            yield self._reversed(order)

    def _another_scale(self) -> Iterator[Finding]:
        ours, usual, scale, total = self.ours, self.usual, self.scale, self.numbers.total()
        outside = sum(n for value, n in self.numbers.items() if value not in scale)
        low, high = min(usual), max(usual)
        shift = min(ours) - low
        whole = all(value % 1 == 0 for value in usual)
        if whole and shift and high + shift == max(ours) and (outside or self.rules.scale is None):
            moved = {int(value): int(value + shift) for value in sorted(usual)}
            mend = Setting("map_assessor", moved)
            text = f"{self.ranges}: the same scale moved by {shift:+g}? {mend} would mend that"
            yield Finding(text, settings=(mend,))
        elif not whole and outside > total / 2:
            yield Finding(
                f"{self.ranges}, mostly fractions: scores, it seems, which have to be cut into "
                "grades first"
            )
        elif outside >= SHARE_OUTSIDE * total:
            wider = range(floor(min(low, scale[0])), ceil(max(high, scale[-1])) + 1)
            widen = Setting("scale", wider)
            text = f"{self.ranges}: {outside} of {total} labels lie outside the scale"
            yield Finding(f"{text}; {widen} would take them in", settings=(widen,))

    def _binary(self) -> Iterator[Finding]:
        """That one side is binary and the other is not, which a cut, or two halves, would mend."""
        ours, usual = self.ours, self.usual
        if usual == {0.0, 1.0} and max(ours) > 1:
            what, whose, parameter = "binary against graded", f"{self.people}'s", "map_human"
            graded = self.rules.scale or range(min(ours), max(ours) + 1)
            middle = 1 + (graded[0] + graded[-1]) // 2
        elif max(ours) == 1 and max(usual) > 1 and all(value % 1 == 0 for value in usual):
            what, whose, parameter = "graded against binary", "the other's", "map_assessor"
            graded, middle = sorted(map(int, usual)), 2
        else:
            return
        cut, halves = Setting("cut", 1), Setting(parameter, {g: int(g >= middle) for g in graded})
        would = f"{cut} would make {whose} binary from 1 on, {halves} from {middle} on"
        yield Finding(f"{self.ranges}: {what}? {would}", settings=(cut, halves))

    def _reversed(self, order: float) -> Finding:
        """The other's grades run against people's: each would be counted from the other end.

        A scale that is moved too is moved with it.
        """
        ours, usual, own = self.ours, self.usual, self.rules.map_assessor
        low, high = int(min(usual)), int(max(usual))
        theirs: Sequence[int] = range(low, high + 1)
        top = max(ours) + low
        if usual <= set(self.scale) or high - low != max(ours) - min(ours):
            # not moved: the grades of the scale from the lowest to the highest that either uses
            both = ours | {int(value) for value in usual if value in self.scale}
            theirs = self.rules.scale or range(min(both), max(both) + 1)
            top = theirs[0] + theirs[-1]
        turn = Setting("map_assessor", {g: top - own.get(g, g) for g in sorted({*theirs, *own})})
        against = f"the grades run against each other (Spearman {order:.2f})"
        return Finding(f"{against}: is one scale reversed? {turn} would turn it", settings=(turn,))
