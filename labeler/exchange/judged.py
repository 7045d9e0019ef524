"""What readers of qrels hand over: rows of a query, a document and what somebody said of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple


class Rating(NamedTuple):
    """A query, a document and a rating, as they stand in a file; `line` is where, or a number."""

    line: int
    query: Any
    document: Any
    value: Any


@dataclass(frozen=True)
class RatedFile:
    """The ratings of a file, and what it was taken for.

    `by_text` says that queries are named by their text, or may be; `is_rating` that the numbers
    are ratings of any range, and no grades unless they are small integers.
    """

    kind: str
    ratings: Iterable[Rating]
    by_text: bool = False
    is_rating: bool = False
