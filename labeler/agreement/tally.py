"""How often each human grade meets each label, by query: all that agreement of two is made from.

Pairs of one query with one grade and one label are alike to every rule and statistic, so that they
are counted: of pairs in files by `tally_files`, of those that a program holds by `tally_of`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, cast

import numpy as np

from labeler.arrays import Flags, Floats, Integers
from labeler.data import Pair, Qrels

Label = int | str
Labels = Mapping[str, Mapping[str, Label]]
"""Query id to document id to a label as its file has it: `2`, `"2"`, `"2.5"`, `"ERROR"`."""

NO_LABEL = -1
_FIRST_STATUS = -2


class Labelled(Protocol):
    """What an assessor has of pairs: labels, and statuses where it has none."""

    @property
    def labels(self) -> Labels:
        """The labels."""

    @property
    def failures(self) -> Mapping[Pair, str]:
        """A status for each pair that failed."""


@dataclass(frozen=True, eq=False)
class GradeTally:
    """Counts of pairs with a human grade, by query, grade and label, in the order of the pairs.

    Four parallel columns: so many pairs (`count`) of a query have a grade and a label, which are
    places in `queries`, `grades` and `labels`. A label of -1 is none, and -2, -3, ... are the
    `statuses` of pairs that failed. `only_assessor` counts the pairs without a human grade, whose
    labels stand in `labels` too. Where pairs are counted one by one, `row` is the place of each
    among the human pairs, and `weight` one over its inclusion probability, if it was drawn.
    """

    queries: tuple[str, ...]
    grades: tuple[int, ...]
    labels: tuple[Label, ...]
    statuses: tuple[str, ...]
    query: Integers
    grade: Integers
    label: Integers
    count: Integers
    only_assessor: int = 0
    row: Integers | None = None
    weight: Floats | None = None

    @property
    def meets(self) -> bool:
        """Whether any pair has both a human grade and a label."""
        return bool((self.label >= 0).any())

    @property
    def has_failures(self) -> bool:
        """Whether the assessor failed on any pair with a human grade."""
        return bool((self.label <= _FIRST_STATUS).any())

    def grade_counts(self) -> Counter[int]:
        """How many pairs people gave each grade."""
        counts = np.bincount(self.grade, weights=self.count, minlength=len(self.grades))
        return Counter(dict(zip(self.grades, map(int, counts.tolist()), strict=True)))

    def label_counts(self, of: Flags | None = None) -> Counter[Label]:
        """How many pairs have each label, by first appearance; `of` those rows alone."""
        rows = self.label >= 0 if of is None else of & (self.label >= 0)
        return Counter({self.labels[code]: n for code, n in _in_order(self, rows)})

    def status_counts(self, of: Flags) -> Counter[str]:
        """How many pairs of those rows failed with each status, by first appearance."""
        rows = of & (self.label <= _FIRST_STATUS)
        return Counter(
            {self.statuses[_FIRST_STATUS - code]: n for code, n in _in_order(self, rows)}
        )


def narrow(values: Integers) -> Integers:
    """The same numbers in 32 bits each, as of places and counts there are many millions."""
    return cast("Integers", values.astype(np.int32))


def _in_order(tally: GradeTally, rows: Flags) -> Iterable[tuple[int, int]]:
    """Codes of labels with their counts in some rows, in the order of the rows."""
    lowest = NO_LABEL - len(tally.statuses)
    at = np.flatnonzero(rows)
    codes = tally.label[at] - lowest
    counts = np.bincount(codes, weights=tally.count[at]).astype(np.int64)
    first = np.full(len(counts), len(rows))
    first[codes[::-1]] = at[::-1]  # of equal codes the first row is written last
    used = np.flatnonzero(first < len(rows))
    order = used[np.argsort(first[used])]
    return zip((order + lowest).tolist(), counts[order].tolist(), strict=True)


@dataclass
class _Codes:
    """Values by the numbers that they get as they come."""

    numbers: dict[Label, int] = field(default_factory=dict)

    def of(self, value: Label) -> int:
        return self.numbers.setdefault(value, len(self.numbers))


def tally_of(
    human: Qrels, assessor: Labelled, weights: Mapping[Pair, float] | None = None
) -> GradeTally:
    """The tally of pairs that a program holds, one by one."""
    grades, labels, statuses = _Codes(), _Codes(), _Codes()
    rows: list[tuple[int, int, int]] = []
    weight: list[float] = []
    for query, (query_id, graded) in enumerate(human.items()):
        row = assessor.labels.get(query_id, {})
        for doc_id, grade in graded.items():
            label, code = row.get(doc_id), NO_LABEL
            if label is not None:
                code = labels.of(label)
            elif assessor.failures:
                status = assessor.failures.get(Pair(query_id, doc_id))
                code = NO_LABEL if status is None else _FIRST_STATUS - statuses.of(status)
            rows.append((query, grades.of(grade), code))
            if weights is not None:
                weight.append(weights.get(Pair(query_id, doc_id), 0.0))
    for row in assessor.labels.values():
        for label in row.values():
            labels.of(label)
    query_of, grade_of, label_of = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return GradeTally(
        tuple(human),
        tuple(map(int, grades.numbers)),
        tuple(labels.numbers),
        tuple(map(str, statuses.numbers)),
        query_of,
        grade_of,
        label_of,
        np.ones(len(rows), dtype=np.int64),
        sum(len(r.keys() - human.get(q, {}).keys()) for q, r in assessor.labels.items()),
        np.arange(len(rows)),
        None if weights is None else np.array(weight, dtype=np.float64),
    )
