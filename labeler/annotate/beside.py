"""What an offline measure says of the queries at which people looked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from labeler.collection.layout import Collection
from labeler.evaluation.system_scores import scores_of

HUMAN = "human"


@dataclass(frozen=True)
class OfflineScores:
    """The scores of runs by one measure and one set of qrels: run to query to value."""

    measure: str
    qrels: str
    scores: Mapping[str, Mapping[str, float]]

    @property
    def title(self) -> str:
        """The measure and the qrels."""
        return f"{self.measure} by {self.qrels}"


def offline_scores(
    collection: Collection, runs: Mapping[str, Path], qrels: str | None, measure: str
) -> OfflineScores | None:
    """The runs' scores by the qrels of that name, else by people's; `None` without any."""
    if qrels is None and HUMAN not in collection.qrels_names():
        return None
    name = qrels or HUMAN
    path = collection.existing_qrels(name)
    scored = scores_of(path, dict(runs), measure, name)
    by_run = {
        run: dict(zip(scored.queries, row.tolist(), strict=True))
        for run, row in zip(scored.runs, scored.values, strict=True)
    }
    return OfflineScores(measure, name, by_run)
