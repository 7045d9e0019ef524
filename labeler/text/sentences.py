"""Words and sentences of a text in any script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

LONGEST_SLICE = 200
"""A word of more characters is cut."""

_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003fffd]+"
)
"""Thai, Lao, Burmese, Khmer, Chinese and Japanese are written without spaces between words."""

_LONG_WORD = 20
_TOKEN = re.compile(r"\S+")
_LONG_TEXT = 1 << 16
"""A text of more characters is gone through token by token: a list of them would be many times its
size."""

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
    if len(text) > _LONG_TEXT:
        return sum(_words_of(match[0]) for match in _TOKEN.finditer(text))
    return sum(map(_words_of, text.split()))


def _words_of(token: str) -> int:
    if token.isascii():
        return -(-len(token) // _LONG_WORD)
    unspaced = sum(map(len, _UNSPACED.findall(token)))
    return -(-unspaced // 2) + -(-(len(token) - unspaced) // _LONG_WORD)


def first_words(text: str, most: int) -> str:
    """At most so many words, as `count_words` counts them, with a space between tokens."""
    shown = []
    for token in text.split():
        fitting = token
        while (words := _words_of(fitting)) > most:
            fitting = fitting[: len(fitting) * most // words]
        shown.append(fitting)
        most -= words
        if fitting != token or not most:
            break
    return " ".join(shown).rstrip()


def short_stretches(text: str, most: int) -> Iterator[tuple[int, int]]:
    """Yield where sentences begin and end, or the words of one that has more than `most`."""
    for start, end in _sentences(text):
        if count_words(text[start:end]) <= most:
            yield start, end
            continue
        for word in _TOKEN.finditer(text[start:end]):
            at = start + word.start()
            for first, last in _slices(word[0]):
                yield at + first, at + last


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
