"""What a run of the watch says: its alarms first, then each watch, and what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from labeler.collection.monitoring import WatchRun
from labeler.files.paths import true_path
from labeler.messages import count_of
from labeler.monitoring.page import monitoring_page
from labeler.monitoring.watched import Watched
from labeler.monitoring.weeks import joined_weeks
from labeler.report.finding import Finding
from labeler.report.notebook import notebook_html
from labeler.report.page import Page
from labeler.report.table import Column, Row, Table

OF_WEEKS = ("application", "encoder")
"""Figures of a watch over a log that say of what its weeks are: those of others do not compare."""


@dataclass(frozen=True, repr=False)
class Monitoring:
    """One run of the watch over a collection, with the runs before it.

    `left_out` says what was not watched, and why.
    """

    folder: Path
    time: datetime
    watches: tuple[Watched, ...]
    left_out: tuple[Finding, ...] = ()
    history: tuple[WatchRun, ...] = ()

    def alarms(self) -> list[Finding]:
        """Every alarm; `about` says of which kind."""
        return [alarm for watched in self.watches for alarm in watched.alarms]

    def findings(self) -> list[Finding]:
        """What each watch says beside its alarms, and what was left out."""
        return [each for watched in self.watches for each in watched.findings] + list(self.left_out)

    @property
    def kinds(self) -> dict[str, int]:
        """The kinds of alarms that were raised, with how many of each."""
        return dict(Counter(alarm.about for alarm in self.alarms()))

    @property
    def name(self) -> str:
        """The collection's name, which is its folder's."""
        return true_path(self.folder).name

    def sentences(self) -> Iterator[str]:
        """What is wrong, or that nothing is; and what was looked at."""
        alarms = self.alarms()
        if alarms:
            yield f"{count_of(len(alarms), 'alarm', 'alarms')}: {', '.join(self.kinds)}"
        else:
            yield "nothing alarming"
        yield from (f"looked at: {sight}" for sight in self.looked_at)

    @property
    def looked_at(self) -> list[str]:
        """Over what it watched, each once."""
        return list(dict.fromkeys(watched.looked_at for watched in self.watches))

    def weeks(self, key: str) -> dict[str, dict[str, float | None]]:
        """The weeks of a watch over a log, joined over all runs."""
        own = next((watched for watched in self.watches if watched.key == key), None)
        if own is None:
            return {}
        runs = [self._earlier_weeks(run, own) for run in self.history]
        return joined_weeks([*runs, {week: dict(figures) for week, figures in own.weekly.items()}])

    @staticmethod
    def _earlier_weeks(run: WatchRun, own: Watched) -> Any:
        """The weeks that an earlier run kept; None of a run over something else."""
        watches, weekly = run.content.get("watches"), run.content.get("weekly")
        figures = watches.get(own.key) if isinstance(watches, dict) else None
        if not isinstance(weekly, dict) or not isinstance(figures, dict):
            return None
        is_same = all(figures.get(name) == own.figures.get(name) for name in OF_WEEKS)
        return weekly.get(own.key) if is_same else None

    @property
    def proposed_queries(self) -> list[dict[str, Any]] | None:
        """Queries that would make the set current, as rows of a file of queries.

        Empty where the log has none to add; None where no log was looked at, or too short a one.
        """
        figures = next((each.figures for each in self.watches if each.key == "density"), {})
        proposal = figures.get("proposal")
        return None if proposal is None else list(proposal["queries"])

    def as_history(self) -> dict[str, Any]:
        """What the history of runs keeps: alarms, and the figures that are drawn over time."""
        return {
            "alarms": self._alarms_json(),
            "watches": {watched.key: watched.as_history() for watched in self.watches},
            "weekly": {watched.key: watched.weekly for watched in self.watches if watched.weekly},
        }

    def as_json(self) -> dict[str, Any]:
        """The alarms, every figure by watch, and what was left out."""
        return {
            "collection": str(self.folder),
            "time": self.time.isoformat(timespec="seconds"),
            "alarms": self._alarms_json(),
            "watches": {watched.key: dict(watched.figures) for watched in self.watches},
            "weekly": {watched.key: self.weeks(watched.key) for watched in self.watches},
            "left_out": [str(finding) for finding in self.left_out],
        }

    def _alarms_json(self) -> list[dict[str, str]]:
        return [{"kind": alarm.about, "text": str(alarm)} for alarm in self.alarms()]

    def table(self) -> Table:
        """A row for each watch: what it looked at, and its alarms."""
        columns = [Column(name, align="left") for name in ("watch", "looked at", "alarms")]
        rows: list[Row] = [
            [watched.key, watched.looked_at, ", ".join(a.about for a in watched.alarms) or "none"]
            for watched in self.watches
        ]
        return Table("watch", columns, rows)

    def runs_table(self, most: int | None = None) -> Table:
        """The runs, this one first, with the kinds of their alarms."""
        columns = [Column("run", align="left"), Column("alarms", align="left")]
        earlier = [
            [run.time.strftime("%Y-%m-%d %H:%M"), ", ".join(_kinds(run)) or "none"]
            for run in reversed(self.history)
        ]
        this = [self.time.strftime("%Y-%m-%d %H:%M"), ", ".join(self.kinds) or "none"]
        rows: Sequence[Row] = [this, *earlier][:most]
        return Table("runs", columns, rows)

    def page(self) -> Page:
        """One page for people."""
        return monitoring_page(self)

    def __repr__(self) -> str:
        watches = count_of(len(self.watches), "watch", "watches")
        alarms = count_of(len(self.alarms()), "alarm", "alarms") if self.alarms() else "no alarm"
        return f"Monitoring({watches}, {alarms})"

    def _repr_html_(self) -> str:
        return notebook_html([self.table()], [*self.alarms(), *self.findings()])


def _kinds(run: WatchRun) -> list[str]:
    """The kinds of an earlier run's alarms."""
    alarms = run.content.get("alarms")
    listed = alarms if isinstance(alarms, list) else []
    kinds = [each.get("kind") for each in listed if isinstance(each, dict)]
    return list(dict.fromkeys(kind for kind in kinds if isinstance(kind, str)))
