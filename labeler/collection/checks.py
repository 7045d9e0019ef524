"""The checks of a collection's files, one function a kind of file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from labeler.collection.corpus import document_in
from labeler.collection.judgements import Origin, read_judgements
from labeler.collection.layout import Collection
from labeler.collection.pool import DROPS, read_pool
from labeler.collection.queries import query_in
from labeler.collection.rows import Record, Row
from labeler.collection.stale import stale_pairs
from labeler.data import Document, Judgement, Pair, Query
from labeler.errors import BadInput
from labeler.files.jsonl import read_rows
from labeler.files.row_index import RowIndex
from labeler.messages import count_of
from labeler.trec.rows import grade_of
from labeler.trec.rows import rows as trec_rows

# What is wrong with the files of a collection, each with its file and line.

Level = Literal["error", "warning"]

_NAMED = 5
"""Of one kind of problem in a file, so many are named, and the others counted."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem; `line` is 0 where it is the whole file's, `count` how many are told as one."""

    level: Level
    path: Path
    line: int
    text: str
    count: int = 1

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else str(self.path)
        return f"{where}: {self.text}"

    def as_json(self) -> dict[str, Any]:
        """The problem by name."""
        return {
            "level": self.level,
            "path": str(self.path),
            "line": self.line or None,
            "problem": self.text,
            "count": self.count,
        }


class Problems:
    """Collects problems, of each kind in a file the first few."""

    def __init__(self) -> None:
        self._by_kind: dict[tuple[Path, str], list[Problem]] = {}
        self.unnamed = 0

    def add(self, path: Path, line: int, kind: str, text: str, level: Level = "error") -> None:
        """Note a problem; `kind` says in words what those of its kind have in common."""
        listed = self._by_kind.setdefault((path, kind), [])
        if len(listed) < _NAMED:
            listed.append(Problem(level, path, line, text))
        else:
            rest = listed[_NAMED] if len(listed) > _NAMED else Problem(level, path, 0, "", 0)
            count = rest.count + 1
            self.unnamed += 1
            listed[_NAMED:] = [replace(rest, text=f"… and {count:,} more: {kind}", count=count)]

    def add_text(self, path: Path, text: str) -> None:
        """Note what a reader says, which names the file and mostly the line itself."""
        match = re.match(rf"{re.escape(str(path))}(?::(\d+))?: (.*)", text, re.DOTALL)
        line, problem = (int(match[1] or 0), match[2]) if match else (0, text)
        self.add(path, line, "lines that cannot be read", problem)

    def listed(self) -> Iterator[Problem]:
        """The problems by file and kind, in the order in which the first of each came."""
        for listed in self._by_kind.values():
            yield from listed


@dataclass
class Contents:
    """What the files that were checked hold: ids, and the grades of judgements by their set.

    Of each set, `rows` counts the rows and the grades of pairs of the collection,
    `rows_beyond` those of pairs that left the pool. `stale` counts grades of changed texts.
    """

    documents: RowIndex = field(default_factory=RowIndex)
    queries: set[str] = field(default_factory=set)
    pool: int | None = None
    dropped: set[Pair] = field(default_factory=set)
    grades: dict[str, dict[Pair, int]] = field(default_factory=dict)
    rows: dict[str, tuple[int, int]] = field(default_factory=dict)
    rows_beyond: dict[str, tuple[int, int]] = field(default_factory=dict)
    stale: int = 0


_CUT_ID = re.compile(r":([0-9a-f]{10})\Z")
_QRELS, _RUN = "query iteration document grade", "query Q0 document rank score tag"


def check_corpus(collection: Collection, path: Path, seen: Contents, problems: Problems) -> None:
    """Ids stand once, passages have texts, and a text is the one that its id was made of."""
    for number, document in _good_rows(path, document_in, problems):
        if document.id in seen.documents:
            problems.add(path, number, "repeated ids", f"the id {document.id!r} stands twice")
        seen.documents.add(document.id)
        _check_document(path, number, document, problems)
    del collection


def _check_document(path: Path, number: int, document: Document, problems: Problems) -> None:
    if not document.text.strip() and not document.title.strip():
        text = f"the document {document.id!r} has neither text nor title"
        problems.add(path, number, "documents without text", text, "warning")
    match = _CUT_ID.search(document.id)
    if match and "headings" in document.metadata:
        content = hashlib.sha256(f"{document.title}\0{document.text}".encode()).hexdigest()[:10]
        if content != match[1]:
            text = f"the text of {document.id!r} is not the one that its id was made of"
            problems.add(path, number, "changed texts", text)
    start, end = document.metadata.get("start", 0), document.metadata.get("end", 0)
    if not (type(start) is int and type(end) is int and 0 <= start <= end):
        text = f"the span of {document.id!r} is none: {start!r:.20} to {end!r:.20}"
        problems.add(path, number, "spans", text)


def check_queries(collection: Collection, path: Path, seen: Contents, problems: Problems) -> None:
    """Ids and texts stand once, and sources are passages of the corpus."""
    _check_queries(path, seen.queries, seen, problems)
    del collection


def check_unanswerable(
    collection: Collection, path: Path, seen: Contents, problems: Problems
) -> None:
    """The same of the queries that nothing answers; none has an id of those that are scored."""
    ids: set[str] = set()
    _check_queries(path, ids, seen, problems)
    for id_ in sorted(ids & seen.queries):
        problem = f"the id {id_!r} is a query's of {collection.queries.name} too"
        problems.add(path, 0, "ids of other queries", problem)


def _check_queries(path: Path, ids: set[str], seen: Contents, problems: Problems) -> None:
    """Check the queries of a file, and add their ids to `ids`."""
    first_line: dict[str, int] = {}
    for number, query in _good_rows(path, query_in, problems):
        id_ = query.id
        if id_ in ids:
            problems.add(path, number, "repeated ids", f"the id {id_!r} stands twice")
        ids.add(id_)
        words = " ".join(query.text.casefold().split())
        if not words:
            problems.add(path, number, "queries without text", f"the query {id_!r} has no text")
        elif first_line.setdefault(words, number) != number:
            problem = f"the query {id_!r} has the same text as that in line {first_line[words]}"
            problems.add(path, number, "queries that stand twice", problem, "warning")
        _check_sources(path, number, query, seen, problems)


def _objects(value: object) -> list[dict[str, Any]]:
    """The objects in a list that anybody may have written."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _check_sources(
    path: Path, number: int, query: Query, seen: Contents, problems: Problems
) -> None:
    id_, metadata = query.id, query.metadata
    sources = _objects(metadata.get("source"))
    unanswerable = metadata.get("answerable") is False or metadata.get("kind") == "unanswerable"
    if unanswerable and sources:
        problem = f"the query {id_!r} is unanswerable, and has a source"
        problems.add(path, number, "unanswerable queries with a source", problem)
    if not unanswerable and not sources and metadata.get("origin") == "generated":
        problem = f"the query {id_!r} was written for a passage, and names none"
        problems.add(path, number, "answerable queries without a source", problem)
    about = _objects(metadata.get("about")) if unanswerable else []
    for source in (*sources, *about):
        doc_id = source.get("doc_id")
        if doc_id not in seen.documents and source.get("state") == "gone":
            problem = f"the passage that {id_!r} was written for is gone"
            problems.add(path, number, "sources that are gone", problem, "warning")
        elif doc_id not in seen.documents:
            problem = f"the source {doc_id!r:.100} of {id_!r} is not in the corpus"
            problems.add(path, number, "sources that are not in the corpus", problem)


def check_pool(collection: Collection, path: Path, seen: Contents, problems: Problems) -> None:
    """Pairs stand once, and both ids are in the collection."""
    del collection
    pairs: set[Pair] = set()
    for number, pair in _good_rows(path, lambda row: row.pair, problems):
        _check_pair(path, number, pair, seen, problems, f"; next: {DROPS.format(path.parent)}")
        if pair in pairs:
            problems.add(path, number, "repeated pairs", f"the pair {pair[0]} {pair[1]} again")
        pairs.add(pair)
    seen.pool = len(pairs)


def check_dropped(collection: Collection, path: Path, seen: Contents, problems: Problems) -> None:
    """Pairs left the pool as their query or document is gone; those whose both are there return."""
    seen.dropped = {entry.pair for entry in read_pool(path)}
    for query_id, doc_id in sorted(seen.dropped):
        if query_id in seen.queries and doc_id in seen.documents:
            pair = f"the pair {query_id} {doc_id} may be in the pool again"
            problem = f"{pair}; next: labeler pool {collection.folder}"
            problems.add(path, 0, "pairs whose query and document are there", problem, "warning")


def check_judgements(
    collection: Collection, path: Path, seen: Contents, problems: Problems
) -> None:
    """Pairs stand once, ids are in the collection, and all rows are of one origin."""
    grades: dict[Pair, int] = {}
    pairs: set[Pair] = set()
    origins: list[Origin] = []
    for number, row in enumerate(read_judgements(path), start=1):
        outcome = row.judged.outcome
        if outcome.pair not in seen.dropped:
            _check_pair(path, number, outcome.pair, seen, problems)
        if outcome.pair in pairs:
            text = f"the pair {outcome.pair[0]} {outcome.pair[1]} again"
            problems.add(path, number, "repeated pairs", text)
        pairs.add(outcome.pair)
        if row.origin not in origins[:1]:
            origins.append(row.origin)
            if len(origins) > 1:
                text = "made by another prompt, model or parameters than the rows above"
                problems.add(path, number, "rows of another origin", text)
        if isinstance(outcome, Judgement):
            grades[outcome.pair] = outcome.grade
    beyond_pool = seen.dropped & pairs
    if beyond_pool:
        rows = count_of(len(beyond_pool), "row is of a pair", "rows are of pairs")
        text = f"{rows} that left the pool, as dropped.jsonl says; no score counts them"
        problems.add(path, 0, "rows of pairs that left the pool", text, "warning")
    if stale := len(stale_pairs(collection, path.stem)):
        counted = count_of(stale, "grade is", "grades are")
        text = (
            f"{counted} of texts that have changed since; next: labeler judge {collection.folder}"
        )
        problems.add(path, 0, "grades of changed texts", text, "warning")
        seen.stale += stale
    seen.grades[path.stem] = {
        pair: grade for pair, grade in grades.items() if pair not in beyond_pool
    }
    seen.rows[path.stem] = len(pairs - beyond_pool), len(seen.grades[path.stem])
    seen.rows_beyond[path.stem] = len(beyond_pool), len(beyond_pool & grades.keys())


def check_qrels(collection: Collection, path: Path, seen: Contents, problems: Problems) -> None:
    """Ids are in the collection, pairs stand once, and grades are those of the judgements."""
    grades: dict[Pair, int] = {}
    if not seen.grades.get(path.stem, True) and not path.stat().st_size:
        return  # no pair of the set has a grade
    for number, columns in trec_rows(path, _QRELS):
        pair = Pair(*(text.decode("utf-8", "replace") for text in (columns[0], columns[2])))
        grade = grade_of(path, number, columns[3])
        if pair in seen.dropped:
            text = f"{pair[0]} {pair[1]} left the pool, as dropped.jsonl says, and counts in scores"
            problems.add(path, number, "grades of pairs that left the pool", text)
            continue
        _check_pair(path, number, pair, seen, problems)
        if pair in grades:
            problems.add(path, number, "repeated pairs", f"the pair {pair[0]} {pair[1]} again")
        grades[pair] = grade
        judged = seen.grades.get(path.stem)
        if judged is not None and judged.get(pair) != grade:
            is_judged = f"has {judged[pair]}" if pair in judged else "has no grade"
            file = collection.judgements(path.stem).name
            text = f"{pair[0]} {pair[1]} has the grade {grade}, and {is_judged} in {file}"
            problems.add(path, number, "grades that judgements do not have", text)
    missing = seen.grades.get(path.stem, {}).keys() - grades.keys()
    if missing:
        query, document = min(missing)
        text = f"{len(missing):,} judged pairs are not in it, as {query} {document}"
        problems.add(path, 0, "judgements without a line", text)


def check_run(collection: Collection, path: Path, seen: Contents, problems: Problems) -> None:
    """The documents and the queries of a run are in the collection."""
    del collection
    for number, columns in trec_rows(path, _RUN):
        pair = Pair(*(text.decode("utf-8", "replace") for text in (columns[0], columns[2])))
        if pair.query_id not in seen.queries:
            text = f"the query {pair.query_id!r:.100} is not in the collection"
            problems.add(path, number, "queries that are not in the collection", text, "warning")
        if pair.doc_id not in seen.documents:
            text = f"the document {pair.doc_id!r:.100} is not in the corpus"
            problems.add(path, number, "documents that are not in the corpus", text)


def _check_pair(  # noqa: PLR0913, PLR0917  a pair, and where what is wrong with it is noted
    path: Path, number: int, pair: Pair, seen: Contents, problems: Problems, advice: str = ""
) -> None:
    if pair.query_id not in seen.queries:
        text = f"the query {pair.query_id!r:.100} is not in the collection{advice}"
        problems.add(path, number, "queries that are not in the collection", text)
    if pair.doc_id not in seen.documents:
        text = f"the document {pair.doc_id!r:.100} is not in the corpus{advice}"
        problems.add(path, number, "documents that are not in the corpus", text)


def _good_rows(
    path: Path, of: Callable[[Row], Record], problems: Problems
) -> Iterator[tuple[int, Record]]:
    """What the rows of a file are, with their lines; others are noted."""

    def bad(error: BadInput) -> None:
        problems.add_text(path, str(error))

    for number, values in read_rows(path, bad):
        try:
            record = of(Row(path, number, values))
        except BadInput as error:
            bad(error)
        else:
            yield number, record
