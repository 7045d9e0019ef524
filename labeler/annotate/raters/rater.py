"""One rater's work: counts, pace, agreement, gold pairs and drift."""

from __future__ import annotations

from dataclasses import dataclass

from labeler.annotate.raters.agreement import GoldAccuracy, Overlap
from labeler.annotate.raters.drift import RaterDrift
from labeler.annotate.raters.seconds import RaterPace


@dataclass(frozen=True)
class RaterStatus:
    """One rater's work.

    `graded`, `cannot_judge` and `skipped` count pairs of random samples, of which `left` have no
    answer; `fixed` routed pairs, which enter no statistic; `gold` pairs to train on. `revealed`
    pairs were graded after the assessor's grade had been shown: they are not blind, and in no
    statistic. `looks` counts answers about pages of results.
    """

    rater: str
    graded: int
    left: int
    skipped: int
    cannot_judge: int
    fixed: int
    revealed: int
    gold: int
    looks: int
    pace: RaterPace
    overlap: Overlap | None
    accuracy: GoldAccuracy | None
    drifts: tuple[RaterDrift, ...]
