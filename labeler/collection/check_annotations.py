"""Whether raters' journals are whole, and of samples and scales that the collection has."""

from __future__ import annotations

from pathlib import Path

from labeler.collection.annotations import JournalRow, numbered_journal
from labeler.collection.layout import Collection, is_name
from labeler.collection.people import sample_path
from labeler.collection.problems import Contents, Problems
from labeler.collection.scale import sample_grades
from labeler.errors import BadInput
from labeler.files.read import numbered_bytes


def check_annotations(
    collection: Collection, path: Path, seen: Contents, problems: Problems
) -> None:
    """Each line is an answer, of a sample that is there and by its scale.

    Pairs that left the collection stay in a journal, which is a record of what was answered.
    """
    scales: dict[str, frozenset[int] | None] = {}
    lines = 0
    for number, row in numbered_journal(path):
        lines = number
        if row.task != "grade":
            continue
        if row.sample not in scales:
            scales[row.sample] = _scale(collection, path, number, row, problems)
        scale = scales[row.sample]
        if scale is not None and row.grade is not None and row.grade not in scale:
            text = f"the grade {row.grade} is none of the sample's {sorted(scale)}"
            problems.add(path, number, "grades outside of the sample's scale", text)
    if lines < sum(1 for _ in numbered_bytes(path)):
        text = "the last line was cut short, and was confirmed to nobody; the next answer ends it"
        problems.add(path, 0, "answers cut short", text, "warning")
    del seen


def _scale(
    collection: Collection, path: Path, number: int, row: JournalRow, problems: Problems
) -> frozenset[int] | None:
    """The scale of an answer's sample; None where there is no such sample, which is noted."""
    is_there = is_name(row.sample) and sample_path(collection.folder, row.sample).exists()
    if not is_there:
        text = f"the sample {row.sample!r:.60} is not in the collection, so that no qrels take it"
        problems.add(path, number, "answers of samples that are gone", text, "warning")
        return None
    try:
        return frozenset(sample_grades(collection, row.sample))
    except BadInput as error:
        problems.add_text(collection.card, str(error))
        return None
