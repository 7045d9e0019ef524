"""`labeler annotate`: a page on which people grade a collection's pairs."""

from __future__ import annotations

from typing import Annotated

import typer

from labeler.cli.numbers import COUNT, PORT, SEED, number
from labeler.cli.options import Folder
from labeler.cli.screen import caution, note, say

SERVER = "Server"


def command(
    folder: Folder,
    *,
    rater: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Who grades (default: your login name); repeat it for a page each.",
        ),
    ] = None,
    sample: Annotated[
        str | None, typer.Option(metavar="ID", help="The sample to grade, where there are several.")
    ] = None,
    routed: Annotated[
        bool, typer.Option("--routed", help="The pairs that `route` chose, to correct them.")
    ] = False,
    pairs: Annotated[
        int | None, number(COUNT, help="Draw so many pairs (default: 200, where none are drawn).")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", help="Balance a new sample over the grades of these qrels."),
    ] = None,
    overlap: Annotated[
        str, typer.Option(help="With several raters: the share of pairs that all of them grade.")
    ] = "20%",
    seed: Annotated[int, number(SEED, help="Decides which pairs are drawn.")] = 0,
    host: Annotated[
        str, typer.Option(help="The address to listen at.", rich_help_panel=SERVER)
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        number(PORT, help="The port (default: 8765, or one that is free).", rich_help_panel=SERVER),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Open no browser.", rich_help_panel=SERVER)
    ] = False,
) -> None:
    """Serve a page on which people grade pairs, blind, and keep each grade at once.

    Ctrl-C ends it; the same command goes on where the rater stopped.
    """
    from labeler.agreement.options import parse_share
    from labeler.annotate.annotate import AnnotateOptions, rating_sessions
    from labeler.annotate.hosts import is_loopback
    from labeler.annotate.serve import ServeOptions, served
    from labeler.cli.bugs import report_bug
    from labeler.collection.layout import open_collection

    options = AnnotateOptions(
        tuple(rater or ()), sample, routed, pairs, source, parse_share(overlap), seed
    )
    sessions = rating_sessions(open_collection(folder), options, note)
    with served(sessions, ServeOptions(host, port), report_bug) as server:
        if not is_loopback(host):
            caution(
                "whoever is given an address can grade under its rater's name, over a connection"
                " that is not encrypted; give it to nobody else"
            )
        for session, address in zip(sessions, server.addresses, strict=True):
            say(address if len(sessions) == 1 else f"{session.rater}: {address}")
        note("Ctrl-C ends it; every grade is kept at once")
        if not no_browser:
            _open(server.addresses[0])
        try:
            server.wait()
        except KeyboardInterrupt:
            graded = sum(len(session.answers) for session in sessions)
            note(f"{graded:,} answered; the same command goes on")


def _open(address: str) -> None:
    """Open a browser, where a person sits at a terminal."""
    import sys
    import webbrowser

    if sys.stdout.isatty():
        webbrowser.open(address)
