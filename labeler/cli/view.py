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
from labeler.collection.user_files import collection_qrels
from labeler.collection_report.contents import ReportOptions
from labeler.collection_report.report import report_of
from labeler.errors import about, check_known
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

    Each look shows what stands there, computed then. Nothing is written. Ctrl-C ends it.
    """
    check_installed()
    how = CompareOptions(options.measures, options.qrels)
    if systems:
        compared_systems(collection, systems, how)
    else:
        _check_names(collection, options)

    def html(names: Sequence[str]) -> str:
        runs = collection.run_files()
        for name in names:
            check_known("run", name, runs, "systems")
        if two := names or systems or []:
            page = decision_page(result_of(compared_systems(collection, two, how)))
        else:
            page = report_of(collection, options).page()
        form = [SystemsForm([*runs], names)] if len(runs) > 1 else []
        return replace(page, blocks=[*form, *page.blocks]).html()

    try:
        page = LivePage(html, policy(scripts=True))
        with served([page], server, report_bug) as serving:
            say(serving.addresses[0])
            note("open this address in a browser, and load it again for news; Ctrl-C ends it")
            open_browser(serving.addresses[0], server)
            serving.wait()
    except KeyboardInterrupt:
        note("ended")


def _check_names(collection: Opened, options: ReportOptions) -> None:
    """Raise `Misuse` where a name is none of the collection's, before anything is computed."""
    runs = collection.run_files()
    for name in options.runs:
        check_known("run", name, runs, "runs")
    if options.baseline is not None:
        check_known("run", options.baseline, options.runs or runs, "baseline")
    sets = [name for name in collection.qrels_names() if collection.qrels(name).stat().st_size]
    for name in options.humans:
        check_known("qrels", name, sets, "humans")
    if options.qrels or (sets and not options.humans):
        with about("qrels"):
            collection_qrels(collection.folder, options.qrels)
