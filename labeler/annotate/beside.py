"""What an offline measure says of the queries at which people looked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from labeler.collection.layout import Collection
from labeler.evaluation.system_scores import scores_of
from labeler.trec.qrels import read_qrels

HUMAN = "human"
CHANCE = 0.5
"""How often a measure that knows nothing of people's preferences agrees with them."""


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


def goes_with_people(text: str, low: float | None, high: float | None) -> str:
    """The text, and what the interval of its share says of the measure.

    >>> goes_with_people("nDCG@10 does so 9 times in 10", 0.7, 0.97)
    'nDCG@10 does so 9 times in 10: the measure goes with people.'
    """
    if low is not None and low > CHANCE:
        return f"{text}: the measure goes with people."
    if high is not None and high < CHANCE:
        return f"{text}: the measure goes against people."
    return f"{text}: that the measure goes with people is not shown."


def offline_scores(
    collection: Collection,
    runs: Mapping[str, Path],
    answered: Sequence[Set[str]],
    qrels: str | None,
    measure: str,
) -> OfflineScores | None:
    """The runs' scores by the qrels of that name, else by people's; `None` without any.

    `answered` are the queries that each run answers: people's qrels may be of none of them.
    """
    if qrels is None and not _has_human(collection, answered):
        return None
    name = qrels or HUMAN
    path = collection.existing_qrels(name)
    scored = scores_of(path, dict(runs), measure, name)
    by_run = {
        run: dict(zip(scored.queries, row.tolist(), strict=True))
        for run, row in zip(scored.runs, scored.values, strict=True)
    }
    return OfflineScores(measure, name, by_run)


def _has_human(collection: Collection, answered: Sequence[Set[str]]) -> bool:
    """Whether the collection has people's qrels of some query of each run."""
    if HUMAN not in collection.qrels_names():
        return False
    judged = read_qrels(collection.qrels(HUMAN)).keys()
    return all(not judged.isdisjoint(queries) for queries in answered)
