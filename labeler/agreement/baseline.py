"""An assessor beside the baseline: does an LLM tell more than similar words do?

The baseline is the `similarity` score with cut points fitted on the same human grades. Each pair is
graded by cut points of other queries, so that no grade is fitted on itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from labeler.agreement.align import AssessorLabels, Rules, align
from labeler.agreement.compare import Estimate, StatisticOptions, estimate
from labeler.agreement.differences import Difference, differences
from labeler.agreement.statistics import find_statistic
from labeler.agreement.statistics.registry import GradedPairs, query_tables
from labeler.arrays import Floats, Integers
from labeler.collection.corpus import read_corpus
from labeler.collection.layout import Collection
from labeler.collection.queries import read_queries
from labeler.data import Pair, Qrels
from labeler.models.embedded import cosine_of, similarity_score
from labeler.stats.resampling import Sample
from labeler.text.terms import TermStatistics, matched_share, terms, text_to_search
from labeler.text.vectors import DENSE_EXTRA, can_encode, encode

# How alike the query and the document of each pair are, by the score of `similarity`.

MOST_PAIRS, LARGEST_CORPUS = 20_000, 100_000_000
"""More pairs, or a larger corpus in bytes, take minutes: then the baseline has to be asked for."""
FEWEST_QUERIES, FEWEST_PAIRS = 10, 100
"""Of fewer, cut points say more of these queries than of others."""


def why_no_baseline(collection: Collection | None, human: Qrels, *, asked: bool) -> str:
    """Why there is no baseline; empty where there can be one.

    `asked` says that somebody wants it, however long it takes.
    """
    pairs = sum(grade >= 0 for row in human.values() for grade in row.values())
    if collection is None:
        return "it takes the texts of a collection, and these are files of grades"
    if not (collection.corpus.exists() and collection.queries.exists()):
        return f"{collection.folder} has no texts"
    if not can_encode():
        return DENSE_EXTRA
    if len(human) < FEWEST_QUERIES or pairs < FEWEST_PAIRS:
        return f"cut points take human grades of {FEWEST_QUERIES} queries and {FEWEST_PAIRS} pairs"
    large = pairs > MOST_PAIRS or collection.corpus.stat().st_size > LARGEST_CORPUS
    return "it would take minutes here" if large and not asked else ""


def similarity_scores(collection: Collection, pairs: Iterable[Pair]) -> dict[Pair, float]:
    """The score of each pair whose texts the collection has, as the `similarity` assessor's."""
    documents, queries = read_corpus(collection.corpus), read_queries(collection.queries)
    statistics = TermStatistics.of(terms(text_to_search(d)) for d in documents.values())
    cosine = cosine_of(encode)
    scores = {}
    for pair in pairs:
        if pair.query_id in queries and pair.doc_id in documents:
            query, text = queries[pair.query_id].text, text_to_search(documents[pair.doc_id])
            matched = matched_share(terms(query), terms(text), statistics)
            scores[pair] = similarity_score(cosine(query, text), matched)
    return scores


# Cut points that turn scores into grades: fitted on people's grades, tried on other queries.

FOLDS = 10
CANDIDATES = 64
"""Cut points lie between so many shares of the scores at most."""
ROUNDS = 50


class GradedScores(NamedTuple):
    """Scores of pairs, the place of people's grade of each in the scale, its query and weight."""

    scores: Floats
    grades: Integers
    query: Integers
    weights: Floats

    def of(self, rows: Floats) -> GradedScores:
        """Some of the pairs."""
        return GradedScores(*(column[rows] for column in self))


def fitted_cuts(graded: GradedScores, scale: Sequence[int]) -> Floats:
    """The scores from which on each grade but the lowest is given, `(grades - 1,)`.

    They are those with the largest sum of kappa and quadratic kappa: either alone merges grades.
    One cut is moved at a time, until none can be moved to more; from two starts.
    """
    edges = _edges(graded.scores)
    # (edges, grades): the weight of people's grades below each edge
    bins = np.searchsorted(edges, graded.scores, side="right")
    counts = np.zeros((len(edges) + 1, len(scale)))
    np.add.at(counts, (bins, graded.grades), graded.weights)
    below = np.concatenate([np.zeros((1, len(scale))), counts.cumsum(axis=0)])
    best = max((_climbed(start, below, scale) for start in _starts(below)), key=lambda end: end[0])
    return np.asarray(edges[best[1] - 1], dtype=np.float64)


def _edges(scores: Floats) -> Floats:
    """Between which scores a cut may lie: at each of few scores, at shares of many."""
    distinct = np.unique(scores)
    if len(distinct) > CANDIDATES:
        shares = np.linspace(0, 1, CANDIDATES + 1)[1:]
        distinct = np.unique(np.quantile(scores, shares, method="inverted_cdf"))
    # one above all scores, so that the highest grades may stay without any
    return np.append(distinct, np.nextafter(distinct[-1], np.inf))


def _starts(below: Floats) -> list[Integers]:
    """Cuts that give each grade as often as people do, and cuts that give all grades as often."""
    total, k = below[-1].sum(), below.shape[1]
    reached = below.sum(axis=1)
    shares = [below[-1].cumsum()[:-1], np.arange(1, k) * total / k]
    return [
        np.clip(np.searchsorted(reached, share - 1e-9), 1, len(reached) - 2).astype(np.int64)
        for share in shares
    ]


def _climbed(cuts: Integers, below: Floats, scale: Sequence[int]) -> tuple[float, Integers]:
    """The value at the cuts from which no single move leads higher, and these."""
    value = float(_values(cuts[None, :], below, scale)[0])
    for _ in range(ROUNDS):
        before = value
        for index in range(len(cuts)):
            low = cuts[index - 1] if index else 1
            high = cuts[index + 1] if index + 1 < len(cuts) else len(below) - 2
            moved = np.repeat(cuts[None, :], high - low + 1, axis=0)
            moved[:, index] = np.arange(low, high + 1)
            values = _values(moved, below, scale)
            if values.max() > value:
                value, cuts = float(values.max()), moved[int(values.argmax())]
        if value <= before:
            break
    return value, cuts


def _values(cuts: Integers, below: Floats, scale: Sequence[int]) -> Floats:
    """What is to be the largest, of `(candidates, grades - 1)` cuts; -2 where it is undefined."""
    rows = len(cuts)
    ends = np.concatenate([np.zeros((rows, 1), int), cuts, np.full((rows, 1), len(below) - 1)], 1)
    # (candidates, human grades, grades given)
    tables = np.diff(below[ends], axis=1).transpose(0, 2, 1)
    grades = np.array(scale, dtype=np.float64)
    names = ("kappa", "kappa-quadratic")
    values = sum(find_statistic(name, scale).compute(tables, grades) for name in names)
    return np.nan_to_num(np.asarray(values, dtype=np.float64), nan=-2.0)


def graded_by(scores: Floats, cuts: Floats) -> Integers:
    """The number of cuts that each score reaches: its place in the scale."""
    return np.asarray(np.searchsorted(cuts, scores, side="right"), dtype=np.int64)


def cross_validated(graded: GradedScores, scale: Sequence[int], seed: int = 0) -> Integers:
    """The grade of each pair by cuts that were fitted on the pairs of other queries.

    The queries are dealt out to ten parts, or to as many as there are; each part is graded by cuts
    of the rest.
    """
    queries = np.unique(graded.query)
    parts = min(FOLDS, len(queries))
    dealt = np.random.default_rng(seed).permutation(len(queries)) % parts
    part_of = dealt[np.searchsorted(queries, graded.query)]
    grades = np.zeros(len(graded.scores), dtype=np.int64)
    for part in range(parts):
        own = part_of == part
        grades[own] = graded_by(graded.scores[own], fitted_cuts(graded.of(~own), scale))
    return grades


# What the baseline says of an assessor.


@dataclass(frozen=True)
class Baseline:
    """The baseline's agreement with people, and an assessor's less it, on common pairs.

    `statistics` are of all pairs with a human grade and texts; `cuts` are those of all queries.
    """

    pairs: int
    cuts: tuple[float, ...]
    statistics: Mapping[str, Estimate]
    differences: tuple[Difference, ...]

    @property
    def verdict(self) -> str:
        """Whether the assessor beats the baseline by kappa."""
        texts = {"first is closer": "beats it", "second is closer": "is beaten by it"}
        return texts.get(self.differences[0].verdict, "does not beat it by more than chance")

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        return {
            "pairs": self.pairs,
            "cuts": list(self.cuts),
            "statistics": {
                name: {"value": e.value, "low": e.low, "high": e.high}
                for name, e in self.statistics.items()
            },
            "differences": {
                d.statistic.name: {"value": d.value, "low": d.low, "high": d.high}
                for d in self.differences
            },
            "verdict": self.verdict,
        }


STATISTICS = ("kappa", "kappa-quadratic")
Weights = Mapping[Pair, float] | None


def fitted_similarity(
    collection: Collection, human: Qrels, scale: tuple[int, ...], seed: int = 0
) -> Qrels:
    """Grades of the pairs that people graded, by cut points fitted on other queries' pairs."""
    pairs = [Pair(q, d) for q, row in human.items() for d, g in row.items() if g in scale]
    return fitted_grades(similarity_scores(collection, pairs), human, scale, seed=seed)[0]


def fitted_grades(
    scores: Mapping[Pair, float],
    human: Qrels,
    scale: tuple[int, ...],
    weights: Weights = None,
    seed: int = 0,
) -> tuple[Qrels, Floats]:
    """The same of pairs' scores, whatever they are; and the cut points of all queries."""
    pairs = [
        pair for pair in scores if human.get(pair.query_id, {}).get(pair.doc_id, None) in scale
    ]
    number_of = {query: n for n, query in enumerate(dict.fromkeys(p.query_id for p in pairs))}
    graded = GradedScores(
        np.array([scores[pair] for pair in pairs], dtype=np.float64),
        np.array([scale.index(human[p.query_id][p.doc_id]) for p in pairs], dtype=np.int64),
        np.array([number_of[pair.query_id] for pair in pairs], dtype=np.int64),
        np.array([1.0 if weights is None else weights.get(pair, 0.0) for pair in pairs]),
    )
    qrels: Qrels = {}
    for pair, index in zip(pairs, cross_validated(graded, scale, seed).tolist(), strict=True):
        qrels.setdefault(pair.query_id, {})[pair.doc_id] = scale[index]
    return qrels, fitted_cuts(graded, scale)


@dataclass(frozen=True, eq=False)
class FittedBaseline:
    """The baseline's grades beside people's, its cut points of all queries, and its statistics."""

    human: Qrels
    weights: Weights
    paired: GradedPairs
    cuts: tuple[float, ...]
    statistics: Mapping[str, Estimate]


def fitted_baseline(
    scores: Mapping[Pair, float],
    human: Qrels,
    scale: tuple[int, ...],
    options: StatisticOptions,
    weights: Weights = None,
) -> FittedBaseline | None:
    """The baseline, with the statistics that the options name; `None` where no pair has texts."""
    if not any(pair.doc_id in human.get(pair.query_id, {}) for pair in scores):
        return None
    grades, cuts = fitted_grades(scores, human, scale, weights, options.seed)
    paired = align(human, AssessorLabels(grades), Rules(scale=scale), weights).pairs
    names = dict.fromkeys([*STATISTICS, *(options.names or ())])
    values = {name: _estimate(paired, name, options) for name in names}
    return FittedBaseline(human, weights, paired, tuple(cuts.tolist()), values)


def beside(
    baseline: FittedBaseline, assessor: Qrels, options: StatisticOptions, others: int = 1
) -> Baseline:
    """An assessor's grades, as compared, beside the baseline; `others` so many of them in all."""
    scale = baseline.paired.grades
    its = align(baseline.human, AssessorLabels(assessor), Rules(scale=scale), baseline.weights)
    statistics = [find_statistic(name, scale) for name in STATISTICS]
    apart = differences(its.pairs, baseline.paired, statistics, options, others)
    return Baseline(len(baseline.paired), baseline.cuts, baseline.statistics, tuple(apart))


def _estimate(paired: GradedPairs, name: str, options: StatisticOptions) -> Estimate:
    sample = Sample(query_tables(paired), options.draws, options.seed)
    grades = np.array(paired.grades, dtype=np.float64)
    return estimate(find_statistic(name, paired.grades), sample, grades, options, len(paired))
