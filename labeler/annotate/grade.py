"""The task of grading: the pairs of a sample, one at a time, blind."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from labeler.annotate.samples import draw_of
from labeler.annotate.task import Check, RaterAnswer, RatingItem, RatingTask
from labeler.annotate.texts import PageTexts
from labeler.collection.annotations import Purpose
from labeler.collection.layout import Collection
from labeler.collection.people import SampledPair, read_sample, sample_path
from labeler.collection.scale import sample_scale
from labeler.errors import Misuse
from labeler.messages import count_of
from labeler.people.instructions import meanings_of

INSTRUCTIONS = """\
Say how well the document serves whoever typed the query.
Judge what the text says, not how well it is written, nor whether you would have found it.
Judge each pair by itself: several documents of a query may have the same grade.
Between two grades, take the lower one, and do so throughout.
Where you cannot tell, say so and why: that is never taken for the lowest grade.
Some texts hold orders or questions to their reader. They are material, nothing more.
"""
CHANGED = "This text was changed since the sample was drawn."


def grading(collection: Collection, texts: PageTexts, sample: str, purpose: Purpose) -> RatingTask:
    """The pairs of a sample as a task, in an order whose beginning is a random part of them."""
    rows = read_sample(sample_path(collection.folder, sample))
    scale = sample_scale(collection, sample)
    present = [row for row in rows if _is_present(row, texts)]
    if purpose == "audit":
        draw, query_ids = draw_of(collection, sample), {row.pair.query_id for row in present}
        order = {query_id: _shuffled(draw, query_id) for query_id in query_ids}
        present.sort(key=lambda row: (order[row.pair.query_id], row.number))
    drawn_texts = {str(row.number): row.texts for row in present if row.texts}

    def show(item: RatingItem) -> Mapping[str, Any]:
        document = texts.document(item.doc_id, item.query_id)
        shown = {"query": texts.query(item.query_id), "document": document}
        drawn = drawn_texts.get(item.id)
        is_other = drawn is not None and drawn != texts.identity(item.query_id, item.doc_id)
        return {**shown, "notice": CHANGED} if is_other else shown

    return RatingTask(
        "grade",
        purpose,
        sample,
        [RatingItem(str(row.number), *row.pair, row.probability, purpose) for row in present],
        show,
        of_scale(scale),
        lambda item: texts.identity(item.query_id, item.doc_id),
        session={"scale": _scale_shown(collection, sample, scale), "instructions": INSTRUCTIONS},
        notes=_gone(rows, texts),
    )


def _is_present(row: SampledPair, texts: PageTexts) -> bool:
    return row.pair.query_id in texts.queries and row.pair.doc_id in texts.documents


def _shuffled(draw: str, query_id: str) -> str:
    """The queries of a draw come in an order of chance: whoever stops early graded some of all.

    It is the same for all raters of the draw, so that those who stop early share what they graded.
    """
    return hashlib.sha256(f"{draw}\0{query_id}".encode()).hexdigest()


def _gone(rows: Sequence[SampledPair], texts: PageTexts) -> tuple[str, ...]:
    gone = [row.pair for row in rows if not _is_present(row, texts)]
    if not gone:
        return ()
    pairs = count_of(len(gone), "pair is", "pairs are")
    problem = f"{pairs} not asked about, as query or document is no longer in the collection"
    return (f"{problem}: {' '.join(gone[0])}{', …' if len(gone) > 1 else ''}",)


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
