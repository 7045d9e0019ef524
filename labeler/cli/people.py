"""`labeler people`: pairs drawn for people, and their grades taken in."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from labeler.cli.options import FORCE, MADE, Destination, Opened, argument
from labeler.cli.reporting import show_outcome
from labeler.cli.screen import caution, note, say
from labeler.errors import Misuse
from labeler.messages import count_of
from labeler.options import COUNT, OUTPUT, REQUIRED, option
from labeler.people.sample import PAIRS, DrawOptions, SampleDesign, draw_sheets, free_names

if TYPE_CHECKING:
    from labeler.collection.layout import Collection
    from labeler.people.merge import MergedRaters


def sample(
    collection: Opened,
    *,
    draw: DrawOptions,
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
    scale: str | None = option(None, "The grades, as 0:3; otherwise the judging prompt's."),
    force: bool = option(False, FORCE),
) -> None:
    """Draw pairs for people into a sheet to grade in.

    `labeler people import` takes the graded sheet back. The sheet is blind: it shows no grade.
    """
    from labeler.agreement.align import parse_scale
    from labeler.agreement.plan import will_show
    from labeler.collection.user_files import Output

    if all_pairs and draw.pairs is not None:
        raise Misuse("--all-pairs draws every pair of the queries; --pairs so many: which one?")
    grades = parse_scale(scale)
    names_by_grade = dict.fromkeys(grades, "") if grades else None
    up_to = None if all_pairs else PAIRS
    design = SampleDesign(draw.pairs, queries, draw.overlap, draw.seed, names_by_grade, up_to)
    outputs = [Output(sheet, force) for sheet in sheets]
    samples = draw_sheets(collection, draw.source, design, outputs, note)
    for sheet, drawn in zip(sheets, samples, strict=True):
        pairs_drawn = count_of(drawn.pairs, "pair")
        queries_drawn = count_of(drawn.queries, "query", "queries")
        say(f"{sheet}: sample {drawn.id}, {pairs_drawn} of {queries_drawn}")
    for line in will_show(*samples[0].drawn, is_whole=all_pairs):
        note(line)
    for sheet, name in zip(sheets, free_names(collection, len(sheets)), strict=True):
        note(f"when graded: labeler people import {sheet} {collection.folder} --as {name}")
    if len(samples) == 1:
        note(f"or on a page: labeler annotate {collection.folder} --sample {samples[0].id}")


def take_in(
    sheet: Annotated[Path, argument("The sheet, with grades in it.")],
    folder: Annotated[Path, argument("The collection's directory.", "COLL"), MADE],
    *,
    name: str = option(REQUIRED, "The name of the qrels.", flags="--as"),
    assessor: str = option("", "Who graded, where the sheet does not say."),
    replace: bool = option(False, "Take this sheet's grade where there is another one."),
    to: Destination,
) -> None:
    """Check a graded sheet, and keep its grades as qrels of the collection."""
    from labeler.collection.layout import open_collection
    from labeler.people.import_labels import ImportOptions, import_sheet

    if sheet.is_dir():
        raise Misuse(
            f"{sheet} is a folder: the sheet comes first, as in: "
            f"labeler people import SHEET.csv {sheet} --as {name}"
        )
    collection = open_collection(folder)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    counts = import_sheet(collection, sheet, ImportOptions(name, assessor, now, replace), caution)
    graded, skipped = count_of(counts.graded, "grade"), count_of(counts.skipped, "row")
    show_outcome(counts, lambda _: say(f"{name}: {graded}; {skipped} skipped"), to)
    if counts.missing:
        missing = f"{count_of(counts.missing, 'row')} of the sample"
        caution(f"{missing} {'is' if counts.missing == 1 else 'are'} no longer in {sheet}")
    note_next(collection, name)


def merge(
    collection: Opened,
    names: Annotated[list[str], argument("Under which names they were taken in.")],
    *,
    name: str = option("human", "The name of the final qrels.", metavar="NAME", flags="--as"),
    conflicts: Path | None = option(
        None, "List all pairs of several grades in this file, with their grades."
    ),
    to: Destination,
) -> None:
    """Put raters' grades together into one final grade a pair.

    It is the grade of most raters; where several grades have as many, the lower median.
    """
    from labeler.cli.output import lines_to
    from labeler.people.merge import merge_raters

    with lines_to(to.beside(conflicts)) as each:
        merged = merge_raters(collection, names, name, each, caution)
    show_outcome(merged, lambda counts: _show_merged(name, counts), to)
    if merged.differ and conflicts is None:
        note("--conflicts FILE lists the pairs on which raters differ")
    note(f"next: labeler agree {collection.folder} {name} NAME")


def _show_merged(name: str, counts: MergedRaters) -> None:
    say(f"{name}: {count_of(counts.pairs, 'final grade')}")
    say(
        f"{count_of(counts.shared, 'pair')} graded by several: they differ on {counts.differ:,}, "
        f"by more than one grade on {counts.apart:,}"
    )


def note_next(collection: Collection, name: str) -> None:
    """Say what people's new qrels are good for."""
    from labeler.collection.card import card_section, read_card
    from labeler.collection.people import people_path, read_people
    from labeler.collection.whose import routed_pairs, sampled_from

    others = [stem for stem in collection.qrels_names() if stem != name] or ["NAME"]
    checked = sampled_from(collection, name) or others[-1]
    if routed_pairs(collection, name):
        rows = read_people(people_path(collection.folder, name))
        samples = card_section(read_card(collection), "samples")
        are_compared = {"qrels" in card_section(samples, row.sample) for row in rows}
        if True in are_compared:
            note("next: the same labeler compare, which goes on with these grades")
        if False not in are_compared:
            return
        files = f"{collection.qrels(name)} {collection.qrels(checked)}"
        note("these pairs were routed: no statistic takes them for a random sample")
        note(f"next: labeler qrels merge {files} --prefer {name} -o best.qrels")
        return
    note(f"next: labeler agree {collection.folder} {name} {checked}")
