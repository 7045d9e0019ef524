"""One watch of a run: what it looked at, its alarms, and what it puts on the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from labeler.errors import Misuse
from labeler.report.finding import Finding
from labeler.report.page import PageBlock

# The kinds of alarms, by the names with which a caller chooses among them.

KINDS: dict[str, str] = {
    "judge-drift": "grades given now are not those that the assessor gave before",
    "model-name": "the server calls its model otherwise than when the pairs were judged",
    "prompt-edited": "the prompt of that name is another text than when the pairs were judged",
    "judge-failures": "more replies without a grade than before",
    "stale-judgements": "more judged pairs are stale than `stale` allows",
    "lost-queries": "queries without a relevant document that is as it was judged",
    "query-drift": "users search for other things than in the first weeks of the log",
    "uncovered-queries": "the corpus covers fewer searches than in the first weeks of the log",
    "sample-ratio": "users of an A/B test are not split as they were meant to be",
    "mixed-users": "users were served by more than one variant of an A/B test",
    "new-documents": "new or edited documents take more of the first places than `fresh` allows",
}
"""What each kind of alarm says."""


def check_kinds(names: Iterable[str]) -> frozenset[str]:
    """The kinds that were named; `Misuse` lists those there are."""
    named = frozenset(names)
    if unknown := sorted(named - KINDS.keys()):
        raise Misuse(f"no alarm {unknown[0]!r}; there are: {', '.join(KINDS)}", parameter="require")
    return named


# The weeks of logs, joined over runs of the watch: none is lost, and no log counts twice.

SEARCHES = "searches"
Week = Mapping[str, float | None]
Weeks = Mapping[str, Week]
"""The figures of weeks, by the Monday of each as an ISO date."""


def joined_weeks(runs: Iterable[Any]) -> dict[str, dict[str, float | None]]:
    """The weeks of all runs, the oldest run first.

    Of one week in several runs, the one that saw most searches counts, the latest of equals: a
    week that was not over, or of which a log was cut off, gives way to the whole one.
    """
    joined: dict[str, dict[str, float | None]] = {}
    for weeks in runs:
        for monday, figures in (weeks if isinstance(weeks, dict) else {}).items():
            week = _figures(figures)
            if not _is_date(monday) or week is None:
                continue
            if monday not in joined or _searches(week) >= _searches(joined[monday]):
                joined[monday] = week
    return dict(sorted(joined.items()))


def _searches(week: Week) -> float:
    return week.get(SEARCHES) or 0.0


def _figures(figures: Any) -> dict[str, float | None] | None:
    """Figures as numbers, whatever a file says; None where it holds none."""
    if not isinstance(figures, dict):
        return None
    return {
        str(name): float(value) if isinstance(value, int | float) else None
        for name, value in figures.items()
    }


def _is_date(text: Any) -> bool:
    try:
        date.fromisoformat(text)
    except (TypeError, ValueError):
        return False
    return True


def with_gaps(weeks: Weeks) -> list[tuple[date, Week]]:
    """The weeks in their order, and an empty one where weeks are missing, so that lines break."""
    dated = sorted((date.fromisoformat(monday), week) for monday, week in weeks.items())
    filled: list[tuple[date, Week]] = []
    for monday, week in dated:
        if filled and monday - filled[-1][0] > timedelta(days=7):
            filled.append((filled[-1][0] + timedelta(days=7), {}))
        filled.append((monday, week))
    return filled


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
    blocks: Sequence[PageBlock] = ()
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
