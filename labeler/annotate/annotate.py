"""`annotate`: a collection's pairs on a page, on which people grade them."""

from __future__ import annotations

import getpass
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from labeler.annotate.journal import RatingJournal
from labeler.annotate.passages import PageTexts
from labeler.annotate.samples import SampleChoice, draw_of, purposes, samples_of
from labeler.annotate.session import RatingItem, RatingSession, RatingTask
from labeler.collection.annotations import Purpose, journal_path
from labeler.collection.layout import (
    AnyCollection,
    Collection,
    check_name,
    open_collection,
    safe_name,
)
from labeler.collection.people import SampledPair, read_sample, sample_path
from labeler.collection.scale import sample_scale
from labeler.errors import Misuse, about
from labeler.messages import Note, count_of, quiet
from labeler.options import option
from labeler.people.sheet import meanings_of

# The task of grading: the pairs of a sample, one at a time, blind.

GRADE_INSTRUCTIONS = """\
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
    meanings = meanings_of(collection, sample, scale)
    present, gone = list[SampledPair](), list[SampledPair]()
    for row in rows:
        is_there = row.pair.query_id in texts.queries and row.pair.doc_id in texts.documents
        (present if is_there else gone).append(row)
    if purpose == "audit":
        draw, query_ids = draw_of(collection, sample), {row.pair.query_id for row in present}
        # In an order of chance: whoever stops early graded some of all queries. It is the same for
        # all raters of the draw, so that those who stop early share what they graded.
        order = {each: sha256(f"{draw}\0{each}".encode()).digest() for each in query_ids}
        present.sort(key=lambda row: (order[row.pair.query_id], row.number))
    drawn_texts = {str(row.number): row.texts for row in present if row.texts}

    def show(item: RatingItem) -> Mapping[str, Any]:
        document = texts.document(item.doc_id, item.query_id)
        shown = {"query": texts.query(item.query_id), "document": document}
        drawn = drawn_texts.get(item.id)
        is_other = drawn is not None and drawn != texts.identity(item.query_id, item.doc_id)
        return {**shown, "notice": CHANGED} if is_other else shown

    return RatingTask(
        purpose,
        sample,
        [RatingItem(str(row.number), *row.pair, row.probability) for row in present],
        show,
        scale,
        lambda item: texts.identity(item.query_id, item.doc_id),
        session={
            "scale": [
                {"grade": grade, "name": name, "description": meanings.get(grade, "")}
                for grade, name in sorted(scale.items())
            ],
            "instructions": GRADE_INSTRUCTIONS,
        },
        notes=(_note_of_gone(gone),) if gone else (),
    )


def _note_of_gone(rows: Sequence[SampledPair]) -> str:
    pairs, first = count_of(len(rows), "pair is", "pairs are"), " ".join(rows[0].pair)
    return (
        f"{pairs} not asked about, as query or document is no longer in the collection: "
        f"{first}{', …' if len(rows) > 1 else ''}"
    )


@dataclass(frozen=True)
class AnnotateOptions:
    """Who grades, and what."""

    raters: tuple[str, ...] = option(
        (),
        "Who grades (default: your login name); repeat it for a page each.",
        flags="--rater",
        metavar="NAME",
    )
    choice: SampleChoice = field(default_factory=SampleChoice)


def rating_sessions(
    collection: AnyCollection,
    options: AnnotateOptions,
    note: Note = quiet,
) -> list[RatingSession]:
    """A session for each rater, to be served; what was answered before is in it.

    >>> from labeler.annotate.session import RaterAnswer
    >>> from labeler.testing import small_collection
    >>> (session,) = rating_sessions(small_collection(), AnnotateOptions(("anna",)))
    >>> item = session.state()["item"]
    >>> session.answer(RaterAnswer(item["id"], grade=3))["progress"]["done"]
    1
    """
    opened = open_collection(collection)
    with about("rater", "name"):
        raters = [check_name(rater) for rater in options.raters or (login_name(),)]
    if len({rater.casefold() for rater in raters}) < len(raters):
        raise Misuse("a rater is named twice", parameter="rater")
    samples = samples_of(opened, raters, options.choice, note)
    texts, by_id = PageTexts(opened), purposes(opened)
    tasks = {own: grading(opened, texts, own, by_id[own]) for own in dict.fromkeys(samples)}
    for line in dict.fromkeys(line for task in tasks.values() for line in task.notes):
        note(line)
    sessions = [
        RatingSession(rater, tasks[sample], RatingJournal(journal_path(opened, rater)))
        for rater, sample in zip(raters, samples, strict=True)
    ]
    for session in sessions:
        session.check()
    return sessions


def login_name() -> str:
    """The name under which somebody works at this machine, as a rater's name."""
    try:
        return safe_name(getpass.getuser()).lstrip(".") or "rater"
    except (OSError, KeyError):  # the system knows no name
        return "rater"
