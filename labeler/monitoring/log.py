"""Logs of users' searches and clicks: messy files of any size, read in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labeler.errors import BadInput
from labeler.exchange.tables import in_words
from labeler.files.boundary import reading
from labeler.files.paths import Paths, several
from labeler.files.read import rereadable, scratch_file
from labeler.messages import count_of, tell
from labeler.monitoring.log_rows import (
    NO_DATE,
    ROW,
    LeftOutRows,
    RowReader,
    Rows,
    RowTally,
    rows_by_user,
    source_of,
)
from labeler.monitoring.log_values import CLICKED, DOWN, SHOWN, UP, Clock, LogOptions
from labeler.report.finding import Finding, Setting
from labeler.report.result import Hidden, Result
from labeler.report.table import Table, table_of

if TYPE_CHECKING:
    from pandas import DataFrame, Series

PAUSE = 30 * 60.0
"""So many seconds without a search make the same query of a visit a new search."""
BOTS = {"minute": (60.0, 30), "day": (86_400.0, 500)}
"""Who searches more often within so many seconds is a program: far more than a person does."""
ENOUGH_0 = 0.5
"""Ranks count from 0 where rank 0 is at least half as frequent as rank 1."""
MUCH = 0.05
"""With a larger share of rows left out for one reason, that is a warning."""


class LogPart(NamedTuple):
    """All searches of some users, a row each, and the documents that these showed.

    `searches` has `text` (its number in the log's texts), `time` in seconds since 1970 (nan without
    one), `client` (the user, or the session where no user is named; -1 without either), `session`,
    `group`, `is_clicked`, `ups`, `downs`, `variant` and `shown` (documents). `impressions` has
    `search` (the place of the search), `rank` (0 without one), `shown` (0 of a click on what the
    log does not say was shown, else 1) and `clicks` (1 of a document that was clicked, else 0).
    """

    searches: DataFrame
    impressions: DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class LogReading(Result):
    """What was read of a log: `retained` rows and those of `left_out` are all `rows`.

    `columns` say which column held each part of a row. `first` and `last` are the times of the
    first and the last search in UTC, None in a log without dates. `remarks` are what had to be
    decided.
    """

    files: Sequence[str]
    kind: str
    columns: Mapping[str, str]
    rows: int
    left_out: Sequence[LeftOutRows] = ()
    searches: int = 0
    clients: int = 0
    impressions: int = 0
    clicks: int = 0
    clicks_on_nothing_shown: int = 0
    first: str | None = None
    last: str | None = None
    remarks: Hidden[Sequence[Finding]] = ()

    @property
    def retained(self) -> int:
        """How many rows were not left out."""
        return self.rows - sum(reason.rows for reason in self.left_out)

    def _findings(self) -> Iterator[Finding]:
        """What a reader of figures from this log should know."""
        for reason, rows, first in self.left_out:
            count = count_of(rows, "row")
            text = f"{count} of {self.rows:,} left out: {reason}; the first is {first}"
            yield Finding(text, level="warning" if rows > MUCH * self.rows else "note")
        yield from self.remarks
        if unseen := self.clicks_on_nothing_shown:
            text = (
                f"{unseen:,} of {self.clicks:,} clicks are on documents that the log does not say "
                "were shown: they count as clicks of their searches, and in no figure by rank"
            )
            yield Finding(text, level="warning" if unseen > MUCH * self.clicks else "note")
        if not self.searches:
            yield Finding("no search of the log is left")
        elif not self.clients:
            text = (
                "the log names neither users nor sessions: searches are taken as independent but "
                "for their queries, rows without a search id as one each, and bots and repeated "
                "rows cannot be told"
            )
            yield Finding(text, level="note")

    def tables(self) -> list[Table]:
        """What was left out, a reason a row."""
        title = f"Of {count_of(self.rows, 'row')}, {self.retained:,} were kept"
        return [table_of("left_out", LeftOutRows, self.left_out, title=title)]

    def as_json(self) -> dict[str, Any]:
        """All of it by name."""
        texts = [str(finding) for finding in self.findings]
        return {**super().as_json(), "kept": self.retained, "findings": texts}


@contextmanager
def open_log(
    paths: Paths,
    options: LogOptions | None = None,
) -> Iterator[EventLog]:
    """Read one log, in one file or several: CSV, TSV, JSON Lines, Parquet, or their gzip.

    Bad rows are left out and counted, never lost in silence. Rows go to a scratch file, 62 bytes
    each, as long as the block runs; in memory are 8 bytes a row, and each different query.
    Raises `BadInput` where a file is no log at all, or no
    date in it can be read.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = path.write_text("time,session,query\\n2024-05-01,s1,usb hub\\n2024-13-01,s2,lcd\\n")
    >>> with open_log(path) as log:
    ...     print(sum(len(part.searches) for part in log.parts()), log.reading.left_out)
    1 (LeftOutRows(reason='a date that cannot be read', rows=1, first='...log.csv:3'),)
    """
    files = tuple(map(Path, several(paths)))
    options = options or LogOptions()
    rows, kinds, columns = RowReader(Clock(options)), dict[str, None](), dict[str, str]()
    with scratch_file() as path, scratch_file() as parts:
        with path.open("wb") as file:
            for number, name in enumerate(files):
                with rereadable(), reading(name):
                    source = source_of(name, options.fields)
                    read = in_words(source.columns.values())
                    tell(name, f"a log from {source.kind} (columns {read})")
                    kinds[source.kind] = None
                    columns |= source.columns
                    for block in source.blocks:
                        file.write(rows.read(block, number).tobytes())
        if not rows.total:
            raise BadInput(f"{files[0]}: no row in it")
        undated = [each for each in rows.tally.left_out(files) if each.reason == NO_DATE]
        if undated and not rows.dated:
            problem = "no date can be read; name the column of dates, or say their format"
            raise BadInput(f"{undated[0].first}: {problem}", parameter="time_format")
        figures = _kept_parts(path, parts, rows)
        log = LogReading(
            tuple(map(str, files)),
            " and ".join(kinds),
            columns,
            rows.total,
            rows.tally.left_out(files),
            **figures,
            remarks=tuple(_remarks(rows, options)),
        )
        yield EventLog(options, log, list(rows.texts), tuple(rows.variants), parts)


def _kept_parts(path: Path, parts: Path, rows: RowReader) -> dict[str, Any]:
    """Write the searches that rows make, part by part; what they hold in all, by name."""
    sums, ends = Counter[str](), [np.inf, -np.inf]
    with parts.open("wb") as out:
        for some in rows_by_user(path) if path.stat().st_size else ():
            part = part_of_rows(some, _is_from_0(rows), rows.tally)
            searches, impressions = part
            if not len(searches):
                continue
            for frame in part:
                np.save(out, frame.to_records(index=False))
            clicks, client = impressions["clicks"], searches["client"]
            sums["searches"] += len(searches)
            sums["clients"] += client[client >= 0].nunique()
            sums["impressions"] += int(impressions["shown"].sum())
            sums["clicks"] += int(clicks.sum())
            sums["clicks_on_nothing_shown"] += int(clicks[impressions["shown"] == 0].sum())
            times = searches["time"]
            ends = [np.fmin(ends[0], times.min()), np.fmax(ends[1], times.max())]
    dated = ends if ends[0] <= ends[1] else ()
    first, last = [f"{np.datetime64(int(at), 's')}Z" for at in dated] or (None, None)
    return {**sums, "first": first, "last": last}


@dataclass(frozen=True, eq=False)
class EventLog:
    """A log that was read: its searches, in a scratch file, and what was left out of it.

    `texts` are the different queries, in the order in which they come. Number 1 of `variants` is
    the first.
    """

    options: LogOptions
    reading: LogReading
    texts: Sequence[str]
    variants: Sequence[str]
    file: Path

    def parts(self) -> Iterator[LogPart]:
        """The log in parts, each with all searches of some users."""
        import pandas as pd

        with self.file.open("rb") as source:
            end = source.seek(0, 2)
            source.seek(0)
            while source.tell() < end:
                yield LogPart(*(pd.DataFrame(np.load(source)) for _ in LogPart._fields))


def _is_from_0(rows: RowReader) -> bool:
    """Whether the log's ranks count from 0."""
    zeros, ones = rows.ranks[0], rows.ranks[1]
    return zeros > 0 and zeros >= ENOUGH_0 * ones


def _remarks(rows: RowReader, options: LogOptions) -> Iterator[Finding]:
    """What had to be decided about the log."""
    ranks = rows.ranks
    if ranks[0]:
        taken = "ranks are taken to count from 0" if _is_from_0(rows) else "0 to mean no rank"
        yield Finding(f"{ranks[0]:,} rows have rank 0, {ranks[1]:,} rank 1: {taken}")
    if ranks[-1]:
        text = f"{ranks[-1]:,} rows of documents have no usable rank: in no figure by rank"
        yield Finding(text)
    if rows.clock.has_naive:
        zone, setting = options.time_zone, Setting("time_zone")
        text = f"times without a zone were read as {zone}; {setting} names another"
        yield Finding(text, settings=(setting,), level="note")


# Searches from rows: events once, in order, without bots.


def part_of_rows(rows: Rows, is_from_0: bool, tally: RowTally) -> LogPart:
    """The searches that rows of some users make; `tally` counts the rows that make none.

    `is_from_0` says that ranks count from 0.
    """
    import pandas as pd

    rows = rows[np.lexsort((rows["place"], np.nan_to_num(rows["time"])))]
    frame = pd.DataFrame({name: rows[name] for name in ROW.names or ()})
    is_named = (frame["client"] != 0) | (frame["search"] != 0)
    columns = ["time", "client", "session", "search", "document", "text", "rank", "kind"]
    again = frame.duplicated([*columns, "variant"]) & is_named & frame["time"].notna()
    frame = tally.without(frame, again, "the same event again")
    frame["at"] = _search_of(frame)
    text = _first(frame[frame["text"] >= 0], "text")
    frame = tally.without(frame, ~frame["at"].isin(text.index), "no query")
    frame = _without_bots(frame, tally)
    frame["at"] = pd.factorize(frame["at"])[0]
    impressions = _impressions(frame, is_from_0)
    return LogPart(_searches(frame, impressions), impressions)


def _first(frame: DataFrame, name: str) -> Series[Any]:
    """The first value of each search."""
    return frame.drop_duplicates("at").set_index("at")[name]


def _search_of(frame: DataFrame) -> Series[int]:
    """The search of each row, numbered in the order of the first row of each.

    Rows of one search id are of one search; else those of one query in one session, or of one user,
    unless a pause lies between them. Where no name tells, each row is a search of its own.
    """
    import pandas as pd

    by_id = frame["search"] != 0
    by_name = ~by_id & (frame["client"] != 0)
    row = pd.Series(np.arange(1, len(frame) + 1), frame.index)
    keys = [
        frame["client"],
        frame["session"].where(by_name, 0),
        frame["search"].where(by_id, frame["text"]),
        row.where(~(by_id | by_name), 0),
    ]
    number = frame.groupby(keys, sort=False).ngroup()
    is_new = (frame["time"].fillna(-1.0).groupby(number).diff() > PAUSE) & by_name
    visits = is_new.groupby(number).cumsum()
    return visits.groupby([number, visits], sort=False).ngroup()


def _without_bots(frame: DataFrame, tally: RowTally) -> DataFrame:
    """The rows of people; programs say so, or search more often than a person does."""
    programs = frame["client"][(frame["client"] != 0) & (frame["bot"] > 0)]
    flags = (frame["bot"] > 0) | frame["client"].isin(programs)
    frame = tally.without(frame, flags, "a bot (its user agent)")
    starts = frame[frame["client"] != 0].drop_duplicates("at").sort_values("time", kind="stable")
    for name, (length, most) in BOTS.items():
        away = starts.groupby("client")["time"].shift(-most) - starts["time"]
        is_bot = frame["client"].isin(starts["client"][away < length])
        frame = tally.without(frame, is_bot, f"a bot (more than {most} searches within a {name})")
    return frame.copy()


def _impressions(frame: DataFrame, is_from_0: bool) -> DataFrame:
    """A row for each document of each search, by search and rank.

    Several rows of one document are one impression, and one click, at the best rank at which it was
    shown.
    """
    about = frame[frame["document"] != 0]
    rank = about["rank"] + (is_from_0 & (about["rank"] >= 0)).astype(np.int32)
    is_shown = about["kind"] & SHOWN > 0
    about = about.assign(
        rank=rank.clip(lower=0),
        is_clicked_alone=~is_shown,
        rank_or_last=rank.where(rank > 0, 1 << 30),
        row=np.arange(len(about)),
        shown=is_shown.astype(float),
        clicks=(about["kind"] & CLICKED > 0).astype(float),
    ).sort_values(["is_clicked_alone", "rank_or_last"], kind="stable")
    columns = {"rank": "first", "row": "first", "shown": "max", "clicks": "max"}
    grouped = about.groupby(["at", "document"], sort=False).agg(columns).reset_index()
    grouped = grouped.sort_values(["at", "rank", "row"], ignore_index=True)
    return grouped.rename(columns={"at": "search"})[["search", "rank", "shown", "clicks"]]


def _searches(frame: DataFrame, impressions: DataFrame) -> DataFrame:
    """A row for each search, in the order of their first events."""
    import pandas as pd

    searches = frame.drop_duplicates("at")[["at", "time", "client", "group"]]
    searches = searches.set_index("at")
    shown = impressions.groupby("search").size()
    client = pd.factorize(searches["client"])[0]
    kinds = frame["kind"]
    return pd.DataFrame(
        {
            "text": _first(frame[frame["text"] >= 0], "text"),
            "time": searches["time"],
            # by their first places: names are hashes, which differ from run to run
            "client": np.where(searches["client"] == 0, -1, client),
            "session": _named(frame, "session", searches.index),
            "group": searches["group"].astype(np.int64),
            "is_clicked": (kinds & CLICKED > 0).groupby(frame["at"]).any(),
            "ups": (kinds & UP > 0).groupby(frame["at"]).sum().astype(float),
            "downs": (kinds & DOWN > 0).groupby(frame["at"]).sum().astype(float),
            "variant": _named(frame, "variant", searches.index),
            "shown": shown.reindex(searches.index, fill_value=0),
        }
    )


def _named(frame: DataFrame, name: str, searches: Any) -> Series[int]:
    """The first value of each search's rows that is not 0."""
    return _first(frame[frame[name] != 0], name).reindex(searches, fill_value=0).astype(np.int64)
