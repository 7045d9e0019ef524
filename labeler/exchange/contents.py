"""What a file of another tool holds: documents, queries, grades and rankings."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from labeler.errors import BadInput
from labeler.exchange.ratings import RatedFile, Rating
from labeler.files.jsonl import JsonObject, RowValues
from labeler.messages import squeezed

_WORDS_OF_AN_ID = 4
DOCUMENTS, QUERIES, GRADES, RANKINGS = PARTS = "documents", "queries", "grades", "rankings"
_ROLES = {
    **dict.fromkeys(("corpus", "document", "doc", "passage", "product"), DOCUMENTS),
    **dict.fromkeys(("query", "queries", "topic", "question"), QUERIES),
    **dict.fromkeys(("qrel", "judgement", "judgment", "relevance", "rating", "label"), GRADES),
    **dict.fromkeys(("run", "result", "prediction"), RANKINGS),
}
"""What the words in the names of files and folders say of them."""

WORDS = re.compile(r"[^a-z]+")


def role_of(name: str) -> str:
    """What the name of a file or folder says that it holds; empty where it says nothing."""
    stem = name.casefold().partition(".")[0]
    if name.casefold() == "collection.tsv":  # MS MARCO's passages
        return DOCUMENTS
    words = (word if word in _ROLES else word.removesuffix("s") for word in WORDS.split(stem))
    return next((_ROLES[word] for word in words if word in _ROLES), "")


def role_in(parts: Sequence[str]) -> str:
    """What a file holds by its own name, else by that of the nearest folder that says it."""
    return next(filter(None, map(role_of, reversed(parts))), "")


Records = Sequence[RowValues]


class Contents(NamedTuple):
    """What a file holds, and what it is: `documents` and `queries` have `_id` and `text`.

    Of what it has none, that is None. `lacks` says of such a part why, and what would help.
    """

    kind: str
    documents: Records | None = None
    queries: Records | None = None
    grades: RatedFile | None = None
    rankings: RatedFile | None = None
    lacks: Mapping[str, str] | None = None

    def parts(self) -> JsonObject:
        """What there is, by name."""
        named = ((name, getattr(self, name)) for name in PARTS)
        return {name: part for name, part in named if part is not None}

    def refuse(self, path: Path, part: str) -> NoReturn:
        """Raise `BadInput` where a part is asked for which the file lacks."""
        lacks = self.lacks or {}
        holds = " and ".join(self.parts())
        why = lacks.get(part) or ("" if holds else next(iter(lacks.values()), ""))
        raise BadInput(f"{path}: {self.kind}; {why or f'it holds {holds}, and no {part}'}")


# What formats are made of.


def text_id(text: str) -> str:
    """The id of a document that has none: a hash of its text, the same in every file."""
    words = squeezed(text).encode("utf-8", "surrogatepass")
    return f"d{hashlib.sha256(words).hexdigest()[:12]}"


def as_queries(texts: Iterable[str]) -> Records:
    """Texts as queries, each once."""
    return [{"text": text} for text in dict.fromkeys(texts)]


Triple = tuple[Any, Any, Any]
"""A query, a document and a value."""


def rated(kind: str, pairs: Iterable[Triple], **how: bool) -> RatedFile:
    """Triples as the ratings of a file."""
    ratings = (Rating(number, *pair) for number, pair in enumerate(pairs, start=1))
    return RatedFile(kind, ratings, **how)


def judged(kind: str, texts: Iterable[str], pairs: Iterable[Triple]) -> Contents:
    """The texts of queries, and ratings that name them by these."""
    grades = rated(kind, pairs, by_text=True, is_rating=True)
    return Contents(kind, queries=as_queries(texts), grades=grades)


Ranked = Sequence[tuple[Any, float | None]]
"""Documents and their scores, best first."""

Lists = Iterable[tuple[Any, Ranked]]
"""Queries, each with its documents."""


def ranked(kind: str, rankings: Lists, *, by_text: bool = False) -> RatedFile:
    """Rankings as the ratings of a run.

    Where a score is missing, ties or rises in any of them, all are one over the rank.
    """
    lists = list(rankings)
    is_scored = all(falls([score for _, score in documents]) for _, documents in lists)
    kind = kind if is_scored else f"{kind}, scored by rank"
    pairs = (
        (query, document, score if is_scored else 1 / rank)
        for query, documents in lists
        for rank, (document, score) in enumerate(documents, start=1)
    )
    return rated(kind, pairs, by_text=by_text)


def falls(scores: Sequence[float | None]) -> bool:
    """Whether there is a score at each place, below the one before."""
    numbers = [score for score in scores if score is not None]
    return len(numbers) == len(scores) and all(a > b for a, b in pairwise(numbers))


def objects(value: Any, *needed: str) -> list[JsonObject] | None:
    """A list of objects whose first one has all these keys; else None."""
    if not isinstance(value, list) or not value:
        return None
    first = value[0]
    if not isinstance(first, dict) or not all(name in first for name in needed):
        return None
    return value if all(isinstance(row, dict) for row in value) else None


def texts_in(value: Any) -> list[str]:
    """The texts of a list of them, of a single one, or of none."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def are_ids(texts: Collection[str]) -> bool:
    """Whether texts are ids: no white space, digits in each, none twice."""
    plain = all(len(id_.split()) == 1 and any(map(str.isdigit, id_)) for id_ in texts)
    return plain and len(set(texts)) == len(texts)


def may_be_id(value: Any) -> bool:
    """Whether this may be a document's id: a number, or a few words at most and no text."""
    if isinstance(value, str):
        return 0 < len(value.split()) <= _WORDS_OF_AN_ID
    return isinstance(value, int) and not isinstance(value, bool)
