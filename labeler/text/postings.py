"""The postings of texts that come one by one, however many: which terms each has, and how often.

Some million tokens at a time are sorted and laid aside in a temporary file; in the end, some terms
at a time, what the file holds of them is put together. So the memory holds the terms, a length for
each text, and one such part.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import gettempdir
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Integers
from labeler.files.read import file_problems
from labeler.messages import Advance
from labeler.text.terms import term_of, words_to_stem

TOKENS_OF_A_BLOCK = 1 << 21
POSTINGS_OF_A_PART = 1 << 21

_WORDS_AT_ONCE = 1 << 20
_FIELDS = 3
_LOW = (1 << 32) - 1

Postings = tuple[NDArray[np.int32], NDArray[np.int32]]
"""Some terms' texts by number, and how often each term stands in each."""


class TermNumbers(dict[str, int]):
    """The number of a word's term, which is given when the word is first looked up.

    Words are forgotten where they become many; `numbers` are those of the terms.
    """

    def __init__(self) -> None:
        super().__init__()
        self.numbers: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        number = self.numbers.setdefault(term_of(word), len(self.numbers))
        if len(self) >= _WORDS_AT_ONCE:
            self.clear()
        self[word] = number
        return number


class _Block(NamedTuple):
    """Where a block's postings lie in the temporary file: as terms, texts and counts."""

    start: int
    size: int


class PostingsBuilder:
    """Takes texts one by one, and gives the postings of all of them, term by term.

    `scratch` is an empty file that nobody else uses.
    """

    def __init__(
        self,
        scratch: Path,
        tokens_of_a_block: int = TOKENS_OF_A_BLOCK,
        postings_of_a_part: int = POSTINGS_OF_A_PART,
    ) -> None:
        self._scratch = scratch
        self._sizes = tokens_of_a_block, postings_of_a_part
        self._terms = TermNumbers()
        self._tokens = array("i")
        self._lengths = array("i")
        self._first = 0
        self._blocks: list[_Block] = []
        self._frequency = np.zeros(0, dtype=np.int64)
        self.highest = 0
        """The most times that a term stands in a text, once `ends` was called."""

    def add(self, text: str) -> None:
        """Take one more text."""
        before = len(self._tokens)
        self._tokens.extend(map(self._terms.__getitem__, words_to_stem(text)))
        self._lengths.append(len(self._tokens) - before)
        if len(self._tokens) >= self._sizes[0]:
            self._lay_aside()

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def terms(self) -> dict[str, int]:
        """Each term with its number; the postings are in the order of the numbers."""
        return self._terms.numbers

    def ends(self) -> Integers:
        """Where the postings of each term end."""
        self._lay_aside()
        return np.cumsum(self._frequency)

    def parts(self, advance: Advance = lambda _done, _total: None) -> Iterator[Postings]:
        """The postings, some terms at a time; `advance` counts them."""
        ends = self.ends()
        total = int(ends[-1]) if len(ends) else 0
        for first, last in _ranges(ends, self._sizes[1]):
            yield self._of_terms(first, last)
            advance(int(ends[last - 1]), total)

    def lengths(self) -> NDArray[np.int32]:
        """How many terms each text has."""
        return np.array(self._lengths, dtype=np.int32)

    def _lay_aside(self) -> None:
        """Write the postings of the texts since the last time."""
        lengths = np.frombuffer(self._lengths, dtype=np.int32)[self._first :]
        texts = np.repeat(np.arange(self._first, self._first + len(lengths)), lengths)
        keys = np.frombuffer(self._tokens, dtype=np.int32).astype(np.int64) << 32 | texts
        self._first, self._tokens = len(self._lengths), array("i")
        keys.sort()
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        if not len(starts):
            self._grow(0)
            return
        keys, counts = keys[starts], np.diff(starts, append=len(keys))
        self.highest = max(self.highest, int(counts.max()))
        terms = keys >> 32
        start = self._blocks[-1].start + 4 * _FIELDS * self._blocks[-1].size if self._blocks else 0
        with file_problems(Path(gettempdir())), self._scratch.open("r+b") as out:
            out.seek(start)
            for column in (terms, keys & _LOW, counts):
                out.write(column.astype(np.int32).tobytes())
        self._blocks.append(_Block(start, len(keys)))
        self._grow(len(self._terms.numbers))
        self._frequency += np.bincount(terms, minlength=len(self._frequency))

    def _grow(self, size: int) -> None:
        more = max(0, size - len(self._frequency))
        self._frequency = np.concatenate([self._frequency, np.zeros(more, dtype=np.int64)])

    def _of_terms(self, first: int, last: int) -> Postings:
        """The texts and counts of a range of terms, sorted by term and text."""
        several = [self._slice(block, first, last) for block in self._blocks]
        columns = np.concatenate(several, axis=1)
        order = np.argsort(columns[0], kind="stable")
        return columns[1, order], columns[2, order]

    def _slice(self, block: _Block, first: int, last: int) -> NDArray[np.int32]:
        shape = (_FIELDS, block.size)
        held = np.memmap(self._scratch, dtype=np.int32, mode="r", offset=block.start, shape=shape)
        low, high = np.searchsorted(held[0], [first, last])
        return np.array(held[:, low:high])


def _ranges(ends: Sequence[int] | Integers, size: int) -> Iterator[tuple[int, int]]:
    """Ranges of terms that have about `size` postings each, or are one term."""
    first = 0
    while first < len(ends):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + size, side="right")))
        yield first, last
        first = last
