"""One watch of a run: what it looked at, its alarms, and what it puts on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from labeler.monitoring.weeks import Weeks
from labeler.report.finding import Finding
from labeler.report.page import Block


@dataclass(frozen=True)
class Watched:
    """What one watch says: `key` names it for programs, `looked_at` says in words over what.

    `figures` are those for programs, `weekly` those of each week of a log.
    """

    key: str
    heading: str
    looked_at: str
    alarms: Sequence[Finding] = ()
    findings: Sequence[Finding] = ()
    blocks: Sequence[Block] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)
    weekly: Weeks = field(default_factory=dict)

    def as_history(self) -> dict[str, Any]:
        """The figures that the history of runs keeps: numbers and short texts, no lists."""
        return {
            name: value
            for name, value in self.figures.items()
            if value is None or isinstance(value, int | float) or _is_short(value)
        }


def _is_short(value: object) -> bool:
    return isinstance(value, str) and len(value) <= 200
