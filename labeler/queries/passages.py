"""Which passages of a corpus to ask about, and in which order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from labeler.data import Document, Query
from labeler.queries.filter import words

MIN_WORDS = 25


def passages_in_order(documents: Iterable[Document], seed: int) -> list[Document]:
    """The passages long enough to ask about, in the seed's order; more documents, same order.

    The order is that of a hash of seed and id, so that a passage keeps its place among the others
    when documents are added.
    """
    long_enough = (d for d in documents if len(words(d.text)) >= MIN_WORDS)
    return sorted(long_enough, key=lambda d: hashlib.sha256(f"{seed}\0{d.id}".encode()).digest())


def heading_queries(documents: Iterable[Document], count: int, seed: int) -> list[Query]:
    """The last heading of `count` passages as queries, for where no model can write any."""
    queries: dict[str, Query] = {}
    for document in passages_in_order(documents, seed):
        heading = document.title.split(" > ")[-1].strip()
        if len(queries) < count and words(heading) and heading.casefold() not in queries:
            origin = {"origin": "heading", "source": [{"doc_id": document.id}]}
            queries[heading.casefold()] = Query(f"q{len(queries) + 1}", heading, origin)
    return list(queries.values())
