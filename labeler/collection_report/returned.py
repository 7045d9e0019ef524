"""What each system returned for each query, with grades and reasons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from labeler.collection.corpus import distinct_documents
from labeler.collection.judgements import read_judgements
from labeler.collection_report.contents import CollectionContents
from labeler.data import Document, Failure, Pair, Qrels, Query, Run
from labeler.evaluation.score_report import Report
from labeler.exchange.runs import hold_run
from labeler.files.read import rereadable
from labeler.messages import Progress
from labeler.trec.runs import ranking, read_run


@dataclass(frozen=True)
class ShownDocument:
    """A document of a query: its rank by system (1 is first), its grades, and why.

    `grade` is that which scores the systems; it is None where nobody judged the pair, or where
    judging failed, which `failure` says. `human` is people's, where the grade is an assessor's.
    """

    id: str
    ranks: Mapping[str, int] = field(default_factory=dict)
    grade: int | None = None
    human: int | None = None
    failure: str = ""
    reason: str = ""


@dataclass(frozen=True)
class ReportedQuery:
    """A query with each system's score by the first measure, and the documents that are shown.

    `relevant` counts documents with a grade above 0, `unseen` those of them that no system has
    among the documents shown.
    """

    query: Query
    scores: Mapping[str, float]
    documents: tuple[ShownDocument, ...]
    relevant: int
    unseen: int

    @property
    def unjudged(self) -> int:
        """How many of the documents that systems returned have no grade."""
        return sum(bool(document.ranks) and document.grade is None for document in self.documents)

    @property
    def mean(self) -> float | None:
        """The mean of the systems' scores; None where no system is scored."""
        defined = [score for score in self.scores.values() if not math.isnan(score)]
        return sum(defined) / len(defined) if defined else None


@dataclass(frozen=True)
class ReasonsAndFailures:
    """Reasons and failures of a set of judgements, by pair."""

    reasons: Mapping[Pair, str] = field(default_factory=dict)
    failures: Mapping[Pair, str] = field(default_factory=dict)


def reasons_in(path: Path) -> ReasonsAndFailures:
    """What a set of judgements says beside its grades; nothing without a file."""
    reasons: dict[Pair, str] = {}
    failures: dict[Pair, str] = {}
    for row in read_judgements(path) if path.is_file() else ():
        outcome = row.judged.outcome
        if isinstance(outcome, Failure):
            failures[outcome.pair] = outcome.status
        elif outcome.reason:
            reasons[outcome.pair] = outcome.reason
    return ReasonsAndFailures(reasons, failures)


Tops = Mapping[str, Mapping[str, tuple[str, ...]]]
"""System to query to the first documents that it returned."""


def first_documents(runs: Mapping[str, Path], top: int, progress: Progress) -> Tops:
    """The first documents of each system for each query, one run in memory at a time."""
    tops: dict[str, dict[str, tuple[str, ...]]] = {}
    with progress("runs read") as advance:
        for done, (name, path) in enumerate(runs.items(), start=1):
            tops[name] = {query: tuple(ranking(s)[:top]) for query, s in _run(path).items()}
            advance(done, len(runs))
    return tops


def _run(path: Path) -> Run:
    with rereadable():
        hold_run(path)
        return read_run(path)


@dataclass(frozen=True)
class GradesAndReasons:
    """The grades that score the systems, people's beside them, and what was said of the pairs."""

    scoring: Qrels
    human: Qrels
    reasons: ReasonsAndFailures

    def document(self, query_id: str, doc_id: str, ranks: Mapping[str, int]) -> ShownDocument:
        """A document of a query, with what is known of the pair."""
        pair = Pair(query_id, doc_id)
        return ShownDocument(
            doc_id,
            ranks,
            _judged(self.scoring, pair),
            _judged(self.human, pair),
            self.reasons.failures.get(pair, ""),
            self.reasons.reasons.get(pair, ""),
        )


def _judged(qrels: Qrels, pair: Pair) -> int | None:
    grade = qrels.get(pair.query_id, {}).get(pair.doc_id, -1)
    return grade if grade >= 0 else None


def reported_queries(
    contents: CollectionContents,
    graded: GradesAndReasons,
    tops: Tops,
    scores: Report | None,
    top: int,
) -> Iterator[ReportedQuery]:
    """The queries in the order of the collection, then those that stand in the grades alone."""
    by_system = _scores_by_query(scores)
    every = dict.fromkeys([*contents.queries, *graded.scoring])
    for query_id in every:
        query = contents.queries.get(query_id) or Query(query_id, "")
        ranks = _ranks(tops, query_id)
        grades = graded.scoring.get(query_id, {})
        relevant = [doc_id for doc_id, grade in grades.items() if grade > 0]
        if not tops:
            ranks = {doc_id: {} for doc_id in _best_graded(grades, top)}
        yield ReportedQuery(
            query,
            {name: row[query_id] for name, row in by_system.items() if query_id in row},
            tuple(graded.document(query_id, doc_id, own) for doc_id, own in ranks.items()),
            len(relevant),
            sum(doc_id not in ranks for doc_id in relevant),
        )


def _ranks(tops: Tops, query_id: str) -> dict[str, dict[str, int]]:
    """The ranks of each document by system; documents that most systems rank high come first."""
    ranks: dict[str, dict[str, int]] = {}
    for name, by_query in tops.items():
        for rank, doc_id in enumerate(by_query.get(query_id, ()), start=1):
            ranks.setdefault(doc_id, {})[name] = rank
    return dict(sorted(ranks.items(), key=lambda item: (-_weight(item[1]), item[0])))


def _weight(ranks: Mapping[str, int]) -> float:
    """The sum of reciprocal ranks."""
    return sum(1 / rank for rank in ranks.values())


def _best_graded(grades: Mapping[str, int], top: int) -> list[str]:
    judged = [doc_id for doc_id, grade in grades.items() if grade >= 0]
    return sorted(judged, key=lambda doc_id: (-grades[doc_id], doc_id))[:top]


def _scores_by_query(scores: Report | None) -> dict[str, dict[str, float]]:
    """Each system's scores by the first measure, by query."""
    if scores is None:
        return {}
    return {
        run.name: dict(zip(run.scores.queries, run.scores.values[0].tolist(), strict=True))
        for run in scores.ranked
    }


def documents_shown(
    contents: CollectionContents, ids: Iterable[str], longest: int
) -> dict[str, Document]:
    """Those documents of the corpus that have one of the ids, with their texts cut."""
    needed = frozenset(ids)
    if not contents.collection.corpus.is_file():
        return {}
    return {
        document.id: Document(document.id, document.text[:longest], document.title)
        for document in distinct_documents(contents.collection.corpus)
        if document.id in needed
    }
