"""Pairs of a query and a document at the ranks where they were shown, in bounded memory."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.monitoring.log.cleaning import mixed
from labeler.monitoring.log.rows import GROUPS
from labeler.monitoring.log.searches import LogPart
from labeler.monitoring.log.values import identity_of

SHOWN, CLICKED = 0, 1
"""Columns of counts; two more of them, where something above was clicked."""


def query_keys(texts: list[str]) -> tuple[Integers, Integers]:
    """A number that tells queries apart, and one that spreads them in any run of the program."""
    plain = [text.casefold() for text in texts]
    spread = [zlib.crc32(text.encode("utf-8", "replace")) for text in plain]
    identities = [identity_of(text) for text in plain]
    return np.array(identities, dtype=np.int64), np.array(spread, dtype=np.int64)


@dataclass
class PairsAtRanks:
    """How often each pair was shown and clicked at each rank, `counts` `(cells, 4)`.

    The columns are impressions and clicks of searches without a click above, and of those with
    one. Where there are more than `most` cells, every second query is dropped, by chance, as often
    as it takes: `share` says which part is left.
    """

    depth: int
    most: int
    pair: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    group: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    spread: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    rank: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    counts: Floats = field(default_factory=lambda: np.zeros((0, 4)))
    halvings: int = 0

    @property
    def share(self) -> float:
        """The share of queries that is left."""
        return float(0.5**self.halvings)

    def add(self, part: LogPart) -> None:
        """Count the impressions of a part."""
        identity, spread = query_keys(list(part.searches.texts))
        shown, text = part.impressions, part.searches.text
        usable = (shown.rank > 0) & (shown.rank <= self.depth) & (shown.shown > 0)
        above = clicked_above(part)[usable]
        query = text[shown.search[usable]]
        pair = mixed(identity[query], shown.document[usable])
        counts = np.zeros((len(pair), 4))
        rows, columns = np.arange(len(pair)), 2 * above.astype(np.int64)
        counts[rows, columns + SHOWN] = shown.shown[usable]
        counts[rows, columns + CLICKED] = shown.clicks[usable]
        self.pair = np.append(self.pair, pair)
        self.spread = np.append(self.spread, spread[query])
        self.rank = np.append(self.rank, shown.rank[usable])
        self.counts = np.append(self.counts, counts, axis=0)
        self._merge()

    def _merge(self) -> None:
        """One cell for each pair and rank, and no more than fit."""
        while True:
            keep = self.spread // GROUPS % 2**self.halvings == 0
            self._choose(np.flatnonzero(keep))
            order = np.lexsort((self.rank, self.pair))
            self._choose(order)
            if len(self.pair):
                same = (np.diff(self.pair) == 0) & (np.diff(self.rank) == 0)
                begins = np.flatnonzero(np.append(True, ~same))
                summed = np.add.reduceat(self.counts, begins, axis=0)
                self._choose(begins)
                self.counts = summed
            if len(self.pair) <= self.most:
                return
            self.halvings += 1

    def _choose(self, cells: Integers) -> None:
        self.pair, self.spread = self.pair[cells], self.spread[cells]
        self.rank, self.counts = self.rank[cells], self.counts[cells]

    def by_pair(self) -> tuple[Floats, Floats, Integers]:
        """Impressions and clicks of pairs shown at two ranks or more, `(pairs, depth)`; groups."""
        if not len(self.pair):
            return np.zeros((0, self.depth)), np.zeros((0, self.depth)), np.zeros(0, np.int64)
        _, number, ranks = np.unique(self.pair, return_inverse=True, return_counts=True)
        several = ranks[number] > 1
        _, row = np.unique(number[several], return_inverse=True)
        shape = (int(row.max(initial=-1)) + 1, self.depth)
        shown, clicks = np.zeros(shape), np.zeros(shape)
        position = row, self.rank[several] - 1
        shown[position] = self.counts[several][:, 0::2].sum(axis=1)
        clicks[position] = self.counts[several][:, 1::2].sum(axis=1)
        group = np.zeros(len(shown), dtype=np.int64)
        group[row] = self.spread[several] % GROUPS
        return shown, clicks, group


def clicked_above(part: LogPart) -> Flags:
    """Whether something above each document was clicked in the same search."""
    shown = part.impressions  # by search and rank
    clicked = (shown.clicks > 0) & (shown.rank > 0)
    so_far: Integers = np.cumsum(clicked) - clicked
    begins = np.append(True, np.diff(shown.search) != 0)[: len(shown)]
    start = np.maximum.accumulate(np.where(begins, so_far, 0))
    flags: Flags = so_far > start
    return flags
