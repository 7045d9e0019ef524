"""`queries realism`: how generated queries differ from real ones, in figures and in words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from labeler.collection.layout import Collection, open_collection
from labeler.collection.queries import read_queries
from labeler.data import Document, Query
from labeler.errors import BadInput
from labeler.exchange.queries import read_query_list
from labeler.queries.filter import words
from labeler.queries.kinds import is_question, kind_of
from labeler.queries.writer import CorpusSearch
from labeler.report.table import Cell, Column, Interval, Table
from labeler.stats.means import share_interval
from labeler.text.terms import terms

# What is measured of a set of queries: lengths, kinds, words, distance to their source.

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


@dataclass(frozen=True, slots=True)
class Realism:
    """Generated queries beside real ones, or beside published figures where there are none."""

    sets: tuple[QuerySet, ...]
    sentences: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The table's rows, the shares of kinds, and what differs in words."""
        kinds = {s.name: dict(s.kinds) for s in self.sets if s.kinds is not None}
        return {"sets": self.table().records(), "kinds": kinds, "findings": list(self.sentences)}

    def table(self) -> Table:
        """A row for each set of queries."""
        columns = [
            Column("queries of", align="left"),
            Column("queries", format="d"),
            Column("median words", format=".0f", ends=".0f"),
            Column("questions", format=".0%", ends=".0%"),
            Column("variety", format=".2f"),
            Column("overlap", format=".2f"),
            Column("source first", format=".0%", ends=".0%"),
            Column("source beyond 10", format=".0%", ends=".0%"),
        ]
        note = (
            f"variety: the share of different words among {EQUAL_LENGTH}, or as many as both have; "
            "overlap: the share of a query's terms in its source; source: its rank by BM25"
        )
        return Table("realism", columns, [_row(s) for s in self.sets], note=note)

    def tables(self) -> list[Table | str]:
        """The table, and what differs in words."""
        return [self.table(), *self.sentences]


def _row(of: QuerySet) -> list[Cell]:
    none = Interval(None, None, None)
    size = of.queries or None
    shares = (of.first or none, of.far or none)
    return [of.name, size, of.median_words, of.questions, of.variety, of.overlap, *shares]


def realism(collection: Collection | Path | str, real: Path | str | None = None) -> Realism:
    """How the generated queries of a collection differ from real ones.

    `real` is a file of real queries; without one, those are taken that the collection holds beside
    the generated ones, and without any of these, published figures.

    >>> from labeler.testing import fake_model, small_collection
    >>> from labeler.queries.generate import generate
    >>> coll, llm = small_collection(), fake_model("why do cats sleep so much")
    >>> _ = generate(coll, queries=1, model=llm, topics=False, mix="question=1")
    >>> realism(coll).sets[0].median_words.value
    6.0
    """
    opened = open_collection(collection)
    queries = list(read_queries(opened.queries).values())
    generated = [query for query in queries if "source" in query.metadata]
    if not generated:
        raise BadInput(f"{opened.queries}: no generated query in it to compare with real ones")
    others = [query.text for query in queries if "source" not in query.metadata]
    if real is not None:
        others = [query.text for query in read_query_list(real).values()]
    search = CorpusSearch.of(opened)
    ours = of_generated(generated, search, words_to_compare(generated, others))
    if not others:
        published = tuple(of_published(figures) for figures in PUBLISHED)
        return Realism((ours, *published), tuple(_compared(ours, published[0])))
    theirs = of_texts("real", others, words_to_compare(generated, others))
    return Realism((ours, theirs), tuple(_compared(ours, theirs)))


class _Words(NamedTuple):
    """How a difference is said, and how a value is written."""

    same: str
    more: str
    less: str
    written: Callable[[float | None], str]


def _compared(ours: QuerySet, theirs: QuerySet) -> list[str]:
    """What differs, in words; what may be chance is said to be so."""
    theirs_named = "the real ones" if theirs.name == "real" else f"those of {theirs.name[6:]}"
    lengths = _Words("about as long as", "longer than", "shorter than", _in_words)
    sentences = [
        _difference(lengths, theirs_named, ours.median_words, theirs.median_words),
        _difference(_QUESTIONS, theirs_named, ours.questions, theirs.questions),
    ]
    if ours.kinds and theirs.kinds:
        lacking = [k for k, share in theirs.kinds.items() if share >= 0.05 and k not in ours.kinds]
        sentences += [f"None of the generated queries looks {_joined(lacking)}."] if lacking else []
    if ours.variety is not None and theirs.variety is not None:
        sentences.append(
            f"Of as many words, {ours.variety:.0%} are different ones in the generated queries and "
            f"{theirs.variety:.0%} in the real ones."
        )
    if ours.first is not None and ours.overlap is not None:
        sentences.append(_difficulty(ours.overlap, ours.first))
    return sentences


def _difficulty(overlap: float, first: Interval) -> str:
    gain = "; systems that match words gain by that" if (first.low or 0.0) > 0.5 else ""
    shares = f"{_in_percent(first.value)} [{_in_percent(first.low)}, {_in_percent(first.high)}]"
    terms_in = f"{overlap:.0%} of a generated query's terms stand in its source"
    return f"{terms_in}. BM25 has the source first for {shares} of the queries{gain}."


def _joined(kinds: Sequence[str]) -> str:
    return "like the real ones of the kind " + " or ".join(kinds)


def _difference(words: _Words, theirs_named: str, ours: Interval, theirs: Interval) -> str:
    """One sentence about two values, which differ where their intervals have nothing in common."""
    low, high = _ends(theirs)
    own_low, own_high = _ends(ours)
    own, other = _written(ours, words), _written(theirs, words)
    if own_low > high or own_high < low:
        how = words.more if own_low > high else words.less
        return f"Generated queries are {how} {theirs_named}: {own} to {other}."
    about = f"Generated queries are {words.same} {theirs_named}: {own} to {other}"
    return f"{about}; a difference cannot be told."


def _written(of: Interval, words: _Words) -> str:
    if of.low is None:
        return words.written(of.value)
    return f"{words.written(of.value)} [{words.written(of.low)}, {words.written(of.high)}]"


def _ends(of: Interval) -> tuple[float, float]:
    value = of.value or 0.0
    return (value if of.low is None else of.low, value if of.high is None else of.high)


def _in_words(value: float | None) -> str:
    return f"{value:g}" if value is not None else "?"


def _in_percent(value: float | None) -> str:
    return f"{value:.0%}" if value is not None else "?"


_QUESTIONS = _Words(
    "questions about as often as",
    "more often questions than",
    "less often questions than",
    _in_percent,
)
