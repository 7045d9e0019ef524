"""Paired comparison of runs: differences, intervals, tests, and what to say about them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from labeler.arrays import Floats
from labeler.metrics.registry import Measure, parse
from labeler.metrics.scores import SMALLEST_IN_GEOMETRIC_MEAN, Scores, summed_up
from labeler.stats.resampling import (
    LEVEL,
    bootstrap,
    holm,
    interval,
    randomisation,
    smallest_p,
    widened_level,
    wins,
)
from labeler.stats.student import t_quantile, two_sided

SIGNIFICANT = 0.05
NORMAL_QUANTILE = 1.959963984540054
"""Of `0.5 + LEVEL / 2`; the module `statistics` takes longer to import than a run to score."""
MEANS = ("mean", "share")
UNBOUNDED = {"DCG": 0.0, "CG": 0.0, "MeanRank": 1.0}
"""Means whose values have no highest one, and their lowest; all others lie between 0 and 1."""


@dataclass(frozen=True)
class Comparison:
    """One run against the baseline by one measure, over the queries where both are defined.

    `p` is of this pair alone; `p_holm` and `p_max_t` allow for all runs compared by this measure.
    `p_least` is the smallest that `p_holm` could be with so few queries and so many runs.
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

    @property
    def decidable(self) -> bool:
        """Whether there are queries enough for a difference to be told from chance at all."""
        return self.queries > 0 and self.p_least < SIGNIFICANT

    @property
    def verdict(self) -> str:
        """In words, at the 5 % level after Holm's correction."""
        if not self.queries:
            return "undefined"
        if not self.p_holm < SIGNIFICANT:
            return "cannot tell apart"
        higher = self.difference > 0
        return "better" if higher != parse(self.measure).definition.lower_is_better else "worse"


def mean_interval(values: Floats, kind: str, seed: int) -> tuple[float, float]:
    """The 95 % interval of the mean over queries; `nan` for fewer than two defined values.

    The bootstrap's is never narrower than Student's on either side, as those of agreement are.
    """
    defined = values[~np.isnan(values)]
    n = len(defined)
    if n < 2:
        return math.nan, math.nan
    half = t_quantile(0.5 + LEVEL / 2, n - 1) * float(defined.std(ddof=1)) / math.sqrt(n)
    low, high = float(defined.mean()) - half, float(defined.mean()) + half
    if kind == "t":
        return low, high
    drawn = interval(bootstrap(values[None, :], seed), widened_level(n))
    return min(low, float(drawn[0][0])), max(high, float(drawn[1][0]))


def summary_interval(measure: Measure, values: Floats, kind: str, seed: int) -> tuple[float, float]:
    """The interval of what a measure's queries are summed up to; `nan` for counts."""
    if measure.definition.summary == "sum":
        return math.nan, math.nan
    if measure.definition.summary == "geometric":
        logs = np.log(np.maximum(values, SMALLEST_IN_GEOMETRIC_MEAN))
        low, high = mean_interval(logs, kind, seed)
        return math.exp(low), math.exp(high)
    if measure.definition.summary == "share":
        return wilson(values)
    low, high = mean_interval(values, kind, seed)
    if math.isnan(low):
        return low, high
    if measure.name in UNBOUNDED:
        return max(low, UNBOUNDED[measure.name]), high
    return _within((low, high), values, kind, 0.0)


def difference_interval(
    measure: Measure, values: Floats, kind: str, seed: int
) -> tuple[float, float]:
    """The interval of the mean of paired differences; `nan` for fewer than two."""
    low, high = mean_interval(values, kind, seed)
    if measure.name in UNBOUNDED or math.isnan(low):
        return low, high
    return _within((low, high), values, kind, -1.0)


def _within(
    ends: tuple[float, float], values: Floats, kind: str, least: float
) -> tuple[float, float]:
    """The ends of a mean of values from `least` to 1, moved out by what piles up at either."""
    low, high = ends
    if kind != "t":
        scale = 1.0 - least
        below, above = at_the_ends((values - least) / scale)
        low, high = min(low, below * scale + least), max(high, above * scale + least)
    return max(low, least), min(high, 1.0)


def at_the_ends(values: Floats) -> tuple[float, float]:
    """What a mean could be if queries of value 0, or 1, had another share than in the sample.

    A sample of ones alone says nothing of how many queries are not: resampling it gives no
    interval, and Student's t none either. The shares are Wilson's; the other queries have their
    mean, or the other end where there are none.
    """
    defined = values[~np.isnan(values)]
    below, above = defined[defined < 1], defined[defined > 0]
    least = wilson((defined == 1).astype(np.float64))[0]
    most = wilson((defined == 0).astype(np.float64))[0]
    rest = float(below.mean()) if len(below) else 0.0
    other = float(above.mean()) if len(above) else 1.0
    return least + (1 - least) * rest, (1 - most) * other


def wilson(values: Floats) -> tuple[float, float]:
    """The 95 % interval of a share after Wilson (1927), JASA 22; not empty where all are alike."""
    defined = values[~np.isnan(values)]
    n = len(defined)
    if n == 0:
        return math.nan, math.nan
    z = NORMAL_QUANTILE
    share = float(defined.mean())
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def compare(
    runs: Mapping[str, Scores], baseline: str, kind: str = "bootstrap", seed: int = 0
) -> list[Comparison]:
    """Every other run against the baseline, by every measure that is a mean over queries."""
    others = [name for name in runs if name != baseline]
    found: list[Comparison] = []
    for measure in runs[baseline].measures:
        if measure.definition.summary in MEANS and others:
            found += _by_measure(runs, baseline, measure, kind, seed)
    return found


def _by_measure(
    runs: Mapping[str, Scores], baseline: str, measure: Measure, kind: str, seed: int
) -> list[Comparison]:
    others = [name for name in runs if name != baseline]
    base = runs[baseline].of(measure)
    differences = np.array([runs[name].of(measure) - base for name in others])
    p, p_max = _p_values(differences, kind, seed)
    corrected = holm(p)
    found = []
    for i, name in enumerate(others):
        both = ~np.isnan(differences[i])
        defined = differences[i][both]
        difference = float(defined.mean()) if len(defined) else math.nan
        low, high = difference_interval(measure, differences[i], kind, seed)
        start = summed_up(measure, base[both])
        percent = 100 * difference / start if start else math.nan
        up, level, down = wins(-defined if measure.definition.lower_is_better else defined)
        place = (name, baseline, str(measure), len(defined), difference, percent, low, high)
        least = 0.0 if kind == "t" else smallest_p(len(defined)) * len(others)
        chance = (float(p[i]), float(corrected[i]), float(p_max[i]), min(least, 1.0))
        found.append(Comparison(*place, up, level, down, *chance))
    return found


def _p_values(differences: Floats, kind: str, seed: int) -> tuple[Floats, Floats]:
    """p of each row alone and by max-T; a query undefined for a row says nothing about it."""
    filled = np.nan_to_num(differences)
    p, p_max = randomisation(filled, seed)
    if kind == "t":
        p = np.array([_paired_t(row[~np.isnan(row)]) for row in differences])
    return p, p_max


def _paired_t(differences: Floats) -> float:
    """Two-sided p of the paired t test; 1 where nothing differs or too few queries are there."""
    n = len(differences)
    error = float(differences.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    return two_sided(float(differences.mean()) / error, n - 1) if error > 0 else 1.0


def best(runs: Mapping[str, Scores], measure: Measure) -> str:
    """The run with the best mean, the first of equals."""
    means = {name: summed_up(measure, scores.of(measure)) for name, scores in runs.items()}
    sign = -1 if measure.definition.lower_is_better else 1
    return max(means, key=lambda name: (not math.isnan(means[name]), sign * means[name]))
