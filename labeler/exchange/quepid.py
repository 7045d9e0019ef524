"""Quepid's exports in JSON: books of judgements, and ratings of the Rated Ranking Evaluator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from labeler.errors import BadInput
from labeler.exchange.ratings import RatedFile, Rating


def book_judgements(value: Any) -> RatedFile | None:
    """The judgements of a Quepid book; `None` where the value is something else."""
    pairs = value.get("query_doc_pairs") if isinstance(value, dict) else None
    if not isinstance(pairs, list):
        return None
    return RatedFile("judgements of a Quepid book", _book(pairs), by_text=True, is_rating=True)


def _book(pairs: Sequence[Any]) -> Iterator[Rating]:
    for number, pair in enumerate(pairs, start=1):
        for judgement in pair.get("judgements") or pair.get("judgments") or []:
            rating = None if judgement.get("unrateable") else judgement.get("rating")
            yield Rating(number, pair["query_text"], pair["doc_id"], rating)


def rated_ranking(value: Any) -> RatedFile | None:
    """The ratings of a Rated Ranking Evaluator's file; `None` where the value is something else."""
    groups = list(_groups(value)) if isinstance(value, dict) else []
    if not groups:
        return None
    kind = "ratings of the Rated Ranking Evaluator"
    return RatedFile(kind, _ranked(groups), by_text=True, is_rating=True)


def _groups(value: Mapping[str, Any]) -> Iterator[tuple[list[Any], Any]]:
    """The queries of each group and its `relevant_documents`, however deep they stand."""
    if "relevant_documents" in value:
        yield value.get("queries", [value]), value["relevant_documents"]
        return
    for name in ("topics", "query_groups", "queries"):
        for inner in value.get(name) or []:
            if isinstance(inner, dict):
                yield from _groups(inner)


def _ranked(groups: Sequence[tuple[list[Any], Any]]) -> Iterator[Rating]:
    numbers = count(1)
    for queries, documents in groups:
        for query in queries:
            (text,) = _text(query)
            for document, gain in _gains(documents):
                yield Rating(next(numbers), text, document, gain)


def _text(query: Any) -> list[str]:
    texts = [query] if isinstance(query, str) else list(query["placeholders"].values())
    if len(texts) != 1:
        raise BadInput(f"expected one placeholder for a query, found {len(texts)}")
    return texts


def _gains(documents: Any) -> Iterator[tuple[Any, Any]]:
    """Documents and gains, of `{gain: [document]}` or `{document: {"gain": gain}}`."""
    parts = documents if isinstance(documents, list) else [documents]
    for part in parts:
        for key, value in part.items():
            if isinstance(value, list):
                yield from ((document, key) for document in value)
            else:
                yield key, value["gain"]
