"""Rows of a log in one form of numbers: names only as hashes, personal data gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeler.arrays import Flags, Integers
from labeler.files.read import scratch_file
from labeler.monitoring.log.blocks import CodedColumn, RawBlock
from labeler.monitoring.log.values import (
    CLICKED,
    RETURNED,
    SEARCHED,
    SHOWN,
    Clock,
    LogOptions,
    dwell_of,
    identity,
    is_program,
    kind_of_action,
    name_of,
    rank_of,
    spread,
    thumb_of,
    whole_number,
)
from labeler.queries.traffic import LONGEST, normalized, personal

# What of a log was left out: how many rows, why, and where the first of them stands.

OTHER_APPLICATION = "another application"


class LeftOutRows(NamedTuple):
    """Rows of a log that were left out for one reason, and the file and line of the first."""

    reason: str
    rows: int
    first: str


@dataclass
class RowTally:
    """Counts rows by reason; `first` holds the number of the file and the line of the first."""

    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, reason: str, places: Iterable[tuple[int, int]]) -> None:
        """Count rows, each the number of its file and its line."""
        places = list(places)
        if places:
            self.counts[reason] = self.counts.get(reason, 0) + len(places)
            self.first[reason] = min([*places, *filter(None, [self.first.get(reason)])])

    def add_rows(self, reason: str, file: int, lines: Integers) -> None:
        """Count rows of one file by their lines."""
        if len(lines):
            self.counts[reason] = self.counts.get(reason, 0) + len(lines)
            first = (file, int(lines.min()))
            self.first[reason] = min(first, self.first.get(reason, first))

    def drop(self, flags: Flags, reason: str, file: int, lines: Integers) -> None:
        """Count the rows that are flagged."""
        self.add_rows(reason, file, lines[flags])

    def left_out(self, files: list[str]) -> tuple[LeftOutRows, ...]:
        """The reasons, the most frequent first."""
        ordered = sorted(self.counts, key=lambda reason: (-self.counts[reason], reason))
        places = {reason: self.first[reason] for reason in ordered}
        return tuple(
            LeftOutRows(reason, self.counts[reason], f"{files[file]}:{line}")
            for reason, (file, line) in places.items()
        )

    @property
    def total(self) -> int:
        """How many rows were left out."""
        return int(np.sum(list(self.counts.values()), dtype=np.int64))


ROW = np.dtype(
    [
        *(("line", "u4"), ("file", "u2"), ("time", "f8"), ("client", "i8"), ("session", "i8")),
        *(("search", "i8"), ("document", "i8"), ("text", "i4"), ("rank", "i4"), ("times", "f8")),
        *(("clicks", "f4"), ("dwell", "f4"), ("delay", "f4"), ("kind", "u1"), ("personal", "u1")),
        *(("variant", "i2"), ("bot", "u1"), ("part", "u2"), ("group", "u2")),
    ]
)
"""A row in 83 bytes: what has a name is its hash, 0 where there is none."""

Rows = NDArray[Any]
PARTS = 256
"""Rows are kept in so many parts, each with all rows of a 256th of the users."""
GROUPS = 400
"""Users stand in so many groups, at random; figures are resampled by group."""
KINDS_OF_PERSONAL = (
    *("mail address", "name with @", "bank account", "phone number", "card number", "long number"),
)
_DEEPEST_HITS = 100


@dataclass
class Names:
    """The names of variants, numbered from 1 in the order in which they come."""

    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, value: Any) -> int:
        """The number of a name; 0 of none, and of what comes after so many that it is no name."""
        name = name_of(value)
        if not name or (name not in self.numbers and len(self.numbers) >= 1000):
            return 0
        return self.numbers.setdefault(name, len(self.numbers) + 1)


@dataclass
class Reader:
    """Brings blocks of rows into one form, and counts what it leaves out.

    `files` are numbered in `file`; `applications` are all that occurred, with their rows.
    """

    options: LogOptions
    tally: RowTally = field(default_factory=RowTally)
    variants: Names = field(default_factory=Names)
    applications: dict[str, int] = field(default_factory=dict)
    ranks: dict[int, int] = field(default_factory=dict)
    unusable_ranks: int = 0
    total: int = 0
    dated: int = 0
    has_clicks: bool = False
    clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = Clock(self.options)

    def read(self, block: RawBlock, file: int) -> tuple[Rows, list[str]]:
        """The rows of a block, and the texts of their queries."""
        self.total += len(block.lines) + len(block.bad)
        for reason in dict.fromkeys(reason for _, reason in block.bad):
            self.tally.add(reason, ((file, line) for line, why in block.bad if why == reason))
        rows = np.zeros(len(block.lines), dtype=ROW)
        rows["line"], rows["file"] = block.lines, file
        if not len(rows):
            return rows, []
        keep = self._applications(block, file)
        keep &= self._times(block, rows, keep, file)
        keep &= self._actions(block, rows, keep, file)
        keep &= self._counts(block, rows, keep, file)
        texts = _queries(block, rows)
        self._names(block, rows, keep)
        self._ranks(block, rows, keep)
        nameless = keep & (rows["text"] < 0) & (rows["personal"] == 0) & (rows["search"] == 0)
        self.tally.drop(nameless, "no query", file, block.lines)
        keep &= ~nameless
        self.has_clicks |= bool((keep & (rows["kind"] & CLICKED > 0)).any())
        return _with_hits(rows, keep, block), texts

    def _applications(self, block: RawBlock, file: int) -> Flags:
        every = np.ones(len(block.lines), dtype=bool)
        if "application" not in block.columns:
            return every
        column = block.columns["application"]
        for number, count in enumerate(np.bincount(column.codes, minlength=len(column.values))):
            name = name_of(column.values[number]) or "none"
            self.applications[name] = self.applications.get(name, 0) + int(count)
        if not self.options.application:
            return every
        keep = column.mapped(lambda value: name_of(value) == self.options.application, bool)
        self.tally.drop(~keep, OTHER_APPLICATION, file, block.lines)
        return np.asarray(keep, dtype=bool)

    def _times(self, block: RawBlock, rows: Rows, keep: Flags, file: int) -> Flags:
        """Fill in times; whether a row has none that is wrong."""
        if "time" not in block.columns:
            rows["time"] = np.nan
            rows["delay"] = np.nan
            return np.ones(len(rows), dtype=bool)
        rows["time"] = block.columns["time"].mapped(self.clock, np.float64)
        bad, none = np.isinf(rows["time"]), np.isnan(rows["time"])
        self.tally.drop(keep & bad, "a date that cannot be read", file, block.lines)
        self.tally.drop(keep & none, "no date", file, block.lines)
        self.dated += int((keep & ~bad & ~none).sum())
        rows["delay"] = np.nan
        if "click_time" in block.columns:
            away = block.columns["click_time"].mapped(self.clock, np.float64) - rows["time"]
            rows["delay"] = np.where((away >= 0) & (away < 86400), away, np.nan)
        usable: Flags = ~bad & ~none
        return usable

    def _actions(self, block: RawBlock, rows: Rows, keep: Flags, file: int) -> Flags:
        """Fill in what happened; whether a row is of an action that is read."""
        documents = _hashed(block, "document")
        rows["document"] = documents
        plain = np.where(documents != 0, SHOWN, SEARCHED)
        if "action" not in block.columns:
            rows["kind"] = plain
            return np.ones(len(rows), dtype=bool)
        column = block.columns["action"]
        kinds = column.mapped(kind_of_action, np.int64)
        rows["kind"] = np.where(kinds > 0, kinds, np.where(kinds == 0, plain, 0))
        for number, value in enumerate(column.values):
            if kind_of_action(value) < 0:
                other = keep & (column.codes == number)
                self.tally.drop(other, f"another action ({name_of(value)[:40]})", file, block.lines)
        return np.asarray(kinds >= 0, dtype=bool)

    def _counts(self, block: RawBlock, rows: Rows, keep: Flags, file: int) -> Flags:
        """Fill in counts, clicks, dwell and thumbs; whether a row's are numbers."""
        rows["times"], rows["dwell"] = 1.0, np.nan
        good = np.ones(len(rows), dtype=bool)
        if "count" in block.columns:
            rows["times"] = block.columns["count"].mapped(whole_number, np.float64)
            bad = keep & np.isnan(rows["times"])
            self.tally.drop(bad, "a count that is no whole number", file, block.lines)
            good &= ~np.isnan(rows["times"])
        if "clicks" in block.columns:
            clicks = block.columns["clicks"].mapped(whole_number, np.float64)
            bad = keep & good & np.isnan(clicks)
            self.tally.drop(bad, "clicks that are no whole number", file, block.lines)
            good &= ~np.isnan(clicks)
            rows["clicks"] = clicks
            rows["kind"] |= np.where(clicks > 0, CLICKED, 0).astype(np.uint8)
            self.has_clicks |= bool(len(clicks))
        rows["clicks"] = np.where(
            (rows["kind"] & CLICKED > 0) & (rows["clicks"] == 0), 1, rows["clicks"]
        )
        if "dwell" in block.columns:
            rows["dwell"] = block.columns["dwell"].mapped(dwell_of, np.float64)
        if "thumbs" in block.columns:
            rows["kind"] |= block.columns["thumbs"].mapped(thumb_of, np.uint8)
        return good

    def _names(self, block: RawBlock, rows: Rows, keep: Flags) -> None:
        """Fill in users, sessions, searches, variants and bots."""
        rows["session"], rows["search"] = _hashed(block, "session"), _hashed(block, "search")
        users = _hashed(block, "user")
        rows["client"] = np.where(users != 0, users, rows["session"])
        if "variant" in block.columns:
            rows["variant"] = _numbered(block.columns["variant"], self.variants, keep)
        if "agent" in block.columns and self.options.bots.by_agent:
            rows["bot"] = block.columns["agent"].mapped(is_program, np.uint8)
        places = np.zeros(len(rows), dtype=np.int64)
        for part in ("query", "search", "session", "user"):  # the last that is named counts
            if part in block.columns:
                own = block.columns[part].mapped(spread, np.int64)
                places = np.where(own >= 0, own, places)
        rows["part"], rows["group"] = places % PARTS, places // PARTS % GROUPS

    def _ranks(self, block: RawBlock, rows: Rows, keep: Flags) -> None:
        rows["rank"] = -1
        if "rank" not in block.columns:
            return
        rows["rank"] = block.columns["rank"].mapped(rank_of, np.int32)
        shown = keep & (rows["document"] != 0)
        for rank in (0, 1):
            count = int((shown & (rows["rank"] == rank)).sum())
            self.ranks[rank] = self.ranks.get(rank, 0) + count
        self.unusable_ranks += int((shown & (rows["rank"] < 0)).sum())


def _numbered(column: CodedColumn, names: Names, keep: Flags) -> Integers:
    """The number of each row's name, and of names that stand in rows that are kept alone."""
    occurs = np.bincount(column.codes[keep], minlength=len(column.values)) > 0
    numbers = [
        names.number(value) if is_used else 0
        for value, is_used in zip(column.values, occurs, strict=True)
    ]
    return np.array(numbers, dtype=np.int64)[column.codes]


def _queries(block: RawBlock, rows: Rows) -> list[str]:
    """Fill in the queries; their texts. Of personal data the kind alone is left."""
    rows["text"] = -1
    if "query" not in block.columns:
        return []
    column = block.columns["query"]
    texts: list[str] = []
    numbers: list[int] = []
    kinds: list[int] = []
    for value in column.values:
        text, kind = _query(value if isinstance(value, str) else name_of(value))
        numbers.append(len(texts) if text else -1)
        kinds.append(kind)
        texts += [text] if text else []
    rows["text"] = np.array(numbers, dtype=np.int32)[column.codes]
    rows["personal"] = np.array(kinds, dtype=np.uint8)[column.codes]
    return texts


@lru_cache(maxsize=1 << 16)
def _query(value: str) -> tuple[str, int]:
    """A query in one form, and from 1 the kind of personal data in it; then it is empty."""
    text = normalized(value.replace("\0", " "))
    if not text:
        return "", 0
    if len(text) > LONGEST:
        return "", len(KINDS_OF_PERSONAL) + 1  # pasted: it may hold anything
    kinds = personal(text)
    return ("", 1 + KINDS_OF_PERSONAL.index(kinds[0])) if kinds else (text, 0)


def _with_hits(rows: Rows, keep: Flags, block: RawBlock) -> Rows:
    """The rows that are kept, and one more for each document that a query returned."""
    parts = [rows[keep]]
    for at, documents in block.hits.items():
        if keep[at] and documents:
            held = [doc for doc in documents[:_DEEPEST_HITS] if isinstance(doc, str | int)]
            more = np.repeat(rows[at : at + 1], len(held))
            more["document"] = [identity(doc) for doc in held]
            more["rank"], more["kind"] = np.arange(1, len(held) + 1), RETURNED
            parts.append(more)
    return np.concatenate(parts)


def _hashed(block: RawBlock, part: str) -> Integers:
    """A number for each name in a column, the same for the same name while the program runs."""
    if part not in block.columns:
        return np.zeros(len(block.lines), dtype=np.int64)
    return np.asarray(block.columns[part].mapped(identity, np.int64), dtype=np.int64)


# Rows of a log on disk, in parts of which each has all rows of some users.

AT_ONCE = 1 << 17
"""Rows that are worth reading together."""


class _Segment(NamedTuple):
    """Where rows of one part stand in the file, and the texts of their queries below them."""

    start: int
    rows: int
    texts: int


@dataclass
class Spool:
    """A scratch file to which rows are added, and from which a part is read at a time."""

    _stack: ExitStack = field(default_factory=ExitStack)
    _segments: dict[int, list[_Segment]] = field(default_factory=dict)
    _file: BinaryIO | None = None
    _size: int = 0

    def _opened(self) -> BinaryIO:
        if self._file is None:
            path: Path = self._stack.enter_context(scratch_file())
            self._file = self._stack.enter_context(path.open("w+b"))
        return self._file

    def add(self, rows: Rows, texts: Sequence[str]) -> None:
        """Add rows, whose `text` counts from 0 in these texts."""
        file = self._opened()
        file.seek(self._size)
        order = np.argsort(rows["part"], kind="stable")
        ends = np.searchsorted(rows["part"][order], np.arange(PARTS + 1))
        for part in range(PARTS):
            own = rows[order[ends[part] : ends[part + 1]]]
            if len(own):
                numbers, own["text"] = _renumbered(own["text"])
                words = "\n".join(texts[number] for number in numbers).encode("utf-8", "replace")
                self._segments.setdefault(part, []).append(
                    _Segment(self._size, len(own), len(words))
                )
                self._size += file.write(own.tobytes()) + file.write(words)

    def parts(self) -> Iterator[tuple[Rows, list[str]]]:
        """The rows of some users at a time in the order in which they were added, and their texts.

        Small parts are read together.
        """
        held: list[_Segment] = []
        for part in sorted(self._segments):
            held += self._segments[part]
            if sum(segment.rows for segment in held) >= AT_ONCE:
                yield self._part(sorted(held))
                held = []
        if held:
            yield self._part(sorted(held))

    def _part(self, segments: Sequence[_Segment]) -> tuple[Rows, list[str]]:
        file, held = self._opened(), []
        numbers: dict[str, int] = {}
        for start, count, texts in segments:
            file.seek(start)
            rows = np.frombuffer(file.read(count * ROW.itemsize), dtype=ROW).copy()
            raw = file.read(texts).decode("utf-8")
            own = [numbers.setdefault(text, len(numbers)) for text in raw.split("\n")]
            rows["text"] = np.array([*own, -1], dtype=np.int32)[rows["text"]]
            held.append(rows)
        return np.concatenate(held), list(numbers)

    def close(self) -> None:
        """Remove the file."""
        self._stack.close()


def _renumbered(texts: Rows) -> tuple[list[int], Rows]:
    """The texts that occur, and the number of each row's among them; -1 stays -1."""
    numbers, codes = np.unique(texts, return_inverse=True)
    has_none = bool(len(numbers)) and numbers[0] == -1
    return numbers[int(has_none) :].tolist(), codes.astype(np.int32) - int(has_none)
