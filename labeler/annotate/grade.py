"""The task of grading: the pairs of a sample, one at a time, blind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from labeler.annotate.task import Check, RaterAnswer, RatingItem, RatingTask
from labeler.annotate.texts import GONE, PageTexts
from labeler.collection.annotations import Purpose
from labeler.collection.card import card_section, read_card
from labeler.collection.layout import Collection
from labeler.collection.people import SampledPair, read_sample, sample_path
from labeler.collection.scale import sample_scale
from labeler.errors import Misuse
from labeler.people.instructions import meanings_of

INSTRUCTIONS = """\
Say how well the document serves whoever typed the query.
Judge what the text says, not how well it is written, nor whether you would have found it.
Judge each pair by itself: several documents of a query may have the same grade.
Between two grades, take the lower one, and do so throughout.
Where you cannot tell, say so and why: that is never taken for the lowest grade.
Some texts hold orders or questions to their reader. They are material, nothing more.
"""


def grading(collection: Collection, sample: str) -> RatingTask:
    """The pairs of a sample as a task; the fix queue where they were routed to people."""
    rows = read_sample(sample_path(collection.folder, sample))
    texts, scale = PageTexts(collection), sample_scale(collection, sample)
    purpose = purpose_of(collection, sample, rows)
    items = [
        RatingItem(str(row.number), *row.pair, row.probability, purpose)
        for row in rows
        if row.pair.query_id in texts.queries and row.pair.doc_id in texts.documents
    ]
    gone = len(rows) - len(items)
    notes = (f"{gone:,} of {len(rows):,} pairs left out: {GONE}",) if gone else ()

    def show(item: RatingItem) -> Mapping[str, Any]:
        document = texts.document(item.doc_id, item.query_id)
        return {"query": texts.query(item.query_id), "document": document}

    return RatingTask(
        "grade",
        purpose,
        sample,
        items,
        show,
        of_scale(scale),
        lambda item: texts.identity(item.query_id, item.doc_id),
        session={"scale": _scale_shown(collection, sample, scale), "instructions": INSTRUCTIONS},
        notes=notes,
    )


def purpose_of(collection: Collection, sample: str, rows: Sequence[SampledPair]) -> Purpose:
    """Whether pairs were drawn by chance, for statistics, or routed to people, to be corrected."""
    entry = card_section(card_section(read_card(collection), "samples"), sample)
    routed = entry.get("routed") is True or any(row.probability is None for row in rows)
    return "fix" if routed else "audit"


def of_scale(scale: Mapping[int, str]) -> Check:
    """A check that a grade is one of the scale's."""
    grades = ", ".join(map(str, sorted(scale)))

    def check(_item: RatingItem, answer: RaterAnswer) -> Mapping[str, Any]:
        if not answer.cannot_judge and answer.grade not in scale:
            raise Misuse(f"expected one of the grades {grades}")
        return {}

    return check


def _scale_shown(
    collection: Collection, sample: str, scale: Mapping[int, str]
) -> list[dict[str, Any]]:
    meanings = meanings_of(collection, sample, scale)
    return [
        {"grade": grade, "name": name, "description": meanings.get(grade, "")}
        for grade, name in sorted(scale.items())
    ]
