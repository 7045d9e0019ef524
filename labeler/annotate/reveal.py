"""What the assessor said of a pair, for a rater who has graded it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from labeler.annotate.passages import shown_line
from labeler.annotate.task import RatingItem, RatingTask
from labeler.collection.card import card_section, read_card
from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection, is_name
from labeler.data import Judgement, Pair
from labeler.errors import Misuse


def revealing(task: RatingTask, collection: Collection, source: str | None = None) -> RatingTask:
    """The task, which shows an assessor's grade and reason after each answer.

    That is the assessor `source`, else the one from whose grades the sample was drawn; `Misuse`
    where there is none.
    """
    entry = card_section(card_section(read_card(collection), "samples"), task.sample)
    source = source or entry.get("source")
    path = collection.judgements(source) if isinstance(source, str) and is_name(source) else None
    if path is None or not path.exists():
        names = ", ".join(collection.judgement_names()) or "none"
        problem = f"the sample {task.sample} was drawn from no assessor's judgements"
        advice = f"name whose to show; there are: {names}"
        raise Misuse(f"{problem}; {advice}", parameter="source")
    judgements = {
        outcome.pair: outcome
        for row in read_judgements(path)
        if isinstance(outcome := row.judged.outcome, Judgement)
    }

    def reveal(item: RatingItem) -> Mapping[str, Any] | None:
        judgement = judgements.get(Pair(item.query_id, item.doc_id))
        if judgement is None:
            return None
        reason = "\n".join(map(shown_line, (judgement.reason or "").split("\n")))
        return {"grade": judgement.grade, "reason": reason or None, "gold": None}

    return replace(task, reveal=reveal, reveals_assessor=True)
