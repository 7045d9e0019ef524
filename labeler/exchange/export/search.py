"""What OpenSearch takes in: documents for `_bulk`, a query set and judgements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from labeler.exchange.export.content import (
    Content,
    Export,
    Write,
    lost,
    refuse_equal_texts,
    write_json,
    write_json_lines,
)


def _files(content: Content) -> dict[str, Write]:
    refuse_equal_texts(content, "OpenSearch's search relevance workbench")

    named = {"name": content.name, "description": f"{content.name}, from its qrels"}
    texts = [{"queryText": query.text} for query in content.queries.values()]
    query_set = {**named, "sampling": "manual", "querySetQueries": texts}
    ratings = [
        {"query": content.queries[query_id].text, "ratings": _ratings(grades)}
        for query_id, grades in sorted(content.qrels.items())
    ]
    judgements = {**named, "type": "IMPORT_JUDGMENT", "judgmentRatings": ratings}
    return {
        "documents.ndjson": lambda path: write_json_lines(path, _bulk(content)),
        "queryset.json": lambda path: write_json(path, query_set),
        "judgments.json": lambda path: write_json(path, judgements),
    }


def _bulk(content: Content) -> Iterator[dict[str, Any]]:
    for document in content.documents.values():
        yield {"index": {"_id": document.id}}
        yield {"title": document.title, "text": document.text}


def _ratings(grades: dict[str, int]) -> list[dict[str, str]]:
    """The workbench has ratings as texts of decimal numbers."""
    return [{"docId": doc, "rating": f"{grade}.0"} for doc, grade in sorted(grades.items())]


def _losses(content: Content) -> list[str]:
    count = len(content.queries)
    return lost(count, "query is", "queries are", "known by the text alone, without an id")


OPENSEARCH = Export(_files, _losses, "POST INDEX/_bulk with {}/documents.ndjson")
