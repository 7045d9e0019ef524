"""Which measures are means over queries, and between which values they lie."""

from __future__ import annotations

import math

from labeler.metrics.registry import Measure

MEANS = ("mean", "share")
"""How measures that are means over queries are summed up."""
UNBOUNDED = {"DCG": 0.0, "CG": 0.0, "MeanRank": 1.0}
"""Measures whose values have no highest one, and their lowest; all others lie between 0 and 1."""
UNDEFINED = (math.nan, math.nan)


def most_difference(measure: Measure) -> float:
    """The most by which two values of a measure can differ."""
    return math.inf if measure.name in UNBOUNDED else 1.0
