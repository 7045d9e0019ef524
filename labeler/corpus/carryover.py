"""What became of a collection's passages and judgements, as counts and as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from labeler.corpus.matching import STATES
from labeler.report.table import Column, Table

Counts = Counter[str]


@dataclass(frozen=True, slots=True)
class Carryover:
    """What became of a collection's passages and judgements, counted by state.

    `passages` counts the old passages, `by_set` the graded pairs of each set of judgements and
    qrels. `lower_bounds` are grades of merged passages of which a part was never judged. `unjudged`
    counts the pairs of the new pool that no set of judgements has a grade of, `unchecked` the
    unanswerable queries that passages which were not there before may answer, `stale` the grades
    of passages that are shown otherwise now, as under another title, which are asked for again.
    """

    passages: Counts = field(default_factory=Counter)
    by_set: Mapping[str, Counts] = field(default_factory=dict)
    lower_bounds: int = 0
    pool: int = 0
    unjudged: int = 0
    unchecked: int = 0
    stale: int = 0

    def table(self) -> Table:
        """The five counts of the passages, and of the grades of each set."""
        names = ("of", *STATES)
        columns = [Column(n, align="left" if n == "of" else "right") for n in names]
        rows: list[list[str | int]] = [
            [name, *(counts[state] for state in STATES)]
            for name, counts in [("passages", self.passages), *self.by_set.items()]
        ]
        return Table("carried", columns, rows)

    def as_json(self) -> dict[str, Any]:
        """The counts by name."""
        return {
            "passages": _in_order(self.passages),
            "judgements": {name: _in_order(counts) for name, counts in self.by_set.items()},
            "lower_bounds": self.lower_bounds,
            "pool": self.pool,
            "unjudged": self.unjudged,
            "unchecked": self.unchecked,
            "stale": self.stale,
        }


def _in_order(counts: Counts) -> dict[str, int]:
    return {state: counts[state] for state in STATES}
