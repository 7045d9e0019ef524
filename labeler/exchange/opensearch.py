"""OpenSearch and Elasticsearch: search responses, bulk files, judgements and query sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from labeler.exchange.contents import Contents, rated

_RATINGS = ("judgmentRatings", "judgementRatings")
_QUERY_SET = "querySetQueries"


def unwrapped(value: Any) -> list[Any]:
    """The objects that a response holds under `hits`, `_source` or `docs`; else the value alone."""
    if isinstance(value, dict):
        hits = value.get("hits")
        if isinstance(hits, dict) and isinstance(hits.get("hits"), list):
            return [source for hit in hits["hits"] for source in unwrapped(hit)]
        if isinstance(value.get("_source"), dict):
            return [value["_source"]]
    return [value]


def workbench(value: Any) -> Contents | None:
    """The Search Relevance Workbench's judgements or query sets; None of something else.

    Queries are named by their text, and ratings are texts of numbers, from 0.0 to 1.0.
    """
    held = [each for each in unwrapped(value) if isinstance(each, dict)]
    kind = "OpenSearch's Search Relevance Workbench"
    sets = [each[_QUERY_SET] for each in held if isinstance(each.get(_QUERY_SET), list)]
    if sets:
        texts = dict.fromkeys(entry["queryText"] for queries in sets for entry in queries)
        return Contents(f"a query set of {kind}", queries=[{"text": text} for text in texts])
    lists = [each[n] for each in held for n in _RATINGS if isinstance(each.get(n), list)]
    lists = lists or ([value] if _are_ratings(value) else [])
    if not lists:
        return None
    kind = f"judgements of {kind}"
    texts = dict.fromkeys(query["query"] for queries in lists for query in queries)
    grades = rated(kind, _workbench(lists), by_text=True, is_rating=True)
    return Contents(kind, queries=[{"text": text} for text in texts], grades=grades)


def _are_ratings(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(x, dict) and {"query", "ratings"} <= x.keys() for x in value)
    )


def _workbench(lists: Sequence[Any]) -> Iterator[tuple[Any, Any, Any]]:
    for query in chain.from_iterable(lists):
        for rating in query["ratings"]:
            document = rating["docId"] if "docId" in rating else rating["doc_id"]
            yield query["query"], document, rating["rating"]


def ranking_evaluation(value: Any) -> Contents | None:
    """The rated requests of Elasticsearch's ranking evaluation; `None` of something else."""
    requests = value.get("requests") if isinstance(value, dict) else None
    if not isinstance(requests, list) or not requests:
        return None
    if not all(isinstance(r, dict) and {"id", "ratings"} <= r.keys() for r in requests):
        return None
    kind = "rated requests of a ranking evaluation (_rank_eval)"
    pairs = ((r["id"], each["_id"], each["rating"]) for r in requests for each in r["ratings"])
    return Contents(kind, grades=rated(kind, pairs))
