"""Whether an offline measure prefers the same of two runs as people do, query by query."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from labeler.annotate.beside import OfflineScores, goes_with_people
from labeler.annotate.side_by_side import RunsSideBySide
from labeler.messages import count_of
from labeler.report.table import Column, Interval, Row, Table
from labeler.stats.associations import UNDEFINED, Association, tau_over_queries
from labeler.stats.randomization import TIED
from labeler.stats.shares import share_interval


@dataclass(frozen=True, eq=False)
class SideBySideBeside:
    """The differences of two runs by an offline measure on the queries that people compared.

    `same` and `opposite` count the queries where people prefer a run and the measure tells the two
    apart; `untold` those where people prefer a run and the measure has a tie. `share` is that of
    `same` among the first two, with its interval over queries; `tau` the rank correlation of
    people's preference with the difference.
    """

    measure: str
    qrels: str
    names: tuple[str, str]
    differences: Mapping[str, float]
    mean: float | None
    same: int
    opposite: int
    untold: int
    share: Interval
    tau: Association

    @property
    def sentences(self) -> list[str]:
        """Whether the measure and people prefer the same run, as far as these queries show."""
        title = f"{self.measure} by {self.qrels}"
        if not self.differences:
            return [f"No query that people compared is in {self.qrels}."]
        decided = self.same + self.opposite
        if not decided:
            return [f"{title} tells the two apart in none of the queries in which people do."]
        queries = count_of(decided, "query", "queries")
        value, low, high = self.share
        share = f"{100 * (value or 0.0):.0f} %"
        ends = "" if low is None else f" [{100 * low:.0f} %, {100 * (high or 0.0):.0f} %]"
        text = f"{title} prefers the same run as people in {share}{ends} of {queries}"
        return [goes_with_people(text, low, high)]

    def table(self) -> Table:
        """How often the measure prefers what people prefer, and how the two go together."""
        columns = [
            Column("beside", align="left"),
            Column("value", format=".3f", ends=".3f"),
            Column("queries"),
        ]
        first, second = self.names
        mean = Interval(self.mean, None, None)
        queries, decided = len(self.differences), self.same + self.opposite
        rows: list[Row] = [
            [f"{self.measure} of {first} less {second}", mean, queries],
            ["the measure prefers what people prefer", self.share, decided],
            ["tau-b over queries", Interval(*self.tau), queries],
        ]
        return Table("side-by-side-beside", columns, rows)

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        return {
            "measure": self.measure,
            "qrels": self.qrels,
            "queries": len(self.differences),
            "mean_difference": self.mean,
            "same": self.same,
            "opposite": self.opposite,
            "tied_by_measure": self.untold,
            "share_same": self.share._asdict(),
            "tau_b": self.tau._asdict(),
        }


def side_by_side_beside(
    values: Mapping[str, float], offline: OfflineScores, runs: RunsSideBySide, seed: int
) -> SideBySideBeside:
    """The offline differences beside people's preferences, `values` above 0 for the first run."""
    first, second = (offline.scores[name] for name in runs.names)
    differences = {
        q: first[q] - second[q]
        for q in values
        if q in first and q in second and not math.isnan(first[q] - second[q])
    }
    people = np.array([values[q] for q in differences])
    measured = np.array(list(differences.values()))
    apart = (np.abs(people) > TIED) & (np.abs(measured) > TIED)
    agreeing = people[apart] * measured[apart] > 0
    ends = share_interval(agreeing.astype(np.float64)) if apart.any() else None
    return SideBySideBeside(
        offline.measure,
        offline.qrels,
        runs.names,
        differences,
        float(measured.mean()) if differences else None,
        int(agreeing.sum()),
        int((~agreeing).sum()),
        int(((np.abs(people) > TIED) & ~apart).sum()),
        Interval(None, None, None) if ends is None else Interval(float(agreeing.mean()), *ends),
        tau_over_queries(people, measured, seed) if differences else UNDEFINED,
    )
