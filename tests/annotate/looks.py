"""A collection with two runs, whose first results made-up raters look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from labeler.annotate.look import LookChoice, QueryDraw, look_sessions
from labeler.annotate.session import RaterAnswer, RatingSession
from labeler.collection.corpus import write_corpus
from labeler.collection.layout import Collection, locked
from labeler.collection.queries import write_queries
from labeler.data import Document, Query

QUERIES = 24
Choose = Callable[[Mapping[str, Any]], str]


def with_runs(folder: Path) -> Collection:
    """Queries with two documents each, of which `good` ranks the right one first.

    `bad` ranks it last; of every fourth query both show the same. People's qrels know which is
    right. Queries are of two kinds, and are asked a different number of times.
    """
    collection = Collection(folder / "coll")
    (collection.folder / "runs").mkdir(parents=True)
    (collection.folder / "qrels").mkdir()
    ids = [f"q{n:02}" for n in range(QUERIES)]
    with locked(collection):
        of = (Document(f"{q}-{side}", f"text of {q}, {side}") for q in ids for side in "ab")
        write_corpus(collection.corpus, of)
        facts = ({"kind": "odd" if n % 2 else "even", "asked": n + 1} for n in range(QUERIES))
        queries = zip(ids, facts, strict=True)
        write_queries(collection.queries, [Query(q, f"about {q}", fact) for q, fact in queries])
    good, bad, qrels = [], [], []
    for number, q in enumerate(ids):
        first, last = f"{q}-a", f"{q}-b"
        good += [f"{q} Q0 {first} 1 2 good\n", f"{q} Q0 {last} 2 1 good\n"]
        better, worse = (first, last) if number % 4 == 0 else (last, first)
        bad += [f"{q} Q0 {better} 1 2 bad\n", f"{q} Q0 {worse} 2 1 bad\n"]
        qrels += [f"{q} 0 {first} 3\n", f"{q} 0 {last} 0\n"]
    (collection.folder / "runs" / "good.trec").write_text("".join(good))
    (collection.folder / "runs" / "bad.trec").write_text("".join(bad))
    (collection.folder / "qrels" / "human.qrels").write_text("".join(qrels))
    return collection


def answer_all(session: RatingSession, choose: Choose, most: int | None = None) -> None:
    """Answer the items of a session, the first ones of them."""
    answered = 0
    while (item := session.state()["item"]) is not None and answered != most:
        session.answer(RaterAnswer(item["id"], answer=choose(item), seconds=5.0))
        answered += 1


def first_is_right(results: list[dict[str, Any]]) -> bool:
    return str(results[0]["document"]["id"]).endswith("-a")


def lgtm_session(
    collection: Collection, run: str, draw: QueryDraw | None = None, rater: str = "anna"
) -> RatingSession:
    choice = LookChoice(lgtm=run, draw=draw or QueryDraw())
    (session,) = look_sessions(collection, choice, [rater])
    return session


def two_sessions(
    collection: Collection, draw: QueryDraw | None = None, raters: tuple[str, ...] = ("anna",)
) -> list[RatingSession]:
    choice = LookChoice(side_by_side=("good", "bad"), draw=draw or QueryDraw())
    return look_sessions(collection, choice, raters)


def better_side(item: Mapping[str, Any]) -> str:
    return "left" if first_is_right(item["left"]) else "right"
