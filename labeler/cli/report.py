"""`labeler report`: what a collection says, as one page."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from labeler.cli.options import AS_JSON, FORCE, TO_FILE
from labeler.cli.output import deliver
from labeler.cli.screen import note, progress
from labeler.collection.layout import open_collection
from labeler.collection.user_files import Output
from labeler.collection_report.contents import ReportOptions
from labeler.collection_report.report import page_form_of, report_of
from labeler.errors import Misuse
from labeler.options import OUTPUT, Option, option

FORM = Option(
    "The page, its summary, or the figures; else the output's suffix says it.",
    flags="--format",
    panel=OUTPUT,
)


@dataclass(frozen=True, slots=True)
class PageFlags:
    """In which form the report is written, and where to."""

    form: Literal["html", "markdown", "json"] | None = option(None, FORM)
    as_json: bool = option(False, AS_JSON)
    output: Path | None = option(None, TO_FILE)
    force: bool = option(False, FORCE)


def command(
    collection: Annotated[
        Path | None, typer.Argument(metavar="COLL", help="The collection's directory.")
    ] = None,
    *,
    options: ReportOptions,
    file: PageFlags,
) -> None:
    """Write what a collection says on one page.

    It shows systems, agreement, costs, and every query.

    Without -o the summary goes to the terminal, as Markdown for a pull request.
    """
    if collection is None:
        raise Misuse("expected a collection; as in: labeler report coll/ -o report.html")
    folder, to = open_collection(collection).folder, None
    if file.output is not None:
        to = Output(file.output, file.force, (folder,))
        to.check()
    report = report_of(folder, replace(options, progress=partial(progress, stays=False)))
    by_file = page_form_of(file.output) if file.output else "markdown"
    form = "json" if file.as_json else file.form or by_file
    deliver(report.text(form), to)
    if to is not None:
        note(f"wrote {to.path}")
    elif form == "markdown":
        note(f"the whole page: labeler report {shlex.join([str(collection)])} -o report.html")
