"""The task of looking at a run: a query with its first ten results, good or not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labeler.annotate.first_results import (
    NOTHING,
    Firsts,
    QueryDraw,
    digest_of,
    drawn_queries,
    first_results,
    identity_of_results,
    named_run,
    results_shown,
)
from labeler.annotate.task import RaterAnswer, RatingItem, RatingTask
from labeler.annotate.texts import PageTexts
from labeler.collection.layout import Collection
from labeler.errors import Misuse

INSTRUCTIONS = """\
Look at the results as whoever typed the query would: from the top, and no longer than they would.
Good means that they would be content with this page and stop searching.
Not good means that they would try again, or give up.
Judge the page as a whole: one poor result among good ones may do no harm.
Where you cannot tell, say so and why.
"""


def lgtm_task(collection: Collection, run: str | Path, draw: QueryDraw | None = None) -> RatingTask:
    """The drawn queries of a run as a task; an answer holds for the results that were shown.

    Where the run's first results of a query change, that query is asked about again.
    """
    draw = draw or QueryDraw()
    name, path = named_run(collection, run, "lgtm")
    firsts, texts = first_results(collection, path, draw.depth), PageTexts(collection)
    drawn = {row.query_id: row for row in drawn_queries(collection, firsts, draw)}
    items = [
        RatingItem(item_id(query_id, firsts), query_id, "", row.probability)
        for query_id, row in drawn.items()
    ]

    def show(item: RatingItem) -> Mapping[str, Any]:
        documents = firsts[item.query_id]
        notice = {} if documents else {"notice": NOTHING}
        results = results_shown(texts, item.query_id, documents)
        return {"query": texts.query(item.query_id), "results": results, **notice}

    def check(item: RatingItem, answer: RaterAnswer) -> Mapping[str, Any]:
        if not answer.cannot_judge and answer.answer not in ("good", "not"):
            raise Misuse("expected one of the answers good, not")
        documents = list(firsts[item.query_id])
        return {"documents": documents, "depth": draw.depth, "by": draw.by}

    return RatingTask(
        "lgtm",
        "audit",
        name,
        items,
        show,
        check,
        lambda item: identity_of_results(texts, item.query_id, firsts[item.query_id]),
        session={"scale": [], "instructions": INSTRUCTIONS, "depth": draw.depth},
    )


def item_id(query_id: str, firsts: Firsts) -> str:
    """The id of the question whether these results of a query are good."""
    return f"{query_id}#{digest_of(firsts[query_id])}"
