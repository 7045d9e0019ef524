"""Every statistic of two assessors, with its interval over queries, from aligned labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from labeler.agreement.align import AssessorLabels, Labels, LeftOut, Rules, align, suspicions
from labeler.agreement.statistics import (
    NO_PAIRS,
    STATISTICS,
    GradedPairs,
    Statistic,
    default_names,
    find_statistic,
    query_tables,
)
from labeler.arrays import Floats
from labeler.data import Pair, Qrels
from labeler.errors import Misuse, about
from labeler.messages import no_pair_in_common
from labeler.options import DRAWS, SEED, option
from labeler.report.finding import Finding
from labeler.report.table import Interval
from labeler.stats.intervals import (
    Compute,
    Replicates,
    Sample,
    between,
    jackknife_error,
    of_tables,
)
from labeler.stats.means import share_interval
from labeler.stats.student import LEVEL, t_quantile

# One statistic of an assessor and people: its value and its interval over queries.

MOST_DRAWS = 1_000_000
"""More take gigabytes, and no end of an interval hangs on them any more."""

INTERVALS_OF = "Intervals"
IN_GRADES = ("mae", "bias")
"""Statistics that cannot exceed the width of the scale."""


@dataclass(frozen=True)
class StatisticOptions:
    """Which statistics (the default ones where `None`), and the draws of their intervals."""

    names: Sequence[str] | None = option(
        None, "A statistic, or 'all' of them; repeatable.", flags="-s --statistic"
    )
    draws: int | None = option(
        None,
        "Draws of the bootstrap (1,000; of few queries up to 10,000).",
        DRAWS,
        panel=INTERVALS_OF,
        rare=True,
    )
    seed: int = option(0, "Seed of the bootstrap.", SEED, panel=INTERVALS_OF)

    def __post_init__(self) -> None:
        if self.draws is not None and not 1 <= self.draws <= MOST_DRAWS:
            problem = f"expected 1 to {MOST_DRAWS:,} draws, found {self.draws:,}"
            raise Misuse(problem, parameter="draws")


UNDEFINED = Interval(None, None, None)


def estimate(statistic: Statistic, sample: Sample) -> Interval:
    """One statistic's value and interval; nothing but `None` where it is undefined."""
    value = defined(statistic(sample.total))
    if value is None:
        return UNDEFINED
    of = Replicates(sample, statistic, statistic.bounded)
    ends = of_tables(of) if sample.queries > 1 else None
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

FEW_QUERIES, MORE_QUERIES = 25, 50
COVERED_BY_FEW = "82 to 98"
"""Of 100 intervals over 3 to 20 queries, but for those of rare grades over fewer than `RARELY`."""
MOST_SIMULATED = 20
RARELY, COVERED_OF_RARE = 10, "63 to 89"
"""Of 100 default intervals over fewer than `RARELY` queries, at a cut that few of them reach."""
COVERED_BY_MORE = "88 to 99"
"""Of 100 default intervals over 25 to 50 queries."""


def cautions(
    statistics: Sequence[Statistic],
    sample: Sample,
    unused: Mapping[str, str],
    estimates: Mapping[str, Interval],
) -> Iterator[str]:
    """Every warning that the values and their intervals call for, the general ones first.

    `unused` says of statistics at cuts that no pair lies beyond why they say nothing.
    """
    queries = sample.queries
    yield from _too_few(queries, [s for s in statistics if _has_width(estimates[s.name])])
    reasons: dict[str, list[str]] = {}
    for statistic in statistics:
        if estimates[statistic.name].value is None:
            reason = unused.get(statistic.name, statistic.undefined)
            reasons.setdefault(reason if sample.total.sum() else NO_PAIRS, []).append(
                statistic.name
            )
    for reason, undefined in reasons.items():
        yield f"{', '.join(undefined)} undefined: {reason}"
    if queries < 2:
        return
    if open_ := [n for n, e in estimates.items() if e.value is not None and e.low is None]:
        yield f"{_names(open_)}: no interval, for without some of these queries it is undefined"
    if exact := [n for n, e in estimates.items() if e.low is not None and not _has_width(e)]:
        yield (
            f"{_names(exact)}: no width to the interval, for every query here says the same; no "
            "certainty"
        )


def _has_width(e: Interval) -> bool:
    return e.low is not None and e.high is not None and e.high - e.low >= 1e-9


def _too_few(queries: int, with_width: Sequence[Statistic]) -> Iterator[str]:
    if queries == 1:
        yield "one query only: no interval can be given, for nothing shows how queries differ"
    elif 1 < queries < FEW_QUERIES:
        held = f"{COVERED_BY_FEW} of 100 such intervals held the truth, instead of 95"
        of_rare = queries < RARELY and any(s.cut is not None for s in with_width)
        rare = f", and {COVERED_OF_RARE} where the cut grade is rare" if of_rare else ""
        simulated = "3 to 20 of them" if queries <= MOST_SIMULATED else "fewer of them, 3 to 20,"
        yield f"only {queries} queries: in simulations with {simulated} {held}{rare}"
    elif FEW_QUERIES <= queries < MORE_QUERIES and with_width:
        held = f"{COVERED_BY_MORE} of 100 such intervals held the truth, instead of 95"
        yield f"{queries} queries: in simulations with 25 to 50 of them {held}"


def unused_cuts(
    statistics: Sequence[Statistic], table: Floats, scale: Sequence[int]
) -> dict[str, str]:
    """Statistics at a cut that no pair lies beyond, and why they say nothing."""
    used = [g for g, n in zip(scale, table.sum(axis=0) + table.sum(axis=1), strict=True) if n]
    reasons = {}
    for statistic in statistics:
        cut = statistic.cut
        if used and cut is not None and not min(used) < cut <= max(used):
            end, limit = ("above", max(used)) if cut > max(used) else ("below", min(used))
            reasons[statistic.name] = f"neither side used a grade {end} {limit}"
    return reasons


def _names(names: Sequence[str]) -> str:
    """All of up to four names, three of more."""
    more = f" and {len(names) - 3} more" if len(names) > 4 else ""
    return ", ".join(names[:3] if more else names) + more


ALL = "all"
HEADLINE = ("agreement", "kappa", "bias", "spearman", "ac1")
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
    queries: Sequence[str]
    scale: Sequence[int]
    paired: GradedPairs
    sample: Sample
    left_out: LeftOut
    statistics: dict[str, Interval]
    headline: dict[str, Interval]
    scenarios: dict[str, Scenario]
    warnings: Sequence[Finding]
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
        return np.asarray(self.tables.sum(axis=0))


def compare_qrels(
    human: Qrels,
    assessor: Labels,
    rules: Rules | None = None,
    options: StatisticOptions | None = None,
) -> Agreement:
    """How far `assessor` agrees with `human`, from the labels as they are."""
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
    both = align(human, assessor, rules, weights)
    paired, left_out = both.pairs, both.left_out
    scale, pairs = paired.grades, len(paired)
    sample = Sample(query_tables(paired), options.draws, options.seed)
    statistics = selected_statistics(options, scale)
    estimates = {s.name: estimate(s, sample) for s in statistics}
    also = {name: estimate(find_statistic(name, scale), sample) for name in HEADLINE}
    # the rank correlation, where it is surely below 0, or far below in more than a few pairs
    order, _, most = also["spearman"]
    is_far = order is not None and order <= FAR_BELOW and order * math.sqrt(pairs) < -2
    against = order if is_far or (most is not None and most < 0) else None
    unused = unused_cuts(statistics, sample.total, scale)
    people, warnings = assessor.human, list[Finding]()
    if weights is not None:
        whole = f"weighted to stand for about {sample.total.sum():,.0f}"
        warnings.append(Finding(f"{people} graded a sample: {pairs:,} pairs, {whole}"))
    if not both.columns.meets:
        warnings.append(Finding(no_pair_in_common(people, human, assessor.name, assessor.labels)))
    warnings += suspicions(both.columns, people, rules, scale, against)
    warnings += map(Finding, cautions(statistics, sample, unused, estimates))
    return Agreement(
        pairs,
        paired.queries,
        scale,
        paired,
        sample,
        left_out,
        estimates,
        also,
        _scenarios(statistics, sample.total, left_out.missing, scale),
        tuple(warnings),
        frozenset(unused),
    )


def selected_statistics(options: StatisticOptions, grades: Sequence[int]) -> list[Statistic]:
    """The statistics that the options name; `Misuse` for one that is unknown."""
    names = default_names(grades) if options.names is None else list(options.names)
    everything = [*default_names(grades), *STATISTICS]
    expanded = [n for name in names for n in (everything if name == ALL else [name])]
    with about("names"):
        return [find_statistic(name, grades) for name in dict.fromkeys(expanded)]


def estimated(statistic: Statistic, agreement: Agreement) -> Interval:
    """The estimate of a statistic that the agreement need not hold yet."""
    return agreement.statistics.get(statistic.name) or estimate(statistic, agreement.sample)


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
    skewed = _on_log_odds(sample, value) or (low, high)
    return Interval(value, max(min(low, skewed[0]), 0.0), min(max(high, skewed[1]), 1.0))


def _on_log_odds(sample: Sample, value: float) -> tuple[float, float] | None:
    """The jackknife's interval on the scale of log odds; None where those are not finite."""
    shares = _ratio(sample.without_one)
    if sample.queries < 2 or not ((shares > TINY) & (shares < 1 - TINY)).all():
        return None
    middle = math.log(value / (1 - value))
    error = jackknife_error(np.log(shares / (1 - shares)))
    half = t_quantile((1 + LEVEL) / 2, sample.queries - 1) * error
    low, high = (1 / (1 + math.exp(-end)) for end in (middle - half, middle + half))
    return low, high


def _ratio(sums: Floats) -> Floats:
    """`(..., 2)` sums of a part and of the whole to `(...)` shares."""
    return np.asarray(sums[..., 0] / sums[..., 1])
