"""`labeler sample`: draw pairs for people, as a sheet to grade in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labeler.cli.numbers import COUNT, SEED, number
from labeler.cli.options import OUTPUT, Folder, Force
from labeler.cli.screen import note, say


def command(
    folder: Folder,
    *,
    pairs: Annotated[int | None, number(COUNT, help="How many pairs people grade (200).")] = None,
    all_pairs: Annotated[
        bool, typer.Option("--all-pairs", help="All pairs of the queries, to correct scores by.")
    ] = False,
    queries: Annotated[
        int | None, number(COUNT, help="Of how many random queries; otherwise of all.")
    ] = None,
    sheets: Annotated[
        list[Path],
        typer.Option("-o", help="The sheet, CSV; one for each assessor.", rich_help_panel=OUTPUT),
    ],
    source: Annotated[
        str | None, typer.Option("--from", help="The qrels whose grades are the strata.")
    ] = None,
    overlap: Annotated[
        str,
        typer.Option(help="With several sheets: the share of pairs that every assessor grades."),
    ] = "20%",
    scale: Annotated[
        str | None, typer.Option(help="The grades, as 0:3; otherwise the judging prompt's.")
    ] = None,
    seed: Annotated[int, number(SEED, help="Of the draw.")] = 0,
    force: Force = False,
) -> None:
    """Draw pairs for people to grade, blind, with known probabilities; back: import-labels."""
    from labeler.agreement.options import parse_scale, parse_share
    from labeler.collection.layout import open_collection
    from labeler.collection.outputs import Output
    from labeler.errors import Misuse
    from labeler.people.sample import SampleDesign, draw_sheets, free_names

    if all_pairs and pairs is not None:
        raise Misuse("--all-pairs draws every pair of the queries; --pairs so many: which one?")
    grades = parse_scale(scale)
    names_by_grade = dict.fromkeys(grades, "") if grades else None
    count = None if all_pairs else pairs or 200
    design = SampleDesign(count, queries, parse_share(overlap), seed, names_by_grade)
    collection = open_collection(folder)
    outputs = [Output(sheet, force) for sheet in sheets]
    samples = draw_sheets(collection, source, design, outputs, note)
    for sheet, drawn in zip(sheets, samples, strict=True):
        say(f"{sheet}: sample {drawn.id}, {drawn.pairs} pairs of {drawn.queries} queries")
    for sheet, name in zip(sheets, free_names(collection, len(sheets)), strict=True):
        note(f"when graded: labeler import-labels {sheet} {folder} --as {name}")
