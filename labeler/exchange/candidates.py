"""Rows of a query each with lists of documents: what a system retrieved for it, or what answers it.

DPR and rank_llm write retrieved passages so; Tevatron, MIRACL, BRIGHT and LoTTE relevant ones. What
a training set calls negative was mostly mined and judged by nobody: it gives documents, no grades.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from labeler.exchange.contents import Contents, Ranked, may_be_id, objects, text_id
from labeler.exchange.ratings import number_of
from labeler.exchange.tables import column_of
from labeler.files.jsonl import JsonObject, RowValues
from labeler.trec.values import DOCUMENT_ID, QUERY_ID, SCORE, key_of

_QUERY = ("query", "question")
_RETRIEVED = ("ctxs", "candidates", "retrieved")
_RELEVANT = (
    *("positivepassages", "positivectxs", "positives", "goldids", "goldpassages", "answerpids"),
    *("relevantdocs", "relevantids", "relevantdocids", "relevantpassages"),
)
_NEGATIVE = ("negativepassages", "negativectxs", "hardnegativectxs")
_TEXT = ("text", "contents", "content", "passage", "segment")


class _Hit(NamedTuple):
    """A document of a list: its record, as far as the list has its text, and a score, if any."""

    id: Any
    record: JsonObject
    score: float | None


def candidate_lists(value: Any) -> Contents | None:
    """Documents, queries, grades and rankings of such rows; None of others."""
    rows = objects(value)
    if rows is None or column_of(rows[0], _QUERY) is None:
        return None
    relevant, retrieved = (column_of(rows[0], names) for names in (_RELEVANT, _RETRIEVED))
    negative = (name for name in rows[0] if key_of(name) in _NEGATIVE)
    lists = (relevant, retrieved, *negative)
    names = [name for name in lists if name and isinstance(rows[0][name], list)]
    if not {relevant, retrieved} & {*names}:
        return None
    queries = [*filter(None, map(_query, rows))]
    hits = {name: [[*map(_hit, row.get(name) or [])] for row in rows] for name in names}
    every = [hit for of_rows in hits.values() for of_row in of_rows for hit in of_row]
    if len(queries) < len(rows) or None in every:
        return None
    asked = [query.get("_id", query["text"]) for query in queries]
    documents = {hit.id: hit.record for hit in every if hit and hit.record}
    answers, runs = (
        zip(asked, map(_ranked, hits.get(name or "", ())), strict=False)
        for name in (relevant, retrieved)
    )
    kind = f"queries with documents each ({', '.join(names)})"
    by_text = not any("_id" in query for query in queries)
    contents = Contents(kind, [*documents.values()] or None, queries)
    return contents.with_lists(answers, runs, by_text=by_text)


def _ranked(hits: Iterable[_Hit | None]) -> Ranked:
    return [(hit.id, hit.score) for hit in hits if hit]


def _query(row: RowValues) -> JsonObject | None:
    """A row's query, whose text and id may stand in an object of their own."""
    asked = row.get(column_of(row, _QUERY) or "")
    inside, own = (asked, ("text",)) if isinstance(asked, Mapping) else (row, _QUERY)
    name, key = column_of(inside, own), column_of(inside, (*QUERY_ID, "id"))
    text, id_ = inside.get(name or ""), inside.get(key or "")
    if not isinstance(text, str) or not text.strip():
        return None
    return {"text": text} if id_ in (None, "") else {"_id": str(id_), "text": text}


def _hit(value: Any) -> _Hit | None:
    if may_be_id(value):
        return _Hit(str(value), {}, None)
    if not isinstance(value, Mapping):
        return None
    doc = value.get("doc")
    inner = doc if isinstance(doc, Mapping) else value
    name, key = column_of(inner, _TEXT), column_of(value, (*DOCUMENT_ID, "id"))
    text, score = inner.get(name or ""), column_of(value, SCORE)
    id_ = value.get(key or "") if not isinstance(value.get(key or ""), Mapping) else None
    if id_ in (None, "") and isinstance(text, str) and text.strip():
        id_ = text_id(text)
    if id_ in (None, ""):
        return None
    record = {"_id": str(id_), "title": inner.get("title") or "", "text": text}
    number = number_of(value[score]) if score else None
    return _Hit(str(id_), record if isinstance(text, str) else {}, number)
