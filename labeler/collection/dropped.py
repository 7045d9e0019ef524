"""`dropped.jsonl`: pairs that left the pool with their query or document, and return with it.

Nobody can judge a pair whose query or document is gone. Its row is kept with all that the pool
knew of it, so that a query which is only missing for a while loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from labeler.collection.card import card_section, read_card, update_card
from labeler.collection.corpus import ids_among
from labeler.collection.layout import Collection
from labeler.collection.pool import merge_pools, read_pool, standing_pool, write_pool
from labeler.collection.queries import read_queries
from labeler.collection.rows import ids_in_words
from labeler.messages import SHOWN, Note, count_of, quiet


@dataclass(frozen=True, slots=True)
class Dropped:
    """How many pairs left a pool now and how many returned to it, and why.

    `queries` and `documents` are the ids that the collection has no more.
    """

    pairs: int
    returned: int
    queries: Sequence[str] = ()
    documents: Sequence[str] = ()

    def sentences(self) -> Iterator[str]:
        """What left the pool, what becomes of its grades, and what returned."""
        if self.pairs:
            absent = " and ".join(ids_in_words(self.queries, self.documents, SHOWN))
            pairs = count_of(self.pairs, "pair left", "pairs left")
            yield (
                f"{pairs} the pool, as the collection lacks {absent};"
                " dropped.jsonl keeps what was known of them, until the ids are there again;"
                " their judgements stay, and the next judge leaves them out of the qrels"
            )
        if self.returned:
            pairs = count_of(self.returned, "pair is", "pairs are")
            yield f"{pairs} in the pool again, as the query and the document are there again"


def drop_absent(collection: Collection, note: Note = quiet) -> Dropped | None:
    """Take pairs out of the pool whose query or document is gone; put back those that returned.

    None where nothing changed. The collection must be locked. A kill loses no pair: one may then
    stand in both files, which the next call puts right.
    """
    if not collection.pool.exists():
        return None
    pool, away = read_pool(collection.pool), standing_pool(collection.dropped)
    queries = read_queries(collection.queries)
    named = {*pool.pairs.documents, *away.pairs.documents}
    documents = ids_among(collection.corpus, named)
    is_left, is_back = (each.pairs.among(queries, documents) for each in (pool, away))
    if is_left.all() and not is_back.any():
        return None
    gone = pool.keep(~is_left)
    all_away = merge_pools(away, gone)
    write_pool(collection.dropped, all_away)
    left = merge_pools(pool.keep(is_left), away.keep(is_back))
    write_pool(collection.pool, left)
    absent = all_away.keep(~all_away.pairs.among(queries, documents))
    if len(absent):
        write_pool(collection.dropped, absent)
    else:  # without any, there is no file
        collection.dropped.unlink()
    section = card_section(read_card(collection), "pool")
    update_card(collection, "pool", {**section, "pairs": len(left)})
    result = Dropped(
        len(gone),
        int(is_back.sum()),
        sorted({pair.query_id for pair in gone.pairs if pair.query_id not in queries}),
        sorted({pair.doc_id for pair in gone.pairs if pair.doc_id not in documents}),
    )
    for line in result.sentences():
        note(line)
    return result
