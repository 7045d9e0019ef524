"""What of a log was left out: how many rows, why, and where the first of them stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from labeler.arrays import Flags, Integers

OTHER_APPLICATION = "another application"


class LeftOutRows(NamedTuple):
    """Rows of a log that were left out for one reason, and the file and line of the first."""

    reason: str
    rows: int
    first: str


@dataclass
class RowTally:
    """Counts rows by reason; `first` holds the number of the file and the line of the first."""

    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, reason: str, places: Iterable[tuple[int, int]]) -> None:
        """Count rows, each the number of its file and its line."""
        places = list(places)
        if places:
            self.counts[reason] = self.counts.get(reason, 0) + len(places)
            self.first[reason] = min([*places, *filter(None, [self.first.get(reason)])])

    def add_rows(self, reason: str, file: int, lines: Integers) -> None:
        """Count rows of one file by their lines."""
        if len(lines):
            self.counts[reason] = self.counts.get(reason, 0) + len(lines)
            first = (file, int(lines.min()))
            self.first[reason] = min(first, self.first.get(reason, first))

    def drop(self, flags: Flags, reason: str, file: int, lines: Integers) -> None:
        """Count the rows that are flagged."""
        self.add_rows(reason, file, lines[flags])

    def left_out(self, files: list[str]) -> tuple[LeftOutRows, ...]:
        """The reasons, the most frequent first."""
        ordered = sorted(self.counts, key=lambda reason: (-self.counts[reason], reason))
        places = {reason: self.first[reason] for reason in ordered}
        return tuple(
            LeftOutRows(reason, self.counts[reason], f"{files[file]}:{line}")
            for reason, (file, line) in places.items()
        )

    @property
    def total(self) -> int:
        """How many rows were left out."""
        return int(np.sum(list(self.counts.values()), dtype=np.int64))
