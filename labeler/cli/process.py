"""How a command's process begins and ends: its streams, its signals, and what it says of a bug."""

from __future__ import annotations

import codecs
import errno
import io
import os
import re
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from labeler import __version__
from labeler.cli.screen import complain, note
from labeler.errors import Misconfigured
from labeler.report.neutral import printable

if TYPE_CHECKING:
    from labeler.models.policies.call import StopSignal

UNREAD = 141
"""The exit code where a reader went away and all else is well, as of what a SIGPIPE ends."""
ESCAPED = "labeler-escaped"
"""The name of the error handler that writes `\\u2026`, which is also what JSON writes."""


def prepare_streams() -> _Output | None:
    """Put all three streams in order, for the process' life; the file behind standard output.

    There is none where that is a terminal.
    """
    codecs.register_error(ESCAPED, _escaped)
    _open_closed()
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for the process' life
    output = None if os.isatty(1) else _Output(1, "w", closefd=False)
    sys.stdout = _text(output, sys.stdout, is_line_buffered=False)
    sys.stderr = _text(
        None if os.isatty(2) else _Errors(2, "w", closefd=False), sys.stderr, is_line_buffered=True
    )
    return output


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


def ended(output: _Output | None, code: int) -> int:
    """The exit code of a command that would end with `code`, after all is written out.

    Raises `OSError`, with a file name, where that cannot be done.
    """
    sys.stdout.flush()
    return UNREAD if code == 0 and output and output.is_unread else code


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


Result = TypeVar("Result")


class Terminated(BaseException):
    """SIGTERM arrived; unwinds like Ctrl-C, so that files are left whole."""


def raise_signals() -> None:
    """Let Ctrl-C and SIGTERM raise where the work is, outside of `run_until_stopped`."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as in what runs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _terminate)


def end_by_signals() -> None:
    """Let them end the process without a word, once no work is under way."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    raise Terminated


STUCK_SECONDS = 5.0
"""How long the work may take to notice a signal, before it is ended where it is."""


def run_until_stopped(
    work: Callable[[StopSignal], Awaitable[Result]], stuck_after: float = STUCK_SECONDS
) -> Result:
    """Run `work`, which is given a signal that the first Ctrl-C or SIGTERM sets.

    The second cancels the work. Either way the exception of the first signal is raised in the end;
    where the event loop has not come round after so many seconds, it is raised where the work is.
    """
    import asyncio

    from labeler.models.policies.call import StopSignal

    arrived: list[int] = []

    async def main() -> Result:
        loop, task, stop = asyncio.get_running_loop(), asyncio.current_task(), StopSignal()

        def notice(is_first: bool) -> None:
            _set_alarm(0)
            stop.set()
            if is_first:
                note("finishing the calls under way; once more to stop now")
            elif task:
                task.cancel()

        def arrive(number: int, _frame: FrameType | None) -> None:
            arrived.append(number)
            _set_alarm(stuck_after)
            loop.call_soon_threadsafe(notice, len(arrived) == 1)

        with _handled(arrive, arrived):
            return await work(stop)

    try:
        result = asyncio.run(main())
    except (Exception, asyncio.CancelledError):
        if not arrived:
            raise
        raise _exception_of(arrived[0]) from None
    if arrived:  # too late for this work, which is done, but not for what would follow
        raise _exception_of(arrived[0])
    return result


@contextmanager
def _handled(
    arrive: Callable[[int, FrameType | None], None], arrived: Sequence[int]
) -> Iterator[None]:
    """Let `arrive` handle the signals, and an alarm raise the exception of the first of them."""

    def raise_first(_number: int, _frame: FrameType | None) -> None:
        raise _exception_of(arrived[0])

    handlers = {signal.SIGINT: arrive, signal.SIGTERM: arrive}
    if hasattr(signal, "SIGALRM"):  # not on Windows
        handlers[signal.SIGALRM] = raise_first
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        _set_alarm(0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _set_alarm(seconds: float) -> None:
    """Raise an alarm after so many seconds; 0 is never."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _exception_of(number: int) -> BaseException:
    return Terminated() if number == signal.SIGTERM else KeyboardInterrupt()


_SECRET = re.compile(r"(?i)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$")
_SHORTEST = 6
"""Characters of a secret; what is shorter would be found in any text."""


def report_bug(error: Exception, environment: Mapping[str, str] = os.environ) -> int:
    """Print an unexpected exception to stderr, without secrets, and return the exit code.

    The traceback comes first: the line that says what it is shall be the last on the screen.
    """
    if isinstance(error, MemoryError):
        complain("there is not enough memory for this; less at once may do")
        return 1
    if isinstance(error, ImportError) and not f"{error.name}.".startswith("labeler."):
        complain(f"{error}; is everything that labeler needs installed?")
        return Misconfigured.exit_code
    import traceback  # takes long to load

    shown = without_secrets("".join(traceback.format_exception(error)), environment)
    print(printable(shown.rstrip("\n")), file=sys.stderr)
    words = shown.splitlines()[-1]
    complain(
        f"this is a bug of labeler {__version__}; please report it with the lines above: {words}"
    )
    return 1


def without_secrets(text: str, environment: Mapping[str, str]) -> str:
    """The text, with the names of the environment's secrets in place of their values."""
    for name, value in environment.items():
        if _SECRET.search(name) and len(value) >= _SHORTEST:
            text = text.replace(value, f"[{name}]")
    return text
