"""Whether an offline measure goes with what people say of the same queries' results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from labeler.annotate.beside import OfflineScores, goes_with_people
from labeler.report.table import Column, Interval, Row, Table
from labeler.stats.associations import UNDEFINED, Association, concordance, tau_over_queries


@dataclass(frozen=True, eq=False)
class LgtmBeside:
    """The offline scores of the queries that people looked at, by whether they are good.

    `tau` is the rank correlation over queries of the share of raters who say good with the score;
    `concordance` the chance that of a good query and one that is not, the good one scores higher.
    Queries of which half of the raters say good are neither.
    """

    measure: str
    qrels: str
    scores: Mapping[str, float]
    means: tuple[float | None, float | None]
    counts: tuple[int, int]
    tau: Association
    concordance: Association
    unscored: int = 0

    @property
    def sentences(self) -> list[str]:
        """Whether the measure and people go together, as far as these queries show."""
        title = f"{self.measure} by {self.qrels}"
        if not self.scores:
            return [f"No query that people looked at is in {self.qrels}."]
        if not min(self.counts):
            return [f"Whether {title} goes with it cannot be seen: all are good, or none is."]
        chance = self.concordance
        text = (
            f"Of a good query and one that is not, the good one has the higher {title} "
            f"{_percent(chance)} of the time"
        )
        if chance.low is None or chance.high is None:
            good, not_good = self.counts
            return [f"{text}; with {good:,} good and {not_good:,} not, that shows little."]
        return [goes_with_people(text, chance.low, chance.high)]

    def table(self) -> Table:
        """The mean score of good queries and of the others, and how they go together."""
        columns = [
            Column("beside", align="left"),
            Column("value", format=".3f", ends=".3f"),
            Column("queries"),
        ]
        good, others = self.counts
        rows: list[Row] = [
            [f"{self.measure} of good queries", Interval(self.means[0], None, None), good],
            [f"{self.measure} of the others", Interval(self.means[1], None, None), others],
            ["the good one scores higher", Interval(*self.concordance), good + others],
            ["tau-b over queries", Interval(*self.tau), len(self.scores)],
        ]
        return Table("lgtm-beside", columns, rows)

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        return {
            "measure": self.measure,
            "qrels": self.qrels,
            "queries": len(self.scores),
            "unscored": self.unscored,
            "mean_of_good": self.means[0],
            "mean_of_others": self.means[1],
            "good": self.counts[0],
            "others": self.counts[1],
            "tau_b": self.tau._asdict(),
            "concordance": self.concordance._asdict(),
        }


def lgtm_beside(
    good: Mapping[str, float], offline: OfflineScores, run: str, seed: int
) -> LgtmBeside:
    """The offline scores of one run beside what people say of it."""
    by_query = offline.scores[run]
    scores = {q: by_query[q] for q in good if q in by_query and not np.isnan(by_query[q])}
    shares = np.array([good[q] for q in scores])
    values = np.array(list(scores.values()))
    above, below = shares > 0.5, shares < 0.5
    decided = above | below
    return LgtmBeside(
        offline.measure,
        offline.qrels,
        scores,
        (_mean(values[above]), _mean(values[below])) if scores else (None, None),
        (int(above.sum()), int(below.sum())) if scores else (0, 0),
        tau_over_queries(shares, values, seed) if scores else UNDEFINED,
        concordance(above[decided], values[decided]) if scores else UNDEFINED,
        len(good) - len(scores),
    )


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None


def _percent(share: Association) -> str:
    ends = ""
    if share.low is not None and share.high is not None:
        ends = f" [{100 * share.low:.0f} %, {100 * share.high:.0f} %]"
    return f"{100 * (share.value or 0.0):.0f} %{ends}"
