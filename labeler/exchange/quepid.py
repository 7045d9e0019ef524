"""Quepid's books of judgements and cases, and the ratings of the Rated Ranking Evaluator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from labeler.exchange.contents import Contents, objects, rated
from labeler.files.jsonl import RowValues


def book(value: Any) -> Contents | None:
    """The judgements of a Quepid book; None where the value is something else."""
    pairs = value.get("query_doc_pairs") if isinstance(value, dict) else None
    if not isinstance(pairs, list):
        return None
    kind = "judgements of a Quepid book"
    queries = [{"text": text} for text in dict.fromkeys(pair["query_text"] for pair in pairs)]
    grades = rated(kind, _book(pairs), by_text=True, is_rating=True)
    return Contents(kind, queries=queries, grades=grades)


def _book(pairs: Sequence[Any]) -> Iterator[tuple[Any, Any, Any]]:
    for pair in pairs:
        for judgement in pair.get("judgements") or pair.get("judgments") or []:
            rating = None if judgement.get("unrateable") else judgement.get("rating")
            yield pair["query_text"], pair["doc_id"], rating


def case(value: Any) -> Contents | None:
    """The queries and ratings of an exported Quepid case; None where the value is none."""
    queries = objects(value.get("queries"), "query_text") if isinstance(value, Mapping) else None
    if queries is None or not any("ratings" in query for query in queries):
        return None
    pairs = ((q["query_text"], *each) for q in queries for each in _rated(q.get("ratings")))
    texts = [{"text": text} for text in dict.fromkeys(q["query_text"] for q in queries)]
    kind = "a case of Quepid"
    return Contents(kind, queries=texts, grades=rated(kind, pairs, by_text=True, is_rating=True))


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
    kind = "ratings of the Rated Ranking Evaluator"
    texts = [(text, group) for group in groups for text in _texts(group)]
    queries = [{"text": text} for text in dict.fromkeys(text for text, _ in texts)]
    pairs = ((text, *gain) for text, group in texts for gain in _gains(group["relevant_documents"]))
    grades = rated(kind, pairs, by_text=True, is_rating=True)
    return Contents(kind, queries=queries, grades=grades)


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
