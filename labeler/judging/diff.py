"""`diff`: what changed from one set of judgements of a collection to another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection, open_collection
from labeler.collection.people import people_path
from labeler.collection.queries import read_queries
from labeler.data import Failure, Pair
from labeler.judging.transitions import State, Transitions, judged, transitions
from labeler.trec.qrels import read_qrels


def diff(collection: Collection | Path | str, before: str, after: str) -> Transitions:
    """What became of each pair between two sets of judgements, or of qrels where there are none.

    >>> from labeler.judging.judge import judge
    >>> from labeler.testing import fake_model, small_collection
    >>> collection = small_collection()
    >>> for name, reply in {"mild": '{"grade": 2}', "strict": '{"grade": 0}'}.items():
    ...     _ = judge(collection, model=fake_model(reply, name), name=name)
    >>> diff(collection, "mild", "strict")
    Transitions(4 of 4 moved)
    """
    opened = open_collection(collection)
    old, new = read_set(opened, before), read_set(opened, after)
    changes = transitions(old.states, new.states)
    queries = _texts_of_queries(opened) if changes.moved else {}
    moved = (
        move._replace(
            query=queries.get(move.pair.query_id, ""),
            reason_before=old.reasons.get(move.pair, ""),
            reason_after=new.reasons.get(move.pair, ""),
        )
        for move in changes.moved
    )
    return replace(changes, moved=tuple(moved))


def human_beside(collection: Collection | Path | str, *names: str) -> str | None:
    """People's qrels of a collection that are none of `names`: `human`, or else a sheet's."""
    opened = open_collection(collection)
    people = [
        name
        for name in opened.qrels_names()
        if name not in names and (name == "human" or people_path(opened.folder, name).exists())
    ]
    return "human" if "human" in people else next(iter(people), None)


class JudgedSet(NamedTuple):
    """What a set of judgements says of each pair, and its reasons, where it has some."""

    states: dict[Pair, State]
    reasons: dict[Pair, str]


def _texts_of_queries(collection: Collection) -> dict[str, str]:
    if not collection.queries.is_file():
        return {}
    return {query.id: query.text for query in read_queries(collection.queries).values()}


def read_set(collection: Collection, name: str) -> JudgedSet:
    """What `judgements/NAME.jsonl` says of each pair, or the qrels where there is none."""
    path = collection.judgements(name)
    if not path.exists():
        return JudgedSet(_states_of_qrels(collection, name), {})
    read = JudgedSet({}, {})
    for row in read_judgements(path):
        outcome = row.judged.outcome
        if isinstance(outcome, Failure):
            state, reason = State(None, outcome.status), outcome.detail
        else:
            state, reason = judged(outcome.grade), outcome.reason or ""
        read.states[outcome.pair] = state
        if reason:
            read.reasons[outcome.pair] = reason
    return read


def _states_of_qrels(collection: Collection, name: str) -> dict[Pair, State]:
    path = collection.existing_qrels(name)
    return {
        Pair(query_id, doc_id): judged(grade)
        for query_id, graded in read_qrels(path).items()
        for doc_id, grade in graded.items()
    }
