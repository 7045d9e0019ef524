"""Which generated queries are fit for a test collection, and which of several is the best."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, partial

from labeler.messages import squeezed
from labeler.options import COUNT, Options, option
from labeler.text.terms import word_expression

MAX_WORDS = 10

rule = partial(option, section="filters")


@dataclass(frozen=True, slots=True)
class FilterRules(Options):
    """Which candidates are dropped; each bound says what lies beyond it.

    A query of more than `max_words` words is no search; None leaves that to its kind.
    """

    max_words: int | None = rule(
        None,
        "A query of more words is no search. Default: its kind's, or as long as real ones are.",
        COUNT,
        example=MAX_WORDS,
    )


_MAX_COPIED = 5
"""A query with more words in a row of its passage favors systems that match words."""

MIN_LETTERS = 8
"""One word of fewer letters says too little, unless real queries are like that."""

_EXAMPLE_SHARE = 0.5
"""A query with a larger share of words of an example of the prompt was echoed."""

SAME_SHARE = 0.8
"""A query that shares so many of its terms with an earlier or a real one asks the same."""
_PARTS = r"passage|text|document|excerpt|section|chapter|snippet|listing|paragraph|tutorial|article"
_POINTS_AT_ITS_SOURCE = re.compile(
    rf"(?i)\b(?:this|the|above|given|following|preceding) (?:{_PARTS})\b"
    r"|\b(?:this|these|the above|the following) (?:example|code|function|method|case|book)s?\b",
)
_POINTS_NOWHERE = re.compile(r"(?i)\b(?:this|these|those|the following|the above)\W*$")
_NUMBER = re.compile(r"(?<![\w.])\d[\d.,]*\d(?![\w.])")
_REFUSAL = re.compile(
    r"""(?ix)\W*(?:
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
)
_LEFTOVERS = re.compile(r"(?i)^(?:query\s*:\s*|[-*•]\s+|\d+[.)]\s+)+|[\"“”`]|\*\*")


def words(text: str) -> list[str]:
    """The words of a text, case folded."""
    return _word().findall(text.casefold())


@cache
def _word() -> re.Pattern[str]:
    return re.compile(rf"{word_expression()}(?:['’-]{word_expression()})*")


def tidied(reply: str) -> str:
    """A model's reply as a query: its first line, less quotes, bullets and a leading `Query:`."""
    lines = [line for line in reply.split("\n") if line.strip()]
    return squeezed(_LEFTOVERS.sub("", lines[0].strip())) if lines else ""


def reason_to_reject(
    query: str,
    passage: str,
    examples: Iterable[str],
    *,
    max_words: int = MAX_WORDS,
    min_letters: int = MIN_LETTERS,
) -> str | None:
    """Why a generated query is not fit to test retrieval with; `None` where it is.

    `examples` are the prompt's own queries, which small models echo.
    """
    in_query = words(query)
    checks = (
        (_REFUSAL.match(query), "a refusal"),
        (not query or (len(in_query) < 2 and len(query) < min_letters), "too short"),
        (len(in_query) > max_words, f"more than {max_words} words"),
        (_POINTS_NOWHERE.search(query), "points at something unseen"),
        (_POINTS_AT_ITS_SOURCE.search(query), "speaks of the passage"),
        (
            longest_copy(in_query, words(passage)) > _MAX_COPIED,
            f"copies more than {_MAX_COPIED} words in a row",
        ),
        (
            any(overlap(in_query, words(example)) > _EXAMPLE_SHARE for example in examples),
            "like an example of the prompt",
        ),
        (holds_answer(query, passage), "holds its answer"),
    )
    return next((reason for is_so, reason in checks if is_so), None)


def holds_answer(query: str, passage: str) -> bool:
    """Whether a question goes on after its mark, or names a number that is its passage's.

    >>> holds_answer("is the fee 40 euros", "It takes a fee of 40 euros.")
    True
    """
    question, mark, rest = query.partition("?")
    if mark and len(words(rest)) > 2 and len(words(question)) > 2:
        return True
    return not {*_NUMBER.findall(query)}.isdisjoint(_NUMBER.findall(passage))


def longest_copy(query: Sequence[str], passage: Sequence[str]) -> int:
    """The length of the longest run of words that stands in both, in words."""
    return SequenceMatcher(None, query, passage, autojunk=False).find_longest_match().size


def overlap(first: Iterable[object], second: Iterable[object]) -> float:
    """Jaccard's coefficient of two sets; 0 where both are empty."""
    a, b = set(first), set(second)
    return len(a & b) / len(a | b) if a | b else 0.0
