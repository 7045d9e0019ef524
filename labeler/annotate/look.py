"""Pages of results for people to look at: those of one run, or of two side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from labeler.annotate.first_results import QueryDraw
from labeler.annotate.journal import RatingJournal
from labeler.annotate.lgtm import lgtm_task
from labeler.annotate.session import RatingSession
from labeler.annotate.side_by_side import side_by_side_task
from labeler.annotate.task import RatingTask
from labeler.collection.annotations import journal_path
from labeler.collection.layout import Collection, open_collection
from labeler.collection.lock import Note
from labeler.errors import Misuse


@dataclass(frozen=True)
class LookChoice:
    """What is looked at: `lgtm` names a run, `side_by_side` two; and the queries that are drawn."""

    lgtm: str | None = None
    side_by_side: tuple[str, str] | None = None
    draw: QueryDraw = field(default_factory=QueryDraw)


def look_sessions(
    collection: Collection | Path | str,
    choice: LookChoice,
    raters: Sequence[str],
    note: Note = lambda _line: None,
) -> list[RatingSession]:
    """A session for each rater, to be served; all of them look at the same queries.

    >>> from labeler.annotate.task import RaterAnswer
    >>> from labeler.testing import small_collection
    >>> collection = small_collection()
    >>> collection.run("bm25").parent.mkdir()
    >>> _ = collection.run("bm25").write_text("q1 Q0 cats 1 2.5 bm25\\nq2 Q0 cats 1 1.5 bm25\\n")
    >>> (session,) = look_sessions(collection, LookChoice(lgtm="bm25"), ["anna"])
    >>> item = session.state()["item"]
    >>> [result["document"]["id"] for result in item["results"]]
    ['cats']
    >>> session.answer(RaterAnswer(item["id"], answer="good"))["progress"]["done"]
    1
    """
    opened = open_collection(collection)
    tasks = [_task(opened, choice, rater) for rater in raters]
    for line in dict.fromkeys(line for task in tasks for line in task.notes):
        note(line)
    return [
        RatingSession(rater, task, RatingJournal(journal_path(opened, rater)))
        for rater, task in zip(raters, tasks, strict=True)
    ]


def _task(collection: Collection, choice: LookChoice, rater: str) -> RatingTask:
    if (choice.lgtm is None) == (choice.side_by_side is None):
        raise Misuse("expected one run to look at, or two side by side", parameter="lgtm")
    if choice.side_by_side is not None:
        return side_by_side_task(collection, *choice.side_by_side, rater, choice.draw)
    return lgtm_task(collection, str(choice.lgtm), choice.draw)
