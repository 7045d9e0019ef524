"""How generated queries differ from real ones, in figures and in words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from labeler.collection.layout import AnyCollection, open_collection
from labeler.collection.queries import read_queries
from labeler.errors import BadInput
from labeler.exchange.queries import read_query_list
from labeler.queries.filter import words
from labeler.queries.kinds import is_question, kind_of
from labeler.report.result import Result
from labeler.report.table import Column, Interval, Table, interval_text, table_of
from labeler.stats.means import share_interval


class QuerySet(NamedTuple):
    """What is measured of a set of queries; a value with its interval where it is of a sample."""

    name: Annotated[str, Column("queries of", align="left")]
    queries: int
    median_words: Annotated[Interval, Column(format=".0f", ends=".0f")]
    questions: Annotated[Interval, Column(format=".0%", ends=".0%")]
    kinds: Mapping[str, float]


@dataclass(frozen=True, eq=False, repr=False)
class Realism(Result):
    """Generated queries beside real ones."""

    generated: QuerySet
    real: QuerySet

    @property
    def sentences(self) -> list[str]:
        """What differs, in words; what may be chance is said to be so."""
        ours, theirs = self.generated, self.real
        lengths = (interval_text(each.median_words, "g") for each in (ours, theirs))
        shares = (interval_text(each.questions, ".0%") for each in (ours, theirs))
        long = _compared(ours.median_words, theirs.median_words, "longer", "shorter")
        often = _compared(ours.questions, theirs.questions, "more", "less")
        sentences = [
            f"Generated queries are {long or 'about as long'}: {' to '.join(lengths)} words.",
            f"They are questions {f'{often} often' if often else 'about as often'}: "
            f"{' to '.join(shares)}.",
        ]
        lacking = [k for k, share in theirs.kinds.items() if share >= 0.05 and k not in ours.kinds]
        if lacking:
            sentences.append(
                f"None of them is like the real ones of the kind {', '.join(lacking)}."
            )
        return sentences

    def tables(self) -> list[Table]:
        """A row for each set of queries."""
        return [table_of("realism", QuerySet, [self.generated, self.real])]

    def as_json(self) -> dict[str, Any]:
        """The table's rows, the shares of kinds, and what differs in words."""
        kinds = {each.name: each.kinds for each in (self.generated, self.real)}
        return self.picked(sets=self.tables()[0], kinds=kinds, findings=self.sentences)


def _compared(ours: Interval, theirs: Interval, more: str, less: str) -> str:
    """Which word fits two values; empty where their intervals have something in common."""
    (_, low, high), (_, their_low, their_high) = ours, theirs
    if low is None or high is None or their_low is None or their_high is None:
        return ""
    return more if low > their_high else less if high < their_low else ""


def realism(collection: AnyCollection, real: Path | str) -> Realism:
    """How the generated queries of a collection differ from the real ones of a file.

    >>> import tempfile
    >>> from labeler.testing import fake_model, small_collection
    >>> from labeler.queries.generate import generate
    >>> coll, llm = small_collection(), fake_model("why do cats sleep so much")
    >>> _ = generate(coll, queries=1, model=llm, topics=False, mix="question=1")
    >>> mine = Path(tempfile.mkdtemp()) / "mine.txt"
    >>> _ = mine.write_text("cat nap\\n")
    >>> realism(coll, mine).generated.median_words.value
    6.0
    """
    opened = open_collection(collection)
    queries = read_queries(opened.queries).values()
    generated = [query for query in queries if "source" in query.metadata]
    if not generated:
        raise BadInput(f"{opened.queries}: no generated query in it to compare with real ones")
    real_texts = [query.text for query in read_query_list(real).values()]
    ours = _measured("generated", [query.text for query in generated])
    return Realism(ours, _measured("real", real_texts))


def _measured(name: str, texts: Sequence[str]) -> QuerySet:
    """What is measured of some queries."""
    median = _median([len(words(text)) for text in texts])
    kinds = Counter(map(kind_of, texts))
    shares = {kind: count / len(texts) for kind, count in kinds.most_common()}
    asking = np.array([*map(is_question, texts)], float)
    questions = Interval(float(asking.mean()), *share_interval(asking))
    return QuerySet(name, len(texts), median, questions, shares)


def _median(counts: Sequence[int]) -> Interval:
    """A median with the interval that order statistics give it, whatever the distribution."""
    ordered = sorted(counts)
    half = 1.96 * math.sqrt(len(ordered)) / 2
    low = max(0, math.floor(len(ordered) / 2 - half))
    high = min(len(ordered) - 1, math.ceil(len(ordered) / 2 + half) - 1)
    return Interval(float(np.median(ordered)), ordered[low], ordered[max(high, low)])
