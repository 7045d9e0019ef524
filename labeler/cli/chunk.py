"""`labeler corpus chunk`: which length of passages lets retrieval find the answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labeler.cli.options import OutputFlags
from labeler.cli.output import show, show_records
from labeler.cli.screen import note, progress
from labeler.errors import Misuse
from labeler.messages import count_of
from labeler.options import option


def command(
    source: Annotated[
        Path, typer.Argument(metavar="COLL|DOCS", help="A collection, or a folder of documents.")
    ],
    *,
    compare: str = option(
        "100,200,400", "Lengths of passages to compare, in words.", metavar="N,N"
    ),
    output: OutputFlags,
) -> None:
    """Compare lengths of passages: which lets retrieval find what the queries were written for."""
    from labeler.models.control import Control
    from labeler.pools.chunk import compare_chunkings

    to = output.made_from(source)
    control = Control(note=note, progress=progress)
    result = compare_chunkings(source, _lengths(compare), control=control)
    if output.format == "json":
        show_records([result.as_json()], output.format, to)
    else:
        show([result.table()], output.format, to)
    note(f"over {count_of(result.queries, 'query', 'queries')}, with 95% intervals")
    note("right: the share of queries with a passage of their source among the first ten")
    note("covered: how much of the source stands in the first passages, 1,000 words of them")
    if result.of_headings:
        note("headings stood in for queries: they stand in the titles that are searched, too")
    else:
        note(f"the queries were written for passages of about {result.own_words} words")


def _lengths(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() and len(part) < 7 for part in parts):
        raise Misuse(f"expected lengths as 100,200,400, found {text!r:.40}", parameter="compare")
    return [int(part) for part in parts]
