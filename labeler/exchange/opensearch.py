"""Judgements, query sets and rated requests of OpenSearch and Elasticsearch.

Their answers to searches are read by `labeler.exchange.responses`.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from labeler.exchange.contents import Contents, as_queries, judged, objects, rated
from labeler.exchange.fields import value_at
from labeler.files.jsonl import JsonObject

_RATINGS = ("judgmentRatings", "judgementRatings")
_QUERY_SET = "querySetQueries"


def _held(value: Any) -> list[JsonObject]:
    """The objects that a response holds under `hits`, `_source` or `docs`; else the value alone."""
    hits, source = value_at(value, "hits.hits"), value_at(value, "_source")
    if isinstance(hits, list):
        return [*chain.from_iterable(map(_held, hits))]
    held = source if isinstance(source, dict) else value
    return [held] if isinstance(held, dict) else []


def workbench(value: Any) -> Contents | None:
    """The Search Relevance Workbench's judgements or query sets; None of something else.

    Queries are named by their text, and ratings are texts of numbers, from 0.0 to 1.0.
    """
    held, kind = _held(value), "OpenSearch's Search Relevance Workbench"
    sets = [each[_QUERY_SET] for each in held if isinstance(each.get(_QUERY_SET), list)]
    if sets:
        texts = (entry["queryText"] for entry in chain(*sets))
        return Contents(f"a query set of {kind}", queries=as_queries(texts))
    lists = [each[n] for each in held for n in _RATINGS if isinstance(each.get(n), list)]
    queries = [*chain(*lists)] if lists else objects(value, "query", "ratings")
    if queries is None:
        return None
    pairs = (
        (query["query"], each["docId"] if "docId" in each else each["doc_id"], each["rating"])
        for query in queries
        for each in query["ratings"]
    )
    return judged(f"judgements of {kind}", (query["query"] for query in queries), pairs)


def ranking_evaluation(value: Any) -> Contents | None:
    """The rated requests of Elasticsearch's ranking evaluation; `None` of something else."""
    requests = objects(value_at(value, "requests"), "id", "ratings")
    if requests is None:
        return None
    kind = "rated requests of a ranking evaluation (_rank_eval)"
    pairs = ((r["id"], each["_id"], each["rating"]) for r in requests for each in r["ratings"])
    return Contents(kind, grades=rated(kind, pairs))
