"""People's ratings as tools of search keep them: rated documents, query by query.

OpenSearch's workbench and its ranking evaluation, Quepid's books and cases, and the Rated Ranking
Evaluator. What engines answer to searches is read by `labeler.exchange.responses`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from labeler.exchange.contents import Contents, as_queries, judged, objects, rated
from labeler.exchange.fields import value_at
from labeler.exchange.responses import query_in
from labeler.exchange.tables import column_of
from labeler.files.jsonl import JsonObject, RowValues
from labeler.trec.values import DOCUMENT_ID, QUERY_ID

_WORKBENCH = "OpenSearch's Search Relevance Workbench"
_KINDS = {
    "judgmentRatings": f"judgements of {_WORKBENCH}",
    "judgementRatings": f"judgements of {_WORKBENCH}",
    "requests": "rated requests of a ranking evaluation (_rank_eval)",
    "queries": "a case of Quepid",
}
"""Where lists of queries with ratings stand, and whose these are."""

_QUERY_SET = "querySetQueries"


def _held(value: Any) -> list[JsonObject]:
    """The objects that a response holds under `hits`, `_source` or `docs`; else the value alone."""
    hits = value_at(value, "hits.hits")
    source = value_at(value, "_source")
    if isinstance(hits, list):
        return list(chain.from_iterable(map(_held, hits)))
    held = source if isinstance(source, dict) else value
    return [held] if isinstance(held, dict) else []


def query_set(value: Any) -> Contents | None:
    """The queries of a query set of OpenSearch's workbench; None of something else."""
    sets = [each[_QUERY_SET] for each in _held(value) if isinstance(each.get(_QUERY_SET), list)]
    texts = (entry["queryText"] for entry in chain(*sets))
    return Contents(f"a query set of {_WORKBENCH}", queries=as_queries(texts)) if sets else None


def rated_queries(value: Any) -> Contents | None:
    """Queries with lists of rated documents, wherever they stand; None of something else.

    Ratings are numbers or texts of these, from 0.0 to 1.0 in OpenSearch's workbench.
    """
    held = _held(value)
    lists = ((n, [row for each in held for row in objects(each.get(n)) or ()]) for n in _KINDS)
    bare = ("rated documents by query", objects(value, "ratings") or [])
    name, rows = next((x for x in lists if any("ratings" in row for row in x[1])), bare)
    asked = [query_in(row, (*QUERY_ID, "id")) or {} for row in rows]
    texts = [query.get("text") for query in asked]
    kind = _KINDS.get(name, name)
    keys = [text or query.get("_id") for text, query in zip(texts, asked, strict=True)]
    if not rows or None in keys:
        return None
    pairs = ((q, *each) for q, row in zip(keys, rows, strict=True) for each in _ratings(row))
    return (
        Contents(kind, grades=rated(kind, pairs))
        if None in texts
        else judged(kind, filter(None, texts), pairs)
    )


def _ratings(row: RowValues) -> Iterator[tuple[Any, Any]]:
    """Documents and ratings, of `{id: rating}` or of a list of objects with both."""
    ratings = row.get("ratings")
    if isinstance(ratings, Mapping):
        yield from ratings.items()
    for each in objects(ratings) or ():
        yield each[column_of(each, (*DOCUMENT_ID, "id")) or "docId"], each["rating"]


def book(value: Any) -> Contents | None:
    """The judgements of a Quepid book; None where the value is something else."""
    pairs = value_at(value, "query_doc_pairs")
    if not isinstance(pairs, list):
        return None
    texts = (pair["query_text"] for pair in pairs)
    ratings = (
        (pair["query_text"], pair["doc_id"], None if j.get("unrateable") else j.get("rating"))
        for pair in pairs
        for j in pair.get("judgements") or pair.get("judgments") or ()
    )
    return judged("judgements of a Quepid book", texts, ratings)


# RRE: topics, query groups and queries, each of which may be left out; documents by gain.


def rated_ranking_evaluator(value: Any) -> Contents | None:
    """The ratings of the Rated Ranking Evaluator, as it and Quepid write them."""
    groups = list(_groups(value)) if isinstance(value, Mapping) else []
    if not groups or not all("relevant_documents" in group for group in groups):
        return None
    texts = [(text, group) for group in groups for text in _texts(group)]
    pairs = ((text, *gain) for text, group in texts for gain in _gains(group["relevant_documents"]))
    return judged("ratings of the Rated Ranking Evaluator", (text for text, _ in texts), pairs)


def _groups(value: RowValues) -> Iterator[RowValues]:
    """The objects that hold queries and documents: groups of topics, groups, or queries alone."""
    for topic in objects(value.get("topics")) or [dict(value)]:
        for group in objects(topic.get("query_groups")) or [topic]:
            if "relevant_documents" in group:
                yield group
            else:
                yield from objects(group.get("queries"), "placeholders") or ()


def _texts(group: RowValues) -> Iterator[str]:
    """The queries of a group: its own, or what its placeholder stands for."""
    for query in objects(group.get("queries")) or [dict(group)]:
        places = query.get("placeholders") or {}
        text = places.get("$query", next(iter(places.values()), None))
        if isinstance(text, str):
            yield text


def _gains(documents: Any) -> Iterator[tuple[str, Any]]:
    """Documents with their gains, from `{id: {gain: 2}}` or `{gain: [id]}`."""
    for key, value in documents.items():
        if isinstance(value, Mapping):
            yield key, value.get("gain")
        else:
            yield from ((doc_id, key) for doc_id in value)
