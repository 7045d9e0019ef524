"""`labeler report`: what a collection says, as one page."""

from __future__ import annotations

import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path

from labeler.cli.options import FORCE, Opened
from labeler.cli.output import deliver
from labeler.cli.screen import note, progress
from labeler.collection.user_files import Output
from labeler.collection_report.contents import ReportOptions
from labeler.collection_report.report import report_of
from labeler.errors import Misuse
from labeler.options import OUTPUT, option


def command(
    collection: Opened,
    *,
    options: ReportOptions,
    output: Path | None = option(
        None,
        "Write the page, or as .md its summary, to a file.",
        flags="--output -o",
        panel=OUTPUT,
    ),
    force: bool = option(False, FORCE),
) -> None:
    """Write what a collection says on one page.

    It shows systems, agreement, costs, and every query.

    Without -o the summary goes to the terminal, as Markdown for a pull request.
    """
    to = None if output is None else Output(output, force, (collection.folder,))
    if to is not None:
        if to.path.suffix == ".json":
            raise Misuse("a report is a page (.html) or its summary (.md)", parameter="output")
        to.check()
    report = report_of(collection, replace(options, progress=partial(progress, stays=False)))
    if to is not None:
        report.write(to)
        note(f"wrote {to.path}")
    else:
        deliver(report.summary(), None)
        note(
            f"the whole page: labeler report {shlex.join([str(collection.folder)])} -o report.html"
        )
