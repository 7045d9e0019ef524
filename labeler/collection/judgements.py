"""`judgements/NAME.jsonl`: one row a pair, with its grade or why there is none."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import count as count_from
from itertools import takewhile
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from types import NoneType
from typing import Any, NamedTuple, TextIO

from pydantic_core import from_json, to_json

from labeler.collection.layout import Collection
from labeler.collection.rows import Row, check_exists, records
from labeler.data import (
    FAILURES,
    JUDGED,
    Failure,
    Judged,
    Judgement,
    Listed,
    Outcome,
    Pair,
    State,
    judged,
)
from labeler.errors import BadInput, FileProblem
from labeler.files.atomic import replacing, replacing_bytes
from labeler.files.boundary import amount, count, reading
from labeler.files.jsonl import row_of_line
from labeler.files.read import byte_blocks
from labeler.model import OncePerPart
from labeler.trec.columns import Irregular, is_utf8
from labeler.trec.rows import LARGEST_GRADE
from labeler.trec.write import GradesToSort


@dataclass(frozen=True, slots=True)
class Origin:
    """What made a set of judgements; two sets of one origin may share a name."""

    prompt: str
    model: str
    parameters: Mapping[str, Any]

    @property
    def members(self) -> Mapping[str, Any]:
        """The sets that a panel was put together from, by name; empty of an assessor's own set."""
        members = self.parameters.get("members")
        return members if isinstance(members, dict) else {}

    @property
    def is_panel(self) -> bool:
        """Whether the judgements were put together from other sets, and no model was asked."""
        return bool(self.members)


class JudgementRow(NamedTuple):
    """One row: how judging the pair went, and what judged it.

    `carried` says of a grade that was given to an earlier cut of the document what became of that:
    its `state`, and `from` which documents the grade comes. `members` says of a panel's row what
    each member says: a grade, the status of a failure, or None.
    """

    judged: Judged
    origin: Origin
    carried: Mapping[str, Any] | None = None
    members: Mapping[str, int | str | None] = {}


class JudgementLines:
    """Writes the rows of one origin as lines.

    What was sent is the same mapping for nearly all pairs, so that the end of a line is written
    once for it.
    """

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self._ends = OncePerPart(self._end_of)

    def line(
        self,
        judged: Judged,
        carried: Mapping[str, Any] | None = None,
        panel: Mapping[str, Any] | None = None,
        shown: str = "",
    ) -> str:
        """The line of one pair, without its end: its outcome, what that took, then the origin.

        `panel` holds what the row of a panel says beside: its `members`.
        `shown` tells the texts that were shown, where the pair itself does not say that.
        """
        query, document = judged.outcome.pair
        row = {"query_id": query, "doc_id": document, **_members_of(judged.outcome)}
        row |= {name: getattr(judged, name) for name in _TAKEN}
        more = {"shown": judged.shown or shown, "carried": carried, "suspicions": judged.suspicions}
        row |= {name: value for name, value in more.items() if value}
        row |= panel or {}
        if judged.listed:
            row["list"] = judged.listed.documents
            row |= {"alone": True} if judged.listed.alone else {}
        return f"{_ENCODER.encode(row)[:-1]}, {self._ends.of(judged.sent)}"

    def _end_of(self, sent: Mapping[str, Any]) -> str:
        """The end of a line: the origin, and what was sent."""
        row: dict[str, Any] = {"prompt": self.origin.prompt, "asked": self.origin.model}
        declared = dict(self.origin.parameters)
        if sent:
            row |= {"declared": declared, "parameters": dict(sorted(sent.items()))}
        else:
            row["parameters"] = declared
        return _ENCODER.encode(row)[1:]


COUNTS = ("attempts", "prompt_tokens", "completion_tokens")

_ENCODER = json.JSONEncoder(ensure_ascii=False, default=dict)
_TAKEN = (*COUNTS, "cost", "model")


def _members_of(outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, Failure):
        return {"grade": None, "status": outcome.status, "detail": outcome.detail}
    made_of = {name: getattr(outcome, name) for name in ("votes", "passages", "distribution")}
    own = {"grade": outcome.grade, "status": JUDGED, "reason": outcome.reason}
    return own | {name: value for name, value in made_of.items() if value}


class Rest(NamedTuple):
    """The end of a row: what made it, what was sent, and what it says beside."""

    origin: Origin
    sent: Mapping[str, Any]
    carried: Mapping[str, Any] | None
    members: Mapping[str, int | str | None]
    suspicions: tuple[str, ...]
    listed: Listed | None = None


class MadeOf(NamedTuple):
    """What a grade was made of: how probable each is, votes, and passages of the document."""

    distribution: Mapping[int, float] | None = None
    votes: tuple[int | None, ...] = ()
    passages: tuple[int | None, ...] = ()


class Spent(NamedTuple):
    """What judging took: replies, tokens, and dollars; None for an unknown price."""

    replies: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = 0.0


class JudgedBlock(NamedTuple):
    """Some rows of a file in its order: a list a column, with a value a row.

    `line` is the number of each row's line; `reason`, of a failure its detail, is JSON, and `shown`
    as it stands in a line.
    """

    line: Sequence[int]
    query_id: Sequence[str]
    doc_id: Sequence[str]
    state: Sequence[State]
    reason: Sequence[bytes]
    made_of: Sequence[MadeOf]
    spent: Sequence[Spent]
    model: Sequence[str]
    shown: Sequence[bytes]
    rest: Sequence[Rest]

    @classmethod
    def of(cls, row: Row) -> JudgedBlock:
        """One row of any layout."""
        values, pair, state = row.values, row.pair, _state(row)
        if state.grade is None:
            reason: str | None = row.text("detail")
        else:
            reason = None if values.get("reason") is None else row.text("reason")
        replies, tokens_in, tokens_out = (count(values.get(name)) or 0 for name in COUNTS)
        return cls(
            [row.number],
            [pair.query_id],
            [pair.doc_id],
            [state],
            [to_json(reason)],
            [MadeOf() if state.grade is None else _made_of(row)],
            [Spent(replies, tokens_in, tokens_out, amount(values.get("cost")))],
            [row.text("model")],
            [row.text("shown").encode()],
            [_rest(row)._replace(listed=_listed(row, pair))],
        )

    def pairs(self) -> Iterator[Pair]:
        """The pair of each row."""
        return map(Pair, self.query_id, self.doc_id)

    def rows(self) -> Iterator[JudgementRow]:
        """The rows, each made when it is asked for."""
        return map(self.row, range(len(self.state)))

    def row(self, index: int) -> JudgementRow:
        """One row, made of its columns."""
        pair, state = Pair(self.query_id[index], self.doc_id[index]), self.state[index]
        reason, rest = from_json(self.reason[index]), self.rest[index]
        judged = Judged(
            Failure(pair, state.status, reason or "")
            if state.grade is None
            else Judgement(pair, state.grade, reason, *self.made_of[index]),
            *self.spent[index][:3],
            cost=self.spent[index].cost,
            model=self.model[index],
            suspicions=rest.suspicions,
            listed=rest.listed,
            shown=self.shown[index].decode(),
            sent=rest.sent,
        )
        return JudgementRow(judged, rest.origin, rest.carried, rest.members)


def blocks_of(judged: Iterable[Judged]) -> Iterator[JudgedBlock]:
    """What a program holds as what is read of its lines."""
    lines = JudgementLines(Origin("", "", {}))
    for each in judged:
        yield JudgedBlock.of(Row(Path(), 1, from_json(lines.line(each))))


def read_judgements(path: Path) -> Iterator[JudgementRow]:
    """The rows of a file in its order; only the ids, `grade` and `status` are required.

    Raises `BadInput` where a grade stands beside a failure's status, or none beside `judged`.
    """
    for block in judged_blocks(path):
        yield from block.rows()


def judged_blocks(path: Path) -> Iterator[JudgedBlock]:
    """The same in columns, some hundred rows at a time, which takes a tenth of the time."""
    check_exists(path)
    number = 1
    try:
        for block in byte_blocks(path, _BLOCK):
            try:
                yield _block(number, block)
            except Irregular:
                yield from _one_by_one(path, number, block)
            number += block.count(b"\n")
    except BadInput:
        if path.is_file():  # the reader of single lines knows where a file breaks off
            deque(records(path, JudgedBlock.of), maxlen=0)
        raise


_BLOCK = 1 << 18


def _one_by_one(path: Path, number: int, block: bytes) -> Iterator[JudgedBlock]:
    """The rows of any lines, of which `number` is the first one's; blank ones are skipped."""
    with reading(path) as position:
        lines = enumerate(block[:-1].split(b"\n"), start=number)
        for position.line, line in lines:
            values = row_of_line(path, position.line, line + b"\n")
            if values is not None:
                yield JudgedBlock.of(Row(path, position.line, values))


def _block(number: int, block: bytes) -> JudgedBlock:
    """The rows of lines from a `number` on, as they are written here; `Irregular` of others."""
    lines = _LINE.findall(block)
    if len(lines) != block.count(b"\n") or not is_utf8(block):
        raise Irregular
    parts: dict[str, Any] = dict(zip(_LINE.groupindex, zip(*lines, strict=True), strict=True))
    for name, read in _PARTS.items():
        texts = list(dict.fromkeys(parts[name]))  # equal texts are read once
        value_of = dict(zip(texts, read(texts), strict=True))
        parts[name] = list(map(value_of.__getitem__, parts[name]))
    return JudgedBlock(range(number, number + len(lines)), **parts)


_BARE = rb'"(?P<%b>[^"\\\x00-\x1f]*+)"'
_COUNT = b"(?:0|[1-9][0-9]{0,11})"
_TEXT = rb'"[^"\\\x00-\x1f]*+(?:\\["\\/bfnrt][^"\\\x00-\x1f]*+)*+"'
_LINE = re.compile(
    b'^{"query_id": %b, "doc_id": %b, ' % (_BARE % b"query_id", _BARE % b"doc_id")
    + rb'(?P<state>"grade": [-0-9nul]++, "status": "[a-z_]++", "(?:reason|detail)": )'
    + rb"(?P<reason>null|%b)(?P<made_of>|, .*?), (?P<spent>" % _TEXT
    + b", ".join(b'"%b": %b' % (name, _COUNT) for name in map(str.encode, COUNTS))
    + b', "cost": [-+.0-9a-zA-Z]++), "model": '
    + _BARE % b"model"
    + b'(?:, "shown": %b)?, (?P<rest>.+)}\n' % (_BARE % b"shown"),
    re.MULTILINE,
)
"""A line as `JudgementLines` writes it: 6 µs a row, and 30 to 40 where each is read alone as JSON.

Nothing is escaped in ids, in the model and in what was shown. What a grade was made of, and the
rest, is read as JSON.
"""


def _ids(texts: Sequence[bytes]) -> list[str]:
    """Ids, if they are kept as they stand; `Irregular` where white space stands in one."""
    ids = b"\n".join(texts).decode()
    if " ".join(ids.split("\n")).split() != ids.split("\n"):
        raise Irregular
    return ids.split("\n")


def _members_in(text: bytes) -> Row:
    return Row(Path(), 1, row_of_line(Path(), 1, b"{%b}" % text) or {})


def _state_in(text: bytes) -> State:
    """A grade with its status, before the key of a reason; before that of a detail a failure's."""
    row = _members_in(text + b"null")
    state = _state(row)
    if row.values.keys() != {"grade", "status", "detail" if state.grade is None else "reason"}:
        raise Irregular
    return state


@lru_cache(1024)
def _made_of_in(text: bytes) -> MadeOf:
    """What a grade was made of, after a comma; nothing where no text stands there."""
    row = _members_in(text.removeprefix(b", "))
    is_known = row.values and row.values.keys() <= {*MadeOf._fields} and text[:2] == b", "
    if text and not is_known:
        raise Irregular
    return _made_of(row)


@lru_cache(1024)
def _rest_in(text: bytes) -> Rest:
    """The members at the end of a row; not those of a document that was shown in a list."""
    row = _members_in(text)
    if not row.values or not _BEFORE_REST.isdisjoint(row.values):
        raise Irregular
    return _rest(row)


def _each(read: Callable[[bytes], Any]) -> Callable[[Sequence[bytes]], Sequence[Any]]:
    def each(texts: Sequence[bytes]) -> Sequence[Any]:
        try:
            return list(map(read, texts))
        except (BadInput, RecursionError):
            raise Irregular from None

    return each


_BEFORE_REST = frozenset(
    (
        *("query_id", "doc_id", "grade", "status", "reason", "detail", *COUNTS, "cost", "model"),
        *("shown", "list", *MadeOf._fields),
    )
)


def _spent(texts: Sequence[bytes]) -> Sequence[Spent]:
    """Three counts and a cost; `Irregular` where that is no number."""
    with suppress(ValueError):
        each = [list(row.values()) for row in from_json(b"[{%b}]" % b"},{".join(texts))]
        if {int, float, NoneType}.issuperset(type(cost) for *_, cost in each):
            return [Spent(a, b, c, amount(cost)) for a, b, c, cost in each]
    raise Irregular


_PARTS: Mapping[str, Callable[[Sequence[bytes]], Sequence[Any]]] = {
    "query_id": _ids,
    "doc_id": _ids,
    "state": _each(_state_in),
    "made_of": _each(_made_of_in),
    "spent": _spent,
    "model": _each(bytes.decode),
    "rest": _each(_rest_in),
}
"""What reads the distinct texts of parts of lines; `Irregular` of what the slow reader is to read.
"""


def _rest(row: Row) -> Rest:
    is_declared = "declared" in row.values
    declared = row.object("declared" if is_declared else "parameters")
    return Rest(
        Origin(row.text("prompt"), row.text("asked"), declared),
        row.object("parameters") if is_declared else {},
        None if row.values.get("carried") is None else row.object("carried"),
        _members(row),
        row.list_of("suspicions", {str}, "a list of texts"),
    )


def _listed(row: Row, pair: Pair) -> Listed | None:
    """The list in which the document was shown; None where it was shown alone."""
    if row.values.get("list") is None:
        return None
    shown = row.list_of("list", {str}, "ids of documents")
    if pair.doc_id not in shown:
        raise row.wrong("list", f"be ids of documents, {pair.doc_id!r} among them")
    return Listed(shown, shown.index(pair.doc_id) + 1, row.values.get("alone") is True)


def _members(row: Row) -> dict[str, int | str | None]:
    members = row.object("members")
    if not all(v is None or v in FAILURES or type(v) is int for v in members.values()):
        raise row.wrong("members", "be an object of grades and statuses")
    return members


def carried_rows(path: Path) -> dict[Pair, JudgementRow]:
    """The grades of a set that were given to earlier cuts of documents; none without a file."""
    if not path.exists():
        return {}
    carried: dict[Pair, JudgementRow] = {}
    for block in judged_blocks(path):
        places = [at for at, rest in enumerate(block.rest) if rest.carried]
        rows = (block.row(at) for at in places if block.state[at].grade is not None)
        carried |= {row.judged.outcome.pair: row for row in rows}
    return carried


def _made_of(row: Row) -> MadeOf:
    parts = [row.list_of(name, {int, type(None)}, "grades") for name in ("votes", "passages")]
    return MadeOf(_distribution(row), *parts)


def _state(row: Row) -> State:
    """The grade or the status of a row; `BadInput` where they do not fit."""
    grade, status = row.values.get("grade"), row.values.get("status")
    if status == JUDGED and type(grade) is int and abs(grade) <= LARGEST_GRADE:
        return judged(grade)
    if isinstance(status, str) and status in FAILURES and grade is None:
        return State(None, status)
    statuses = ", ".join((JUDGED, *FAILURES))
    raise row.error(
        f"grade {grade!r:.40} with status {status!r:.40}; "
        f"an integer goes with {JUDGED!r} alone ({statuses})"
    )


def _distribution(row: Row) -> dict[int, float] | None:
    """The share of each grade; `None` where the row has none, or one of them is NaN."""
    shares = row.values.get("distribution")
    if not shares:
        return None
    if isinstance(shares, dict) and {int, float}.issuperset(map(type, shares.values())):
        with suppress(ValueError):
            if all(0 <= share <= 1 for share in shares.values()):
                return {int(grade): float(share) for grade, share in shares.items()}
            if any(map(math.isnan, shares.values())):
                return None
    raise row.wrong("distribution", "be an object of grade: share")


def origin_of(path: Path) -> Origin | None:
    """What made the judgements in a file; None where there is no file, or no row in it."""
    if not path.exists():
        return None
    return next((row.rest[0].origin for row in records(path, JudgedBlock.of)), None)


def grades_of(path: Path) -> Iterator[tuple[str, str, int]]:
    """The query, document and grade of each row that has one, in the file's order."""
    return ((*pair, of.grade) for pair, of in states_of(path) if of.grade is not None)


def states_of(path: Path) -> Iterator[tuple[Pair, State]]:
    """The pair of each row with its grade or status, in the file's order; none without a file."""
    for block in judged_blocks(path) if path.exists() else ():
        yield from zip(block.pairs(), block.state, strict=True)


def judged_lines(path: Path) -> Iterator[tuple[int, Pair, State, Rest]]:
    """The line, the pair and the state of each row, and what it holds beside."""
    for block in judged_blocks(path):
        yield from zip(block.line, block.pairs(), block.state, block.rest, strict=True)


class SetWriter:
    """Writes the lines of a file of judgements, and keeps the grades for its qrels."""

    out: TextIO

    def __init__(self, qrels: Path) -> None:
        self._digest = hashlib.blake2b()
        self._grades = GradesToSort(qrels)

    def add(self, line: str, outcome: Outcome, *, is_there: bool = True) -> None:
        """Write the line of a pair; its grade is in the qrels if query and document are there."""
        text = f"{line}\n"
        self.out.write(text)
        self._digest.update(text.encode())
        if is_there and isinstance(outcome, Judgement):
            self._grades.add(*outcome.pair, outcome.grade)

    def end(self, written: Path, qrels: Path) -> None:
        """Read back what was written, and write the qrels."""
        with written.open("rb") as raw:
            read = hashlib.file_digest(raw, hashlib.blake2b)
        if read.digest() != self._digest.digest():
            raise FileProblem(f"{written}: it does not read back as it was written")
        self._grades.write(qrels)


@contextmanager
def replacing_set(path: Path, qrels: Path) -> Iterator[SetWriter]:
    """A file of judgements that takes its place when the block ends well, and then its qrels do.

    Both are whole before either is replaced. The judgements come first: they say what made them,
    so that whoever is killed between the two goes on, while qrels alone are taken for somebody
    else's.
    """
    writer = SetWriter(qrels)
    with TemporaryDirectory(prefix="labeler-set-") as folder:
        made = Path(folder) / qrels.name
        with replacing(path, lambda written: writer.end(written, made)) as writer.out:
            yield writer
        with made.open("rb") as whole, replacing_bytes(qrels) as raw:
            copyfileobj(whole, raw)


# `repeats/NAME.N.jsonl`: the pairs of a set of judgements, asked about once more, and again.


def repeat_file(collection: Collection, name: str, time: int) -> Path:
    """The file of what the pairs of a set got when they were asked about once more, from 1."""
    return collection.repeats / f"{name}.{time}.jsonl"


def repeats_of(collection: Collection, name: str) -> list[Path]:
    """The files of a set's pairs that were asked about again, up to the first that is not there.

    Those that another prompt, model or parameters made are passed over.
    """
    path = collection.judgements(name)
    if not collection.repeats.is_dir() or not path.exists():
        return []
    made_by, files = origin_of(path), (repeat_file(collection, name, n) for n in count_from(1))
    return [file for file in takewhile(Path.exists, files) if origin_of(file) == made_by]
