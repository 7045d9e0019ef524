"""The tokens of texts by those of their words, which are remembered.

The embedded encoder's tokenizer takes a text as a whole, half a millisecond for a passage; by its
words, vectors are made in a third of the time. The tokens are the same ones. It writes `▁` for a
space, and no token has anything before a `▁` but others of it; so none of the merges that make
tokens goes from the end of a word into the space after it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_MOST_WORDS = 1 << 18
_LONGEST_WORD = 100
_WHOLE = ("▁", "<s>", "</s>", "<unk>")
"""A text with one of these is taken as a whole: they are tokens, or spaces, in any place."""

_PIECE = re.compile(r"(?<! ) *[^ ]+")  # not anew from each of many spaces


class WordTokens:
    """Gives the ids of the tokens of texts; what it remembers is bounded."""

    def __init__(self, tokenizer: Tokenizer, most_words: int = _MOST_WORDS) -> None:
        self._tokenizer = tokenizer
        self._most = most_words
        self._ids: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def of(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of each text."""
        pieces = [*map(_pieces, texts)]
        if len(self._ids) > self._most:
            self._ids.clear()
        new = [*set(chain.from_iterable(pieces)).difference(self._ids)]
        encodings = self._tokenizer.encode_batch(new, add_special_tokens=False)
        self._ids.update(zip(new, (encoding.ids for encoding in encodings), strict=True))
        tokens = [[*chain.from_iterable(map(self._ids.__getitem__, words))] for words in pieces]
        for word in new:
            if len(word) > _LONGEST_WORD:
                del self._ids[word]
        return tokens


def _pieces(text: str) -> list[str]:
    """A text's words as the tokenizer takes each of them, which puts a space before it."""
    if text.endswith(" ") or any(mark in text for mark in _WHOLE):
        return [text]
    if "  " not in text and not text.startswith(" "):
        return text.split(" ")
    first, *others = _PIECE.findall(text)
    return [first, *(piece[1:] for piece in others)]
