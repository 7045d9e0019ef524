"""How the command line speaks: results to stdout, everything else to stderr, nothing executed.

Texts come from documents and models, so no markup is read in them, and control characters, with
which a passage could drive the terminal, are shown as `\\x1b` rather than sent.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from labeler.messages import Advance
from labeler.report.neutral import flat, printable


def say(text: str = "") -> None:
    """Print a result."""
    print(printable(text))


def note(text: str) -> None:
    """Print progress, a warning or an explanation on one line, to stderr.

    On a terminal the line is broken between words.
    """
    shown = flat(text)
    if sys.stderr.isatty():
        from labeler.report.render import wrapped

        width = terminal_width()
        shown = wrapped(shown, width, indent="  ").ljust(width - 1)  # over one that is rewritten
    print(shown, file=sys.stderr, flush=True)


def rewrite(text: str) -> None:
    """Show a line on a terminal in place of the one that was shown so before; empty clears it."""
    print(f"{flat(text)[: terminal_width() - 1]}\x1b[K", end="\r", file=sys.stderr, flush=True)


def caution(what: object) -> None:
    """Print a warning, to stderr."""
    note(f"warning: {what}")


def complain(text: str) -> None:
    """Print an error, on one line, to stderr."""
    note(f"labeler: {text}")


def result_width() -> int | None:
    """How many columns a result may take: those of the terminal, or those that COLUMNS says.

    None, for any number, where a result goes elsewhere and COLUMNS says nothing.
    """
    if sys.stdout.isatty():
        return terminal_width()
    return _columns_said()


def terminal_width() -> int:
    """The columns of the terminal, or those that COLUMNS says; 80 where neither is known.

    The same as `shutil.get_terminal_size`, without what that module loads.
    """
    try:
        shown = sys.__stdout__.fileno() if sys.__stdout__ else -1
        return _columns_said() or os.get_terminal_size(shown).columns or USUAL_WIDTH
    except (ValueError, OSError):
        return USUAL_WIDTH


USUAL_WIDTH = 80


def _columns_said() -> int | None:
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isascii() and columns.isdigit() and int(columns[:9]) else None


@contextmanager
def progress(label: str) -> Iterator[Advance]:
    """A progress bar on stderr: on a terminal a live one until its step is done, else lines."""
    if not sys.stderr.isatty():
        yield plain_progress(label)
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import MofNCompleteColumn, Progress

    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    console = Console(stderr=True, highlight=False)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(escape(label), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


LINE_SECONDS = 30.0
"""After so long a line is due, however little was done meanwhile."""


def plain_progress(label: str, clock: Callable[[], float] = time.monotonic) -> Advance:
    """A line every 10 % or half a minute, with the time that is left if all goes on as it went.

    From the second second on: what is done at once needs no progress.
    """
    shown, started = -1, clock()
    last = started

    def advance(done: int, total: int) -> None:
        nonlocal shown, last
        tenth, now = 10 * done // total if total else 10, clock()
        if now - started > 1 and (tenth > shown or now - last >= LINE_SECONDS):
            shown, last = tenth, now
            left = round((now - started) * (total - done) / done) if 0 < done < total else 0
            note(f"{label}: {done}/{total}" + (f", {duration(left)} left" if left else ""))

    return advance


def duration(seconds: int) -> str:
    """A time in minutes and seconds, or in hours."""
    hours, rest = divmod(seconds, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


DAY = 86_400
LONG = 2
"""Days from which on a time is said in days."""


def how_long(seconds: float) -> str:
    """A time in minutes, hours or days."""
    days = seconds / DAY
    return f"{days:,.1f} days" if days >= LONG else duration(round(seconds))
