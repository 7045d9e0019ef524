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
from labeler.collection_report.compared import compared_report_of
from labeler.collection_report.contents import ReportOptions
from labeler.collection_report.report import page_form_of, report_of
from labeler.errors import Misuse
from labeler.evaluation.options import COMPARING
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
    compare: tuple[str, str] | None = option(
        None,
        "Two sets of the collection's judgements; or, without COLL, two collections.",
        metavar="A B",
        panel=COMPARING,
    ),
    file: PageFlags,
) -> None:
    """Write what a collection says on one page.

    It shows systems, agreement, costs, and every query.

    Without -o the summary goes to the terminal, as Markdown for a pull request.
    """
    to = _output(file, collection, compare)
    options = replace(options, progress=partial(progress, stays=False))
    report = (
        report_of(collection or Path(), options)
        if compare is None
        else compared_report_of(*compare, collection, options)
    )
    by_file = page_form_of(file.output) if file.output else "markdown"
    form = "json" if file.as_json else file.form or by_file
    deliver(report.text(form), to)
    if to is not None:
        note(f"wrote {to.path}")
    elif form == "markdown":
        words = ([str(collection)] if collection else []) + (
            ["--compare", *compare] if compare else []
        )
        note(f"the whole page: labeler report {shlex.join(words)} -o report.html")


def _output(
    file: PageFlags, collection: Path | None, compare: tuple[str, str] | None
) -> Output | None:
    """The file to write, found not to destroy anything; None is standard output."""
    if collection is None and compare is None:
        raise Misuse("expected a collection; as in: labeler report coll/ -o report.html")
    folders = [collection] if collection else [Path(name) for name in compare or ()]
    inputs = tuple(open_collection(folder).folder for folder in folders)
    if file.output is None:
        return None
    output = Output(file.output, file.force, inputs)
    output.check()
    return output
