"""JSON Lines: one object a row, read strictly and written whole or not at all."""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, ValuesView
from functools import cache
from pathlib import Path
from typing import Any, cast

from labeler.data import Document, Documents
from labeler.errors import BadInput, refuse
from labeler.files.atomic import Check, replacing
from labeler.files.boundary import problem_of
from labeler.files.read import decoded_line, numbered_bytes, refuse_other_encodings
from labeler.messages import tell

JsonObject = dict[str, Any]
"""An object of JSON, or a row of a table: its values by name."""

RowValues = Mapping[str, Any]
"""The same, to be read alone."""

NumberedRow = tuple[int, JsonObject]
"""A row with its line in a file, or its number."""


def read_rows(path: Path, bad: Callable[[BadInput], None] = refuse) -> Iterator[NumberedRow]:
    """The objects of a file with their line numbers; blank lines are skipped.

    Raises `BadInput` at a line that is no JSON object, names a key twice or holds half a surrogate
    pair, which no UTF-8 file could keep; or tells `bad` of it and goes on.
    """
    for number, raw in numbered_bytes(path):
        try:
            row = row_of_line(path, number, raw)
        except BadInput as error:
            bad(error)
            continue
        if row is not None:
            yield number, row


def row_of_line(path: Path, number: int, raw: bytes) -> JsonObject | None:
    """The object in one line as `read_rows` gives it; None of a blank line."""
    row = _plain_row(raw)
    return _strict_row(path, number, raw) if row is None else row


@cache
def _parser() -> Callable[[bytes], Any]:
    from pydantic_core import from_json  # takes long to load

    return from_json


def _plain_row(raw: bytes) -> JsonObject | None:
    """The object in a line; `None` where the line holds none, or may name a key twice.

    Of a key that stands there twice pydantic's parser keeps the last, which the number of members
    tells: the colon of each stands after a quote or after white space, and so may others in texts.
    A row takes 3 to 4 µs so, and 7 by Python's own parser with a hook that sees every pair.
    """
    try:
        row = _parser()(raw)
    except ValueError:
        return None
    if type(row) is not dict:
        return None
    members = _members(row)
    if raw.count(b":") == members or sum(map(raw.count, _COLONS)) == members:
        return row
    return None


_COLONS = (b'":', b" :", b"\t:", b"\r:")


def _members(value: Any) -> int:
    """How many members all objects in an object or an array have together."""
    count, inner = (len(value), value.values()) if type(value) is dict else (0, value)
    for item in inner:
        if type(item) in _CONTAINERS:
            count += _members(item)
    return count


_CONTAINERS = frozenset((dict, list))


def _strict_row(path: Path, number: int, raw: bytes) -> JsonObject | None:
    """The object in one line, as Python's own parser has it; `BadInput` says what is wrong.

    None of a blank line.
    """
    if b"\0" in raw:
        refuse_other_encodings(path, raw)
    line = decoded_line(path, number, raw).removesuffix("\r")
    if not line.strip():
        return None
    try:
        row = STRICT.decode(line)
        line.encode("utf-8") if "\\u" not in line else json.dumps(row, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        json_problem = "" if isinstance(error, UnicodeEncodeError) else "not JSON: "
        raise BadInput.at(path, number, f"{json_problem}{problem_of(error)}") from error
    if not isinstance(row, dict):
        raise BadInput.at(path, number, f"expected a JSON object, found {line.strip()[:40]}")
    return row


def unique_members(pairs: list[tuple[str, Any]]) -> JsonObject:
    """The members of an object; `ValueError` of one that names a key twice."""
    row = dict(pairs)
    if len(row) < len(pairs):
        times = Counter(name for name, _ in pairs)
        twice = next(name for name in times if times[name] > 1)
        raise ValueError(f"the key {twice!r} stands there twice in one object")
    return row


STRICT = json.JSONDecoder(object_pairs_hook=unique_members)
"""Refuses an object that names a key twice."""


def write_rows(path: Path, rows: Iterable[RowValues], check: Check | None = None) -> None:
    """Write one row a line, UTF-8, keys in the order given; `check` reads the file back."""
    with replacing(path, check) as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


def identifier(path: Path, number: int, row: RowValues, key: str) -> str:
    """The id under `key`, as a string; an integer is taken as its digits.

    White space in it is escaped. Raises `BadInput` where it is missing, empty or of another type.
    """
    value = row.get(key)
    if type(value) is int:
        return str(value)
    text = text_of(path, number, row, key, None)
    if not text.strip() or "\0" in text:
        raise BadInput.at(
            path, number, f"the id {text!r:.80} is nothing but white space, or holds a NUL"
        )
    return kept_id(text, path)


# Ids with white space, at which a column of a TREC file ends.

_SPACES = re.compile(r"\s")
_PICTURES = re.compile("\u241b(?:([0-9a-f]+)\u241b|(#))|([\u2400-\u2420])")
_ESCAPED = "white space in ids is kept as \u2420, since a column of a TREC file ends there"


def kept_id(text: str, source: Path | str) -> str:
    """An id as it is kept everywhere: each white space as the picture of it, `SKU\u242012`.

    It is told of the source. What is escaped already stays as it is; `plain_id` takes it back.
    """
    if _SPACES.search(text) is None:
        return text
    tell(source, _ESCAPED)
    return _SPACES.sub(_picture, text)


def _picture(space: re.Match[str]) -> str:
    code = ord(space[0])
    return chr(0x2400 + code) if code <= 0x20 else f"\u241b{code:x}\u241b"


def plain_id(text: str) -> str:
    """An id as its own system has it.

    >>> plain_id(kept_id("SKU 12", "a.csv"))
    'SKU 12'
    """
    return _PICTURES.sub(_plain, text)


def _plain(picture: re.Match[str]) -> str:
    if picture[1]:
        return chr(int(picture[1], 16))
    return picture[2] or chr(ord(picture[3]) - 0x2400)


def text_of(path: Path, number: int, row: RowValues, key: str, default: str | None) -> str:
    """The text under `key`; `default` where it is missing or null, `None` for a required one."""
    value = row.get(key)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise BadInput.at(path, number, f"expected {key!r} to be a string, found {value!r:.80}")
    return value


# Rows by their keys, without the keys: ids of ten million passages in a quarter of a gigabyte.

_FEWEST = 1 << 10
_FULL = 2 / 3
"""Where more of the table is taken, it is doubled: a key is then found in two steps on average."""


class RowIndex:
    """The row of each key, counted from 0 in the order in which the keys came.

    Two hashes of 64 bits stand for a key, some 25 bytes where a dict of strings takes 150. So two
    keys are the same where these 128 bits are: among 10^7 different keys, once in 10^24 times. The
    keys that came last can be forgotten.
    """

    __slots__ = ("_first", "_second", "_table")

    def __init__(self) -> None:
        self._first = array("q")
        self._second = array("q")
        self._table = array("I", bytes(4 * _FEWEST))

    def __len__(self) -> int:
        return len(self._first)

    def add(self, key: str) -> int:
        """The row of a key, which is a new one where the key is new."""
        slot = self._slot(key)
        if self._table[slot]:
            return self._table[slot] - 1
        row = len(self._first)
        self._first.append(hash(key))
        self._second.append(hash(f"{key}\0"))
        self._table[slot] = row + 1
        if len(self._first) > _FULL * len(self._table):
            self._double()
        return row

    def find(self, key: str) -> int | None:
        """The row of a key; None where there is no such key."""
        number = self._table[self._slot(key)]
        return number - 1 if number else None

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._table[self._slot(key)] > 0

    def go_back(self, count: int) -> None:
        """Forget all keys but the first `count`.

        A key is put behind earlier ones of its hash. So the last one leaves no gap before another.
        """
        mask = len(self._table) - 1
        for row in range(len(self._first) - 1, count - 1, -1):
            slot = self._first[row] & mask
            while self._table[slot] != row + 1:
                slot = slot + 1 & mask
            self._table[slot] = 0
        del self._first[count:], self._second[count:]

    def _slot(self, key: str) -> int:
        """Where the table holds a key's row, or has room for it."""
        table, first = self._table, self._first
        value = hash(key)
        mask = len(table) - 1
        slot = value & mask
        while number := table[slot]:
            if first[number - 1] == value and self._second[number - 1] == hash(f"{key}\0"):
                break
            slot = slot + 1 & mask
        return slot

    def _double(self) -> None:
        table = array("I", bytes(8 * len(self._table)))
        mask = len(table) - 1
        for number, value in enumerate(self._first, start=1):
            slot = value & mask
            while table[slot]:
                slot = slot + 1 & mask
            table[slot] = number
        self._table = table


class DocumentsByRow(Documents):
    """Documents by id, each read when it is asked for; `rows` are those of the ids."""

    rows: RowIndex

    @abstractmethod
    def document(self, row: int) -> Document:
        """The document of a row, from 0."""

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, doc_id: object) -> bool:
        return doc_id in self.rows

    def __getitem__(self, doc_id: str) -> Document:
        row = self.rows.find(doc_id)
        if row is None:
            raise KeyError(doc_id)
        return self.document(row)

    def __iter__(self) -> Iterator[str]:
        return (document.id for document in self.values())

    def values(self) -> ValuesView[Document]:
        """The documents in the order in which they came, each read once."""
        return _InOrder(self)


class _InOrder(ValuesView[Document]):
    """Documents in their order."""

    def __iter__(self) -> Iterator[Document]:
        by_row: DocumentsByRow = cast("Any", self)._mapping
        return map(by_row.document, range(len(by_row)))
