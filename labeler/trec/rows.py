"""The lines of TREC's files as columns, and what each column must be, with errors that name it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from labeler.errors import BadInput
from labeler.files.read import numbered_bytes

QRELS_COLUMNS = "query iteration document grade"
RUN_COLUMNS = "query Q0 document rank score tag"
BEIR_HEADER = [b"query-id", b"corpus-id", b"score"]
LARGEST_GRADE = 2**31 - 1
LONGEST_ID = 4096

_GRADE = re.compile(rb"([+-]?[0-9]{1,10})(?:\.0{0,10})?")
_SCORE = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def grade_of(path: Path, number: int, text: bytes) -> int:
    """A grade: an integer, perhaps written `2.0`, as columns with gaps have it."""
    match = _GRADE.fullmatch(text)
    if not match or abs(int(match[1])) > LARGEST_GRADE:
        raise BadInput.at(path, number, f"expected an integer grade, found {shown(text)}")
    return int(match[1])


def score_of(path: Path, number: int, text: bytes) -> float:
    """A score: a finite decimal number, read as a double."""
    score = float(text) if _SCORE.fullmatch(text) else math.nan
    if not math.isfinite(score):
        raise BadInput.at(path, number, f"expected a finite number as score, found {shown(text)}")
    return score


def shown(text: bytes) -> str:
    """A piece of a file as an error message quotes it."""
    return repr(text[:40].decode("utf-8", "replace"))


def rows(
    path: Path,
    names: str,
    lines: Iterable[tuple[int, bytes]] | None = None,
    *,
    more: bool = False,
) -> Iterator[tuple[int, list[bytes]]]:
    """The columns of every line that is neither blank nor a comment, with its number.

    `lines` are some of the file's, where they have been read already; `more` allows more columns.
    """
    width = len(names.split())
    number = count = 0
    for number, line in numbered_bytes(path) if lines is None else lines:
        columns = (line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line).split()
        if not columns or columns[0].startswith(b"#"):
            continue
        problem = ""
        if b"\0" in line:
            problem = "a NUL byte; is this a binary file?"
        elif len(columns) != width and not (more and len(columns) > width):
            problem = f"expected {width} columns ({names}), found {len(columns)}"
        if problem:
            raise BadInput.at(path, number, problem + _hint(columns))
        count += 1
        yield number, columns
    if not count and lines is None:
        raise BadInput.at(path, max(number, 1), f"no line in it; expected {names}")


def _hint(columns: list[bytes]) -> str:
    """What a file of another format may be, and what would make it one of this."""
    if columns == BEIR_HEADER:
        return "; these are BEIR's three, with a header"
    kinds = {len(QRELS_COLUMNS.split()): "are these qrels?", len(RUN_COLUMNS.split()): "a run?"}
    return f"; {kinds[len(columns)]}" if len(columns) in kinds else ""


def texts(path: Path, number: int, *columns: bytes) -> list[str]:
    """Ids as text; `BadInput` where one is not UTF-8 or too long to be one."""
    if (length := max(map(len, columns))) > LONGEST_ID:
        raise BadInput.at(path, number, too_long(length))
    try:
        return [column.decode("utf-8") for column in columns]
    except UnicodeDecodeError as error:
        raise BadInput.at(
            path, number, f"an id that is not UTF-8: {shown(error.object)}"
        ) from error


def too_long(length: int) -> str:
    """What is wrong with an id of so many bytes."""
    return f"an id of {length:,} bytes; expected at most {LONGEST_ID:,}"
