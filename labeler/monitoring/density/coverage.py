"""How near the corpus is to each query: by vectors, and by the words that it lacks."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from labeler.arrays import Flags, Floats
from labeler.collection.search.dense import dense_run
from labeler.collection.search.searched import Searched
from labeler.data import Query
from labeler.messages import Progress, no_progress
from labeler.text.terms import TermStatistics, terms, text_to_search
from labeler.text.vectors import Encoder

CALIBRATED = 0.95
"""The share of answered evaluation queries that count as covered."""
LACKING = 0.5
"""From this share of its words on, by idf, that the corpus lacks, a query lacks words in it."""


@dataclass(frozen=True, eq=False)
class CorpusDistance:
    """How near the corpus is to each of some queries.

    `distances` are 1 less the cosine, the mean over the first passages; `lacking` is the share of
    each query's terms, weighted by idf, that stand nowhere in the corpus.
    """

    distances: Floats
    lacking: Floats

    def part(self, places: slice) -> CorpusDistance:
        """The same of some of the queries."""
        return CorpusDistance(self.distances[places], self.lacking[places])

    @property
    def lacks_words(self) -> Flags:
        """Whether half of the query or more stands nowhere in the corpus."""
        lacks: Flags = self.lacking >= LACKING
        return lacks


def corpus_distance(
    searched: Searched,
    texts: Sequence[str],
    encoder: Encoder,
    passages: int,
    progress: Progress = no_progress,
) -> CorpusDistance:
    """The distances of queries to a corpus, of which a block at a time is in memory."""
    queries = [Query(str(index), text) for index, text in enumerate(texts)]
    run = dense_run(searched, queries, encoder, passages, progress)
    means = [float(np.mean([*run[query.id].values()] or [0.0])) for query in queries]
    return CorpusDistance(1.0 - np.array(means), _lacking(searched, texts, progress))


def _lacking(searched: Searched, texts: Sequence[str], progress: Progress) -> Floats:
    of_queries = [[*dict.fromkeys(terms(text))] for text in texts]
    vocabulary = {term for asked in of_queries for term in asked}
    statistics = _statistics(searched, vocabulary, progress)
    weights = {term: statistics.idf(term) for term in vocabulary}
    lacks = {term for term in vocabulary if term not in statistics.frequency}

    def share(asked: Sequence[str]) -> float:
        total = sum(weights[term] for term in asked)
        return sum(weights[term] for term in asked if term in lacks) / total if total else math.nan

    return np.array([share(asked) for asked in of_queries])


def _statistics(
    searched: Searched, vocabulary: Collection[str], progress: Progress
) -> TermStatistics:
    """In how many documents each term of the queries stands; other terms are not counted."""
    with progress("counting words") as advance:
        documents = searched.counted(advance)
        return TermStatistics.of(
            [term for term in terms(text_to_search(document)) if term in vocabulary]
            for document in documents
        )


@dataclass(frozen=True, slots=True)
class Threshold:
    """From which distance on a query is not covered, and of which queries that was learnt.

    `value` is None where there are too few. A query like the `queries` answered ones is farther
    with a chance of 5 % at most: it is the order statistic of conformal prediction (Vovk,
    Gammerman and Shafer 2005, Algorithmic Learning in a Random World), not a mere percentile.
    """

    value: float | None
    queries: int
    answered: bool

    @classmethod
    def of(cls, distances: Floats, *, answered: bool) -> Threshold:
        """The threshold that the evaluation's queries give; 19 of them are needed.

        >>> Threshold.of(np.arange(99.0), answered=True).value
        94.0
        """
        index = math.ceil(CALIBRATED * (len(distances) + 1))
        if index > len(distances):
            return cls(None, len(distances), answered)
        return cls(float(np.sort(distances)[index - 1]), len(distances), answered)
