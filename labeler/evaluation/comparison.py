"""Paired comparison of runs: differences, intervals, tests, and what to say about them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from labeler.arrays import Floats
from labeler.metrics.registry import Measure, parse
from labeler.metrics.scores import SMALLEST_IN_GEOMETRIC_MEAN, Scores, summed_up
from labeler.stats.levels import SIGNIFICANT
from labeler.stats.means import bounded_interval, mean_interval, share_interval
from labeler.stats.randomization import (
    holm,
    randomization_test,
    smallest_holm,
    smallest_p,
    wins_ties_losses,
)
from labeler.stats.student import paired_t_test, smallest_paired_t

MEANS = ("mean", "share")
UNBOUNDED = {"DCG": 0.0, "CG": 0.0, "MeanRank": 1.0}
"""Measures whose values have no highest one, and their lowest; all others lie between 0 and 1."""
UNDEFINED = (math.nan, math.nan)


@dataclass(frozen=True)
class Comparison:
    """One run against the baseline by one measure, over the queries where both are defined.

    `p` is of this pair alone; `p_holm` and `p_max_t` allow for all runs compared by this measure.
    `p_least` is the smallest that `p_holm` could be with so few queries and so many runs;
    `p_attainable` the smallest where only these queries differ, whatever their differences are.
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
    p_holm: float
    p_max_t: float
    p_least: float = 0.0
    p_attainable: float = 0.0

    @property
    def decidable(self) -> bool:
        """Whether there are queries enough for a difference to be told from chance at all."""
        return self.queries > 0 and self.p_least < SIGNIFICANT

    @property
    def verdict(self) -> str:
        """In words, at the 5 % level after Holm's correction."""
        if not self.queries:
            return "undefined"
        if self.ties < self.queries and not self.p_attainable < SIGNIFICANT:
            return "unresolvable"
        if not self.p_holm < SIGNIFICANT:
            return "cannot tell apart"
        higher = self.difference > 0
        return "better" if higher != parse(self.measure).definition.lower_is_better else "worse"


def summary_interval(measure: Measure, values: Floats, kind: str, seed: int) -> tuple[float, float]:
    """The interval of what a measure's queries are summed up to; `nan` for counts."""
    summary = measure.definition.summary
    if summary == "sum":
        return UNDEFINED
    if summary == "geometric":
        logs = np.log(np.maximum(values, SMALLEST_IN_GEOMETRIC_MEAN))
        low, high = mean_interval(logs, kind, seed) or UNDEFINED
        return math.exp(low), math.exp(high)
    if summary == "share":
        return share_interval(values)
    if measure.name in UNBOUNDED:
        low, high = mean_interval(values, kind, seed) or UNDEFINED
        return max(low, UNBOUNDED[measure.name]), high
    return bounded_interval(values, kind, seed, (0.0, 1.0)) or UNDEFINED


def difference_interval(
    measure: Measure, values: Floats, kind: str, seed: int
) -> tuple[float, float]:
    """The interval of the mean of paired differences; `nan` for fewer than two."""
    if measure.name in UNBOUNDED:
        return mean_interval(values, kind, seed) or UNDEFINED
    return bounded_interval(values, kind, seed, (-1.0, 1.0)) or UNDEFINED


def compare_scores(
    runs: Mapping[str, Scores], baseline: str, kind: str = "bootstrap", seed: int = 0
) -> list[Comparison]:
    """Every other run against the baseline, by every measure that is a mean over queries."""
    compared = [name for name in runs if name != baseline]
    comparisons: list[Comparison] = []
    for measure in runs[baseline].measures:
        if measure.definition.summary in MEANS and compared:
            comparisons += _by_measure(runs, baseline, measure, kind, seed)
    return comparisons


def _by_measure(
    runs: Mapping[str, Scores], baseline: str, measure: Measure, kind: str, seed: int
) -> list[Comparison]:
    compared = [name for name in runs if name != baseline]
    base = runs[baseline].of(measure)
    differences = np.array([runs[name].of(measure) - base for name in compared])
    p, p_max = _p_values(differences, kind, seed)
    corrected = holm(p)
    attainable = _attainable(differences, kind)
    comparisons = []
    for i, name in enumerate(compared):
        both = ~np.isnan(differences[i])
        defined = differences[i][both]
        difference = float(defined.mean()) if len(defined) else math.nan
        low, high = difference_interval(measure, differences[i], kind, seed)
        start = summed_up(measure, base[both])
        percent = 100 * difference / start if start else math.nan
        up, level, down = wins_ties_losses(
            -defined if measure.definition.lower_is_better else defined
        )
        facts = (name, baseline, str(measure), len(defined), difference, percent, low, high)
        least = 0.0 if kind == "t" else smallest_p(len(defined)) * len(compared)
        chance = (float(p[i]), float(corrected[i]), float(p_max[i]))
        comparisons.append(
            Comparison(*facts, up, level, down, *chance, min(least, 1.0), float(attainable[i]))
        )
    return comparisons


def _p_values(differences: Floats, kind: str, seed: int) -> tuple[Floats, Floats]:
    """p of each row alone and by max-T; a query undefined for a row says nothing about it."""
    p, p_max = randomization_test(np.nan_to_num(differences), seed)
    if kind == "t":
        p = np.array([paired_t_test(row[~np.isnan(row)]) for row in differences])
    return p, p_max


def _attainable(differences: Floats, kind: str) -> Floats:
    """The smallest p after Holm that each row's queries allow, given which of them differ."""
    differing = [sum(wins_ties_losses(row[~np.isnan(row)])[::2]) for row in differences]
    if kind != "t":
        return smallest_holm(differing)
    queries = [int((~np.isnan(row)).sum()) for row in differences]
    return holm(np.array(list(map(smallest_paired_t, differing, queries))))


def mean_of(value: float, sign: int) -> tuple[bool, float]:
    """A key that sorts by a mean times a sign, with undefined means last."""
    return (math.isnan(value), 0.0 if math.isnan(value) else sign * value)


def best(runs: Mapping[str, Scores], measure: Measure) -> str:
    """The run with the best mean, the first of equals."""
    means = {name: summed_up(measure, scores.of(measure)) for name, scores in runs.items()}
    sign = -1 if measure.definition.lower_is_better else 1
    return max(means, key=lambda name: (not math.isnan(means[name]), sign * means[name]))
