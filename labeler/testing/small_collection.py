"""A collection of a few words, for tests and examples."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from labeler.collection.corpus import write_corpus
from labeler.collection.layout import Collection, locked
from labeler.collection.pool import write_pool
from labeler.collection.queries import write_queries
from labeler.data import Document, Pair, Pooled, Query

DOCUMENTS = (
    Document(
        "cats",
        "A cat sleeps anywhere: on any table, on any chair, on the top of the piano, on a window "
        "ledge, in the middle or on the edge, for most of the day.",
    ),
    Document(
        "fish",
        "Fish never close their eyes, since they have no lids to close. They rest in the water "
        "without moving a fin, and wake when something comes too near.",
    ),
)
QUERIES = (
    Query("q1", "where do cats sleep", {"origin": "real"}),
    Query("q2", "do fish close their eyes", {"origin": "real"}),
)


def small_collection(
    folder: Path | str | None = None, queries: Sequence[Query] = QUERIES
) -> Collection:
    """Two documents, two queries or those given, and a pool of all their pairs, in `folder`.

    None is a temporary folder that vanishes when the process ends.
    """
    collection = Collection(_temporary_folder() if folder is None else Path(folder))
    with locked(collection):
        write_corpus(collection.corpus, DOCUMENTS)
        write_queries(collection.queries, queries)
        pairs = product(queries, DOCUMENTS)
        write_pool(collection.pool, [Pooled(Pair(query.id, doc.id)) for query, doc in pairs])
    return collection


def _temporary_folder() -> Path:
    temporary = TemporaryDirectory(prefix="labeler-")
    atexit.register(temporary.cleanup)
    return Path(temporary.name)
