"""`labeler view`: a collection's report, as it stands whenever somebody looks."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

from labeler.annotate.serve import LivePage, ServeOptions, check_installed, served
from labeler.cli.annotate import open_browser
from labeler.cli.options import Opened
from labeler.cli.process import report_bug
from labeler.cli.screen import note, say
from labeler.collection_report.contents import ReportOptions
from labeler.collection_report.report import report_of
from labeler.report.page import policy


@dataclass(slots=True)
class _Report:
    """A report, made again where a file of the collection has changed since."""

    folder: Path
    options: ReportOptions
    made_of: object = None
    page: str = ""

    def html(self) -> str:
        """The page of what stands in the collection now."""
        made_of = states_of_files(self.folder)
        if made_of != self.made_of:
            self.page = report_of(self.folder, self.options).page().html()
            self.made_of = made_of
        return self.page


def states_of_files(folder: Path) -> dict[Path, tuple[int, int]]:
    """The time and the size of each file in a folder in which others are at work meanwhile."""
    states = dict[Path, tuple[int, int]]()
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            file = path.stat()
            if S_ISREG(file.st_mode):
                states[path] = file.st_mtime_ns, file.st_size
    return states


def command(
    collection: Opened,
    *,
    options: ReportOptions,
    server: ServeOptions,
) -> None:
    """Serve the report while one works: each look shows what stands there.

    Nothing is written. Ctrl-C ends it.
    """
    check_installed()
    report = _Report(collection.folder, options)
    report.html()  # which says here what is wrong, and makes the first look quick
    try:
        page = LivePage(report.html, policy(scripts=True))
        with served([page], server, report_bug) as serving:
            say(serving.addresses[0])
            note("open this address in a browser, and load it again for news; Ctrl-C ends it")
            open_browser(serving.addresses[0], server)
            serving.wait()
    except KeyboardInterrupt:
        note("ended")
