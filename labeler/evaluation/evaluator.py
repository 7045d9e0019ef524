"""Qrels held to score many runs, one after another: what a training loop calls a thousand times."""

from __future__ import annotations

from collections.abc import Sequence

from labeler.errors import about
from labeler.evaluation.inputs import AnyQrels, pool_from, rank, run_of, top_grade_beside
from labeler.evaluation.options import (
    DEFAULT_MEASURES,
    Missing,
    Scoring,
    Stale,
    Unanswerable,
    names_of,
)
from labeler.evaluation.scores import counted, qrels_findings, run_findings
from labeler.metrics import Scores, parse_all, score
from labeler.report.finding import Finding
from labeler.trec.memory import Source


class Evaluator:
    """Qrels and measures, read and checked once, to score many runs.

    Qrels and runs come in any form that `evaluate` takes, and values are those of `evaluate`, which
    computes intervals, tests and warnings beside them. `findings` say what to know of the qrels.

    >>> import labeler
    >>> qrels = {"q1": {"d1": 3, "d2": 0}, "q2": {"d5": 2, "d6": 0}}
    >>> evaluator = labeler.Evaluator(qrels, "RR@10 P@1")
    >>> evaluator.score({"q1": {"d2": 9.1, "d1": 8.4}, "q2": {"d5": 4.0}}).means()
    {'RR@10': 0.75, 'P@1': 0.5}
    >>> evaluator.score({"q1": {"d1": 0.9}, "q2": {"d5": 0.7}}).per_query()["q1"]
    {'RR@10': 1.0, 'P@1': 1.0}
    """

    def __init__(  # noqa: PLR0913 - whoever calls it names the few that are needed
        self,
        qrels: AnyQrels,
        measures: str | Sequence[object] = DEFAULT_MEASURES,
        *,
        missing: Missing = "zero",
        unanswerable: Unanswerable = "count",
        max_grade: int | None = None,
        stale: Stale = "drop",
    ) -> None:
        with about("measures"):
            self.measures = tuple(parse_all(names_of(measures)))
        texts: list[str] = []
        scoring = Scoring(missing, unanswerable, max_grade, stale)
        self._scoring = scoring.with_top_grade(top_grade_beside(qrels))
        self._judged = pool_from(qrels, texts.append, stale=stale)
        of_qrels = qrels_findings(self._judged, self.measures, self._scoring)
        self.findings: tuple[Finding, ...] = (*map(Finding, texts), *of_qrels)

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries of the qrels, sorted by id."""
        return self._judged.queries

    def score(self, run: Source, name: str = "run") -> Scores:
        """The values of the measures for each query of one run.

        A run is a path, a dict, a DataFrame, Arrow's columns or rows of (query, document, score).
        `BadInput` says what is wrong with it, or that it has none of the queries; messages call it
        `name`.
        """
        ranked, facts = rank(run_of(run, name), self._judged)
        run_findings(name, self._judged, facts, self._scoring)
        return score(counted(ranked, self._scoring), self.measures)

    def __repr__(self) -> str:
        measures = ", ".join(map(str, self.measures))
        return f"<Evaluator of {measures} by {self._judged.name}; {len(self.queries):,} queries>"
