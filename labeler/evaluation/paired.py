"""Paired comparison of runs: differences, intervals, tests, and what to say about them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.metrics.registry import Measure, parse
from labeler.metrics.scores import SMALLEST_IN_GEOMETRIC_MEAN, Scores, Weighting, summed_up
from labeler.report.table import Column, Interval, Table, shown, table_of
from labeler.stats.means import (
    bounded_interval,
    mean_interval,
    paired_interval,
    share_interval,
    weighted_bounded,
    weighted_interval,
    weighted_mean,
)
from labeler.stats.randomization import (
    AllPairs,
    holm,
    randomised_hsd,
    randomization_test,
    smallest_p,
    wins_ties_losses,
)
from labeler.stats.student import SIGNIFICANT

# Which measures are means over queries, and between which values they lie.

MEANS = ("mean", "share")
"""How measures that are means over queries are summed up."""
UNBOUNDED = {"DCG": 0.0, "CG": 0.0, "MeanRank": 1.0}
"""Measures whose values have no highest one, and their lowest; all others lie between 0 and 1."""
UNDEFINED = (math.nan, math.nan)


def most_difference(measure: Measure) -> float:
    """The most by which two values of a measure can differ."""
    return math.inf if measure.name in UNBOUNDED else 1.0


# Scores of queries that do not count alike: weighted means, their intervals and differences.


def weighted_difference(
    measure: Measure, values: Floats, weighting: Weighting
) -> tuple[float, float, float]:
    """The weighted mean of paired differences, and its interval, `nan` for fewer than two."""
    mean, most = weighted_mean(values, weighting.weights), most_difference(measure)
    if math.isinf(most):
        return mean, *(weighted_interval(values, weighting) or UNDEFINED)
    return mean, *(weighted_bounded(values, weighting, (-most, most), paired=True) or UNDEFINED)


def counted(scores: Scores, measure: Measure) -> Floats:
    """The values, each times its weight where queries have some, so that tests weigh them, too."""
    values = scores.of(measure)
    return values if scores.weighting is None else values * parts_of_mean(scores.weighting)


def parts_of_mean(weighting: Weighting) -> Floats:
    """The weights, scaled to a mean of 1."""
    parts: Floats = weighting.weights / weighting.weights.mean()
    return parts


Correction = Literal["holm", "hsd"]


@dataclass(frozen=True)
class Comparison:
    """One run against the baseline by one measure, over the queries where both are defined.

    `p` is of this pair alone, and the verdict goes by `p_corrected`. With `holm` as the
    `correction` it allows for all runs compared with a baseline that was named beforehand; with
    `hsd` for all pairs of runs, so that the best of the same scores may be the baseline.
    `p_attainable` is the smallest that it could be where only these queries differ, whatever their
    differences are.
    """

    run: str
    baseline: str
    measure: str
    queries: int
    difference: float
    percent: float
    low: float
    high: float
    wins: int
    ties: int
    losses: int
    p: float
    p_corrected: Annotated[float, Column("p_corrected")]
    correction: Correction
    p_attainable: Annotated[float, Column("p_attainable")]

    @property
    def interval(self) -> Interval:
        """The difference with its interval."""
        return Interval(self.difference, self.low, self.high)

    @property
    def counts(self) -> str:
        """Wins, ties and losses, as `3/0/1`."""
        return f"{self.wins}/{self.ties}/{self.losses}"

    @shown
    def verdict(self) -> str:
        """In words, at the 5 % level after the correction."""
        if not self.queries:
            return "undefined"
        if self.ties < self.queries and not self.p_attainable < SIGNIFICANT:
            return "unresolvable"
        if not self.p_corrected < SIGNIFICANT:
            return "cannot tell apart"
        higher = self.difference > 0
        return "better" if higher != parse(self.measure).definition.lower_is_better else "worse"


COLORS: Mapping[str, str] = {"better": "green", "worse": "red"}
"""Of verdicts on a terminal."""


def summary_interval(
    measure: Measure,
    values: Floats,
    seed: int = 0,
    weighting: Weighting | None = None,
) -> tuple[float, float]:
    """The interval of what a measure's queries are summed up to; `nan` for counts."""

    def of_mean(of: Floats) -> tuple[float, float]:
        if weighting is not None:
            return weighted_interval(of, weighting) or UNDEFINED
        return mean_interval(of, seed=seed) or UNDEFINED

    summary = measure.definition.summary
    if summary == "sum":
        return UNDEFINED
    if summary == "geometric":
        low, high = of_mean(np.log(np.maximum(values, SMALLEST_IN_GEOMETRIC_MEAN)))
        return math.exp(low), math.exp(high)
    if measure.name in UNBOUNDED:
        low, high = of_mean(values)
        return max(low, UNBOUNDED[measure.name]), high
    if weighting is not None:
        return weighted_bounded(values, weighting, (0.0, 1.0)) or UNDEFINED
    if summary == "share":
        return share_interval(values)
    return bounded_interval(values, (0.0, 1.0), seed) or UNDEFINED


def difference_interval(measure: Measure, values: Floats, seed: int) -> tuple[float, float]:
    """The interval of the mean of paired differences; `nan` for fewer than two."""
    return paired_interval(values, most_difference(measure), seed) or UNDEFINED


def compare_all_pairs(runs: Mapping[str, Scores], seed: int = 0) -> dict[str, AllPairs]:
    """The randomised HSD test of the runs, over the same queries, by each measure that is a mean.

    After Carterette (2012), ACM TOIS 30(1).
    """
    measures = next(iter(runs.values())).measures
    return {
        str(measure): randomised_hsd(np.array([counted(s, measure) for s in runs.values()]), seed)
        for measure in measures
        if measure.definition.summary in MEANS
    }


def compare_scores(
    runs: Mapping[str, Scores],
    baseline: str,
    correction: Correction = "holm",
    seed: int = 0,
    pairs: Mapping[str, AllPairs] | None = None,
) -> list[Comparison]:
    """Every other run against the baseline, by every measure that is a mean over queries.

    Holm's correction is for a baseline that was named beforehand, `hsd` for the best of the same
    scores. `pairs` are the tests of all pairs of these runs by each measure, where they are made.
    """
    names = [name for name in runs if name != baseline]
    tests = compare_all_pairs(runs, seed) if pairs is None else pairs
    comparisons: list[Comparison] = []
    for measure in runs[baseline].measures if names else ():
        if measure.definition.summary not in MEANS:
            continue
        base = counted(runs[baseline], measure)
        differences = np.array([counted(runs[name], measure) - base for name in names])
        hsd = None
        if correction == "hsd":
            index = [*runs].index(baseline)
            hsd = np.delete(tests[str(measure)].p[index], index)
        chances = zip(*_chances(differences, hsd, seed), strict=True)
        for name, (p, p_corrected, attainable) in zip(names, chances, strict=True):
            figures = _figures(measure, runs[name], runs[baseline], seed)
            tested = float(p), float(p_corrected), correction, float(attainable)
            comparisons.append(Comparison(name, baseline, str(measure), *figures, *tested))
    return comparisons


def _figures(
    measure: Measure, scores: Scores, baseline: Scores, seed: int
) -> tuple[int, float, float, float, float, int, int, int]:
    """Queries, the difference, its percent and ends; wins, ties and losses, where both are defined.

    The percent are of the baseline over the same queries.
    """
    base, weighting = baseline.of(measure), baseline.weighting
    row = scores.of(measure) - base
    both = ~np.isnan(row)
    defined = row[both]
    weights = None if weighting is None else parts_of_mean(weighting)[both]
    start = summed_up(measure, base[both], weights)
    if weighting is None:
        difference = float(defined.mean()) if len(defined) else math.nan
        low, high = difference_interval(measure, row, seed)
    else:
        difference, low, high = weighted_difference(measure, row, weighting)
    percent = 100 * difference / start if start else math.nan
    better = -defined if measure.definition.lower_is_better else defined
    return len(defined), difference, percent, low, high, *wins_ties_losses(better)


def _chances(
    differences: Floats, p_of_pairs: Floats | None, seed: int
) -> tuple[Floats, Floats, Floats]:
    """Of each row: its p alone, after the correction, and the least that the latter could be.

    The correction is Holm's where there is no p that allows for all pairs. A query undefined for a
    row says nothing about it. No p that allows for several tests is below that of the one test.
    """
    differing = [sum(wins_ties_losses(row[~np.isnan(row)])[::2]) for row in differences]
    p = randomization_test(np.nan_to_num(differences), seed)
    attainable = np.array([*map(smallest_p, differing)])
    if p_of_pairs is None:
        return p, holm(p), holm(attainable)
    return p, p if len(p) == 1 else np.maximum(p, p_of_pairs), attainable


def best(runs: Mapping[str, Scores], measure: Measure) -> str:
    """The run with the best mean, the first of equals."""
    by_name = {name: scores.summed_up(measure) for name, scores in runs.items()}
    sign = -1 if measure.definition.lower_is_better else 1
    return max(by_name, key=lambda name: (not math.isnan(by_name[name]), sign * by_name[name]))


# How many pairs of runs each measure tells apart: its discriminative power.


class Discrimination(NamedTuple):
    """How many pairs of runs a measure tells apart, allowing for all pairs (randomised HSD, 5 %).

    `least_difference` is the smallest difference of two means that it tells apart.
    """

    measure: str
    pairs: int
    told_apart: int
    discriminative_power: Annotated[float, Column("share", format=".3f")]
    least_difference: Annotated[float, Column()]


def discrimination(pairs: Mapping[str, AllPairs]) -> tuple[Discrimination, ...]:
    """What each measure tells apart of three runs or more: Sakai (2006), SIGIR."""
    return tuple(
        Discrimination(
            measure,
            tests.pairs,
            tests.told_apart(),
            tests.discriminative_power(),
            tests.least_difference(),
        )
        for measure, tests in pairs.items()
        if len(tests.p) > 2
    )


def discrimination_table(discriminations: Sequence[Discrimination]) -> Table:
    """A row for each measure, the most discriminative first."""
    ordered = sorted(discriminations, key=lambda d: -d.discriminative_power)
    title = "pairs of runs that each measure tells apart (randomised HSD over all pairs)"
    return table_of("discrimination", Discrimination, ordered, title=title)
