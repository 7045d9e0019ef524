"""`annotations/RATER.jsonl`: what a rater answered, one line an answer, only ever appended to.

Taking an answer back and giving another one are lines of their own, and the last one counts. A
line that a crash cut short at the end of the file was never confirmed to anybody, and is no answer.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from labeler.collection.layout import Collection, check_name
from labeler.collection.rows import Row
from labeler.collection.stale import hash_of
from labeler.data import Document, Pair, Query
from labeler.errors import BadInput
from labeler.files.boundary import finite, reading
from labeler.files.jsonl import row_of_line
from labeler.files.read import numbered_bytes

Purpose = Literal["audit", "fix"]
_BEGINNING = b'{"task": "'
KINDS = ("grade",)
PURPOSES: Sequence[Purpose] = get_args(Purpose)
TOPIC = ("description", "narrative")
LONGEST_TIME = 86_400.0


@dataclass(frozen=True, slots=True)
class JournalRow:
    """One answer of a rater, or that one was skipped or taken back.

    `sample` names what was worked through; `item` is the id of the item in it, which stays where a
    document is renamed. `purpose` is `audit` for a random sample and its `probability`, `fix` for
    pairs that were routed.
    `texts` identifies the texts that the rater read.
    """

    task: str
    purpose: Purpose
    sample: str
    item: str
    query_id: str
    doc_id: str = ""
    grade: int | None = None
    cannot_judge: bool = False
    skip: bool = False
    undo: bool = False
    note: str = ""
    seconds: float | None = None
    time: str = ""
    probability: float | None = None
    texts: str = ""

    @property
    def pair(self) -> Pair:
        """The query and the document that the answer is about."""
        return Pair(self.query_id, self.doc_id)

    @property
    def is_answer(self) -> bool:
        """Whether the rater answered: with a grade, or that nobody can tell."""
        return self.grade is not None or self.cannot_judge

    def line(self) -> bytes:
        """The row as a line of the file."""
        return (json.dumps(asdict(self), ensure_ascii=False) + "\n").encode()


def texts_identity(query: Query, *documents: Document) -> str:
    """Twelve hex digits of the texts that a rater reads; other texts have others."""
    topic = (query.text, *(str(query.metadata.get(key) or "") for key in TOPIC))
    return hash_of(*topic, *(part for each in documents for part in (each.title, each.text)))


def journal_path(collection: Collection, rater: str) -> Path:
    """The file of a rater's answers."""
    return collection.annotations / f"{check_name(rater)}.jsonl"


def journal_names(collection: Collection) -> Sequence[str]:
    """The raters whose answers a collection holds, sorted."""
    return tuple(sorted(path.stem for path in collection.annotations.glob("[!.]*.jsonl")))


def read_journal(path: Path) -> list[JournalRow]:
    """Read a rater's answers in the order in which they were given; none without a file."""
    return [row for _, row in numbered_journal(path)] if path.exists() else []


def numbered_journal(path: Path) -> Iterator[tuple[int, JournalRow]]:
    """The answers of a journal with the numbers of their lines."""
    with reading(path) as position:
        for number, raw in position.follow(numbered_bytes(path)):
            yield from ((number, row) for row in journal_rows(path, number, raw))


def journal_rows(path: Path, number: int, raw: bytes) -> Iterator[JournalRow]:
    """The answer in one line: none in a blank one, nor in a last one that was cut short."""
    try:
        row = row_of_line(path, number, raw)
        if row is not None:
            yield _answer(Row(path, number, row))
    except BadInput:
        if not _is_cut_short(raw):
            raise


def _is_cut_short(raw: bytes) -> bool:
    """Whether a line is the beginning of one of ours, or was never filled by the file system."""
    began = raw[: len(_BEGINNING)]
    return not raw.endswith(b"\n") and (_BEGINNING.startswith(began) or not raw.strip(b"\0"))


def _answer(row: Row) -> JournalRow:
    """The answer that a row holds; `BadInput` says which of its values is none."""
    values: dict[str, Any] = {key: row.flag(key) for key in _FLAGS}
    values |= {key: row.text(key) for key in _TEXTS}
    return JournalRow(
        row.one_of("task", KINDS),
        row.one_of("purpose", PURPOSES),
        row.text("sample", None),
        row.text("item", None),
        row.text("query_id", None),
        grade=row.grade(),
        seconds=finite(row.values.get("seconds"), 0.0, LONGEST_TIME),
        probability=row.probability(),
        **values,
    )


_TEXTS = ("doc_id", "note", "time", "texts")
_FLAGS = ("cannot_judge", "skip", "undo")


# Which answers stand, by the lines of a journal: of several to one item, the last one.


class AnswersGiven:
    """The answers of one task, as lines are read; an answer that is taken back leaves the earlier.

    `answered` are the items with an answer, `skipped` those that were only put off.
    """

    def __init__(self) -> None:
        self._rows: dict[str, list[JournalRow]] = {}
        self._order: dict[int, JournalRow] = {}
        self.answered: set[str] = set()
        self.skipped: set[str] = set()

    def take(self, row: JournalRow) -> None:
        """Read the next line of the journal that is of the task."""
        rows = self._rows.setdefault(row.item, [])
        if not row.undo:
            rows.append(row)
            self._order[id(row)] = row
        elif rows:
            del self._order[id(rows.pop())]
        for items in (self.answered, self.skipped):
            items.discard(row.item)
        if rows:
            (self.answered if any(r.is_answer for r in rows) else self.skipped).add(row.item)

    @property
    def last(self) -> JournalRow | None:
        """The last line that was not taken back."""
        return next(reversed(self._order.values()), None)

    def has(self, item: str) -> bool:
        """Whether an item was answered or skipped."""
        return bool(self._rows.get(item))

    def row_of(self, item: str) -> JournalRow | None:
        """The answer that stands for an item."""
        return next((row for row in reversed(self._rows.get(item, [])) if row.is_answer), None)

    def standing(self) -> dict[str, JournalRow]:
        """The answer of each item that has one, the earliest item first."""
        rows = {item: self.row_of(item) for item in self._rows}
        return {item: row for item, row in rows.items() if row is not None}

    def put_off(self) -> Iterator[JournalRow]:
        """The last line of each item that was only put off."""
        return (self._rows[item][-1] for item in self.skipped)


class RaterAnswers(NamedTuple):
    """A rater's answers in the order in which they were given, and how many are put off.

    Of several answers to one item the last stands, and one that was taken back does not. Put off
    are items of random samples.
    """

    standing: list[JournalRow]
    skipped: int


def answers_in(rows: Sequence[JournalRow]) -> RaterAnswers:
    """The answers that stand, and how many items of random samples are put off."""
    by_sample = defaultdict[str, AnswersGiven](AnswersGiven)
    for row in rows:
        by_sample[row.sample].take(row)
    stand = {id(row) for given in by_sample.values() for row in given.standing().values()}
    put_off = (row for given in by_sample.values() for row in given.put_off())
    return RaterAnswers(
        [row for row in rows if id(row) in stand], sum(row.purpose == "audit" for row in put_off)
    )
