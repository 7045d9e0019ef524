"""Tables in the formats that people paste: text, CSV, JSON Lines, LaTeX, Markdown."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from labeler.cli.screen import plain_table
from labeler.errors import LabelerError, Misuse
from labeler.files.atomic import replacing
from labeler.report.render import FORMS, form_named, render
from labeler.report.table import Cell

PAIRED = tuple(name for name, form in FORMS.items() if form.for_people)
"""Formats for people, in which a value and its interval share a cell."""

PROSE = tuple(name for name, form in FORMS.items() if form.of_prose)
"""Formats for people, in which sentences may stand around a table."""


def check_format(name: str) -> str:
    """`name`, if it is a format."""
    form_named(name)
    return name


def rendered(
    header: Sequence[str], rows: Sequence[Sequence[Cell]], form: str, left: int = 1
) -> str:
    """A table as text in one of `FORMATS`, with a newline at its end."""
    return render(plain_table(header, rows, left), form)


@contextmanager
def lines_to(path: Path | None) -> Iterator[Callable[[str], None]]:
    """Lines for a file, where there is one; it stays when the block ends with an error too."""
    if path is None:
        yield lambda _line: None
        return
    failed: list[LabelerError] = []
    with replacing(path) as out:
        try:
            yield lambda line: print(line, file=out)
        except LabelerError as error:
            failed.append(error)
    if failed:
        raise failed[0]


def refuse_overwriting(output: Path | None, inputs: Sequence[Path]) -> None:
    """`Misuse` where a result would take the place of what it is made from."""
    if output is not None and output.exists():
        for path in inputs:
            if path.exists() and path.samefile(output):
                raise Misuse(f"-o {output} is one of the inputs; name another file")


def deliver_counts(
    found: Sequence[object],
    rows: tuple[Sequence[str], Sequence[Sequence[Cell]]],
    form: str,
    output: Path | None,
) -> None:
    """What was counted of each of some files: JSON, of one file without a list, or a table."""
    if form == "json":
        deliver(json.dumps(found[0] if len(found) == 1 else found, indent=1) + "\n", output)
    else:
        deliver(rendered(*rows, form), output)


def deliver(text: str, output: Path | None) -> None:
    """Write a result to a file, whole or not at all, or to stdout."""
    if output is None:
        sys.stdout.write(text)
        return
    with replacing(output) as out:
        out.write(text)
