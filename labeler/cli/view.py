"""`labeler view`: a collection's report, as it stands whenever somebody looks."""

from __future__ import annotations

from labeler.annotate.serve import LivePage, ServeOptions, check_installed, served
from labeler.cli.annotate import open_browser
from labeler.cli.options import Opened
from labeler.cli.process import report_bug
from labeler.cli.screen import note, say
from labeler.collection_report.contents import ReportOptions
from labeler.collection_report.report import report_of
from labeler.report.page import policy


def command(collection: Opened, *, options: ReportOptions, server: ServeOptions) -> None:
    """Serve the report while one works: each look shows what stands there.

    Nothing is written. Ctrl-C ends it.
    """
    check_installed()

    def html() -> str:
        return report_of(collection, options).page().html()

    html()  # which says here what is wrong
    try:
        with served([LivePage(html, policy(scripts=True))], server, report_bug) as serving:
            say(serving.addresses[0])
            note("open this address in a browser, and load it again for news; Ctrl-C ends it")
            open_browser(serving.addresses[0], server)
            serving.wait()
    except KeyboardInterrupt:
        note("ended")
