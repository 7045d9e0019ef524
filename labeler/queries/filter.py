"""Which generated queries are fit for a test collection, and which of several is the best."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MAX_WORDS = 10
MAX_COPIED = 5
MAX_OVERLAP = 0.5

_POINTS_AT_ITS_SOURCE = re.compile(
    r"\b(this|the|above|given) (passage|text|document|excerpt)\b", re.I
)
_REFUSAL = re.compile(
    r"""\W*(?:
        (?:i['’]?m|i\ am)\ (?:(?:very|so|really)\ )?sorry (?=\W*$ | [,.;:!—–-] | \ (?:but|i)\b)
        | sorry (?=\W*$ | [,.;:!—–] | \ but\b | \ i\ (?:can|am|do|will)\b | \ i['’]m\b)
        | (?:i|we)\ apologi[sz]e\b | my\ apologies\b
        | as\ an?\ (?:ai|artificial\ intelligence|(?:large\ )?language\ model)\b
            (?=\W*$ | [,;:] | \ (?:language\ |assistant|model|i\b))
        | (?:unfortunately,?\ )? i(?:\ am|['’]?m)?\ (?:can['’]?t|cannot|can\ not|won['’]?t|will\ not
            |unable\ to|not\ able\ to) (?:\W*$ | \ (?:help(?:\ (?:with|you)\b|\W*$)|assist|comply
            |fulfil|provide|engage|discuss|do\ that\b|(?:answer|respond\ to)\ (?:this|that)\b
            |(?:create|generate|write)\ (?:a|an|any|this|that|such)\ (?:search\ )?quer))
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_LEFTOVERS = re.compile(r"^(?:query\s*:\s*|[-*•]\s+|\d+[.)]\s+)+|[\"“”`]|\*\*", re.I)


def words(text: str) -> list[str]:
    """The words of a text, case folded."""
    return _WORD.findall(text.casefold())


def tidied(reply: str) -> str:
    """A model's reply as a query: its first line, less quotes, bullets and a leading `Query:`."""
    lines = [line for line in reply.split("\n") if line.strip()]
    return " ".join(_LEFTOVERS.sub("", lines[0].strip()).split()) if lines else ""


def reason_to_reject(query: str, passage: str, examples: Iterable[str]) -> str | None:
    """Why a generated query is not fit to test retrieval with; `None` where it is.

    `examples` are the prompt's own queries, which small models echo.
    """
    if reason := _no_query(query):
        return reason
    in_query = words(query)
    if longest_copy(in_query, words(passage)) > MAX_COPIED:
        return f"copies more than {MAX_COPIED} words in a row"
    if any(overlap(in_query, words(example)) > MAX_OVERLAP for example in examples):
        return "like an example of the prompt"
    return None


def _no_query(text: str) -> str | None:
    """What is wrong with a text by itself."""
    if _REFUSAL.match(text):
        return "a refusal"
    count = len(words(text))
    if count < 2 and len(text) < 8:
        return "too short"
    if count > MAX_WORDS:
        return f"more than {MAX_WORDS} words"
    return "speaks of the passage" if _POINTS_AT_ITS_SOURCE.search(text) else None


def longest_copy(query: Sequence[str], passage: Sequence[str]) -> int:
    """The length of the longest run of words that stands in both, in words."""
    best = 0
    row = [0] * (len(passage) + 1)
    for word in query:
        row = [
            0,
            *(row[i] + 1 if word == passage_word else 0 for i, passage_word in enumerate(passage)),
        ]
        best = max(best, *row)
    return best


def overlap(first: Iterable[str], second: Iterable[str]) -> float:
    """Jaccard's coefficient of two sets of words; 0 where both are empty."""
    a, b = set(first), set(second)
    return len(a & b) / len(a | b) if a | b else 0.0
