"""`dropped.jsonl`: pairs that left the pool with their query or document, and return with it.

Nobody can judge a pair whose query or document is gone. Its row is kept with all that the pool
knew of it, so that a query which is only missing for a while loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from labeler.collection.card import card_section, read_card, update_card
from labeler.collection.corpus import corpus_lines
from labeler.collection.judgements import grades_of
from labeler.collection.layout import Collection
from labeler.collection.pool import merge_pools, read_pool, write_pool
from labeler.collection.queries import read_queries
from labeler.collection.rows import ids_in_words
from labeler.data import Pair, Pooled
from labeler.messages import SHOWN, count_of


@dataclass(frozen=True, slots=True)
class Dropped:
    """How many pairs left a pool now and how many returned to it, and why.

    `queries` and `documents` are the ids that the collection has no more; `kept_grades` counts,
    by set of judgements, the grades of the pairs that left.
    """

    pairs: int
    returned: int
    queries: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    kept_grades: Mapping[str, int] = field(default_factory=dict)

    def sentences(self) -> Iterator[str]:
        """What left the pool, what becomes of its grades, and what returned."""
        if self.pairs:
            absent = " and ".join(ids_in_words(self.queries, self.documents, SHOWN))
            pairs = count_of(self.pairs, "pair left", "pairs left")
            yield (
                f"{pairs} the pool, as the collection lacks {absent};"
                " dropped.jsonl keeps what was known of them, until the ids are there again"
            )
        for name, count in self.kept_grades.items():
            grades = count_of(count, "grade", "grades")
            yield (
                f"judgements/{name}.jsonl keeps {grades} of such pairs; the next judge as {name}"
                " leaves them out of its qrels"
            )
        if self.returned:
            pairs = count_of(self.returned, "pair is", "pairs are")
            yield f"{pairs} in the pool again, as the query and the document are there again"


class _Present(NamedTuple):
    """The ids of a collection's queries, and of those documents that some pairs name."""

    queries: Container[str]
    documents: Container[str]

    def has(self, pair: Pair) -> bool:
        """Whether the collection has both sides of a pair."""
        return pair.query_id in self.queries and pair.doc_id in self.documents


def drop_absent(
    collection: Collection, note: Callable[[str], None] = lambda _line: None
) -> Dropped | None:
    """Take pairs out of the pool whose query or document is gone; put back those that returned.

    None where nothing changed. The collection must be locked. A kill loses no pair: one may then
    stand in both files, which the next call puts right.
    """
    if not collection.pool.exists():
        return None
    pool, away = read_pool(collection.pool), dropped_pairs(collection)
    present = _present(collection, [*pool, *away])
    gone = [entry for entry in pool if not present.has(entry.pair)]
    back = [entry for entry in away if present.has(entry.pair)]
    if not gone and not back:
        return None
    write_pool(collection.dropped, merge_pools(away, gone))
    left = merge_pools([entry for entry in pool if present.has(entry.pair)], back)
    write_pool(collection.pool, left)
    _write_dropped(collection, merge_pools(away, gone), present)
    section = card_section(read_card(collection), "pool")
    update_card(collection, "pool", {**section, "pairs": len(left)})
    result = _result(collection, gone, len(back), present)
    for line in result.sentences():
        note(line)
    return result


def dropped_pairs(collection: Collection) -> list[Pooled]:
    """The pairs that left the pool; none without a file."""
    return read_pool(collection.dropped) if collection.dropped.exists() else []


def _present(collection: Collection, pairs: Iterable[Pooled]) -> _Present:
    named = {entry.pair.doc_id for entry in pairs}
    documents = {d.id for _, d in corpus_lines(collection.corpus) if d.id in named}
    return _Present(read_queries(collection.queries), documents)


def _write_dropped(collection: Collection, pairs: Iterable[Pooled], present: _Present) -> None:
    """Keep those of the pairs that are not in the collection; without any, there is no file."""
    absent = [entry for entry in pairs if not present.has(entry.pair)]
    if absent:
        write_pool(collection.dropped, absent)
    else:
        collection.dropped.unlink()


def _result(
    collection: Collection, gone: Sequence[Pooled], returned: int, present: _Present
) -> Dropped:
    pairs = {entry.pair for entry in gone}
    queries = sorted({pair.query_id for pair in pairs if pair.query_id not in present.queries})
    documents = sorted({pair.doc_id for pair in pairs if pair.doc_id not in present.documents})
    grades = {
        name: sum(Pair(q, d) in pairs for q, d, _ in grades_of(collection.judgements(name)))
        for name in (collection.judgement_names() if pairs else ())
    }
    not_none = {name: count for name, count in grades.items() if count}
    return Dropped(len(gone), returned, tuple(queries), tuple(documents), not_none)
