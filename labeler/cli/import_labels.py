"""`labeler import-labels`: take a sheet that a person graded into a collection."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from labeler.cli.options import Folder
from labeler.cli.screen import note, say


def command(
    sheet: Annotated[Path, typer.Argument(help="The sheet, with grades in it.")],
    folder: Folder,
    *,
    name: Annotated[str, typer.Option("--as", help="What these labels are called.")],
    rater: Annotated[str, typer.Option(help="Who graded, where the sheet does not say.")] = "",
) -> None:
    """Check a graded sheet, and keep its grades as qrels of the collection."""
    from labeler.formats.collection import open_collection
    from labeler.sampling import import_sheet

    now = datetime.now(UTC).isoformat(timespec="seconds")
    found = import_sheet(open_collection(folder), sheet, name, rater, now)
    say(f"{name}: {found.graded} grades; {found.skipped} rows skipped")
    if found.missing:
        note(f"warning: {found.missing} rows of the sample are no longer in {sheet}")
    note(f"next: labeler agree {folder} {name} NAME")
