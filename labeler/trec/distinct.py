"""The pairs of qrels, each once: what stands there twice is counted, or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from labeler.arrays import Flags, Integers
from labeler.errors import BadInput
from labeler.trec.blocks import Batch, batches
from labeler.trec.index import Index
from labeler.trec.qrels import SHOWN, same_grade, two_grades
from labeler.trec.rows import grade_of

Warn = Callable[[str], None]

_LOOKED_UP = 1000


@dataclass
class RepeatedPairs:
    """The pairs that one file names more than once: with the same grade, and with another."""

    index: Index
    same: int = 0
    other_grades: int = 0
    pairs: list[tuple[bytes, bytes]] = field(default_factory=list)

    def finish(self, warn: Warn) -> None:
        """`BadInput` lists pairs of two grades; the others are a warning."""
        if self.other_grades:
            raise BadInput(_two_grades(self))
        if self.same:
            warn(same_grade(self.index.path, self.same))


def _two_grades(repeats: RepeatedPairs) -> str:
    first_grades: dict[tuple[bytes, bytes], int | None] = dict.fromkeys(repeats.pairs)
    path, shown = repeats.index.path, list[str]()
    for number, columns in repeats.index.numbered():
        pair = columns[0], columns[2]
        if pair not in first_grades:
            continue
        grade, before = grade_of(path, number, columns[3]), first_grades[pair]
        first_grades[pair] = grade if before is None else before
        if before not in (None, grade):
            names = f"{columns[0].decode()} {columns[2].decode()}"
            shown.append(f"{path}:{number}: {names} has {before} and {grade}")
        if len(shown) == SHOWN:
            break
    return two_grades(shown, repeats.other_grades)


class RepeatedLines(NamedTuple):
    """The lines sorted by query, document and file, and numbers of the pairs of the former two.

    `again` says which name a pair of their file once more, `firsts` which line names it first.
    """

    lines: Integers
    pair: Integers
    again: Flags
    firsts: Integers


def repeats_in(batch: Batch) -> RepeatedLines:
    """Which lines of a batch name a pair once more; those of one pair stay in the file's order."""
    lines, pair = batch.pairs()
    origin = batch.origin[lines]
    again = np.append(False, (pair[1:] == pair[:-1]) & (origin[1:] == origin[:-1]))
    firsts = lines[np.maximum.accumulate(np.where(again, 0, np.arange(len(lines))))]
    return RepeatedLines(lines, pair, again, firsts)


def distinct_lines(batch: Batch, repeats: Sequence[RepeatedPairs]) -> tuple[Integers, Integers]:
    """The lines sorted by query, document and file, each pair of a file once; and pair numbers.

    What is left out is noted in the `repeats` of its file.
    """
    lines, pair, again, firsts = repeats_in(batch)
    if again.any():
        differs = batch.grade[lines] != batch.grade[firsts]
        for number, of_file in enumerate(repeats):
            mine = again & (batch.origin[lines] == number)
            of_file.same += int((mine & ~differs).sum())
            of_file.other_grades += int((mine & differs).sum())
            room = _LOOKED_UP - len(of_file.pairs)
            for line in lines[mine & differs][:room].tolist():
                query = batch.names[int(batch.query[line])]
                of_file.pairs.append((query, batch.part.cell(line, 2)))
    return lines[~again], pair[~again]


def pair_batches(
    indexes: Sequence[Index], warn: Warn
) -> Iterator[tuple[Batch, Integers, Integers]]:
    """Batches by query id, with its distinct lines, sorted by query, document and file, and their
    pairs' numbers. At the end `warn` is told what was repeated, or `BadInput` is raised."""
    repeats = [RepeatedPairs(index) for index in indexes]
    for batch in batches(indexes, sort=True):
        yield batch, *distinct_lines(batch, repeats)
    for of_file in repeats:
        of_file.finish(warn)
