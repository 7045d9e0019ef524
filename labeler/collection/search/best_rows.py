"""The best rows of a query, of scores that come part by part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Integers
from labeler.trec.order import best


class BestRows:
    """Keeps the `depth` rows of the highest scores; of equal ones, those whose ids are last.

    No row of less than `floor` can be among them any more. `ids` are those of the rows, which are
    looked up where scores tie, and in the end.
    """

    def __init__(self, depth: int, ids: Sequence[str]) -> None:
        self._depth, self._ids = depth, ids
        self._rows = np.zeros(0, dtype=np.int64)
        self._scores = np.zeros(0, dtype=np.float32)
        self.floor = -np.inf

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, rows: Integers, scores: NDArray[np.float32]) -> None:
        """Take further rows and their scores."""
        if not len(rows):
            return
        self._rows = np.concatenate([self._rows, rows])
        self._scores = np.concatenate([self._scores, scores])
        if len(self._rows) <= self._depth:
            return
        self.floor = float(np.partition(self._scores, -self._depth)[-self._depth])
        self._take(np.flatnonzero(self._scores >= self.floor))
        if len(self._rows) > 2 * self._depth:
            self._break_ties()

    def ranked(self) -> dict[str, float]:
        """The ids of the best rows with their scores, ties by id descending."""
        return best(self._scores, [self._ids[row] for row in self._rows.tolist()], self._depth)

    def _break_ties(self) -> None:
        above, tied = self._scores > self.floor, np.flatnonzero(self._scores == self.floor)
        room = self._depth - int(above.sum())
        last = sorted(tied.tolist(), key=lambda at: self._ids[int(self._rows[at])])[-room:]
        self._take(np.concatenate([np.flatnonzero(above), np.array(last, dtype=np.int64)]))

    def _take(self, places: Integers) -> None:
        self._rows, self._scores = self._rows[places], self._scores[places]
