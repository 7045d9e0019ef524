"""Words and sentences of a text in any script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

LONGEST_SLICE = 200
"""A word of more characters is cut."""

_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003fffd]"
)
"""Thai, Lao, Burmese, Khmer, Chinese and Japanese are written without spaces between words."""

_LONG_WORD = 20

_SENTENCE_END = re.compile(
    r"(?<=[.!?…])[\"'”’»)\]]*(\s+)(?=[^\sa-z])|(?<=[。！？])[」』”’）]*(\s*)(?=\S)"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|al|Mr|Mrs|Ms|Dr|Prof|St|No|Nos|Fig|Eq|Sec|Vol|pp|ca)|\b[A-Z])\.$"
)


def count_words(text: str) -> int:
    """Words as a reader would count them.

    Tokens between white space; two characters count as a word in scripts without spaces, and so do
    20 characters of an overlong token (an address, a hash, a table of numbers).
    """
    total = 0
    for token in text.split():
        unspaced = len(_UNSPACED.findall(token))
        total += -(-unspaced // 2) + -(-(len(token) - unspaced) // _LONG_WORD)
    return total


def short_stretches(text: str, most: int) -> Iterator[tuple[int, int]]:
    """Yield where sentences begin and end, or the words of one that has more than `most`."""
    for start, end in _sentences(text):
        if count_words(text[start:end]) <= most:
            yield start, end
            continue
        for word in re.finditer(r"\S+", text[start:end]):
            for first, last in _slices(word[0]):
                yield start + word.start() + first, start + word.start() + last


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = len(text) - len(text.lstrip())
    for match in _SENTENCE_END.finditer(text):
        end, after = match.span(1) if match[1] is not None else match.span(2)
        if not _ABBREVIATION.search(text, max(start, end - 10), end):
            yield start, end
            start = after
    if text[start:].rstrip():
        yield start, len(text.rstrip())


def _slices(word: str) -> Iterator[tuple[int, int]]:
    """Cut a word that is too long, never before a character that combines with another."""
    start = 0
    while len(word) - start > LONGEST_SLICE:
        end = start + LONGEST_SLICE
        while end < len(word) and _combines(word[end]):
            end += 1
        yield start, end
        start = end
    if start < len(word):
        yield start, len(word)


def _combines(character: str) -> bool:
    return character == "\u200d" or unicodedata.category(character) in ("Mn", "Mc", "Me")
