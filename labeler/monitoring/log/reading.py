"""What was read of a log, and what was left out and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from labeler.messages import count_of
from labeler.monitoring.log.tally import OTHER_APPLICATION, LeftOutRows
from labeler.report.finding import Finding
from labeler.report.table import Column, Table

MUCH = 0.05
"""With a larger share of rows left out for one reason, that is a warning."""


@dataclass(frozen=True)
class LogReading:
    """What was read of a log: `retained` rows and those of `left_out` are all `rows`.

    `columns` say which column held each part of a row, and `others` which could have held it, too.
    `first` and `last` are the times of the first and the last search, None in a log without dates.
    `remarks` are what had to be decided, in sentences.
    """

    files: tuple[str, ...]
    kind: str
    rows: int
    left_out: tuple[LeftOutRows, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict, hash=False)
    searches: int = 0
    searched: float = 0
    clients: int = 0
    impressions: float = 0
    clicks: float = 0
    unseen_clicks: float = 0
    first: float | None = None
    last: float | None = None
    remarks: tuple[Finding, ...] = ()

    @property
    def retained(self) -> int:
        """How many rows were not left out."""
        return self.rows - sum(reason.rows for reason in self.left_out)

    def findings(self) -> list[Finding]:
        """What a reader of figures from this log should know."""
        return [*_about_rows(self), *self.remarks, *_about_clicks(self)]

    def table(self) -> Table:
        """What was left out, a reason a row."""
        columns = (
            Column("reason", align="left"),
            Column("rows"),
            Column("first", "the first", align="left"),
        )
        title = f"Of {count_of(self.rows, 'row', 'rows')}, {self.retained:,} were kept"
        return Table("left_out", columns, self.left_out, title)

    def as_json(self) -> dict[str, Any]:
        """All of it by name."""
        return {
            "files": list(self.files),
            "kind": self.kind,
            "columns": dict(self.columns),
            "rows": self.rows,
            "kept": self.retained,
            "left_out": [reason._asdict() for reason in self.left_out],
            "searches": self.searches,
            "searched": self.searched,
            "clients": self.clients,
            "impressions": self.impressions,
            "clicks": self.clicks,
            "clicks_on_nothing_shown": self.unseen_clicks,
            "first": iso(self.first),
            "last": iso(self.last),
            "findings": [str(finding) for finding in self.findings()],
        }


def iso(at: float | None) -> str | None:
    """A time in seconds since 1970 as text, in UTC."""
    return None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _about_rows(reading: LogReading) -> Iterator[Finding]:
    for reason, rows, first in reading.left_out:
        is_much = rows > MUCH * reading.rows and reason != OTHER_APPLICATION
        text = (
            f"{count_of(rows, 'row', 'rows')} of {reading.rows:,} left out: {reason};"
            f" the first is {first}"
        )
        yield Finding(text, level="warning" if is_much else "note")


def _about_clicks(reading: LogReading) -> Iterator[Finding]:
    if reading.unseen_clicks:
        yield Finding(
            f"{reading.unseen_clicks:,.0f} of {reading.clicks:,.0f} clicks are on documents that"
            " the log does not say were shown: they count as clicks of their searches, and in no"
            " figure by rank",
            level="warning" if reading.unseen_clicks > MUCH * reading.clicks else "note",
        )
    if not reading.searches:
        yield Finding("no search of the log is left")
    elif not reading.clients:
        yield Finding(
            "the log names neither users nor sessions: searches are taken as independent but for"
            " their queries, and bots and repeated rows cannot be told",
            level="note",
        )
