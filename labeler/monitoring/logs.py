"""The watches over a log of users' searches: whether they are what the collection asks about."""

from __future__ import annotations

import glob
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from labeler.collection.layout import Collection
from labeler.errors import BadInput, Misconfigured
from labeler.messages import count_of
from labeler.models.control import Control
from labeler.models.encoders import Encoding
from labeler.monitoring.density.density import density
from labeler.monitoring.density.searches import DensityOptions, Search
from labeler.monitoring.log.log import EventLog, LogReading, open_log
from labeler.monitoring.log.values import LogOptions, zone_of
from labeler.monitoring.online.behavior import OnlineOptions
from labeler.monitoring.online.online import online
from labeler.monitoring.watched import Watched, Weeks
from labeler.report.finding import Finding
from labeler.report.page import FindingList, PageBlock, PageSection, TableBlock

# The searches of a log of events, with their days.


def searches_of(log: EventLog) -> Iterator[Search]:
    """The searches of a log that have a time; what they count once in is a user's day.

    Days are those of the log's time zone.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from labeler.monitoring.log.log import open_log
    >>> path = Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = path.write_text("time,session,query\\n2024-05-01 10:00,s1,usb hub\\n")
    >>> with open_log(path) as log:
    ...     print([(str(search.day), search.text) for search in searches_of(log)])
    [('2024-05-01', 'usb hub')]
    """
    zone = zone_of(log.options.time_zone)
    for number, part in enumerate(log.searches()):
        texts = part.texts
        columns = (part.text, part.time, part.client, part.times)
        for text, time, client, times in zip(*(c.tolist() for c in columns), strict=True):
            if math.isfinite(time):
                day = datetime.fromtimestamp(time, zone).date()
                user = f"{number}/{client}" if client >= 0 else ""
                yield Search(day, texts[text], user, max(1, round(times)))


@dataclass(frozen=True)
class LogWatch:
    """How logs are read, and how their queries and clicks are looked at."""

    reading: LogOptions = field(default_factory=LogOptions)
    online: OnlineOptions = field(default_factory=OnlineOptions)
    density: DensityOptions = field(default_factory=DensityOptions)
    encoding: Encoding = field(default_factory=Encoding)


class LogResult(Protocol):
    """What every measure of a log says."""

    def alarms(self) -> list[Finding]:
        """What is wrong."""

    def findings(self) -> list[Finding]:
        """What a reader should know, alarms first."""

    def blocks(self) -> list[PageBlock]:
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
        of_clicks = [*_online(log, how, missing)]
        yield from of_clicks
        for watched in _density(collection, log, how, missing, control):
            yield watched if of_clicks else _with_reading(watched, log.reading)


def _with_reading(watched: Watched, reading: LogReading) -> Watched:
    """A watch that also says what was left out of the log, where no other does."""
    table = [TableBlock(reading.table())] if reading.left_out else []
    return replace(
        watched,
        findings=[*watched.findings, *reading.findings()],
        blocks=[*watched.blocks, *table],
        figures={**watched.figures, "reading": reading.as_json()},
    )


def _online(log: EventLog, how: LogWatch, missing: list[Finding]) -> Iterator[Watched]:
    """What clicks say."""
    if not (log.reading.clicks or log.reading.impressions or log.variants):
        text = "online measures: the log says neither what was shown nor what was clicked"
        missing.append(Finding(text, level="note"))
        return
    result = online(log, how.online)
    yield _watched("online", "Clicks and online measures", log.reading, result)


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
    watched = _watched("density", "Query drift", log.reading, result)
    of_what = {"application": how.reading.application, "encoder": how.encoding.options.name}
    yield replace(watched, figures={**watched.figures, **of_what})


def _watched(key: str, heading: str, reading: LogReading, result: LogResult) -> Watched:
    alarms = result.alarms()
    weekly: Weeks = getattr(result, "weekly", dict)()  # not all that is measured has weeks
    return Watched(
        key,
        heading,
        _looked_at(reading),
        alarms,
        [finding for finding in result.findings() if finding not in alarms],
        _without_findings(result.blocks()),
        result.as_json(),
        weekly,
    )


def _without_findings(blocks: Sequence[PageBlock]) -> list[PageBlock]:
    """What stands below a heading of the page, which has the findings already."""
    inside = [
        each
        for block in blocks
        for each in (block.blocks if isinstance(block, PageSection) else [block])
    ]
    return [block for block in inside if not isinstance(block, FindingList)]


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
