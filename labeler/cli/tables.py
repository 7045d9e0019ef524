"""Tables in the formats that people paste: text, CSV, JSON Lines, LaTeX, Markdown."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from labeler.cli.screen import printable, table
from labeler.errors import LabelerError, Misuse
from labeler.files.atomic import replacing

FORMATS = ("table", "csv", "json", "jsonl", "latex", "markdown")

PAIRED = ("table", "markdown", "latex")
"""Formats for people, in which a value and its interval share a cell."""

PROSE = ("table", "markdown")
"""Formats for people, in which sentences may stand around a table."""

Cell = str | int | float | None
_MARKDOWN = re.compile(r"[\\|*`<]|(?<!\w)_|_(?!\w)")
"""What would be markup; an underscore within a word is not."""

_LATEX = str.maketrans(
    {c: "\\" + c for c in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
)


def check_format(name: str) -> str:
    """`name`, if it is a format."""
    if name not in FORMATS:
        raise Misuse(f"no format {name!r}; known: {', '.join(FORMATS)}")
    return name


def rendered(
    header: Sequence[str], rows: Sequence[Sequence[Cell]], form: str, left: int = 1
) -> str:
    """A table as text in one of `FORMATS`, with a newline at its end."""
    if form == "csv":
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([header, *rows])
        return out.getvalue()
    if form in ("json", "jsonl"):
        objects = [
            json.dumps(dict(zip(header, row, strict=True)), ensure_ascii=False) for row in rows
        ]
        return "".join(f"{o}\n" for o in objects) if form == "jsonl" else _array(objects)
    cells = [[_shown(cell) for cell in row] for row in rows]
    if form == "latex":
        return _latex(header, cells, left)
    if form == "markdown":
        return _markdown(header, cells, left)
    with redirect_stdout(io.StringIO()) as text:
        table(header, cells, left)
    return text.getvalue()


def _array(objects: Sequence[str]) -> str:
    return "[" + ",\n ".join(objects) + "]\n"


def _shown(cell: Cell) -> str:
    if cell is None:
        return "-"
    return f"{cell:z.4f}" if isinstance(cell, float) else " ".join(printable(str(cell)).split())


def _latex(header: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> str:
    columns = "l" * left + "r" * (len(header) - left)
    lines = [" & ".join(map(_latex_cell, row)) + r" \\" for row in [header, *rows]]
    body = "\n".join([lines[0], r"\midrule", *lines[1:]])
    return f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"


def _latex_cell(cell: str) -> str:
    """A cell's text; a bracket would be taken for the argument of the line end before it."""
    text = cell.translate(_LATEX)
    return f"{{}}{text}" if text.startswith("[") else text


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> str:
    rule = ["---" if i < left else "---:" for i in range(len(header))]
    lines = [[_MARKDOWN.sub(r"\\\g<0>", cell) for cell in row] for row in [header, *rows]]
    return "".join(f"| {' | '.join(row)} |\n" for row in [lines[0], rule, *lines[1:]])


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
