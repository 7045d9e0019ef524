"""`diff`: what changed from one set of judgements of a collection to another."""

from __future__ import annotations

from pathlib import Path

from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection, open_collection
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
    return transitions(read_states(opened, before), read_states(opened, after))


def read_states(collection: Collection, name: str) -> dict[Pair, State]:
    """What `judgements/NAME.jsonl` says of each pair, or the qrels where there is none."""
    path = collection.judgements(name)
    if not path.exists():
        return _states_of_qrels(collection, name)
    outcomes = (row.judged.outcome for row in read_judgements(path))
    return {
        o.pair: State(None, o.status) if isinstance(o, Failure) else judged(o.grade)
        for o in outcomes
    }


def _states_of_qrels(collection: Collection, name: str) -> dict[Pair, State]:
    path = collection.existing_qrels(name)
    return {
        Pair(query_id, doc_id): judged(grade)
        for query_id, graded in read_qrels(path).items()
        for doc_id, grade in graded.items()
    }
