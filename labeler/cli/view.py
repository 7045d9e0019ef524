"""`labeler view`: a collection's report, or two of its systems, as they stand at each look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from labeler.annotate.serve import LivePage, ServeOptions, check_installed, served
from labeler.cli.annotate import open_browser
from labeler.cli.options import Opened, argument
from labeler.cli.process import report_bug
from labeler.cli.screen import note, say
from labeler.collection_report.contents import ReportOptions
from labeler.collection_report.report import report_of
from labeler.errors import check_known
from labeler.pipeline.compare import CompareOptions, compared_systems, result_of
from labeler.pipeline.decision import decision_page
from labeler.report.page import SystemsForm, policy


def command(
    collection: Opened,
    systems: Annotated[
        list[str] | None,
        argument("Two to compare, as for compare; without any all are reported.", "SYSTEM..."),
    ] = None,
    *,
    options: ReportOptions,
    server: ServeOptions,
) -> None:
    """Serve the report, and the comparison of any two systems, while one works.

    Each look shows what stands there. Nothing is written. Ctrl-C ends it.
    """
    check_installed()

    def html(names: Sequence[str]) -> str:
        runs = collection.run_files()
        for name in names:
            check_known("run", name, runs, "systems")
        if two := names or systems or []:
            how = CompareOptions(options.measures, options.qrels)
            page = decision_page(result_of(compared_systems(collection, two, how)))
        else:
            page = report_of(collection, options).page()
        listed = [*dict.fromkeys([*filter(runs.__contains__, two), *runs])]
        form = [SystemsForm(listed, names)] if len(runs) > 1 else []
        return replace(page, blocks=[*form, *page.blocks]).html()

    html([])  # which says here what is wrong
    try:
        page = LivePage(html, policy(scripts=True))
        with served([page], server, report_bug) as serving:
            say(serving.addresses[0])
            note("open this address in a browser, and load it again for news; Ctrl-C ends it")
            open_browser(serving.addresses[0], server)
            serving.wait()
    except KeyboardInterrupt:
        note("ended")
