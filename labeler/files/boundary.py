"""Whatever the reader of a file raises becomes one line that names the file, and the line in it."""

from __future__ import annotations

import lzma
import math
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from gzip import BadGzipFile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from labeler.errors import BadInput, BadRow, LabelerError, Misconfigured

if TYPE_CHECKING:
    from pydantic import ValidationError

Row = TypeVar("Row")

_NEVER_OF_A_FILE = (AssertionError, ImportError, NameError)
"""What no content of a file can raise: a bug of ours."""

_LONGEST = 200


@dataclass(slots=True)
class Position:
    """The file that a reader reads, and the line that it is at; 0 where it knows none."""

    path: Path | str
    line: int = 0

    def follow(self, rows: Iterable[tuple[int, Row]]) -> Iterator[tuple[int, Row]]:
        """The numbered rows of the file as they are, each noted as the line that is read."""
        for number, row in rows:
            self.line = number
            yield number, row

    def error(self, problem: str, parameter: str = "") -> BadInput:
        """The error of the line that is read; of the file where no line is known."""
        line = f":{self.line}" if self.line else ""
        return BadInput(f"{self.path}{line}: {problem}", parameter=parameter)


@contextmanager
def reading(path: Path | str) -> Iterator[Position]:
    """Turn every exception that a file's content causes into one `BadInput`.

    It stands around reading alone: an error of other code would be blamed on the file. Errors of
    the system stay as they are, and so do those that are ours already. In a generator it does not
    see what the consumer of the rows raises.

    >>> with reading("notes.jsonl") as position:
    ...     for _number, row in position.follow([(1, {"n": 3}), (2, {})]):
    ...         row["n"]
    Traceback (most recent call last):
        ...
    labeler.errors.BadInput: notes.jsonl:2: nothing is called 'n'
    """
    position = Position(path)
    try:
        yield position
    except BadRow as error:
        raise position.error(str(error), error.parameter) from error
    except (LabelerError, *_NEVER_OF_A_FILE):
        raise
    except Exception as error:  # readers raise errors of every kind, their parsers' own too
        if isinstance(error, OSError) and error.errno is not None:
            raise
        position.line = position.line or line_of(error)
        raise position.error(problem_of(error)) from error


@contextmanager
def needing(message: str) -> Iterator[None]:
    """`Misconfigured` says so where what the block imports is not installed."""
    try:
        yield
    except ImportError as error:
        raise Misconfigured(message) from error


def problem_of(error: Exception) -> str:
    """What an exception says is wrong with what was read, in words that fit one line."""
    for kinds, words in _PROBLEMS:
        if isinstance(error, kinds):
            return words.format(text=_short(str(error)))
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 (byte 0x{error.object[error.start]:02x}); save the file as UTF-8"
    return _of_the_parser(error)


def first_invalid(error: ValidationError, whole: str = "") -> str:
    """The first of the values that pydantic refuses, and why; `whole` names what holds them."""
    problem = error.errors()[0]
    name = ".".join(map(str, problem["loc"])) or whole
    return f"{name}: {problem['msg']}" if name else problem["msg"]


DAMAGED = (EOFError, BadGzipFile, zlib.error, lzma.LZMAError)
"""What unpacking a damaged file raises."""

_PROBLEMS = (
    (UnicodeEncodeError, "half a surrogate pair (\\ud800 …) in a text"),
    (RecursionError, "nested too deeply to be read"),
    (MemoryError, "needs more memory than there is"),
    (OverflowError, "a number that is too large"),
    (KeyError, "nothing is called {text}"),
    (lzma.LZMAError, "damaged xz file ({text})"),
    (DAMAGED, "damaged gzip file ({text})"),
    ((AttributeError, TypeError), "a value of another type than expected ({text})"),
)


def _of_the_parser(error: Exception) -> str:
    """What a parser's own exception says; of pydantic's, the first of its problems."""
    if "integer string conversion" in str(error):
        return "a number of too many digits"
    refused: Any = error
    text = first_invalid(refused) if hasattr(error, "errors") else str(error)
    return _short(text) or type(error).__name__


def _short(text: str) -> str:
    """A text on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def line_of(error: Exception) -> int:
    """The line that an exception knows of what was read at once; 0 where it knows none."""
    if isinstance(error, UnicodeDecodeError):
        return error.object.count(b"\n", 0, error.start) + 1
    line = getattr(error, "lineno", None)
    if line is None:
        line, _ = getattr(error, "position", None) or (0, 0)  # of XML's parser
    return line if isinstance(line, int) else 0


# Numbers that come from outside: from a server, a store, a file, or a model of somebody's own.
#
# Each function takes any value at all, and gives a number that can be added up, stored and written
# as JSON, or None: for NaN, infinities, numbers of hundreds of digits, true and false, texts,
# lists.

LARGEST_COUNT = 10**12 - 1
"""Tokens or calls: more than any one call takes, and few enough that sums fit into 64 bits."""

LARGEST_AMOUNT = 1e12
"""Dollars or seconds."""

LEAST_LOG_PROBABILITY = -9999.0
"""What some servers give in place of minus infinity."""

ROUNDING = 0.01
"""How far above 0 a log probability may lie that was computed with few bits."""

_DIGITS = re.compile(r"[0-9]{1,12}")


def finite(value: object, least: float, most: float) -> float | None:
    """A number from `least` to `most`; never -0.0, which not every file gives back."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) + 0.0 if least <= value <= most else None  # NaN compares as false


def count(value: object) -> int | None:
    """A whole number from 0, as servers write it: `100`, `100.0` or `"100"`."""
    if isinstance(value, str):
        return int(value) if _DIGITS.fullmatch(value) else None
    number = finite(value, 0, LARGEST_COUNT)
    return int(number) if number is not None and number.is_integer() else None


def amount(value: object) -> float | None:
    """A number of dollars or seconds, from 0."""
    return finite(value, 0, LARGEST_AMOUNT)


def log_probability(value: object) -> float | None:
    """A log probability, at most 0; minus infinity, that of what cannot be, is a very low one."""
    if isinstance(value, float) and value == -math.inf:
        return LEAST_LOG_PROBABILITY
    number = finite(value, -LARGEST_AMOUNT, ROUNDING)
    return None if number is None else min(0.0, max(LEAST_LOG_PROBABILITY, number))
