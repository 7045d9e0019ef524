"""Which queries people looked at, what they answered, and what each query counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from labeler.annotate.journal import Journals, answers_in
from labeler.annotate.look import strata_of
from labeler.arrays import Floats
from labeler.collection.annotations import JournalRow, RatingKind
from labeler.collection.layout import Collection
from labeler.collection.queries import read_queries
from labeler.evaluation.evaluate import scores_of
from labeler.evaluation.query_facts import QueryFields
from labeler.messages import count_of
from labeler.metrics.scores import Weighting
from labeler.report.finding import Finding
from labeler.stats.shares import DrawnQueries
from labeler.trec.qrels import read_qrels


@dataclass(frozen=True)
class Looked:
    """What raters answered about queries, in the order of the queries' first answers.

    `answers` has rater to answer by query. `stale` answers are about results that a run does not
    show any more; `by` is the field by whose groups queries were drawn.
    """

    answers: Mapping[str, Mapping[str, str]]
    rows: Mapping[str, Sequence[JournalRow]]
    cannot_judge: int = 0
    skipped: int = 0
    stale: int = 0
    by: str = ""

    @property
    def raters(self) -> tuple[str, ...]:
        """The raters with an answer, sorted."""
        return tuple(sorted({rater for answers in self.answers.values() for rater in answers}))

    def findings(self, queries: int) -> list[Finding]:
        """What of the raters' work is in no figure, and of how many queries this is a sample."""
        findings = []
        looked = len(self.answers)
        if looked < queries:
            text = f"a sample: {looked:,} of the {count_of(queries, 'query', 'queries')} of the run"
            findings.append(Finding(text, level="note"))
        if self.stale:
            stands = count_of(self.stale, "answer is", "answers are")
            text = f"{stands} about other results than are shown now: left out"
            findings.append(Finding(text))
        if self.cannot_judge:
            times = count_of(self.cannot_judge, "answer", "answers")
            findings.append(Finding(f"{times} 'cannot judge': in no figure", level="note"))
        return findings

    def as_json(self) -> dict[str, Any]:
        """Counts by name, and the raters."""
        return {
            "raters": list(self.raters),
            "cannot_judge": self.cannot_judge,
            "skipped": self.skipped,
            "stale": self.stale,
            "by": self.by,
        }


def looked_at(
    journals: Journals, kind: RatingKind, sample: str, items: Mapping[str, str]
) -> Looked:
    """The answers about a run, or two; `items` are the questions that stand now, with queries."""
    answers: dict[str, dict[str, str]] = {}
    rows: dict[str, list[JournalRow]] = {}
    counts: Counter[str] = Counter()
    by = ""
    for rater, journal in journals.items():
        own = (kind, sample, "audit")
        given = answers_in([r for r in journal if (r.task, r.sample, r.purpose) == own])
        counts["skipped"] += given.skipped
        for row in given.standing:
            if row.item not in items:
                counts["stale"] += 1
            elif row.answer is None:
                counts["cannot judge"] += 1
            else:
                answers.setdefault(row.query_id, {})[rater] = row.answer
                rows.setdefault(rater, []).append(row)
                by = str(row.detail.get("by") or by)
    return Looked(answers, rows, counts["cannot judge"], counts["skipped"], counts["stale"], by)


@dataclass(frozen=True)
class QueryWeights:
    """What each query counts in a mean over all queries, and the group that it was drawn from.

    Empty `weights` count all alike.
    """

    weights: Mapping[str, float] = field(default_factory=dict)
    strata: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    def counts(self, query_id: str) -> bool:
        """Whether a query has a part in means."""
        return not self.weights or query_id in self.weights

    def weighting(self, queries: Sequence[str]) -> Weighting | None:
        """The weights of some queries; `None` where all count alike."""
        return Weighting(self._of(queries)) if self.weights else None

    def drawn(self, queries: Sequence[str]) -> DrawnQueries:
        """The weights of some queries with their strata, as the interval of a share takes them."""
        weights = self._of(queries) if self.weights else None
        if not self.strata:
            return DrawnQueries(weights)
        _, strata = np.unique([self.strata[q] for q in queries], return_inverse=True)
        return DrawnQueries(weights, strata.astype(np.int64))

    def _of(self, queries: Sequence[str]) -> Floats:
        return np.array([self.weights[q] for q in queries], dtype=np.float64)


def weighting_of(
    collection: Collection, looked: Looked, population: Sequence[str], weights: str
) -> QueryWeights:
    """What queries count: by a field of their metadata, and by how many each stands for.

    Where queries were drawn by groups, the answered queries of a group stand for all of it.
    """
    answered, findings = list(looked.answers), []
    strata: dict[str, str] = {}
    counted: dict[str, float] = {}
    if weights:
        path = collection.queries
        fields = QueryFields({q.id: q.metadata for q in read_queries(path).values()}, str(path))
        by_field = fields.weights(weights).weights
        counted = {q: by_field[q] for q in answered if q in by_field}
        if missing := len(answered) - len(counted):
            lacks = count_of(missing, "query has", "queries have")
            findings.append(Finding(f"{lacks} no {weights}, and so no part in a mean: left out"))
    if looked.by:
        every = strata_of(collection, population, looked.by)
        strata = {q: every[q] for q in answered}
        sizes, seen = Counter(every.values()), Counter(strata.values())
        stands_for = {stratum: sizes[stratum] / count for stratum, count in seen.items()}
        base = counted or dict.fromkeys(answered, 1.0)
        counted = {q: weight * stands_for[strata[q]] for q, weight in base.items()}
        if unseen := sorted(set(sizes) - set(seen)):
            names = ", ".join(unseen[:3])
            findings.append(Finding(f"no query of {looked.by} {names} was looked at: left out"))
    return QueryWeights(counted, strata, tuple(findings))


# What an offline measure says of the queries at which people looked.

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
