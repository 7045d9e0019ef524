"""BM25 of a query over many texts: Lucene's variant, its index in the memory or in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from labeler.arrays import Integers
from labeler.files.arrays import Arrays, ArraysWriter
from labeler.files.temporary import scratch_file
from labeler.messages import Advance, Progress, no_progress
from labeler.text.postings import PostingsBuilder
from labeler.text.terms import K1, B, terms, terms_made_by

_NAME = f"bm25-lucene-k1={K1}-b={B}"


def bm25_name() -> str:
    """What ranks, as the tag of its runs."""
    return _NAME


def index_settings() -> Mapping[str, Any]:
    """What an index in a file depends on, beside the texts."""
    return {"bm25": 1, "variant": "lucene", "k1": K1, "b": B, "terms": terms_made_by()}


@dataclass(frozen=True)
class Bm25:
    """An index of texts; `scores` gives each text's score for a query, 0 where no term matches.

    The score of a text is the sum over the query's terms, in their order, of
    `idf * tf / (tf + k1 (1 - b + b |d| / avgdl))`, added in 32-bit floats. Kamphuis et al. (ECIR
    2020) compare the variants; each term's share is computed when the texts are indexed, after Lù
    (2024), BM25S.
    """

    count: int
    number: Callable[[str], int | None]
    ends: Integers
    text: npt.NDArray[np.int32]
    share: npt.NDArray[np.float32]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Bm25:
        """The index of texts, in the memory."""
        with scratch_file() as scratch:
            scratch.touch()
            builder = PostingsBuilder(scratch)
            for text in texts:
                builder.add(text)
            numbers, ends = builder.terms, builder.ends()
            parts = [*builder.parts()]
        none = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
        numbered, shares = (np.concatenate(columns) for columns in zip(none, *parts, strict=True))
        return cls(len(builder), numbers.get, ends, numbered, shares)

    @classmethod
    def within(cls, arrays: Arrays) -> Bm25:
        """The index that `write_index` wrote."""
        vocabulary, numbers = arrays.texts("terms"), arrays["number"]

        def number(term: str) -> int | None:
            at = vocabulary.find(term)
            return None if at is None else int(numbers[at])

        count = int(arrays["texts"][0])
        return cls(count, number, arrays["end"], arrays["text"], arrays["share"])

    def scores(self, query: str) -> npt.NDArray[np.float32]:
        """The scores of all texts, float32, in their order."""
        scores = np.zeros(self.count, dtype=np.float32)
        for number in map(self.number, terms(query)):
            if number is None:
                continue
            start, end = int(self.ends[number - 1]) if number else 0, int(self.ends[number])
            scores[self.text[start:end]] += self.share[start:end]
        return scores


def write_index(out: ArraysWriter, texts: Iterable[str], progress: Progress = no_progress) -> None:
    """Index texts and write what `Bm25.within` reads; the progress is that of writing it."""
    with scratch_file() as scratch, scratch_file() as shares:
        scratch.touch()
        builder = PostingsBuilder(scratch)
        for text in texts:
            builder.add(text)
        out.add("texts", [np.array([len(builder)])])
        out.add("end", [builder.ends()])
        in_order = sorted(builder.terms, key=str.encode)
        out.add_texts("terms", in_order)
        out.add("number", [np.array([builder.terms[term] for term in in_order], dtype=np.int32)])
        with shares.open("wb") as aside, progress("writing the index") as advance:
            out.add("text", _texts_of(builder, aside.write, advance))
        with shares.open("rb") as aside:
            blocks = iter(partial(aside.read, 1 << 22), b"")
            out.add("share", (np.frombuffer(block, dtype=np.float32) for block in blocks))


def _texts_of(
    builder: PostingsBuilder, write: Callable[[bytes], object], advance: Advance
) -> Iterator[npt.NDArray[np.int32]]:
    """The texts of all postings; what each adds to a score is written elsewhere meanwhile."""
    yield np.zeros(0, dtype=np.int32)
    for text, share in builder.parts(advance):
        write(share.tobytes())
        yield text
