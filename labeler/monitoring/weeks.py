"""The weeks of logs, joined over runs of the watch: none is lost, and no log counts twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import Any

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
