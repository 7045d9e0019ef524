"""The lines of a file of grades or labels, of some queries: each pair once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labeler.arrays import Flags, Integers
from labeler.trec.blocks import Batch
from labeler.trec.columns import Fields, keys
from labeler.trec.distinct import RepeatedPairs, distinct_lines, repeats_in
from labeler.trec.index import Kind
from labeler.trec.labels import is_same_label


@dataclass(frozen=True, eq=False)
class PairLines:
    """Lines of one file, and the number of each one's query; `conflicts` have two labels."""

    part: Fields
    query: Integers
    conflicts: Flags

    @classmethod
    def of(cls, batch: Batch, first: int, last: int) -> PairLines:
        """The lines of a batch from `first` up to `last`, as they stand."""
        count = last - first
        part = batch.part.slice(first, last)
        return cls(part, batch.query[first:last], np.zeros(count, dtype=np.bool_))

    def ids_of(self, number: int) -> list[str]:
        """The documents of one query, without those of two labels."""
        lines = np.flatnonzero((self.query == number) & ~self.conflicts).tolist()
        return [self.part.cell(line, 2).decode() for line in lines]

    def _take(self, lines: Integers, conflicts: Flags) -> PairLines:
        part = self.part
        fields = Fields(part.text, part.starts[lines], part.ends[lines], part.number)
        return PairLines(fields, self.query[lines], conflicts[lines])

    def _alone(self, batch: Batch, kind: Kind) -> Batch:
        """The same lines as a batch of this one file."""
        return Batch(kind, (), self.part, batch.names, self.query, np.zeros_like(self.query))

    def each_grade_once(self, batch: Batch, repeated: RepeatedPairs) -> PairLines:
        """The first line of each pair; `repeated` notes the others."""
        lines, _ = distinct_lines(self._alone(batch, repeated.index.kind), (repeated,))
        return self._take(np.sort(lines), self.conflicts)

    def each_label_once(self, batch: Batch, kind: Kind) -> tuple[PairLines, int]:
        """The first line of each pair, and how many others say the same as it does."""
        lines, _, again, firsts = repeats_in(self._alone(batch, kind))
        later, first = lines[again], firsts[again]
        words = keys(self.part, kind.number).words
        differs = (words[later] != words[first]).any(axis=1)
        for at in np.flatnonzero(differs).tolist():  # `2` and `2.0` are one label
            pair = int(later[at]), int(first[at])
            differs[at] = not is_same_label(
                *(self.part.cell(line, kind.number).decode() for line in pair)
            )
        conflicts = self.conflicts.copy()
        conflicts[first[differs]] = True
        return self._take(np.sort(lines[~again]), conflicts), int((~differs).sum())
