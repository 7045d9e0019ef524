#!/usr/bin/env python3
"""Blow real documents up to a corpus of any size, whose vocabulary grows as that of texts does.

    .venv/test/bin/python scripts/made_corpus.py DOCUMENTS OUTPUT --passages 100000 [--rows]
        [--words 50]

Each made passage takes the sentences of two real passages, half of each, and one word in eight is
replaced by a made one. Made words are drawn by rank after Zipf and Mandelbrot, with a probability
in proportion to (rank + 100) ** -1.35, without an end: so new ones keep coming, about n ** 0.74 in
n (Heaps' law), most of them rare. What is written is Markdown, a file for a hundred passages, or
with --rows one file of JSON Lines. With --words, a passage is a stretch of so many words at most,
half as many at least. Beside it stand queries: some words of a real passage each, and a made one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
from harness import parser

from labeler.corpus.documents import read_documents

OF_A_FILE = 100
REPLACED = 0.125
EXPONENT, SHIFT = 1.35, 100
SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in ("a", "e", "i", "o", "u", "an", "or")]


@lru_cache(maxsize=1 << 16)
def made_word(rank: int) -> str:
    """The word of a rank, spelled in syllables."""
    parts, base = [], len(SYLLABLES)
    rank += base  # two syllables at least
    while rank:
        parts.append(SYLLABLES[rank % base])
        rank //= base
    return "".join(parts)


class Maker:
    """Makes passages out of real ones; the same seed makes the same.

    With `words`, a passage is a stretch of so many words at most, and of half as many at least.
    """

    def __init__(self, folder: Path, seed: int = 0, words: int = 0) -> None:
        real = read_documents([str(folder)]).documents.values()
        self.real = [d for d in real if 40 <= len(d.text.split()) <= 250]
        sentences = [d.text.replace("\n", " ").split(". ") for d in self.real]
        self.halves = [(". ".join(s[: -(-len(s) // 2)]) + ".").split(" ") for s in sentences]
        self.others = [". ".join(s[len(s) // 2 :]).split(" ") for s in sentences]
        self.rng = np.random.default_rng(seed)
        self.most = words

    def passages(self, count: int) -> Iterator[tuple[str, str]]:
        """`count` passages with their titles."""
        for start in range(0, count, 1000):
            size = min(1000, count - start)
            pairs = self.rng.integers(len(self.real), size=(size, 2)).tolist()
            mixed = [self.halves[first] + self.others[second] for first, second in pairs]
            several = self._short(mixed) if self.most else mixed
            titles = self._words(size)
            for number, ((first, _), words) in enumerate(
                zip(pairs, self._varied(several), strict=True), start
            ):
                title = f"{self.real[first].title} {titles[number - start]} {number}"
                yield title, " ".join(words)

    def queries(self, count: int) -> Iterator[str]:
        """`count` queries of three to nine words."""
        for _ in range(count):
            words = self.real[int(self.rng.integers(len(self.real)))].text.split()
            start = int(self.rng.integers(max(1, len(words) - 9)))
            size = int(self.rng.integers(3, 10))
            yield " ".join([*words[start : start + size - 1], *self._words(1)])

    def _short(self, several: list[list[str]]) -> Iterator[list[str]]:
        sizes = self.rng.integers(self.most // 2, self.most + 1, size=len(several)).tolist()
        places = self.rng.random(len(several)).tolist()
        for words, size, place in zip(several, sizes, places, strict=True):
            start = int(place * max(1, len(words) - size))
            yield words[start : start + size]

    def _varied(self, several: Iterable[list[str]]) -> list[list[str]]:
        several = [*several]
        ends = np.cumsum([len(words) for words in several])
        replaced = np.flatnonzero(self.rng.random(ends[-1]) < REPLACED)
        owners = np.searchsorted(ends, replaced, side="right")
        places = replaced - np.concatenate([[0], ends])[owners]
        made = self._words(len(replaced))
        for owner, place, word in zip(owners.tolist(), places.tolist(), made, strict=True):
            several[owner][place] = word
        return several

    def _words(self, count: int) -> list[str]:
        ranks = np.minimum(self.rng.pareto(EXPONENT - 1, count) * SHIFT, 2.0**62)
        return [*map(made_word, ranks.astype(np.int64).tolist())]


def write_markdown(maker: Maker, output: Path, count: int) -> None:
    """Files of a hundred passages each, a heading over each passage."""
    part: list[str] = []
    for number, (title, text) in enumerate(maker.passages(count), start=1):
        part.append(f"## {title}\n\n{text}\n")
        if len(part) == OF_A_FILE or number == count:
            path = output / "docs" / f"{number // 10_000:03}" / f"part-{number}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"# Part {number}\n\n" + "\n".join(part), encoding="utf-8")
            part = []


def write_rows(maker: Maker, output: Path, count: int) -> None:
    """One file of JSON Lines with ids of their own."""
    with (output / "docs.jsonl").open("w", encoding="utf-8") as out:
        for number, (title, text) in enumerate(maker.passages(count), start=1):
            row = {"_id": f"made-{number}", "title": title, "text": text}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


def make(  # noqa: PLR0913  how much of what
    folder: Path, output: Path, passages: int, queries: int, *, rows: bool, words: int = 0
) -> None:
    """Write the documents and the queries."""
    output.mkdir(parents=True, exist_ok=True)
    maker = Maker(folder, words=words)
    asked = "\n".join(maker.queries(queries))
    (output / "queries.txt").write_text(asked + "\n", encoding="utf-8")
    (write_rows if rows else write_markdown)(maker, output, passages)


def main() -> None:
    """Read the options, and write."""
    asked = parser(
        __doc__, documents=Path, output=Path, passages=100000, queries=1000, rows=False, words=0
    ).parse_args()
    size = asked.passages, asked.queries
    make(asked.documents, asked.output, *size, rows=asked.rows, words=asked.words)


if __name__ == "__main__":
    main()
