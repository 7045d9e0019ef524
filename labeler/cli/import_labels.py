"""`labeler people import`: take a sheet that a person graded into a collection."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labeler.cli.options import Folder, OutputFlags
from labeler.cli.reporting import show_outcome
from labeler.cli.screen import caution, note, say
from labeler.messages import count_of
from labeler.options import REQUIRED, option

if TYPE_CHECKING:
    from labeler.collection.layout import Collection
    from labeler.people.import_labels import ImportCounts


def command(
    sheet: Annotated[Path, typer.Argument(help="The sheet, with grades in it.")],
    folder: Folder,
    *,
    name: str = option(REQUIRED, "The name of the qrels.", flags="--as"),
    assessor: str = option("", "Who graded, where the sheet does not say."),
    replace: bool = option(False, "Take this sheet's grade where there is another one."),
    output: OutputFlags,
) -> None:
    """Check a graded sheet, and keep its grades as qrels of the collection."""
    from labeler.collection.layout import open_collection
    from labeler.errors import Misuse
    from labeler.people.import_labels import ImportOptions, import_sheet

    if sheet.is_dir():
        problem = f"{sheet} is a folder: the sheet comes first"
        raise Misuse(f"{problem}, as in: labeler people import SHEET.csv {sheet} --as {name}")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    collection = open_collection(folder)
    to = output.made_from(sheet, folder)
    counts = import_sheet(collection, sheet, ImportOptions(name, assessor, now, replace), caution)
    show_outcome(counts, lambda counted: _show(name, counted), output, to)
    if counts.missing:
        missing = f"{_count(counts.missing, 'row')} of the sample"
        caution(f"{missing} {'is' if counts.missing == 1 else 'are'} no longer in {sheet}")
    note_next(collection, name)


def note_next(collection: Collection, name: str) -> None:
    """Say what people's new qrels are good for."""
    from labeler.collection.whose import routed_pairs, sampled_from

    others = [stem for stem in collection.qrels_names() if stem != name] or ["NAME"]
    checked = sampled_from(collection, name) or others[-1]
    if routed_pairs(collection, name):
        files = f"{collection.qrels(name)} {collection.qrels(checked)}"
        note("these pairs were routed: no statistic takes them for a random sample")
        note(f"next: labeler qrels merge {files} --prefer {name} -o best.qrels")
        return
    note(f"next: labeler agree {collection.folder} {name} {checked}")


def _show(name: str, counts: ImportCounts) -> None:
    say(f"{name}: {_count(counts.graded, 'grade')}; {_count(counts.skipped, 'row')} skipped")


def _count(number: int, what: str) -> str:
    return count_of(number, what, f"{what}s")
