"""`labeler people sample`: draw pairs for people, as a sheet to grade in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labeler.cli.numbers import COUNT, SEED, number
from labeler.cli.options import OUTPUT, Folder, Force
from labeler.cli.screen import note, say
from labeler.messages import count_of

DEFAULT_PAIRS = 200


def command(
    folder: Folder,
    *,
    pairs: Annotated[
        int | None, number(COUNT, help="How many pairs people grade (default: 200, or all).")
    ] = None,
    all_pairs: Annotated[
        bool, typer.Option("--all-pairs", help="All pairs of the queries, to correct scores by.")
    ] = False,
    queries: Annotated[
        int | None, number(COUNT, help="From so many queries, drawn at random (default: all).")
    ] = None,
    sheets: Annotated[
        list[Path],
        typer.Option(
            "--output",
            "-o",
            help="The sheet to write, CSV; repeat it to share the pairs among raters.",
            rich_help_panel=OUTPUT,
        ),
    ],
    source: Annotated[
        str | None,
        typer.Option("--from", help="Balance the sample over the grades of these qrels."),
    ] = None,
    overlap: Annotated[
        str,
        typer.Option(help="With several sheets: the share of pairs that every rater grades."),
    ] = "20%",
    scale: Annotated[
        str | None, typer.Option(help="The grades, as 0:3; otherwise the judging prompt's.")
    ] = None,
    seed: Annotated[int, number(SEED, help="Decides which pairs are drawn.")] = 0,
    force: Force = False,
) -> None:
    """Draw pairs for people into a sheet to grade in, with instructions beside it.

    `labeler people import` takes the graded sheet back. The sheet is blind: it shows no grade.
    """
    from labeler.agreement.align import parse_scale, parse_share
    from labeler.collection.layout import open_collection
    from labeler.collection.user_files import Output
    from labeler.errors import Misuse
    from labeler.people.sample import SampleDesign, draw_sheets, free_names

    if all_pairs and pairs is not None:
        raise Misuse("--all-pairs draws every pair of the queries; --pairs so many: which one?")
    grades = parse_scale(scale)
    names_by_grade = dict.fromkeys(grades, "") if grades else None
    up_to = None if all_pairs else DEFAULT_PAIRS
    design = SampleDesign(pairs, queries, parse_share(overlap), seed, names_by_grade, up_to)
    collection = open_collection(folder)
    outputs = [Output(sheet, force) for sheet in sheets]
    samples = draw_sheets(collection, source, design, outputs, note)
    for sheet, drawn in zip(sheets, samples, strict=True):
        pairs_drawn = count_of(drawn.pairs, "pair", "pairs")
        queries_drawn = count_of(drawn.queries, "query", "queries")
        say(f"{sheet}: sample {drawn.id}, {pairs_drawn} of {queries_drawn}")
    for sheet, name in zip(sheets, free_names(collection, len(sheets)), strict=True):
        note(f"when graded: labeler people import {sheet} {folder} --as {name}")
    if len(samples) == 1:
        note(f"or on a page: labeler annotate {folder} --sample {samples[0].id}")
