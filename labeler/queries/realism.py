"""`queries realism`: how generated queries differ from real ones, in figures and in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from labeler.collection.layout import Collection, open_collection
from labeler.collection.queries import read_queries
from labeler.errors import BadInput
from labeler.exchange.queries import read_query_list
from labeler.queries.figures import (
    EQUAL_LENGTH,
    PUBLISHED,
    QuerySet,
    of_generated,
    of_published,
    of_texts,
    words_to_compare,
)
from labeler.queries.writing.search import CorpusSearch
from labeler.report.table import Cell, Column, Interval, Table


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
