"""Runs against a baseline in each group of queries, and whether that depends on the group."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from labeler.arrays import Flags, Floats
from labeler.evaluation.comparison.paired import Comparison, difference_interval
from labeler.evaluation.options import EvaluationOptions
from labeler.evaluation.ranges import MEANS
from labeler.evaluation.scores import RunScores, over_common_queries
from labeler.metrics import Measure, Scores
from labeler.stats.groups import interaction_p
from labeler.stats.levels import SIGNIFICANT
from labeler.stats.randomization import holm, randomization_test, wins_ties_losses


@dataclass(frozen=True)
class GroupDifference:
    """A run against the baseline over one group's queries; `p_corrected` allows for all groups."""

    run: str
    baseline: str
    measure: str
    group: str
    queries: int
    difference: float
    low: float
    high: float
    wins: int
    ties: int
    losses: int
    p: float
    p_corrected: float
    thin: bool
    verdict: str = ""


@dataclass(frozen=True)
class Interaction:
    """Whether a run's difference from the baseline depends on the group.

    `groups` were tested: those that are not thin. `p_corrected` allows for the runs compared.
    """

    run: str
    baseline: str
    measure: str
    groups: int
    p: float
    p_corrected: float

    @property
    def is_shown(self) -> bool:
        """Whether the difference is shown to depend on the group."""
        return self.p_corrected < SIGNIFICANT


class GroupsCompared(NamedTuple):
    """The differences of runs in each group, and the tests of whether these depend on it."""

    differences: tuple[GroupDifference, ...] = ()
    interactions: tuple[Interaction, ...] = ()


def compare_groups(
    runs: Sequence[RunScores],
    comparison: Comparison,
    masks: Callable[[Scores], Mapping[str, Flags]],
    options: EvaluationOptions,
) -> GroupsCompared:
    """All runs against the baseline of a comparison, by each measure that is a mean.

    Where the best of the same scores is the baseline, p allows for all pairs of runs.
    """
    common = over_common_queries({run.name: run.scores for run in runs})
    base = common[comparison.baseline]
    several = len(common) / 2 if comparison.correction == "hsd" and len(common) > 2 else 1.0
    differences: list[GroupDifference] = []
    interactions: list[Interaction] = []
    for measure in base.measures:
        if measure.definition.summary in MEANS:
            compared = _Compared(measure, common, comparison.baseline, masks(base), several)
            tested = compared.interactions(options)
            interactions += tested
            differences += compared.differences(tested, options)
    return GroupsCompared(tuple(differences), tuple(interactions))


@dataclass(frozen=True)
class _Compared:
    """All runs against the baseline by one measure; `several` multiplies every p."""

    measure: Measure
    runs: Mapping[str, Scores]
    baseline: str
    masks: Mapping[str, Flags]
    several: float

    def _values(self) -> Iterator[tuple[str, Floats]]:
        base = self.runs[self.baseline].of(self.measure)
        for name, scores in self.runs.items():
            if name != self.baseline:
                yield name, scores.of(self.measure) - base

    def interactions(self, options: EvaluationOptions) -> list[Interaction]:
        """For each run whether its difference depends on the group."""
        tested = []
        for name, values in self._values():
            groups = [defined_in(values[mask]) for mask in self.masks.values()]
            thick = [group for group in groups if len(group) >= options.grouping.fewest]
            tested.append((name, len(thick), interaction_p(thick, options.seed)))
        corrected = np.minimum(holm(np.array([p for *_, p in tested])) * self.several, 1.0)
        return [
            Interaction(name, self.baseline, str(self.measure), count, p, float(p_corrected))
            for (name, count, p), p_corrected in zip(tested, corrected, strict=True)
        ]

    def differences(
        self, interactions: Sequence[Interaction], options: EvaluationOptions
    ) -> Iterator[GroupDifference]:
        """Each run's difference in each group, with a verdict where it depends on the group."""
        rows = [
            (name, group, defined_in(values[mask]))
            for name, values in self._values()
            for group, mask in self.masks.items()
        ]
        p = [_alone(values, options.seed) for *_, values in rows]
        fewest = options.grouping.fewest
        held = np.array([len(values) >= fewest for *_, values in rows])
        corrected = np.ones(len(rows))
        if held.any():
            corrected[held] = np.minimum(holm(np.array(p)[held]) * self.several, 1.0)
        shown = {i.run for i in interactions if i.is_shown}
        lower = self.measure.definition.lower_is_better
        for (name, group, values), alone, p_corrected in zip(rows, p, corrected, strict=True):
            low, high = difference_interval(self.measure, values, options.interval, options.seed)
            mean = float(values.mean()) if len(values) else math.nan
            is_significant = name in shown and p_corrected < SIGNIFICANT
            yield GroupDifference(
                name,
                self.baseline,
                str(self.measure),
                group,
                len(values),
                mean,
                low,
                high,
                *wins_ties_losses(-values if lower else values),
                alone,
                float(p_corrected),
                len(values) < fewest,
                ("better" if (mean > 0) != lower else "worse") if is_significant else "",
            )


def _alone(values: Floats, seed: int) -> float:
    """The p of one group's differences; 1 of none."""
    return float(randomization_test(values[None, :], seed)[0][0]) if len(values) else 1.0


def masks_of(names: Sequence[str], scores: Scores, groups: Mapping[str, str]) -> dict[str, Flags]:
    """Which of the queries stand in each group."""
    of = np.array([groups[query] for query in scores.queries], dtype=object)
    return {name: np.asarray(of == name, dtype=np.bool_) for name in names}


def defined_in(values: Floats) -> Floats:
    """The values without those that are undefined."""
    return values[~np.isnan(values)]
