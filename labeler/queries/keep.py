"""Generated queries in a collection: those there are, and new ones beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path

from labeler.collection.card import making, update_card
from labeler.collection.corpus import distinct_documents
from labeler.collection.layout import Collection
from labeler.collection.lock import locked
from labeler.collection.queries import read_queries, write_queries
from labeler.data import Query
from labeler.errors import Misuse
from labeler.files.jsonl import write_rows
from labeler.queries.passages import considered, heading_queries
from labeler.queries.writer import Generated, Writer


def generated_before(collection: Collection, writer: Writer) -> list[Query]:
    """The queries that were generated for the collection so far, to go on from.

    Raises `Misuse` where another prompt, model or seed wrote them: two ways of writing do not mix
    in one collection. Kinds that the writer does not write may have had a prompt of their own.
    """
    generated = [q for q in _queries_in(collection.queries) if _is_generated(q)]
    for query in generated:
        kind = str(query.metadata.get("kind") or "")
        origin = writer.origin_of(kind) if kind in writer.shares or not kind else writer.origin
        compared = origin if kind in writer.shares or not writer.mix else {**origin, "prompt": None}
        for what, new in compared.items():
            earlier = query.metadata.get(what, new)
            if new is not None and earlier != new:
                problem = f"queries that were generated with another {what}"
                difference = f"({earlier}, not {new}); use a new directory"
                raise Misuse(f"{collection.queries} holds {problem} {difference}", parameter=what)
    return generated


def real_queries(collection: Collection) -> tuple[str, ...]:
    """The texts of the collection's queries that nobody generated."""
    return tuple(q.text for q in _queries_in(collection.queries) if not _is_generated(q))


def _is_generated(query: Query) -> bool:
    return "source" in query.metadata


def _queries_in(path: Path) -> list[Query]:
    return list(read_queries(path).values()) if path.exists() else []


def keep_generated(
    collection: Collection, generated: Generated, writer: Writer, *, force: bool = False
) -> int:
    """Write the queries beside the collection's own, the rejected ones, and the card.

    Returns how many generated queries the collection has now. Queries that are there already stay
    as they are: judgements may depend on them. The collection must be locked.
    """
    earlier = generated_before(collection, writer)
    fresh = _fresh(generated, earlier)
    old = _queries_in(collection.queries)
    taken = {query.id for query in old}
    free = (name for n in count(1) if (name := f"q{n}") not in taken)
    write_queries(collection.queries, [*old, *(replace(query, id=next(free)) for query in fresh)])
    if fresh or generated.rejected or not collection.rejected.exists():
        with making(collection, [collection.rejected], force=force):
            write_rows(collection.rejected, map(asdict, generated.rejected))
    entry = {
        **writer.origin,
        "samples": writer.samples,
        "queries": len(earlier) + len(fresh),
        "rejected": len(generated.rejected),
        "mix": dict(writer.shares),
    }
    if fresh:
        update_card(collection, "generate", entry)
    return len(earlier) + len(fresh)


def _fresh(generated: Generated, earlier: Sequence[Query]) -> list[Query]:
    """The queries that join earlier ones, some of which another process may have kept just now."""
    passages = {_passage(query) for query in earlier}
    texts = {query.text.casefold() for query in earlier}
    fresh = [
        query
        for query in generated.queries
        if _passage(query) not in passages and query.text.casefold() not in texts
    ]
    return fresh[: max(0, len(generated.queries) - len(earlier))]


def _passage(query: Query) -> str:
    """The id of the passage that a query was first written about."""
    return str((query.metadata.get("source") or [{"doc_id": ""}])[0]["doc_id"])


def write_heading_queries(collection: Collection, count: int, seed: int) -> None:
    """Write headings of the corpus as the collection's queries, where no model can write any."""
    documents = considered(distinct_documents(collection.corpus), seed)
    with locked(collection):
        write_queries(collection.queries, heading_queries(documents, count, seed))
