"""Where results go: to stdout or a file, whole or not at all; and how findings are worded here."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from labeler.cli.options import OPTIONS, Destination
from labeler.cli.screen import caution, note, result_width, say
from labeler.messages import Note

if TYPE_CHECKING:  # every command imports this module, and most print no table
    from labeler.collection.user_files import Output
    from labeler.report.finding import Finding, Setting
    from labeler.report.result import Result
    from labeler.report.table import Table


Shown = TypeVar("Shown", bound="Result")

ON_SCREEN = Destination()


def name_unread_runs(*sources: Path | str) -> None:
    """Warn of files among the runs of folders whose names do not say that they are runs."""
    for folder in filter(Path.is_dir, map(Path, sources)):
        from labeler.collection.user_files import unread_in

        if unread := unread_in(folder):
            names = ", ".join(str(path) for path in unread[:_NAMED])
            more = f" and {len(unread) - _NAMED} more" if len(unread) > _NAMED else ""
            caution(f"not read as runs: {names}{more}; runs are called .trec, .run or .txt")


_NAMED = 3


def show(parts: Iterable[Table | str], to: Destination = ON_SCREEN) -> None:
    """Write tables and sentences; programs get the first table alone.

    On a terminal the text form is as wide as that.
    """
    from labeler.report.render import FORMS, rendered_all
    from labeler.report.table import Table

    form = FORMS[to.form]
    if not form.for_people:
        table = next(part for part in parts if isinstance(part, Table))
        if form.in_bytes and to.file:
            to.file.write(form.in_bytes(table))
            return
        parts = [table]
    deliver(rendered_all(parts, to.form, result_width() if to.file is None else None), to.file)


def show_result(
    result: Shown,
    to: Destination = ON_SCREEN,
    in_words: Callable[[Shown], None] | None = None,
    parts: Sequence[Table | str] | None = None,
) -> None:
    """Write what a library function returned: its figures, or for people sentences and tables.

    With `in_words` people get what that says, with `parts` these. Findings go to stderr in any
    form.
    """
    if to.form == "json":
        show_json(result.as_json(), to)
    elif in_words and to.form == "table":
        with said_to(to):
            in_words(result)
    else:
        show(parts or ["\n".join(result.sentences), *result.tables()], to)
    warn(result.findings)


def deliver_rows(rows: Iterable[Mapping[str, Any]], output: Output | None) -> None:
    """Write rows as JSON lines, as files of a collection have them."""
    deliver("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), output)


def show_json(value: object, to: Destination, indent: int = 1) -> None:
    """Write a value as JSON."""
    from labeler.report.neutral import json_text

    deliver(json_text(value, indent) + "\n", to.file)


def show_records(records: Sequence[Mapping[str, Any]], to: Destination) -> None:
    """Write records: JSON, without a list of one; or a table, with what is no scalar as JSON."""
    if to.form == "json":
        show_json(records[0] if len(records) == 1 else records, to)
        return
    from labeler.report.neutral import json_text
    from labeler.report.table import Column, Table

    columns = [Column(name, align="left") for name in records[0]]
    rows = [
        [v if isinstance(v, str | int | float | None) else json_text(v) for v in record.values()]
        for record in records
    ]
    show([Table("records", columns, rows)], to)


@contextmanager
def said_to(to: Destination) -> Iterator[None]:
    """Let what the block says go to a file, where there is one; nothing where it raises."""
    if to.file is None:
        yield
        return
    with redirect_stdout(io.StringIO()) as text:
        yield
    deliver(text.getvalue(), to.file)


def show_counts(
    counts: Iterable[Mapping[str, Any]],
    as_table: Callable[[Sequence[Mapping[str, Any]]], Table],
    to: Destination,
    in_words: Callable[[Mapping[str, Any]], str] | None = None,
) -> None:
    """Write what was counted of some files: JSON, without a list of one file, or a table.

    With `in_words` people get a line for each file in place of the table, as soon as it is read.
    """
    if in_words and to.form == "table":
        with said_to(to):
            for row in counts:
                say(in_words(row))
        return
    held = list(counts)
    if to.form == "json":
        show_records(held, to)
    else:
        show([as_table(held)], to)


def deliver(text: str, output: Output | None) -> None:
    """Write a result to a file, whole or not at all, or to stdout."""
    if output is not None:
        output.write(text)
        return
    sys.stdout.write(text)
    sys.stdout.flush()  # before what is said of it on stderr


def warn(
    findings: Iterable[Finding | str],
    options: Mapping[str, str] | None = None,
) -> None:
    """Print findings to stderr, with the options of the command in place of parameters.

    Those of one kind, one for each run, are one line.
    `options` are those of parameters that are no option of the same name.
    """
    from labeler.report.finding import merged

    spelled = {**OPTIONS.get(), **(options or {})}

    def worded(setting: Setting) -> str:
        option = spelled.get(setting.parameter)
        return setting.as_option(option) if option else str(setting)

    for finding in merged(findings):
        (caution if finding.level == "warning" else note)(finding.worded(worded))


@contextmanager
def lines_to(output: Output | None) -> Iterator[Note]:
    """Lines for a file, where there is one; it stays when the block ends with an error."""
    lines: list[str] = []
    if output is not None:
        output.check()
    try:
        yield lines.append
    finally:
        if output is not None:
            output.write("".join(f"{line}\n" for line in lines))
