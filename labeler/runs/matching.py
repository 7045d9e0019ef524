"""A search system's ids as those of the corpus, and its answers as a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any

from labeler.data import Document, Run
from labeler.errors import BadInput, Misuse
from labeler.files.row_index import RowIndex
from labeler.messages import SHOWN, count_of, guess
from labeler.runs.engines.answers import Hit

OWN_ID = "_id"

_FIRST = 1000
"""So many ids are looked through for one that was meant."""


@dataclass(frozen=True, slots=True)
class DocumentIds:
    """Which document is meant by each id of a system.

    `ambiguous` are ids that several documents have; `name` is the field that holds them. Where a
    system has the documents' `own` ids, only hashes of these are held. `first` are examples.
    """

    name: str
    by_id: Mapping[str, str] = field(default_factory=dict)
    ambiguous: frozenset[str] = frozenset()
    own: RowIndex | None = None
    first: tuple[str, ...] = ()

    @classmethod
    def of(cls, documents: Iterable[Document], match_id: str = OWN_ID) -> DocumentIds:
        """The ids in a field: `_id`, `title`, or one of `metadata`; `Misuse` where none has it."""
        if match_id == OWN_ID:
            return cls._of_own(document.id for document in documents)
        by_id: dict[str, str] = {}
        ambiguous, fields = set(), set[str]()
        for document in documents:
            value = _field(document, match_id)
            if value is not None and by_id.setdefault(value, document.id) != document.id:
                ambiguous.add(value)
            fields.update(document.metadata)
        if not by_id:
            names = sorted(fields)
            hint = f"metadata has {', '.join(names[:8])}" if names else "documents have no metadata"
            raise Misuse(f"no document has the field {match_id!r}; {hint}", parameter="match_id")
        return cls(match_id, by_id, frozenset(ambiguous), first=(*islice(by_id, _FIRST),))

    @classmethod
    def _of_own(cls, ids: Iterable[str]) -> DocumentIds:
        rows, first = RowIndex(), list[str]()
        for doc_id in ids:
            rows.add(doc_id)
            if len(first) < _FIRST:
                first.append(doc_id)
        return cls(OWN_ID, own=rows, first=tuple(first))

    def document(self, system_id: str) -> str | None:
        """The document that a system's id means; None where there is none."""
        if self.own is not None:
            return system_id if system_id in self.own else None
        return self.by_id.get(system_id)

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


def id_in(document: Document, match_id: str) -> str | None:
    """What a system calls a document, by the field that holds its ids; None where it has none."""
    return document.id if match_id == OWN_ID else _field(document, match_id)


def _field(document: Document, name: str) -> str | None:
    value: Any = document.title if name == "title" else document.metadata.get(_bare(name))
    is_id = isinstance(value, str | int) and not isinstance(value, bool) and value != ""
    return str(value) if is_id else None


def _bare(name: str) -> str:
    return name.removeprefix("metadata.")


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
    answers: Mapping[str, Sequence[Hit]], ids: DocumentIds, *, drop_unknown: bool = False
) -> Ranked:
    """The answers as a run in which every document ranks as the system ranked it.

    TREC's tools rank by score, and documents with equal scores by id. So where any query's scores
    are missing, tie or rise, all scores of the run are 1 over the rank.
    """
    ranked = Ranked()
    hits_by_query = {}
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
        doc_id = ids.document(hit.id)
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
        yield f"{count_of(ranked.repeated, 'hit', 'hits')} repeated a document, counted once"
    if ranked.by_rank and any(ranked.run.values()):
        yield "scores are 1 over the rank: the system's own are missing, tie or do not fall"
