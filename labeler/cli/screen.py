"""How the command line speaks: results to stdout, everything else to stderr, nothing executed.

Texts come from documents and models, so no markup is read in them, and control characters, with
which a passage could drive the terminal, are shown as `\\x1b` rather than sent.
"""

from __future__ import annotations

import sys
import time
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console


def printable(text: str) -> str:
    """`text` with its control and format characters written out, line breaks and tabs kept."""
    return "".join(
        c if c in "\n\t" or unicodedata.category(c) not in _UNSAFE else _spelled(c) for c in text
    )


_UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def _spelled(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def one_line(text: str, width: int) -> str:
    """`text` on one line of at most `width` characters, cut with an ellipsis."""
    flat = " ".join(printable(text).split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"


def say(text: str = "") -> None:
    """Print a result."""
    print(printable(text))


def note(text: str) -> None:
    """Print progress, a warning or an explanation, to stderr."""
    print(printable(text), file=sys.stderr, flush=True)


def complain(text: str) -> None:
    """Print an error, on one line, to stderr."""
    note("labeler: " + " ".join(text.split("\n")))


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> None:
    """Print aligned columns, the first `left` of them flush left, the others flush right."""
    cells = [list(header), *([printable(cell) for cell in row] for row in rows)]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (
            cell + " " * (width - _width(cell)) if i < left else " " * (width - _width(cell)) + cell
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join(padded).rstrip())


def _width(text: str) -> int:
    """Terminal columns: two for a wide character, none for a combining one."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


class Advance(Protocol):
    """Tell a progress bar how many of how many are done."""

    def __call__(self, done: int, total: int) -> None:
        """Set the bar."""


@contextmanager
def progress(label: str) -> Iterator[Advance]:
    """A progress bar on stderr: a live one on a terminal, a line every 10 % elsewhere."""
    if not sys.stderr.isatty():
        yield _plain_progress(label)
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=_stderr()) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _plain_progress(label: str) -> Advance:
    """A line every 10 %, from the second second on: what is done at once needs no progress."""
    shown, started = -1, time.monotonic()

    def advance(done: int, total: int) -> None:
        nonlocal shown
        tenth = 10 * done // total if total else 10
        if tenth > shown and time.monotonic() - started > 1:
            shown = tenth
            note(f"{label}: {done}/{total}")

    return advance


def _stderr() -> Console:
    from rich.console import Console

    return Console(stderr=True, markup=False, highlight=False)
