"""`labeler people sample`: draw pairs for people, as a sheet to grade in."""

from __future__ import annotations

from pathlib import Path

from labeler.cli.options import FORCE, OUTPUT, Folder
from labeler.cli.screen import note, say
from labeler.messages import count_of
from labeler.options import COUNT, REQUIRED, SEED, option

DEFAULT_PAIRS = 200


def command(
    folder: Folder,
    *,
    pairs: int | None = option(None, "How many pairs people grade (default: 200, or all).", COUNT),
    all_pairs: bool = option(False, "All pairs of the queries, to correct scores by."),
    queries: int | None = option(
        None, "From so many queries, drawn at random (default: all).", COUNT
    ),
    sheets: tuple[Path, ...] = option(
        REQUIRED,
        "The sheet to write, CSV; repeat it to share the pairs among raters.",
        flags="--output -o",
        panel=OUTPUT,
    ),
    source: str | None = option(
        None, "Balance the sample over the grades of these qrels.", flags="--from"
    ),
    overlap: str = option(
        "20%", "With several sheets: the share of pairs that every rater grades."
    ),
    scale: str | None = option(None, "The grades, as 0:3; otherwise the judging prompt's."),
    seed: int = option(0, "Decides which pairs are drawn.", SEED),
    force: bool = option(False, FORCE),
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
