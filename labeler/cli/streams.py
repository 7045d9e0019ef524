"""The three standard streams as this tool wants them, whatever state they were inherited in.

A reader that goes away early (`| head`) took what it wanted: what is written after that is dropped,
and the command ends with the exit code that it would have ended with, or 141 where that was 0. A
character that a stream cannot show is written as JSON writes it. A closed stream is never reused
for a file that is opened later.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from dataclasses import dataclass
from typing import Any, TextIO

UNREAD = 141
"""The exit code where a reader went away and all else is well, as of what a SIGPIPE ends."""

ESCAPED = "labeler-escaped"
"""The name of the error handler that writes `\\u2026`, which is also what JSON writes."""


@dataclass(frozen=True)
class Streams:
    """The file that stands behind standard output, unless that is a terminal."""

    output: _Output | None

    def ended(self, code: int) -> int:
        """The exit code of a command that would end with `code`, after all is written out.

        Raises `OSError`, with a file name, where that cannot be done.
        """
        sys.stdout.flush()
        return UNREAD if code == 0 and self.output and self.output.is_unread else code


def prepare_streams() -> Streams:
    """Put all three streams in order, for the process' life."""
    codecs.register_error(ESCAPED, _escaped)
    _open_closed()
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for the process' life
    output = None if os.isatty(1) else _Output(1, "w", closefd=False)
    sys.stdout = _text(output, sys.stdout, is_line_buffered=False)
    sys.stderr = _text(
        None if os.isatty(2) else _Errors(2, "w", closefd=False), sys.stderr, is_line_buffered=True
    )
    return Streams(output)


class _Output(io.FileIO):
    """Standard output; what is written after its reader went away, or it failed, is dropped."""

    is_over = False
    is_unread = False

    def write(self, data: Any) -> int:  # what buffers write
        if self.is_over:
            return len(data)
        try:
            return super().write(data)
        except BrokenPipeError:
            self.is_over = self.is_unread = True
            return len(data)
        except OSError as error:
            self.is_over = True
            raise OSError(error.errno, error.strerror, "standard output") from error


class _Errors(io.FileIO):
    """Standard error; where it cannot be written, there is nobody to tell."""

    def write(self, data: Any) -> int:  # what buffers write
        try:
            return super().write(data)
        except OSError:
            return len(data)


def _open_closed() -> None:
    """Occupy what is closed of 0, 1 and 2, so that no file opened later gets its number.

    The wrong way round: reading from 0 and writing to 1 then say that they cannot be done.
    """
    for number, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError as error:
            if error.errno == errno.EBADF:
                os.open(os.devnull, mode)  # which gets the lowest number that is free


def _text(raw: io.FileIO | None, inherited: TextIO, *, is_line_buffered: bool) -> TextIO:
    """Text onto a file in an inherited stream's encoding; without a file, that stream itself."""
    if raw is None:
        if isinstance(inherited, io.TextIOWrapper):
            inherited.reconfigure(errors=ESCAPED)
        return inherited
    encoding = inherited.encoding if inherited is not None else "utf-8"
    is_line_buffered = is_line_buffered or getattr(inherited, "write_through", False)
    buffer = io.BufferedWriter(raw)
    return io.TextIOWrapper(buffer, encoding, ESCAPED, line_buffering=is_line_buffered)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Write what an encoding does not have as JSON would, two escapes beyond the first plane."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    pairs = zip(units[::2], units[1::2], strict=True)
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in pairs), error.end
