"""Collections that the package ir_datasets knows: BEIR's, MS MARCO's, TREC's, with their qrels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

from labeler import __version__
from labeler.catalog.fetch import refuse_another, write_fetched
from labeler.catalog.recipes import HUMAN, UpstreamCollection
from labeler.collection.layout import Collection
from labeler.data import Document, Pair, Query
from labeler.errors import FileProblem, Misconfigured, Misuse
from labeler.files.boundary import needing, problem_of, reading
from labeler.files.jsonl import JsonObject
from labeler.messages import Advance, Note, missing_extra, quiet, squeezed
from labeler.trec.values import grade_of, ids_of

PREFIX = "ir_datasets:"
"""What stands before the name of such a data set."""

_EVERY = 1000


def fetch_dataset(
    name: str,
    collection: Collection,
    advance: Advance = quiet,
    tell: Note = lambda _line: None,
    *,
    force: bool = False,
) -> UpstreamCollection:
    """Write a data set of ir_datasets as a collection: corpus, queries, `human` qrels and a pool.

    `name` is as ir_datasets has it, such as `beir/scifact/test`; it downloads what is not on this
    machine. The documents are written one after another. The pool holds the pairs of the qrels. A
    pair that has two grades upstream is in no qrels, and in the pool.
    """
    name = name.removeprefix(PREFIX)
    refuse_another(f"{PREFIX}{name}", collection)
    dataset = _load(name)
    upstream = UpstreamCollection(card=_card(name, dataset))
    with _problems(name):
        upstream.queries = {query.id: query for query in map(_query, dataset.queries_iter())}
        _add_grades(upstream, dataset, name)
    documents = _documents(upstream, dataset, name, advance)
    write_fetched(upstream, collection, tell, force=force, documents=documents)
    return upstream


def _load(name: str) -> Any:
    """The data set; `Misuse` where ir_datasets has none of that name, or it has no queries."""
    with needing(missing_extra("ir_datasets", f"{PREFIX}{name} needs")):
        import ir_datasets
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
    with reading(source):
        try:
            yield
        except ImportError as error:
            raise Misconfigured(f"{source} needs the package {error.name!r} too") from error
        except OSError as error:
            if error.filename is not None:
                raise
            raise FileProblem(f"{source}: {problem_of(error)}") from error


def _documents(
    upstream: UpstreamCollection, dataset: Any, name: str, advance: Advance
) -> Iterator[Document]:
    with _problems(name):
        total = int(dataset.docs_count() or 0)
        for number, row in enumerate(dataset.docs_iter(), start=1):
            upstream.passed_on = number
            yield _document(row)
            if number % _EVERY == 0:
                advance(number, max(total, number))


def _document(row: Any) -> Document:
    """A document by ir_datasets' names of its parts."""
    text = _text_in(row, ("text", "body", "abstract", "contents"))
    url = getattr(row, "url", "")
    whole = row.default_text() if text is None else text
    title = _text_in(row, ("title",)) or ""
    return Document(row.doc_id, whole, title, {"url": url} if url else {})


def _text_in(row: Any, names: Sequence[str]) -> str | None:
    """What has the first of these names that there is, where that is a text."""
    value = next((getattr(row, name) for name in names if hasattr(row, name)), None)
    return value if isinstance(value, str) else None


def _query(row: Any) -> Query:
    """A query, and where it has them its description and narrative."""
    text = _text_in(row, ("text", "title", "query"))
    parts = [(n, _text_in(row, (n,))) for n in ("description", "narrative")]
    metadata = {name: part for name, part in parts if part}
    whole = text if text and text.strip() else row.default_text()
    return Query(row.query_id, squeezed(whole), {"origin": "real", **metadata})


def _add_grades(upstream: UpstreamCollection, dataset: Any, name: str) -> None:
    """Add the grades and all pairs that have one; a pair of two grades is in no qrels."""
    grades: dict[Pair, int] = {}
    conflicts: dict[Pair, None] = {}
    for row in dataset.qrels_iter() if dataset.has_qrels() else ():
        pair = Pair(*ids_of(f"{PREFIX}{name}", row.query_id, row.doc_id))
        grade = grade_of(f"{PREFIX}{name}: {' '.join(pair)}", row.relevance)
        if grades.setdefault(pair, grade) != grade:
            conflicts[pair] = None
    upstream.pool = [pair for pair, grade in grades.items() if grade >= 0]
    upstream.conflicts = list(conflicts)
    for pair, grade in grades.items():
        if pair not in conflicts:
            upstream.add(HUMAN, pair, grade)


def _card(name: str, dataset: Any) -> JsonObject:
    documentation: JsonObject = getattr(dataset, "documentation", dict)() or {}
    return {
        "labeler": __version__,
        "name": f"{PREFIX}{name}",
        "recipe": f"{PREFIX}{name}",
        "title": name,
        "homepage": f"https://ir-datasets.com/{name.split('/', maxsplit=1)[0]}.html",
        "citation": documentation.get("bibtex") or "",
        "licence": "see the homepage",
    }
