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
from labeler.exchange.taken import tell
from labeler.files.read import file_of, file_problems, rereadable
from labeler.messages import Advance
from labeler.trec.blocks import Batch, batches
from labeler.trec.columns import Fields, Irregular, Keys, Words, keys, mixed, widened
from labeler.trec.index import QRELS, Index, Kind, indexed, numbered_ids, texts_of

LABEL = 3
"""The column of the label."""


def _any(part: Fields, _column: int) -> Integers:
    """Labels may be anything, so that none is read as a number."""
    return np.zeros(len(part.starts), dtype=np.int64)


LABELS = Kind(QRELS.columns, LABEL, _any, lambda _path, _number, _text: 0.0)


@dataclass(frozen=True, eq=False)
class TalliedFiles:
    """A tally of two files; `human` and `labels` hold ids alone, for messages about them."""

    human: Qrels
    judged: AssessorLabels


def tally_files(
    human: Path, assessor: Path, advance: Advance = lambda _done, _total: None
) -> TalliedFiles | None:
    """The tally of human qrels and another file of labels, both in TREC's four columns.

    What is held is some lines of both, fifty bytes for each stretch of lines of one query, and a
    row for each grade and label that meet in a query. `None` where that cannot be: a line with more
    or fewer columns, a pair that stands there twice, or another format. Whoever reads such files
    whole says what is wrong with them, if anything is. `advance` counts queries.
    """
    with suppress(Irregular, BadInput), rereadable():
        if judged_in(human) is None and judged_in(assessor) is None:
            with indexed(human, QRELS) as first, indexed(assessor, LABELS) as second:
                return _tallied(first, second, advance)
    return None


LARGE = 1 << 28
"""Of files of 256 MB and more it is told that they are held, before the memory is."""


def tell_what_is_held(path: Path) -> None:
    """Tell the listener of a large file that is read whole, and what would be counted instead."""
    with rereadable(), file_problems(path):
        size = file_of(path).stat().st_size
    if size >= LARGE:
        held = "its pairs are all held, in some seven times its size of memory"
        tell(path, f"{held}; two files of plain labels, each pair once, are counted instead")


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
    """What is counted so far: values by their numbers, and the ids of a query that both have."""

    grades: dict[int, int] = field(default_factory=dict)
    labels: dict[Label, int] = field(default_factory=dict)
    shared: tuple[str, dict[str, int], dict[str, Label]] | None = None

    def cells(self, batch: Batch) -> _Cells:
        """The rows of some queries, in the order in which their lines first stand."""
        lines = int(np.searchsorted(batch.origin, 1))
        people, others = batch.part.slice(0, lines), batch.part.slice(lines, len(batch.origin))
        query = batch.query[:lines], batch.query[lines:]
        partner = _partners((keys(people, 2), keys(others, 2)), query)
        if self.shared is None and not (partner >= 0).any():
            self.shared = _shared(batch, query)
        grade = _numbered(np.asarray(QRELS.values(people), dtype=np.int64), self.grades)
        words = keys(others, LABEL).words
        which, distinct = _distinct(words)
        texts = [text.decode() for text in texts_of(distinct)]
        codes = [self.labels.setdefault(text, len(self.labels)) for text in texts]
        label_of = np.append(np.array(codes, dtype=np.int64)[which], NO_LABEL)
        label = label_of[partner]  # the last of them where there is no partner
        cell = (query[0] * len(self.grades) + grade) * (len(self.labels) + 1) + label + 1
        _, first, count = np.unique(cell, return_index=True, return_counts=True)
        order = np.argsort(first, kind="stable")
        rows = first[order]
        queries, grades, labels = map(narrow, (query[0][rows], grade[rows], label[rows]))
        alone = len(others.starts) - int((partner >= 0).sum())
        return _Cells(queries, grades, labels, narrow(count[order]), alone)


def _tallied(first: Index, second: Index, advance: Advance) -> TalliedFiles:
    counting, cells = _Counting(), list[_Cells]()
    names = [name.decode() for name in first.names()]
    done = 0
    for batch in batches([first, second]):
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
        (),
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
    return TalliedFiles(human, AssessorLabels(labels, tally=tally))


def _partners(documents: tuple[Keys, Keys], query: tuple[Integers, Integers]) -> Integers:
    """Which line of the second file has the pair of each line of the first; -1 where none has.

    `Irregular` where a pair stands in a file twice, or two look alike.
    """
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
    batch: Batch, query: tuple[Integers, Integers]
) -> tuple[str, dict[str, int], dict[str, Label]] | None:
    """The first query that both files have, with its documents in each."""
    common = np.intersect1d(*query)
    if not len(common):
        return None
    number = int(common[0])
    lines = int(np.searchsorted(batch.origin, 1))
    ids = [
        [text.decode() for text in batch.texts(np.flatnonzero(of == number) + offset)]
        for of, offset in zip(query, (0, lines), strict=True)
    ]
    return batch.names[number].decode(), dict.fromkeys(ids[0], 0), dict.fromkeys(ids[1], "")
