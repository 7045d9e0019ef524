"""Open a log of searches and clicks, and read it part by part in bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from labeler.errors import BadInput
from labeler.exchange.fields import EventFields
from labeler.exchange.logs import EVENT_PARTS
from labeler.exchange.shapes import JSON, JSON_LINES, PARQUET, XML, head_of, shape_of, tell
from labeler.exchange.tables import DELIMITERS, first_line
from labeler.files.boundary import reading
from labeler.files.read import rereadable
from labeler.messages import count_of
from labeler.monitoring.log.blocks import (
    LogSource,
    TextBlocks,
    columns_of,
    header_of,
    json_array,
    json_lines,
    source_of_parquet,
    source_of_rows,
)
from labeler.monitoring.log.rows import OTHER_APPLICATION, LeftOutRows, Reader, RowTally, Spool
from labeler.monitoring.log.searches import CleanRows, LogPart, Searches, cleaned, part_of_log
from labeler.monitoring.log.values import LogOptions
from labeler.report.finding import Finding, Setting
from labeler.report.table import Column, Table

# What was read of a log, and what was left out and why.

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


ENOUGH_0 = 0.5
"""Ranks count from 0 where rank 0 is at least half as frequent as rank 1."""


def open_log(
    paths: Path | str | Sequence[Path | str],
    options: LogOptions | None = None,
    progress: Callable[[int], object] | None = None,
) -> EventLog:
    """Read one log, in one file or several: CSV, TSV, JSON Lines, Parquet, or their gzip.

    Bad rows are left out and counted, never lost in silence. Rows go to a scratch file, 85 bytes
    and the query's text each; the log holds it until it is closed. `progress` hears how many rows
    were read. Raises `BadInput` where a file is no log at all, or no date in it can be read.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = path.write_text("time,session,query\\n2024-05-01,s1,usb hub\\n2024-13-01,s2,lcd\\n")
    >>> with open_log(path) as log:
    ...     print([chunk.queries for chunk in log.searches()], log.reading.left_out)
    [['usb hub']] (LeftOutRows(reason='a date that cannot be read', rows=1, first='...log.csv:3'),)
    """
    paths = [paths] if isinstance(paths, Path | str) else paths
    log = EventLog(tuple(Path(path) for path in paths), options or LogOptions())
    try:
        log.read(progress)
    except BaseException:
        log.close()
        raise
    return log


@dataclass(eq=False)
class EventLog:
    """A log that was read: its searches, and what was left out of it."""

    files: tuple[Path, ...]
    options: LogOptions
    _reader: Reader = field(init=False)
    _spool: Spool = field(default_factory=Spool)
    _sources: list[LogSource] = field(default_factory=list)
    _reading: LogReading | None = None

    def __post_init__(self) -> None:
        self._reader = Reader(self.options)

    def __enter__(self) -> EventLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the scratch file."""
        self._spool.close()

    def read(self, progress: Callable[[int], object] | None = None) -> None:
        """Read all rows of all files into the scratch file."""
        for number, path in enumerate(self.files):
            with rereadable(), reading(path):
                source = _source(path, self.options.fields)
                columns = [name for name in source.columns.values() if name]
                tell(path, f"a log from {source.kind} (columns {', '.join(columns)})")
                self._sources.append(source)
                for block in source.blocks:
                    rows, texts = self._reader.read(block, number)
                    self._spool.add(rows, texts)
                    if progress:
                        progress(self._reader.total)
        self._check()

    def _check(self) -> None:
        """`BadInput` where nothing can be read of the log."""
        name = self.files[0]
        application = self.options.application
        applications = ", ".join(sorted(self._reader.applications)[:10])
        if application and application not in self._reader.applications:
            problem = f"no application {application!r:.60}; there are {applications or 'none'}"
            raise BadInput(f"{name}: {problem}", parameter="application")
        if not self._reader.total:
            raise BadInput(f"{name}: no row in it")
        bad = "a date that cannot be read"
        if self._reader.tally.counts.get(bad) and not self._reader.dated:
            first = self._reader.tally.left_out(list(map(str, self.files)))
            where = next(reason.first for reason in first if reason.reason == bad)
            problem = "no date can be read; name the column of dates, or say their format"
            raise BadInput(f"{where}: {problem}", parameter="time_format")

    @property
    def is_from_0(self) -> bool:
        """Whether the log's ranks count from 0."""
        if self.options.first_rank is not None:
            return self.options.first_rank == 0
        zeros, ones = (self._reader.ranks.get(rank, 0) for rank in (0, 1))
        return zeros > 0 and zeros >= ENOUGH_0 * ones

    @property
    def variants(self) -> tuple[str, ...]:
        """The names of variants; number 1 is the first."""
        return tuple(self._reader.variants.numbers)

    @property
    def columns(self) -> Mapping[str, str]:
        """The column that held each part of a row, in any of the files."""
        return {part: name for source in self._sources for part, name in source.columns.items()}

    def parts(self) -> Iterator[LogPart]:
        """The log in parts, each with all searches of some users."""
        own = self._reader.tally
        tally = RowTally(dict(own.counts), dict(own.first))
        total = _Totals()
        for clean in self.clean_parts(tally):
            if len(clean.text):
                part = part_of_log(clean, self.is_from_0)
                total.add(part)
                yield part
        self._reading = self._read(tally, total)

    def searches(self) -> Iterator[Searches]:
        """The searches of each part, in the order of their times within it."""
        return (part.searches for part in self.parts())

    def clean_parts(self, tally: RowTally | None = None) -> Iterator[CleanRows]:
        """The rows of each part that count; `tally` counts the others."""
        tally = tally or RowTally()
        for rows, texts in self._spool.parts():
            yield cleaned(rows, texts, self.options, self._reader.has_clicks, tally)

    @property
    def reading(self) -> LogReading:
        """What was read, and what was left out and why; goes through the log if nobody has."""
        if self._reading is None:
            deque(self.parts(), maxlen=0)
        assert self._reading is not None, "who goes through all parts leaves it behind"
        return self._reading

    def _read(self, tally: RowTally, total: _Totals) -> LogReading:
        files = tuple(map(str, self.files))
        return LogReading(
            files,
            " and ".join(dict.fromkeys(source.kind for source in self._sources)),
            self._reader.total,
            tally.left_out(list(files)),
            self.columns,
            *total.figures(),
            remarks=tuple(self._remarks()),
        )

    def _remarks(self) -> Iterator[Finding]:
        """What had to be decided about the log."""
        for source in self._sources:
            for what, names in source.others.items():
                setting = Setting(EVENT_PARTS[what][0])
                column = source.columns[what]
                yield Finding(
                    f"{column!r} was read as the {what.replace('_', ' ')}, and"
                    f" {', '.join(map(repr, names))} not; {setting} names another",
                    settings=(setting,),
                )
        yield from self._about_applications()
        zeros = self._reader.ranks.get(0, 0)
        if self.options.first_rank is None and zeros:
            counts = f"{zeros:,} rows have rank 0, {self._reader.ranks.get(1, 0):,} rank 1"
            taken = "ranks are taken to count from 0" if self.is_from_0 else "0 to mean no rank"
            setting = Setting("first_rank")
            yield Finding(f"{counts}: {taken}; {setting} says otherwise", settings=(setting,))
        if self._reader.unusable_ranks:
            count = self._reader.unusable_ranks
            yield Finding(f"{count:,} rows of documents have no usable rank: in no figure by rank")
        if self._reader.clock.has_naive:
            zone, setting = self.options.time_zone, Setting("time_zone")
            text = f"times without a zone were read as {zone}; {setting} names another"
            yield Finding(text, settings=(setting,), level="note")

    def _about_applications(self) -> Iterator[Finding]:
        names = self._reader.applications
        if len(names) > 1 and not self.options.application:
            setting = Setting("application", "NAME")
            counts = ", ".join(f"{name} ({names[name]:,})" for name in sorted(names)[:10])
            yield Finding(
                f"the log mixes {len(names)} applications, and figures are of all together:"
                f" {counts} rows; {setting} reads one",
                settings=(setting,),
            )


@dataclass
class _Totals:
    """Sums over the parts of a log."""

    searches: int = 0
    searched: float = 0
    clients: int = 0
    impressions: float = 0
    clicks: float = 0
    unseen: float = 0
    first: float = np.inf
    last: float = -np.inf

    def add(self, part: LogPart) -> None:
        own, shown = part.searches, part.impressions
        self.searches += len(own)
        self.searched += float(own.times.sum())
        self.clients += len(np.unique(own.client[own.client >= 0]))
        self.impressions += float(shown.shown.sum())
        self.clicks += float(shown.clicks.sum())
        self.unseen += float(shown.clicks[shown.shown == 0].sum())
        times = own.time[~np.isnan(own.time)]
        self.first = min(self.first, float(times.min(initial=np.inf)))
        self.last = max(self.last, float(times.max(initial=-np.inf)))

    def figures(self) -> tuple[int, float, int, float, float, float, float | None, float | None]:
        is_dated = self.first <= self.last
        ends = (self.first, self.last) if is_dated else (None, None)
        counts = (self.searches, self.searched, self.clients, self.impressions)
        return *counts, self.clicks, self.unseen, *ends


def _source(path: Path, fields: EventFields) -> LogSource:
    """The log in a file, of whatever kind its content tells."""
    head = head_of(path)
    shape = shape_of(path, head)
    if shape == PARQUET:
        return source_of_parquet(path, fields)
    if shape == JSON_LINES or (shape == JSON and head.lstrip()[:1] == b"{" and b"\n{" in head):
        return source_of_rows(path, JSON_LINES, json_lines(path), fields)
    if shape == JSON:
        return source_of_rows(path, JSON, json_array(path), fields)
    line = first_line(head)
    delimiter = max(DELIMITERS, key=line.count)
    if shape == XML or delimiter not in line:
        usual = "time, session, query, and for clicks doc_id, rank and clicked"
        raise BadInput(f"{path}: expected a log whose first row names its columns: {usual}")
    names = header_of(path, delimiter)
    columns, others = columns_of(path, names, fields)
    blocks = TextBlocks(path, delimiter, names, columns).blocks()
    return LogSource(DELIMITERS[delimiter], columns, blocks, others)
