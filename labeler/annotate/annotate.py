"""`annotate`: a collection's pairs on a page, on which people grade them."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from labeler.annotate.gold import EVERY, with_gold
from labeler.annotate.grade import grading
from labeler.annotate.journal import RatingJournal
from labeler.annotate.reveal import revealing
from labeler.annotate.samples import SampleChoice, purposes, samples_of
from labeler.annotate.session import RatingSession
from labeler.annotate.task import RatingTask
from labeler.annotate.texts import PageTexts
from labeler.collection.annotations import journal_path
from labeler.collection.layout import Collection, check_name, open_collection, safe_name
from labeler.collection.lock import Note
from labeler.errors import Misuse, about


@dataclass(frozen=True)
class AnnotateOptions:
    """Who grades, and what.

    `gold` is a file of qrels with grades that are known, of which a pair is asked for after
    `gold_every` others. With `reveal` the assessor's grade is shown once the rater has given one,
    that of the choice's `source`, else of the assessor from whose grades the sample was drawn.
    """

    raters: tuple[str, ...] = ()
    choice: SampleChoice = field(default_factory=SampleChoice)
    gold: Path | None = None
    gold_every: int = EVERY
    reveal: bool = False


def rating_sessions(
    collection: Collection | Path | str,
    options: AnnotateOptions | None = None,
    note: Note = lambda _line: None,
) -> list[RatingSession]:
    """A session for each rater, to be served; what was answered before is in it.

    >>> from labeler.annotate.task import RaterAnswer
    >>> from labeler.testing import small_collection
    >>> (session,) = rating_sessions(small_collection(), AnnotateOptions(("anna",)))
    >>> item = session.state()["item"]
    >>> session.answer(RaterAnswer(item["id"], grade=3))["progress"]["done"]
    1
    """
    options = options or AnnotateOptions()
    opened = open_collection(collection)
    raters = raters_of(options)
    samples = samples_of(opened, raters, options.choice, note)
    tasks = _tasks(opened, samples, options)
    for line in dict.fromkeys(line for task in tasks.values() for line in task.notes):
        note(line)
    sessions = [
        RatingSession(rater, tasks[sample], RatingJournal(journal_path(opened, rater)))
        for rater, sample in zip(raters, samples, strict=True)
    ]
    for session in sessions:
        session.check()
    return sessions


def raters_of(options: AnnotateOptions) -> list[str]:
    """The names of the raters; where none is named, whoever is logged in."""
    with about("rater", "name"):
        raters = [check_name(rater) for rater in options.raters or (login_name(),)]
    if len({rater.casefold() for rater in raters}) < len(raters):
        raise Misuse("a rater is named twice", parameter="rater")
    return raters


def login_name() -> str:
    """The name under which somebody works at this machine, as a rater's name."""
    try:
        return safe_name(getpass.getuser()).lstrip(".") or "rater"
    except (OSError, KeyError):  # the system knows no name
        return "rater"


def _tasks(
    collection: Collection, samples: list[str], options: AnnotateOptions
) -> Mapping[str, RatingTask]:
    """The task of each sample; they share the collection's texts."""
    texts, by_id = PageTexts(collection), purposes(collection)
    tasks = {}
    for sample in dict.fromkeys(samples):
        task = grading(collection, texts, sample, by_id[sample])
        if options.reveal:
            task = revealing(task, collection, options.choice.source)
        if options.gold is not None:
            task = with_gold(task, texts, options.gold, options.gold_every, options.choice.seed)
        tasks[sample] = task
    return tasks
