"""Quepid's books of judgements and cases, and the ratings of the Rated Ranking Evaluator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from labeler.exchange.contents import Contents, judged, objects
from labeler.exchange.fields import value_at
from labeler.files.jsonl import RowValues


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


def case(value: Any) -> Contents | None:
    """The queries and ratings of an exported Quepid case; None where the value is none."""
    queries = objects(value_at(value, "queries"), "query_text")
    if queries is None or not any("ratings" in query for query in queries):
        return None
    pairs = ((q["query_text"], *each) for q in queries for each in _rated(q.get("ratings")))
    return judged("a case of Quepid", (q["query_text"] for q in queries), pairs)


def _rated(ratings: Any) -> Iterator[tuple[Any, Any]]:
    """Documents and ratings, of `{id: rating}` or of a list of objects with both."""
    if isinstance(ratings, Mapping):
        yield from ratings.items()
    for each in objects(ratings, "doc_id", "rating") or ():
        yield each["doc_id"], each["rating"]


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
