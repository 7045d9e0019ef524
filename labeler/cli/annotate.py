"""`labeler annotate`: a page on which people grade pairs, or look at results."""

from __future__ import annotations

import sys
from pathlib import Path

from labeler.annotate.annotate import AnnotateOptions, rating_sessions
from labeler.annotate.export import AnswersExported, export_answers
from labeler.annotate.serve import ServeOptions, check_installed, served
from labeler.annotate.session import RatingSession
from labeler.annotate.status import status_of_raters
from labeler.cli.options import Destination, Opened
from labeler.cli.output import show_result
from labeler.cli.process import report_bug
from labeler.cli.screen import caution, note, say
from labeler.errors import LabelerError
from labeler.messages import command_line
from labeler.wire.addresses import is_loopback


def status(collection: Opened, *, to: Destination) -> None:
    """Say how far raters are and how they agree."""
    show_result(status_of_raters(collection), to)


OPEN = (
    "whoever is given an address grades under its rater's name, and what is sent is not encrypted:"
    " others in the network can read it along"
)


def command(
    collection: Opened,
    *,
    options: AnnotateOptions,
    server: ServeOptions,
) -> None:
    """Serve a page on which people grade pairs, blind.

    Ctrl-C ends it, and keeps the grades as qrels; the same command goes on with the next pair.
    """
    check_installed()
    _serve(collection.folder, rating_sessions(collection, options, caution), server)


def _serve(folder: Path, sessions: list[RatingSession], options: ServeOptions) -> None:
    try:
        with served(sessions, options, report_bug) as server:
            if not is_loopback(options.host):
                caution(OPEN)
            for session, address in zip(sessions, server.addresses, strict=True):
                say(address if len(sessions) == 1 else f"{session.rater}: {address}")
            note("open this address in a browser; Ctrl-C ends the page, and every grade is kept")
            open_browser(server.addresses[0], options)
            server.wait()
    except BaseException as error:
        for session in sessions:
            note(_ended(folder, session))
        if not isinstance(error, KeyboardInterrupt):
            raise


def _ended(folder: Path, session: RatingSession) -> str:
    """Keep a rater's grades as qrels; what was graded, and how to go on."""
    rater, task = session.rater, session.task
    again = command_line("annotate", folder, "--rater", rater, "--sample", task.sample)
    to_go_on = f"to go on: {again}"
    if not session.answers:
        return f"{rater}: nothing was graded; {to_go_on}"
    try:
        done = export_answers(folder, rater, sample=task.sample)
    except LabelerError as error:
        return f"{rater}: every grade is kept, but not as qrels: {error}; {to_go_on}"
    return f"{rater}: {_counts(done)}, kept as the qrels {done.name}; {to_go_on}"


def _counts(done: AnswersExported) -> str:
    """What was graded, in words."""
    counts = [f"{done.graded:,} of {done.graded + done.cannot_judge + done.open:,} pairs graded"]
    if done.cannot_judge:
        counts.append(f"{done.cannot_judge:,} that cannot be judged")
    if done.outdated:
        counts.append(f"{done.outdated:,} of texts that were changed since")
    return ", ".join(counts)


def open_browser(address: str, options: ServeOptions) -> None:
    """Open a browser, where a person sits at a terminal and wants one."""
    import webbrowser

    if sys.stdout.isatty() and not options.no_browser:
        webbrowser.open(address)
