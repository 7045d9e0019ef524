"""Scores of queries that do not count alike: weighted means, their intervals and differences."""

from __future__ import annotations

import math

import numpy as np

from labeler.arrays import Floats
from labeler.evaluation.ranges import UNBOUNDED, UNDEFINED, most_difference
from labeler.metrics.registry import Measure
from labeler.metrics.scores import SMALLEST_IN_GEOMETRIC_MEAN, Scores
from labeler.metrics.weighting import Weighting
from labeler.stats.weighted import weighted_bounded, weighted_interval, weighted_mean


def weighted_summary(measure: Measure, values: Floats, weighting: Weighting) -> tuple[float, float]:
    """The interval of a measure's weighted mean."""
    summary = measure.definition.summary
    if summary == "sum":
        return UNDEFINED
    if summary == "geometric":
        logs = np.log(np.maximum(values, SMALLEST_IN_GEOMETRIC_MEAN))
        low, high = weighted_interval(logs, weighting) or UNDEFINED
        return math.exp(low), math.exp(high)
    if measure.name in UNBOUNDED:
        low, high = weighted_interval(values, weighting) or UNDEFINED
        return max(low, UNBOUNDED[measure.name]), high
    return weighted_bounded(values, weighting, (0.0, 1.0)) or UNDEFINED


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
