"""What is measured of a set of queries: lengths, kinds, words, distance to their source."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from labeler.data import Document, Query
from labeler.queries.filter import words
from labeler.queries.kinds import is_question, kind_of
from labeler.queries.writing.search import CorpusSearch
from labeler.report.table import Interval
from labeler.stats.shares import share_interval
from labeler.text.terms import terms

EQUAL_LENGTH = 100
"""Words at which the variety of words is compared; of fewer, at as many as both sets have."""

FIRST, FAR = 1, 10
"""Ranks of a source: at the first, word matching suffices; beyond ten, it does not."""


class Published(NamedTuple):
    """Figures of queries that others published: the median of words, the share of questions."""

    name: str
    median_words: float
    questions: float


PUBLISHED = (
    Published("real: TREC DL 2023", 6, 0.04),
    Published("by GPT-4, for TREC DL 2023", 11, 1.0),
)
"""What to compare with where there are no real queries of one's own."""


@dataclass(frozen=True, slots=True)
class QuerySet:
    """What is measured of a set of queries; a value with its interval where it is of a sample.

    `variety` is the expected share of different words among `EQUAL_LENGTH` words drawn from all,
    so that sets of different sizes can be compared. `overlap` is the mean share of a query's terms
    that stand in its source, `first` the share of queries whose source BM25 has at the first rank,
    `far` of those that it has beyond the tenth; these are None where sources are not known.
    """

    name: str
    queries: int
    median_words: Interval
    questions: Interval
    variety: float | None = None
    kinds: Mapping[str, float] | None = None
    overlap: float | None = None
    first: Interval | None = None
    far: Interval | None = None


def words_to_compare(generated: Sequence[Query], others: Sequence[str]) -> int:
    """At how many words the variety of both sets is compared."""
    both = ([query.text for query in generated], others)
    sizes = [sum(len(words(text)) for text in texts) for texts in both]
    return min([EQUAL_LENGTH, *(size for size in sizes if size)])


def of_texts(name: str, texts: Sequence[str], length: int) -> QuerySet:
    """What is measured of queries whose sources are not known."""
    counts = [len(words(text)) for text in texts]
    kinds = Counter(map(kind_of, texts))
    shares = {kind: count / len(texts) for kind, count in kinds.most_common()}
    questions = _share(map(is_question, texts))
    return QuerySet(name, len(texts), _median(counts), questions, variety(texts, length), shares)


def of_generated(queries: Sequence[Query], search: CorpusSearch, length: int) -> QuerySet:
    """What is measured of generated queries; how near they are to their sources too."""
    plain = of_texts("generated", [query.text for query in queries], length)
    by_id = search.documents
    with_sources = [q for q in queries if all(s["doc_id"] in by_id for s in q.metadata["source"])]
    if not with_sources:
        return plain
    ranks = search.bm25_ranks(with_sources)
    return QuerySet(
        *(plain.name, plain.queries, plain.median_words, plain.questions),
        *(plain.variety, plain.kinds, _overlap(with_sources, by_id)),
        _share(rank == FIRST for rank in ranks),
        _share(rank is None or rank > FAR for rank in ranks),
    )


def of_published(figures: Published) -> QuerySet:
    """Figures that others published, without intervals."""

    def exact(value: float) -> Interval:
        return Interval(value, None, None)

    return QuerySet(figures.name, 0, exact(figures.median_words), exact(figures.questions))


def _overlap(queries: Sequence[Query], documents: Mapping[str, Document]) -> float:
    shares = []
    for query in queries:
        in_query = set(terms(query.text))
        sources = [documents[source["doc_id"]].text for source in query.metadata["source"]]
        shares.append(len(in_query & set(terms("\n".join(sources)))) / max(1, len(in_query)))
    return sum(shares) / len(shares)


def _share(values: Any) -> Interval:
    """A share with Wilson's interval."""
    array = np.fromiter((float(value) for value in values), dtype=np.float64)
    return Interval(float(array.mean()), *share_interval(array))


def _median(counts: Sequence[int]) -> Interval:
    """A median with the interval that order statistics give it, whatever the distribution."""
    ordered = sorted(counts)
    half = 1.96 * math.sqrt(len(ordered)) / 2
    low = max(0, math.floor(len(ordered) / 2 - half))
    high = min(len(ordered) - 1, math.ceil(len(ordered) / 2 + half) - 1)
    return Interval(float(np.median(ordered)), ordered[low], ordered[max(high, low)])


def variety(texts: Sequence[str], length: int) -> float | None:
    """The expected share of different words among `length` drawn without replacement from texts.

    None where there are fewer. A plain ratio of types to tokens falls as texts get longer; this
    does not (Hurlbert's rarefaction, Ecology 52, 1971).

    >>> variety(["a b", "a c"], 4)
    0.75
    """
    counts = Counter(word for text in texts for word in words(text))
    total = counts.total()
    if not 0 < length <= total:
        return None
    absent = sum(_none_drawn(total, count, length) for count in counts.values())
    return (len(counts) - absent) / length


def _none_drawn(total: int, count: int, drawn: int) -> float:
    """The probability that none of `count` words of `total` is among `drawn`."""
    if total - count < drawn:
        return 0.0
    left = math.lgamma(total - count + 1) - math.lgamma(total - count - drawn + 1)
    return math.exp(left - math.lgamma(total + 1) + math.lgamma(total - drawn + 1))
