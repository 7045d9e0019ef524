"""`samples/ID.jsonl`: the rows of a sheet; `people/NAME.jsonl`: what people answered in it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from labeler.collection.card import card_section, read_card, update_card
from labeler.collection.corpus import corpus_lines, ids_among
from labeler.collection.layout import Collection, check_locked, check_name, is_name
from labeler.collection.pool import Pairs, merge_pools, standing_pool, write_pool
from labeler.collection.queries import read_queries
from labeler.collection.rows import Row, ids_in_words, records
from labeler.data import Pair, Pooled, Qrels
from labeler.errors import BadInput, FileProblem
from labeler.files.jsonl import write_rows
from labeler.messages import Note, count_of, guess, no_query_in_common
from labeler.trec.pairs import PairColumns

_WRITTEN = ("assessor", "time", "comment")


@dataclass(frozen=True)
class SampledPair:
    """A row of a sheet: its number, its pair, and the probability that a sample holds it.

    That is `None` of a pair that was routed: chosen for a person, not drawn. `texts`
    identifies its texts as they were then; empty where that is not known.
    """

    number: int
    pair: Pair
    probability: float | None
    texts: str = ""


@dataclass(frozen=True)
class HumanAnswer:
    """A person's answer to a pair; `grade` is `None` where they skipped it.

    `probability` is that with which the sample named `sample` holds the pair; `None` of a pair that
    was routed to people, from which nothing follows for pairs that were not.
    """

    pair: Pair
    grade: int | None
    assessor: str
    time: str
    comment: str
    probability: float | None
    sample: str = ""


def sample_path(folder: Path, sample: str) -> Path:
    """The file in which a collection keeps a sample."""
    return folder / "samples" / f"{check_name(sample)}.jsonl"


def people_path(folder: Path, name: str) -> Path:
    """The file in which a collection keeps people's answers."""
    return folder / "people" / f"{name}.jsonl"


def write_sample(path: Path, rows: Iterable[SampledPair]) -> None:
    """Write a sample; it reads back as the same rows."""
    check_locked(path.parent.parent)
    written = (
        {"row": row.number, **row.pair._asdict(), "probability": row.probability}
        | ({"texts": row.texts} if row.texts else {})
        for row in rows
    )
    write_rows(path, written, check=read_sample)


def read_sample(path: Path) -> list[SampledPair]:
    """Read the rows of a sample."""
    if not path.exists():
        raise FileProblem(f"{path}: no such sample; was the sheet drawn from this collection?")
    return list(records(path, _sampled))


def _sampled(row: Row) -> SampledPair:
    number = row.counted("row", sys.maxsize)
    if number is None:
        raise row.wrong("row", "count from 1")
    return SampledPair(number, row.pair, _probability(row), row.text("texts"))


def write_people(path: Path, rows: Iterable[HumanAnswer]) -> None:
    """Write people's answers; they read back as the same."""
    check_locked(path.parent.parent)
    written = (
        {**row.pair._asdict(), **{name: v for name, v in vars(row).items() if name != "pair"}}
        for row in rows
    )
    write_rows(path, written, check=read_people)


def read_people(path: Path) -> list[HumanAnswer]:
    """Read people's answers."""
    return list(records(path, _answer))


def _answer(row: Row) -> HumanAnswer:
    assessor, time, comment, sample = map(row.text, (*_WRITTEN, "sample"))
    if sample and not is_name(sample):
        raise row.error(f"expected a sample's name, found {sample!r:.40}")
    return HumanAnswer(row.pair, row.grade(), assessor, time, comment, _probability(row), sample)


def _probability(row: Row) -> float | None:
    """The probability of a row, which must say where there is none."""
    if "probability" not in row.values:
        raise row.wrong("probability", "be a probability above 0, or null")
    return row.probability()


# Qrels that people brought along, checked against the collection whose pairs they grade.

SHOWN = 5
"""So many unknown ids are listed; the rest are counted."""


@dataclass(frozen=True, slots=True)
class OwnQrels:
    """The grades whose query and document a collection has, and the ids that it has not.

    `left_out` counts the pairs that name one of these; `unjudged` those that have a negative grade,
    by which TREC says that a pair was pooled and not judged.
    """

    qrels: PairColumns[int]
    left_out: int = 0
    unknown_queries: Sequence[str] = ()
    unknown_documents: Sequence[str] = ()

    @property
    def pairs(self) -> int:
        """How many pairs have a grade here."""
        return self.qrels.size

    @property
    def unjudged(self) -> int:
        """How many of them have a negative grade."""
        return self.pairs - self.judged.size

    @property
    def judged(self) -> PairColumns[int]:
        """The grades of the pairs that somebody judged."""
        return self.qrels.keep(self.qrels.value >= 0)

    def warnings(self, source: object) -> list[str]:
        """A line that counts and lists what was left out of `source`; none where nothing was."""
        if not self.left_out:
            return []
        unknown = ids_in_words(self.unknown_queries, self.unknown_documents, SHOWN)
        pairs = count_of(self.left_out, "pair is", "pairs are")
        return [f"{source}: {pairs} left out; not in the collection: {'; '.join(unknown)}"]


def own_qrels(collection: Collection, qrels: Qrels, source: object) -> OwnQrels:
    """The pairs of qrels that a collection has; `BadInput` where it has none of them."""
    queries = read_queries(collection.queries)
    if queries.keys().isdisjoint(qrels):
        raise BadInput(no_query_in_common(source, qrels, collection.queries, queries))
    named = {doc_id for grades in qrels.values() for doc_id in grades}
    documents = ids_among(collection.corpus, named)
    if not documents:
        others = [document.id for _, document in islice(corpus_lines(collection.corpus), SHOWN)]
        names, ids = (", ".join(islice(side, SHOWN)) for side in (sorted(named), others))
        problem = (
            f"none of its documents is in {collection.corpus}: {names}; there: {ids or 'none'}"
        )
        reasons = filter(None, [problem, guess(sorted(named), others)])
        raise BadInput(f"{source}: {'; '.join(reasons)}")
    whole = PairColumns.of(qrels, np.int64)
    present = whole.keep(Pairs.in_columns(whole).among(queries, documents))
    if not present.size:
        problem = "no pair of which the collection has both the query and the document"
        raise BadInput(f"{source}: {problem} ({collection.folder})")
    unknown = tuple(name for name in whole.queries if name not in queries)
    return OwnQrels(present, whole.size - present.size, unknown, tuple(sorted(named - documents)))


def pool_judged(
    collection: Collection,
    qrels_by_name: Mapping[str, OwnQrels],
    warn: Note,
) -> tuple[int, int]:
    """Add the pairs that people judged to the pool; how many pairs it has, how many are new.

    The collection must be locked. Its card names the qrels that the pairs came from.
    """
    old = standing_pool(collection.pool)
    by_name = {name: own.judged for name, own in qrels_by_name.items()}
    for name, own in qrels_by_name.items():
        if own.unjudged:
            pairs = count_of(own.unjudged, "pair has", "pairs have")
            warn(f"{name}: {pairs} a negative grade, which is none; not pooled")
    merged = merge_pools(old, [Pooled(pair) for own in by_name.values() for pair in own.pairs()])
    write_pool(collection.pool, merged)
    section = card_section(read_card(collection), "pool")
    counts = {**card_section(section, "qrels"), **{name: own.size for name, own in by_name.items()}}
    update_card(collection, "pool", {**section, "pairs": len(merged), "qrels": counts})
    return len(merged), len(merged) - len(old)
