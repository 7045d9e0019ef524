"""The watches over a log of users' searches: whether they are what the collection asks about."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from labeler.collection.layout import Collection
from labeler.errors import BadInput, Misconfigured
from labeler.messages import count_of
from labeler.models.control import Control
from labeler.models.encoders import Encoding
from labeler.monitoring.density.density import density
from labeler.monitoring.density.from_log import searches_of
from labeler.monitoring.density.options import DensityOptions
from labeler.monitoring.log.log import EventLog, open_log
from labeler.monitoring.log.options import LogOptions
from labeler.monitoring.log.reading import LogReading
from labeler.monitoring.watched import Watched
from labeler.report.finding import Finding
from labeler.report.page import Block


@dataclass(frozen=True)
class LogWatch:
    """How logs are read, and how their queries are compared."""

    reading: LogOptions = field(default_factory=LogOptions)
    density: DensityOptions = field(default_factory=DensityOptions)
    encoding: Encoding = field(default_factory=Encoding)


class LogResult(Protocol):
    """What every measure of a log says."""

    def alarms(self) -> list[Finding]:
        """What is wrong."""

    def findings(self) -> list[Finding]:
        """What a reader should know, alarms first."""

    def blocks(self) -> list[Block]:
        """The charts and tables of a page."""

    def as_json(self) -> dict[str, object]:
        """All figures by name."""


def log_files(names: Sequence[str | Path]) -> list[Path]:
    """The files of logs, where a name that is no file's may be a pattern, as `logs/*.jsonl`."""
    files: list[Path] = []
    for name in map(str, names):
        matching = [] if Path(name).exists() else sorted(glob.glob(name, recursive=True))
        files += map(Path, matching or [name])
    return list(dict.fromkeys(files))


def watch_logs(
    collection: Collection,
    names: Sequence[str | Path],
    how: LogWatch,
    missing: list[Finding],
    control: Control,
) -> Iterator[Watched]:
    """What the logs say, all files read as one; what they say nothing of is `missing`."""
    with open_log(log_files(names), how.reading) as log:
        yield from _density(collection, log, how, missing, control)


def _density(
    collection: Collection,
    log: EventLog,
    how: LogWatch,
    missing: list[Finding],
    control: Control,
) -> Iterator[Watched]:
    """Whether users still search for what the collection asks about, and whether it is covered."""
    try:
        result = density(collection, searches_of(log), how.density, how.encoding, control)
    except (BadInput, Misconfigured) as error:
        missing.append(Finding(f"query drift: {error}"))
        return
    watched = _watched("density", "Query drift", log.reading, result, log.reading.findings())
    weekly = result.weekly()
    yield Watched(**{**vars(watched), "weekly": weekly})


def _watched(
    key: str, heading: str, reading: LogReading, result: LogResult, more: Sequence[Finding]
) -> Watched:
    alarms = result.alarms()
    findings = [finding for finding in result.findings() if finding not in alarms]
    return Watched(
        key,
        heading,
        _looked_at(reading),
        alarms,
        [*findings, *more],
        result.blocks(),
        result.as_json(),
    )


def _looked_at(reading: LogReading) -> str:
    """How many searches of which files, and from when to when."""
    searches = count_of(round(reading.searched), "search", "searches")
    files = reading.files[0] if len(reading.files) == 1 else f"{len(reading.files):,} files"
    days = [
        datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")
        for at in (reading.first, reading.last)
        if at is not None
    ]
    dated = f", {days[0]} to {days[-1]}" if days else ""
    return f"{searches} of {files}{dated}"
