"""Collections that the package ir_datasets knows: BEIR's, MS MARCO's, TREC's, with their qrels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from labeler import __version__
from labeler.catalog.fetch import refuse_another
from labeler.catalog.layouts import HUMAN
from labeler.collection.card import making, update_card
from labeler.collection.corpus import write_corpus
from labeler.collection.layout import Collection, locked
from labeler.collection.pool import merge_pools, standing_pool, write_pool
from labeler.collection.queries import write_queries
from labeler.data import Document, Pair, Pooled, Qrels, Query
from labeler.errors import FileProblem, Misconfigured, Misuse
from labeler.files.boundary import problem_of, reading
from labeler.messages import Advance, Note, missing_extra
from labeler.trec.values import grade_of, ids_of
from labeler.trec.write import write_qrels
from labeler.wire.download import quiet

PREFIX = "ir_datasets:"
"""What stands before the name of such a data set."""

_DOCUMENT_TEXTS = ("text", "body", "abstract", "contents")
_QUERY_TEXTS = ("text", "title", "query")
_QUERY_PARTS = ("description", "narrative")
_EVERY = 1000


@dataclass(frozen=True, slots=True)
class FetchedDataset:
    """How much a data set has; `conflicts` are pairs of two grades, which are in no qrels."""

    name: str
    documents: int
    queries: int
    qrels: Qrels
    conflicts: tuple[Pair, ...]


def fetch_dataset(
    name: str,
    collection: Collection,
    advance: Advance = quiet,
    tell: Note = lambda _line: None,
    *,
    force: bool = False,
) -> FetchedDataset:
    """Write a data set of ir_datasets as a collection: corpus, queries, `human` qrels and a pool.

    `name` is as ir_datasets has it, such as `beir/scifact/test`; it downloads what is not on this
    machine. The documents are written one after another. The pool holds the pairs of the qrels. A
    pair that has two grades upstream is in no qrels, and in the pool.
    """
    name = name.removeprefix(PREFIX)
    refuse_another(f"{PREFIX}{name}", collection)
    dataset = _load(name)
    with _problems(name):
        queries = [_query(row) for row in dataset.queries_iter()]
        qrels, pairs, conflicts = _grades(dataset, name)
    with locked(collection, tell):
        refuse_another(f"{PREFIX}{name}", collection)
        paths = [collection.queries, collection.corpus, collection.qrels(HUMAN)]
        with making(collection, paths, force=force):
            # The card first: where the rest is cut short, the same data set may go on.
            update_card(collection, "fetch", _card(name, dataset))
            write_queries(collection.queries, queries)
            with _problems(name):
                documents = _Counted(_documents(dataset, advance))
                write_corpus(collection.corpus, documents)
            if qrels:
                write_qrels(collection.qrels(HUMAN), qrels)
        _add_to_pool(collection, pairs)
    return FetchedDataset(name, documents.count, len(queries), qrels, tuple(conflicts))


def _load(name: str) -> Any:
    """The data set; `Misuse` where ir_datasets has none of that name, or it has no queries."""
    try:
        import ir_datasets
    except ImportError as error:
        raise Misconfigured(missing_extra("ir_datasets", f"{PREFIX}{name} needs")) from error
    try:
        dataset = ir_datasets.load(name)
    except KeyError as error:
        names = sorted(ir_datasets.registry)
        close = get_close_matches(name, names, 3) or [n for n in names if name in n][:3]
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise Misuse(f"ir_datasets has no data set {name!r}{hint}") from error
    parts = [n for n in sorted(ir_datasets.registry) if n.startswith(f"{name}/")][:5]
    has = {"documents": dataset.has_docs(), "queries": dataset.has_queries()}
    if parts:  # a part has judgements where the whole has none
        has["qrels"] = dataset.has_qrels()
    lacking = next((what for what, is_there in has.items() if not is_there), None)
    if lacking is not None:
        hint = f"; its parts: {', '.join(parts)}" if parts else ""
        raise Misuse(f"{PREFIX}{name} has no {lacking}{hint}")
    return dataset


@contextmanager
def _problems(name: str) -> Iterator[None]:
    """Turn whatever ir_datasets raises while it downloads and reads into one line."""
    source = f"{PREFIX}{name}"
    try:
        with reading(source):
            yield
    except ImportError as error:
        raise Misconfigured(f"{source} needs the package {error.name!r} too") from error
    except OSError as error:
        if error.filename is not None:
            raise
        raise FileProblem(f"{source}: {problem_of(error)}") from error


def _documents(dataset: Any, advance: Advance) -> Iterator[Document]:
    total = int(dataset.docs_count() or 0)
    for count, row in enumerate(dataset.docs_iter(), start=1):
        yield _document(row)
        if count % _EVERY == 0:
            advance(count, max(total, count))


def _document(row: Any) -> Document:
    """A document by ir_datasets' names of its parts."""
    title, url = getattr(row, "title", "") or "", getattr(row, "url", "")
    text = next((getattr(row, name) for name in _DOCUMENT_TEXTS if hasattr(row, name)), None)
    if not isinstance(text, str):
        text = row.default_text()
    if not isinstance(title, str):
        title = ""
    return Document(row.doc_id, text, title, {"url": url} if url else {})


def _query(row: Any) -> Query:
    """A query, and where it has them its description and narrative."""
    text = next((getattr(row, name) for name in _QUERY_TEXTS if hasattr(row, name)), None)
    parts = {name: getattr(row, name, None) for name in _QUERY_PARTS}
    metadata = {name: part for name, part in parts.items() if isinstance(part, str) and part}
    whole = text if isinstance(text, str) and text.strip() else row.default_text()
    return Query(row.query_id, " ".join(whole.split()), {"origin": "real", **metadata})


def _grades(dataset: Any, name: str) -> tuple[Qrels, list[Pair], list[Pair]]:
    """The grades, all pairs that have one, and the pairs that have two."""
    qrels: dict[str, dict[str, int]] = {}
    conflicts: dict[Pair, None] = {}
    for row in dataset.qrels_iter() if dataset.has_qrels() else ():
        pair = Pair(*ids_of(f"{PREFIX}{name}", row.query_id, row.doc_id))
        grade = grade_of(f"{PREFIX}{name}: {' '.join(pair)}", row.relevance)
        if qrels.setdefault(pair.query_id, {}).setdefault(pair.doc_id, grade) != grade:
            conflicts[pair] = None
    pairs = [Pair(q, d) for q, g in qrels.items() for d, grade in g.items() if grade >= 0]
    for pair in conflicts:
        del qrels[pair.query_id][pair.doc_id]
    return {q: grades for q, grades in qrels.items() if grades}, pairs, list(conflicts)


class _Counted(Iterator[Document]):
    """Documents, counted as they pass."""

    def __init__(self, documents: Iterator[Document]) -> None:
        self.documents, self.count = documents, 0

    def __next__(self) -> Document:
        document = next(self.documents)
        self.count += 1
        return document


def _add_to_pool(collection: Collection, pairs: list[Pair]) -> None:
    old = standing_pool(collection)
    if pairs or len(old):
        write_pool(collection.pool, merge_pools(old, map(Pooled, pairs)))


def _card(name: str, dataset: Any) -> dict[str, object]:
    documented = getattr(dataset, "documentation", None)
    documentation = documented() if callable(documented) else None
    citation = documentation.get("bibtex") if isinstance(documentation, dict) else None
    return {
        "labeler": __version__,
        "name": f"{PREFIX}{name}",
        "recipe": f"{PREFIX}{name}",
        "title": name,
        "homepage": f"https://ir-datasets.com/{name.split('/', maxsplit=1)[0]}.html",
        "citation": citation if isinstance(citation, str) else "",
        "licence": "see the homepage",
    }
