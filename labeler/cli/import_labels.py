"""`labeler import-labels`: take a sheet that a person graded into a collection."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from labeler.cli.options import Folder
from labeler.cli.screen import caution, note, say


def command(
    sheet: Annotated[Path, typer.Argument(help="The sheet, with grades in it.")],
    folder: Folder,
    *,
    name: Annotated[str, typer.Option("--as", help="The name of the qrels.")],
    assessor: Annotated[str, typer.Option(help="Who graded, where the sheet does not say.")] = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Take this sheet's grade where there is another one.")
    ] = False,
) -> None:
    """Check a graded sheet, and keep its grades as qrels of the collection."""
    from labeler.collection.layout import open_collection
    from labeler.errors import Misuse
    from labeler.people.import_labels import ImportOptions, import_sheet

    if sheet.is_dir():
        problem = f"{sheet} is a folder: the sheet comes first"
        raise Misuse(f"{problem}, as in: labeler import-labels SHEET.csv {sheet} --as {name}")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    collection = open_collection(folder)
    counts = import_sheet(collection, sheet, ImportOptions(name, assessor, now, replace), caution)
    say(f"{name}: {_count(counts.graded, 'grade')}; {_count(counts.skipped, 'row')} skipped")
    if counts.missing:
        missing = f"{_count(counts.missing, 'row')} of the sample"
        caution(f"{missing} {'is' if counts.missing == 1 else 'are'} no longer in {sheet}")
    qrels_names = [stem for stem in collection.qrels_names() if stem != name] or ["NAME"]
    note(f"next: labeler agree {folder} {name} {qrels_names[-1]}")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
