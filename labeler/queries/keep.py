"""Generated queries in a collection: those there are, and new ones beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import count

from labeler.collection.card import update_card
from labeler.collection.corpus import read_corpus
from labeler.collection.layout import Collection
from labeler.collection.lock import locked
from labeler.collection.provenance import making
from labeler.collection.queries import read_queries, write_queries
from labeler.data import Query
from labeler.errors import Misuse
from labeler.files.jsonl import write_rows
from labeler.queries.strata import heading_queries
from labeler.queries.write import Generated, Writer


def generated_before(collection: Collection, writer: Writer) -> list[Query]:
    """The queries that were generated for the collection so far, to go on from.

    Raises `Misuse` where another prompt, model, seed or number of samples wrote them: two ways of
    writing do not mix in one collection.
    """
    generated = [query for query in _queries_of(collection) if "source" in query.metadata]
    for query in generated:
        for what, new in writer.origin.items():
            earlier = query.metadata.get(what, new)
            if earlier != new:
                problem = f"queries that were generated with another {what}"
                difference = f"({earlier}, not {new}); use a new directory"
                raise Misuse(f"{collection.queries} holds {problem} {difference}", parameter=what)
    return generated


def _queries_of(collection: Collection) -> list[Query]:
    path = collection.queries
    return list(read_queries(path).values()) if path.exists() else []


def keep_generated(
    collection: Collection, generated: Generated, writer: Writer, *, force: bool = False
) -> int:
    """Write the queries beside the collection's own, the rejected ones, and the card.

    Returns how many generated queries the collection has now. Queries that are there already stay
    as they are: judgements may depend on them. The collection must be locked.
    """
    earlier, old = generated_before(collection, writer), _queries_of(collection)
    fresh = _fresh(generated, earlier)
    taken = {query.id for query in old}
    free = (name for n in count(1) if (name := f"q{n}") not in taken)
    write_queries(collection.queries, [*old, *(replace(q, id=next(free)) for q in fresh)])
    if fresh or generated.rejected or not collection.rejected.exists():
        with making(collection, [collection.rejected], force=force):
            write_rows(collection.rejected, map(asdict, generated.rejected))
    entry = {
        **writer.origin,
        "samples": writer.samples,
        "queries": len(earlier) + len(fresh),
        "rejected": len(generated.rejected),
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
    return str(query.metadata["source"][0]["doc_id"])


def write_heading_queries(collection: Collection, count: int, seed: int) -> None:
    """Write headings of the corpus as the collection's queries, where no model can write any."""
    documents = read_corpus(collection.corpus).values()
    with locked(collection):
        write_queries(collection.queries, heading_queries(documents, count, seed))
