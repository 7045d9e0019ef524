"""Quepid's books of judgements, as it exports them in JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

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
