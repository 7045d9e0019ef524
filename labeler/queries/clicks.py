"""What people clicked, as a run and as weak qrels: signs of relevance, and no judgements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from labeler.errors import Misuse

TAG = "clicks"
FEWEST_SHOWN = 2
"""A document that was shown less often says nothing by not being clicked."""


@dataclass(slots=True)
class Clicks:
    """Clicks and impressions of documents, by query.

    A click counts the inverse of how likely somebody looks at its rank, so that low ranks are not
    taken for less relevant ones (Joachims, Swaminathan and Schnabel 2017, WSDM). At rank k that is
    `k ** -eta`, or what `attention` gives as its k-th value, of a lower rank its last one. A rank
    that the log does not give counts as the first.
    """

    eta: float = 1.0
    attention: Sequence[float] = ()
    _weighted: dict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))
    _shown: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))

    def add(self, query_id: str, doc_id: str, rank: int | None, clicks: int, shown: int) -> None:
        """Count that a document was shown so often at a rank, and clicked so often."""
        self._shown[query_id, doc_id] += shown
        self._weighted[query_id, doc_id] += clicks / self.looked_at(rank or 1)

    def looked_at(self, rank: int) -> float:
        """How likely somebody looks at a rank, beside the first."""
        if self.attention:
            return self.attention[min(rank, len(self.attention)) - 1] / self.attention[0]
        return float(float(rank) ** -self.eta)

    def scores(self) -> dict[str, dict[str, float]]:
        """The clicks for each impression, corrected for ranks, of what was clicked."""
        scores: dict[str, dict[str, float]] = defaultdict(dict)
        for (query_id, doc_id), clicks in self._weighted.items():
            if clicks > 0:
                scores[query_id][doc_id] = clicks / self._shown[query_id, doc_id]
        return dict(scores)

    def grades(self) -> dict[str, dict[str, int]]:
        """1 for what was clicked, 0 for what was shown `FEWEST_SHOWN` times and never clicked."""
        grades: dict[str, dict[str, int]] = defaultdict(dict)
        for (query_id, doc_id), shown in sorted(self._shown.items()):
            is_clicked = self._weighted[query_id, doc_id] > 0
            if is_clicked or shown >= FEWEST_SHOWN:
                grades[query_id][doc_id] = int(is_clicked)
        return dict(grades)

    def run_lines(self) -> Iterator[str]:
        """A TREC run of what was clicked, the corrected click-through rate as its score."""
        for query_id, scores in sorted(self.scores().items()):
            ranked = sorted(scores, key=lambda doc: (-scores[doc], doc))
            for rank, doc_id in enumerate(ranked, start=1):
                yield f"{query_id} Q0 {doc_id} {rank} {scores[doc_id]:.6f} {TAG}\n"

    def qrels_lines(self) -> Iterator[str]:
        """Weak qrels of clicks."""
        for query_id, grades in sorted(self.grades().items()):
            yield from (f"{query_id} 0 {doc} {grade}\n" for doc, grade in sorted(grades.items()))


def check_named_clicks(path: Path) -> None:
    """`Misuse` of a file of weak qrels whose name would let them pass for judgements."""
    if "click" not in path.name.casefold():
        named = f"expected a name that says so, as clicks.qrels, not {path.name}"
        problem = f"clicks are no judgements: {named}"
        raise Misuse(problem, parameter="click_qrels")
