"""What is wrong with the files of a collection, each with its file and line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from labeler.data import Pair
from labeler.files.row_index import RowIndex

Level = Literal["error", "warning"]

_NAMED = 5
"""Of one kind of problem in a file, so many are named, and the others counted."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem; `line` is 0 where it is the whole file's, `count` how many are told as one."""

    level: Level
    path: Path
    line: int
    text: str
    count: int = 1

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else str(self.path)
        return f"{where}: {self.text}"

    def as_json(self) -> dict[str, Any]:
        """The problem by name."""
        return {
            "level": self.level,
            "path": str(self.path),
            "line": self.line or None,
            "problem": self.text,
            "count": self.count,
        }


class Problems:
    """Collects problems, of each kind in a file the first few."""

    def __init__(self) -> None:
        self._by_kind: dict[tuple[Path, str], list[Problem]] = {}
        self.unnamed = 0

    def add(self, path: Path, line: int, kind: str, text: str, level: Level = "error") -> None:
        """Note a problem; `kind` says in words what those of its kind have in common."""
        listed = self._by_kind.setdefault((path, kind), [])
        if len(listed) < _NAMED:
            listed.append(Problem(level, path, line, text))
        else:
            rest = listed[_NAMED] if len(listed) > _NAMED else Problem(level, path, 0, "", 0)
            count = rest.count + 1
            self.unnamed += 1
            listed[_NAMED:] = [replace(rest, text=f"… and {count:,} more: {kind}", count=count)]

    def add_text(self, path: Path, text: str) -> None:
        """Note what a reader says, which names the file and mostly the line itself."""
        match = re.match(rf"{re.escape(str(path))}(?::(\d+))?: (.*)", text, re.DOTALL)
        line, problem = (int(match[1] or 0), match[2]) if match else (0, text)
        self.add(path, line, "lines that cannot be read", problem)

    def listed(self) -> Iterator[Problem]:
        """The problems by file and kind, in the order in which the first of each came."""
        for listed in self._by_kind.values():
            yield from listed


@dataclass
class Contents:
    """What the files that were checked hold: ids, and the grades of judgements by their set.

    Of each set, `rows` counts the rows and the grades of pairs of the collection,
    `rows_beyond` those of pairs that left the pool. `stale` counts grades of changed texts.
    """

    documents: RowIndex = field(default_factory=RowIndex)
    queries: set[str] = field(default_factory=set)
    pool: int | None = None
    dropped: set[Pair] = field(default_factory=set)
    grades: dict[str, dict[Pair, int]] = field(default_factory=dict)
    rows: dict[str, tuple[int, int]] = field(default_factory=dict)
    rows_beyond: dict[str, tuple[int, int]] = field(default_factory=dict)
    stale: int = 0
