"""A search system's ids as those of the corpus, and its answers as a run."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from labeler.collection.corpus import distinct_documents
from labeler.data import Document, Run
from labeler.errors import BadInput, Misuse
from labeler.messages import SHOWN, count_of, guess
from labeler.runs.engines.answers import Hit

OWN_ID = "_id"

_FIRST = 1000
"""So many ids are looked through for one that was meant."""


@dataclass(frozen=True, slots=True)
class DocumentIds:
    """Which document of a corpus is meant by each id that a system returned.

    `ambiguous` are ids that several documents have; `name` is the field that holds them. `first`
    are examples.
    """

    name: str
    by_id: Mapping[str, str]
    ambiguous: frozenset[str]
    first: tuple[str, ...]

    @classmethod
    def of(
        cls, documents: Iterable[Document], asked: Container[str], name: str = OWN_ID
    ) -> DocumentIds:
        """The documents with the ids asked for in a field: `_id`, `title`, or one of `metadata`.

        `Misuse` where no document has the field.
        """
        by_id: dict[str, str] = {}
        ambiguous, fields, first = set[str](), set[str](), list[str]()
        for document in documents:
            fields.update(document.metadata)
            value = _field(document, name)
            if value is None:
                continue
            if len(first) < _FIRST:
                first.append(value)
            if value in asked and by_id.setdefault(value, document.id) != document.id:
                ambiguous.add(value)
        if not first:
            listed = ", ".join(sorted(fields)[:8])
            hint = f"metadata has {listed}" if fields else "documents have no metadata"
            raise Misuse(f"no document has the field {name!r}; {hint}", parameter="match_id")
        return cls(name, by_id, frozenset(ambiguous), tuple(first))

    def unknown(self, query_id: str, doc_id: str) -> BadInput:
        """The error of an id that no document has."""
        some = ", ".join(self.first[:SHOWN])
        why = guess([doc_id], list(self.first))
        hint = f" ({why})" if why else ""
        problem = f"the system returned {doc_id!r:.80}, which is no {self.name} of the corpus"
        how = "name the field of documents that holds its ids, or leave out unknown documents"
        return BadInput(
            f"query {query_id}: {problem}, as {some}{hint}; {how}", parameter="match_id"
        )


def _field(document: Document, name: str) -> str | None:
    if name == OWN_ID:
        return document.id
    bare = name.removeprefix("metadata.")
    value: Any = document.title if name == "title" else document.metadata.get(bare)
    is_id = isinstance(value, str | int) and not isinstance(value, bool) and value != ""
    return str(value) if is_id else None


@dataclass(slots=True)
class Ranked:
    """A run made of answers, and what was done to them on the way.

    `unknown` documents were left out, and `repeated` ones counted once; `empty` queries were
    answered with no document; `by_rank` says that the system's scores did not give its order.
    """

    run: Run = field(default_factory=dict)
    unknown: int = 0
    repeated: int = 0
    empty: list[str] = field(default_factory=list)
    by_rank: bool = False


def run_of(
    answers: Mapping[str, Sequence[Hit]],
    corpus: Path,
    match_id: str = OWN_ID,
    *,
    drop_unknown: bool = False,
) -> Ranked:
    """The answers as a run in which every document ranks as the system ranked it.

    TREC's tools rank by score, and documents with equal scores by id. So where any query's scores
    are missing, tie or rise, all scores of the run are 1 over the rank.
    """
    asked = {hit.id for hits in answers.values() for hit in hits}
    ids = DocumentIds.of(distinct_documents(corpus), asked, match_id)
    ranked, hits_by_query = Ranked(), {}
    for query_id, hits in answers.items():
        hits_by_query[query_id] = list(_in_corpus(query_id, hits, ids, ranked, drop_unknown))
        if not hits_by_query[query_id]:
            ranked.empty.append(query_id)
    ranked.by_rank = not all(map(_falls, hits_by_query.values()))
    for query_id, in_corpus in hits_by_query.items():
        ranked.run[query_id] = {
            hit.id: 1 / rank if ranked.by_rank else float(hit.score or 0)
            for rank, hit in enumerate(in_corpus, 1)
        }
    return ranked


def _in_corpus(
    query_id: str, hits: Sequence[Hit], ids: DocumentIds, ranked: Ranked, drop_unknown: bool
) -> Iterator[Hit]:
    taken = set()
    for hit in hits:
        doc_id = ids.by_id.get(hit.id)
        if hit.id in ids.ambiguous:
            problem = f"several documents have the {ids.name} {hit.id!r:.80}"
            raise BadInput(
                f"query {query_id}: {problem}; its hits must be of the corpus' own documents",
                parameter="match_id",
            )
        if doc_id is None:
            if not drop_unknown:
                raise ids.unknown(query_id, hit.id)
            ranked.unknown += 1
        elif doc_id in taken:
            ranked.repeated += 1
        else:
            taken.add(doc_id)
            yield Hit(doc_id, hit.score)


def _falls(hits: Sequence[Hit]) -> bool:
    scores = [hit.score for hit in hits if hit.score is not None]
    return len(scores) == len(hits) and all(a > b for a, b in pairwise(scores))


def notes_on(ranked: Ranked) -> Iterator[str]:
    """What a person should know of how the answers became a run."""
    if ranked.empty:
        count = count_of(len(ranked.empty), "query", "queries")
        more = ", …" if len(ranked.empty) > SHOWN else ""
        some = ", ".join(ranked.empty[:SHOWN])
        yield f"{count} found no document of the corpus: {some}{more}"
    if ranked.unknown:
        count = count_of(ranked.unknown, "hit was", "hits were")
        yield f"{count} left out, being of documents that the corpus lacks"
    if ranked.repeated:
        yield f"{count_of(ranked.repeated, 'hit')} repeated a document, counted once"
    if ranked.by_rank and any(ranked.run.values()):
        yield "scores are 1 over the rank: the system's own are missing, tie or do not fall"
