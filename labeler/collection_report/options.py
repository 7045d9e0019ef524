"""What may be chosen of the report of a collection."""

from __future__ import annotations

from dataclasses import dataclass, field

from labeler.errors import Misuse
from labeler.evaluation.options import DEFAULT_MEASURES, Stale
from labeler.messages import Progress, no_progress

TOP = 10
"""So many of the first documents of each system are shown for a query."""


@dataclass(frozen=True)
class ReportOptions:
    """Which grades score which systems, by which measures, and what is shown of each query.

    `qrels` names the set that scores the systems; without it these are people's grades, or, where
    another set holds more than twice as many, the set with most. `humans` are people's qrels:
    assessors are compared with the first, and the others add how far people agree among themselves.
    Without any that is `human`, else the first set of people's by name. `runs` are names of runs of
    the collection, all by default. Of each system the first `top` documents are shown.
    `stale` grades, of texts that have changed since, are left out (`drop`) or counted (`keep`).
    """

    qrels: str | None = None
    humans: tuple[str, ...] = ()
    measures: tuple[str, ...] = DEFAULT_MEASURES
    runs: tuple[str, ...] = ()
    baseline: str | None = None
    top: int = TOP
    seed: int = 0
    stale: Stale = "drop"
    progress: Progress = field(default=no_progress, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.top < 1:
            raise Misuse("the first documents count from 1", parameter="top")
        if not self.measures:
            raise Misuse("expected a measure, as nDCG@10", parameter="measures")
