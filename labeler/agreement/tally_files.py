"""The tally of two files of any size, a few queries at a time."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from labeler.agreement.align import AssessorLabels
from labeler.agreement.tally import NO_LABEL, GradeTally, Label, narrow
from labeler.arrays import Flags, Integers
from labeler.data import Qrels
from labeler.errors import BadInput
from labeler.exchange.qrels import judged_in
from labeler.exchange.shapes import tell
from labeler.files.read import file_of, file_problems, rereadable
from labeler.messages import Advance
from labeler.trec.columns import Fields, Irregular, Words, keys, mixed, widened
from labeler.trec.index import QRELS, Batch, Index, Kind, batches, indexed, numbered_ids, texts_of
from labeler.trec.labels import CONFLICT, is_same_label
from labeler.trec.qrels import RepeatedPairs, Warn, distinct_lines, repeats_in

# The lines of a file of grades or labels, of some queries: each pair once.


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


LABEL = 3
"""The column of the label."""

CONFLICT_CODE = NO_LABEL - 1
"""What stands in a tally for the first status, that of a pair with two labels."""


def _any(part: Fields, _column: int) -> Integers:
    """Labels may be anything, so that none is read as a number."""
    return np.zeros(len(part.starts), dtype=np.int64)


LABELS = Kind(QRELS.columns, LABEL, _any, lambda _path, _number, _text: 0.0)


@dataclass(frozen=True, eq=False)
class TalliedFiles:
    """A tally of two files; `human` and `labels` hold ids alone, for messages about them.

    `repeated` lines of labels say the same of a pair a second time.
    """

    human: Qrels
    judged: AssessorLabels
    repeated: int = 0


def tally_files(
    human: Path,
    assessor: Path,
    advance: Advance = lambda _done, _total: None,
    warn: Warn = lambda _message: None,
) -> TalliedFiles | None:
    """The tally of human qrels and another file of labels, both in TREC's four columns.

    What is held is some lines of both, fifty bytes for each stretch of lines of one query, and a
    row for each grade and label that meet in a query. `None` where that cannot be: a line with more
    or fewer columns, or another format. Whoever reads such files whole says what is wrong with
    them, if anything is. `advance` counts queries.

    A pair that stands in a file twice counts once: `warn` is told of those with one human grade,
    `BadInput` lists those with two, and of two labels none counts.
    """
    with rereadable():
        tallied = _tallied_unless_unusual(human, assessor, advance)
        if tallied is None:
            return None
        both, repeated = tallied
        repeated.finish(warn)
    return both


def _tallied_unless_unusual(
    human: Path, assessor: Path, advance: Advance
) -> tuple[TalliedFiles, RepeatedPairs] | None:
    with suppress(Irregular, BadInput):
        if judged_in(human) is None and judged_in(assessor) is None:
            with indexed(human, QRELS) as first, indexed(assessor, LABELS) as second:
                counting = _Counting(RepeatedPairs(first))
                return _tallied((first, second), counting, advance), counting.repeated
    return None


LARGE = 1 << 28
"""Of files of 256 MB and more it is told that they are held, before the memory is."""


def tell_what_is_held(path: Path) -> None:
    """Tell the listener of a large file that is read whole, and what would be counted instead."""
    with rereadable(), file_problems(path):
        size = file_of(path).stat().st_size
    if size >= LARGE:
        held = "its pairs are all held, in some seven times its size of memory"
        tell(path, f"{held}; two files of plain labels are counted instead")


@dataclass(frozen=True)
class _Cells:
    """Rows of a tally, and how many pairs the assessor alone has."""

    query: Integers
    grade: Integers
    label: Integers
    count: Integers
    only_assessor: int


@dataclass
class _Counting:
    """What is counted so far: values by their numbers, and the ids of a query that both have.

    `repeated` are the human pairs that stand in their file twice, and `repeated_labels` the lines
    that say the same of a pair a second time.
    """

    repeated: RepeatedPairs
    grades: dict[int, int] = field(default_factory=dict)
    labels: dict[Label, int] = field(default_factory=dict)
    shared: tuple[str, dict[str, int], dict[str, Label]] | None = None
    repeated_labels: int = 0

    def cells(self, batch: Batch) -> _Cells:
        """The rows of some queries, in the order in which their lines first stand."""
        people, others, partner = self._joined(batch)
        meets = (partner >= 0) & ~np.append(others.conflicts, False)[partner]
        if self.shared is None and not meets.any():
            self.shared = _shared(batch, people, others)
        grade = _numbered(np.asarray(QRELS.values(people.part), dtype=np.int64), self.grades)
        label = np.append(self._codes(others), NO_LABEL)[partner]  # the last where none is partner
        cell = (people.query * len(self.grades) + grade) * (len(self.labels) + 2) + label + 2
        _, first, count = np.unique(cell, return_index=True, return_counts=True)
        order = np.argsort(first, kind="stable")
        rows = first[order]
        queries, grades, labels = map(narrow, (people.query[rows], grade[rows], label[rows]))
        alone = int((~others.conflicts).sum()) - int(meets.sum())
        return _Cells(queries, grades, labels, narrow(count[order]), alone)

    def _joined(self, batch: Batch) -> tuple[PairLines, PairLines, Integers]:
        """The lines of both files, each pair once, and which of the second each first one meets."""
        lines = int(np.searchsorted(batch.origin, 1))
        people = PairLines.of(batch, 0, lines)
        others = PairLines.of(batch, lines, len(batch.origin))
        try:
            return people, others, _partners(people, others)
        except Irregular:
            people = people.each_grade_once(batch, self.repeated)
            others, repeated = others.each_label_once(batch, LABELS)
            self.repeated_labels += repeated
            return people, others, _partners(people, others)

    def _codes(self, others: PairLines) -> Integers:
        """The number of each line's label; of two labels of a pair that of the status."""
        codes = np.full(len(others.query), CONFLICT_CODE)
        single = np.flatnonzero(~others.conflicts)
        which, distinct = _distinct(keys(others.part, LABEL).words[single])
        texts = [text.decode() for text in texts_of(distinct)]
        numbers = [self.labels.setdefault(text, len(self.labels)) for text in texts]
        codes[single] = np.array(numbers, dtype=np.int64)[which]
        return codes


def _tallied(indexes: tuple[Index, Index], counting: _Counting, advance: Advance) -> TalliedFiles:
    first, second = indexes
    cells = list[_Cells]()
    names = [name.decode() for name in first.names()]
    done = 0
    for batch in batches(indexes):
        part = counting.cells(batch)
        cells.append(replace(part, query=part.query + np.int32(done)))
        done += len(batch.names)
        advance(min(done, len(names)), len(names))
    query, grade, label, count = (
        np.concatenate([getattr(part, name) for part in cells])
        for name in ("query", "grade", "label", "count")
    )
    tally = GradeTally(
        tuple(names),
        tuple(counting.grades),
        tuple(counting.labels),
        (CONFLICT,) if (label == CONFLICT_CODE).any() else (),
        query,
        grade,
        label,
        count,
        sum(part.only_assessor for part in cells),
    )
    human: dict[str, dict[str, int]] = {}
    labels: dict[str, Mapping[str, Label]] = {}
    if not tally.meets:  # whoever says so shows ids
        human = {name: {} for name in names}
        labels = {name.decode(): {} for name in second.names()}
        if counting.shared is not None:
            query_id, human[query_id], labels[query_id] = counting.shared
    judged = AssessorLabels(labels, tally=tally)
    return TalliedFiles(human, judged, counting.repeated_labels)


def _partners(people: PairLines, others: PairLines) -> Integers:
    """Which line of the second file has the pair of each line of the first; -1 where none has.

    `Irregular` where a pair stands in a file twice, or two look alike.
    """
    documents, query = (keys(people.part, 2), keys(others.part, 2)), (people.query, others.query)
    width = max(of.words.shape[1] for of in documents)
    first, second = (widened(of.words, width) for of in documents)
    is_same = len(first) == len(second) and (query[0] == query[1]).all()
    if is_same and (first == second).all() and _ascends(first, query[0]):
        return np.arange(len(first))
    marks = [of.hashes + mixed(q) for of, q in zip(documents, query, strict=True)]
    orders = [np.argsort(mark) for mark in marks]
    for mark, order in zip(marks, orders, strict=True):
        if (mark[order][1:] == mark[order][:-1]).any():
            raise Irregular
    partner = np.full(len(first), NO_LABEL)
    if len(first) and len(second):
        ordered = marks[1][orders[1]]
        at = np.minimum(np.searchsorted(ordered, marks[0]), len(second) - 1)
        hits = np.flatnonzero(ordered[at] == marks[0])
        partner[hits] = orders[1][at[hits]]
        if (first[hits] != second[partner[hits]]).any():
            raise Irregular
    return partner


def _ascends(words: Words, query: Integers) -> bool:
    """Whether the documents of each query ascend, so that none stands there twice."""
    is_more: Flags = query[1:] > query[:-1]
    is_same: Flags = query[1:] == query[:-1]
    for column in words.T:
        is_more = is_more | (is_same & (column[1:] > column[:-1]))
        is_same = is_same & (column[1:] == column[:-1])
    return bool(is_more.all())


def _numbered(values: Integers, numbers: dict[int, int]) -> Integers:
    """Each value's number, those of new ones in the order of their first lines."""
    distinct, first, which = np.unique(values, return_index=True, return_inverse=True)
    for at in np.argsort(first).tolist():
        numbers.setdefault(int(distinct[at]), len(numbers))
    return np.array([numbers[value] for value in distinct.tolist()], dtype=np.int64)[which]


def _distinct(words: Words) -> tuple[Integers, Words]:
    """Which of the distinct rows each row is, and these."""
    if words.shape[1] > 1:
        return numbered_ids(words)
    distinct, which = np.unique(words[:, 0], return_inverse=True)
    return which, distinct[:, None]


def _shared(
    batch: Batch, people: PairLines, others: PairLines
) -> tuple[str, dict[str, int], dict[str, Label]] | None:
    """The first query that both files have, with its documents in each."""
    common = np.intersect1d(people.query, others.query)
    if not len(common):
        return None
    number = int(common[0])
    first, second = (side.ids_of(number) for side in (people, others))
    return batch.names[number].decode(), dict.fromkeys(first, 0), dict.fromkeys(second, "")
