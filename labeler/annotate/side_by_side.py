"""The task of comparing two runs: their first results for a query side by side, names hidden."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from labeler.annotate.first_results import (
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
from labeler.errors import BadInput, Misuse
from labeler.messages import count_of

INSTRUCTIONS = """\
Two systems answered the same query. Which page of results would serve whoever typed it better?
Look from the top, and no longer than they would.
Which system stands left is drawn anew for every query: it says nothing.
Say that they are as good as each other where you would not mind which one you got.
Where you cannot tell, say so and why.
"""
EMPTY = "The system on the {} returned nothing for this query."


class RunsSideBySide(NamedTuple):
    """The first results of two runs for the queries that one of them answers, or both.

    `alike` are the queries for which both show the same documents in the same order: nobody is
    asked about them, and they are ties.
    """

    names: tuple[str, str]
    firsts: tuple[Firsts, Firsts]
    alike: tuple[str, ...]
    queries: tuple[str, ...]

    @property
    def apart(self) -> list[str]:
        """The queries whose results differ."""
        alike = set(self.alike)
        return [query_id for query_id in self.queries if query_id not in alike]

    def item_id(self, query_id: str) -> str:
        """The id of the question which of these two lists is better, in either order."""
        by_name = sorted(zip(self.names, self.firsts, strict=True))
        return f"{query_id}#{digest_of(*(firsts[query_id] for _, firsts in by_name))}"

    @property
    def sample(self) -> str:
        """The name under which answers are kept; the same whichever run is named first."""
        return " ".join(sorted(self.names))


def two_runs(
    collection: Collection, first: str | Path, second: str | Path, depth: int
) -> RunsSideBySide:
    """The first results of two runs; `Misuse` where they are one, or nowhere differ."""
    named = [named_run(collection, run, "side_by_side") for run in (first, second)]
    names = (named[0][0], named[1][0])
    if names[0] == names[1]:
        problem = f"expected two runs, found {names[0]!r} twice"
        raise Misuse(problem, parameter="side_by_side")
    results = [first_results(collection, path, depth) for _, path in named]
    if not results[0].keys() & results[1].keys():
        raise BadInput(f"{names[0]} and {names[1]} answer no query in common")
    # a query that one of them alone answers is one for which the other returned nothing
    queries = tuple({**results[0], **results[1]})
    results = [{query_id: of.get(query_id, ()) for query_id in queries} for of in results]
    alike = tuple(q for q in queries if results[0][q] == results[1][q])
    if len(alike) == len(queries):
        those = count_of(len(queries), "query", "queries")
        problem = f"{names[0]} and {names[1]} show the same first {depth} documents"
        raise Misuse(f"{problem} for all {those}: there is nothing to compare", parameter="depth")
    return RunsSideBySide(names, (results[0], results[1]), alike, queries)


def left_run(names: tuple[str, str], seed: int, rater: str, query_id: str) -> str:
    """Which of two runs stands left for a rater and a query, each as likely as the other."""
    low, high = sorted(names)
    whole = "\0".join((str(seed), rater, query_id, low, high))
    return low if hashlib.sha256(whole.encode()).digest()[0] < 128 else high


def side_by_side_task(
    collection: Collection,
    first: str | Path,
    second: str | Path,
    rater: str,
    draw: QueryDraw | None = None,
) -> RatingTask:
    """The drawn queries whose results differ, as a rater's task; who stands left is kept here."""
    draw = draw or QueryDraw()
    runs, texts = two_runs(collection, first, second, draw.depth), PageTexts(collection)
    by_name = dict(zip(runs.names, runs.firsts, strict=True))
    items = [
        RatingItem(runs.item_id(row.query_id), row.query_id, "", row.probability)
        for row in drawn_queries(collection, runs.apart, draw)
    ]

    def sides(query_id: str) -> tuple[str, str]:
        left = left_run(runs.names, draw.seed, rater, query_id)
        return left, next(name for name in runs.names if name != left)

    def show(item: RatingItem) -> Mapping[str, Any]:
        left, right = (
            results_shown(texts, item.query_id, by_name[name][item.query_id])
            for name in sides(item.query_id)
        )
        empty = [side for side, results in (("left", left), ("right", right)) if not results]
        notice = {"notice": EMPTY.format(empty[0])} if empty else {}
        return {"query": texts.query(item.query_id), "left": left, "right": right, **notice}

    def check(item: RatingItem, answer: RaterAnswer) -> Mapping[str, Any]:
        if not answer.cannot_judge and answer.answer not in ("left", "right", "tie"):
            raise Misuse("expected one of the answers left, right, tie")
        left, right = sides(item.query_id)
        return {"left": left, "right": right, "depth": draw.depth, "by": draw.by}

    def identity(item: RatingItem) -> str:
        both = (doc_id for name in runs.names for doc_id in by_name[name][item.query_id])
        return identity_of_results(texts, item.query_id, both)

    alike = count_of(len(runs.alike), "query", "queries")
    same = f"{alike} of {len(runs.queries):,} not asked about: both show the same"
    return RatingTask(
        "side-by-side",
        "audit",
        runs.sample,
        items,
        show,
        check,
        identity,
        session={"scale": [], "instructions": INSTRUCTIONS, "depth": draw.depth},
        notes=(same,) if runs.alike else (),
    )
