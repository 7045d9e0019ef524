"""`labeler report`: what a collection says, as one page."""

from __future__ import annotations

from dataclasses import replace

from labeler.cli.options import Opened, ToFile
from labeler.cli.output import deliver
from labeler.cli.screen import note, progress
from labeler.collection_report.contents import ReportOptions
from labeler.collection_report.report import ENDINGS, report_of
from labeler.errors import Misuse
from labeler.messages import command_line


def command(
    collection: Opened,
    *,
    options: ReportOptions,
    to: ToFile,
) -> None:
    """Write what a collection says on one page.

    It shows systems, agreement, costs, and every query.

    Without -o its summary goes to the terminal, as Markdown for a pull request; a file whose name
    ends in .md holds that, too.
    """
    if to.file is not None and to.file.path.suffix.casefold() not in ENDINGS:
        raise Misuse("a report is a page (.html) or its summary (.md)", parameter="output")
    report = report_of(collection, replace(options, progress=progress))
    if to.file is not None:
        report.write(to.file)
        note(f"wrote {to.file.path}")
    else:
        deliver(report.summary(), None)
        whole = command_line("report", collection.folder, "-o", "report.html")
        note(f"the whole page: {whole}")
