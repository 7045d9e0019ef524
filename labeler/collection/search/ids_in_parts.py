"""The ids of documents whose index lies in several files."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from labeler.files.arrays import Arrays, TextsOnDemand

_OPEN = 64
"""So many of the files are open at a time."""


class IdsInParts(TextsOnDemand):
    """The ids of several files as if they stood in one."""

    def __init__(self, parts: Sequence[Arrays]) -> None:
        self._ends = [*accumulate(part.shape("ids end")[0] for part in parts)]
        self._texts = lru_cache(maxsize=_OPEN)(lambda part: parts[part].texts("ids"))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def at(self, index: int) -> str:
        """The id of one row, from 0."""
        part = bisect_right(self._ends, index)
        return self._texts(part).at(index - (self._ends[part - 1] if part else 0))
