"""Whatever a reader raises is one line that names the file; a bug of ours stays a bug."""

import csv
import gzip
import json
import sqlite3
import sys
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Iterator
from xml.etree import ElementTree

import pytest
from every_row import every_row
from pydantic import BaseModel

from labeler.errors import BadInput, FileProblem, Misuse
from labeler.files.boundary import Position, reading

TOML_IN_F = "f:1: " if sys.version_info >= (3, 14) else "f: "
"""From Python 3.14 on, the reader of TOML says in which line."""


class Priced(BaseModel):
    price: float


def raises(error: Exception) -> None:
    raise error


OF_A_FILE: tuple[tuple[Callable[[], object], str], ...] = (
    (b"a\nb\xe9".decode, "f:2: not UTF-8 (byte 0xe9); save the file as UTF-8"),
    ("\ud800".encode, "f: half a surrogate pair (\\ud800 …) in a text"),
    (lambda: json.loads("[" * 10**5), "f: nested too deeply to be read"),
    (lambda: json.loads('{"a":\n 1,,}'), "f:2: Expecting property name"),
    (lambda: int("9" * 5000), "f: a number of too many digits"),
    (lambda: float(10**400), "f: a number that is too large"),
    (lambda: {"a": 1}["row"], "f: nothing is called 'row'"),
    (lambda: raises(IndexError("list index out of range")), "f: list index out of range"),
    (lambda: len(3), "f: a value of another type than expected (object of type 'int'"),
    (lambda: raises(AttributeError("no items")), "f: a value of another type than expected ("),
    (lambda: tomllib.loads("a = ["), TOML_IN_F),
    (lambda: Priced.model_validate({"price": "dear"}), "f: price: Input should be a valid number"),
    (lambda: ElementTree.fromstring("<a>\n<b></a>"), "f:2: mismatched tag"),
    (lambda: list(csv.reader(["'a\0\n\"b"], strict=True)), "f: "),
    (lambda: raises(sqlite3.DatabaseError("malformed")), "f: malformed"),
    (lambda: raises(zipfile.BadZipFile("no zip")), "f: no zip"),
    (lambda: raises(NotImplementedError("compression 99")), "f: compression 99"),
    (lambda: raises(RuntimeError("file is encrypted")), "f: file is encrypted"),
    (lambda: gzip.decompress(b"\x1f\x8b\x08\0"), "f: damaged gzip file ("),
    (lambda: zlib.decompress(b"junk"), "f: damaged gzip file ("),
    (lambda: raises(OSError("thrift ended early")), "f: thrift ended early"),
    (lambda: raises(MemoryError()), "f: needs more memory than there is"),
    (lambda: raises(ValueError("two\nlines " + "x" * 5000)), "f: two lines xxx"),
    (lambda: raises(ZeroDivisionError()), "f: ZeroDivisionError"),
)


@every_row(("read", "message"), OF_A_FILE)
def test_what_a_file_makes_its_reader_raise_is_one_short_line(
    read: Callable[[], object], message: str
) -> None:
    with pytest.raises(BadInput) as caught, reading("f"):
        read()
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize(
    "error",
    [
        BadInput("ours"),
        FileProblem("ours"),
        Misuse("ours"),
        FileNotFoundError(2, "No such file", "f"),
        NameError("a bug"),
        AssertionError(),
        ImportError("pyarrow"),
        KeyboardInterrupt(),
    ],
)
def test_what_is_ours_or_the_systems_stays_as_it_is(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught, reading("f"):
        raise error
    assert caught.value is error


def test_the_error_names_the_line_that_was_read() -> None:
    def read() -> Iterator[int]:
        with reading("f") as position:
            for _, cell in position.follow([(1, "5"), (4, "x")]):
                yield int(cell)

    with pytest.raises(BadInput, match=r"^f:4: invalid literal"):
        list(read())


def test_a_bug_of_whoever_takes_the_rows_is_not_blamed_on_the_file() -> None:
    def read() -> Iterator[int]:
        with reading("f"):
            yield from (1, 0)

    with pytest.raises(ZeroDivisionError):
        [1 // row for row in read()]


def test_an_error_of_no_line_names_the_file_alone() -> None:
    assert str(Position("f").error("empty")) == "f: empty"
