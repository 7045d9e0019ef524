"""Two sets of judgements of one collection: what changed from the one to the other."""

from __future__ import annotations

from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection
from labeler.data import Failure, Pair
from labeler.judging.transitions import State, Transitions, judged, transitions
from labeler.trec.files import read_qrels


def compare_judgements(collection: Collection, before: str, after: str) -> Transitions:
    """What became of each pair between two names of a collection."""
    return transitions(read_states(collection, before), read_states(collection, after))


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
