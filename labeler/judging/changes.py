"""What a set of judgements says of each pair, and what changed from one set to another."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection, open_collection
from labeler.collection.parent import Parent
from labeler.collection.queries import read_queries
from labeler.collection.routed import routed_pairs
from labeler.collection.whose import is_of_people
from labeler.data import Failure, Judged, Pair
from labeler.judging.transitions import State, Transitions, judged, transitions
from labeler.trec.qrels import read_qrels


def changes_of(old: JudgedSet, new: JudgedSet, queries: Mapping[str, str]) -> Transitions:
    """What became of each pair of two sets; `queries` are the texts of queries, by their ids."""
    changes = transitions(old.states, new.states)
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
    people = [name for name in opened.qrels_names() if name not in names]
    people = [name for name in people if is_of_people(opened, name)]
    people = [name for name in people if not routed_pairs(opened, name)]
    return "human" if "human" in people else next(iter(people), None)


class Spent(NamedTuple):
    """What judging took: replies, tokens, and dollars; None for an unknown price."""

    replies: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = 0.0

    @classmethod
    def on(cls, judged: Judged) -> Spent:
        """What one pair took."""
        tokens = judged.prompt_tokens, judged.completion_tokens
        return cls(judged.attempts, *tokens, judged.cost)

    def plus(self, other: Spent) -> Spent:
        """With what something else took."""
        is_priced = self.cost is not None and other.cost is not None
        return Spent(
            self.replies + other.replies,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            (self.cost or 0.0) + (other.cost or 0.0) if is_priced else None,
        )


@dataclass(frozen=True)
class JudgedSet:
    """What a set of judgements says of each pair, its reasons, where it has some, and its costs.

    `costs` is None where only grades are known.
    """

    states: dict[Pair, State]
    reasons: dict[Pair, str] = field(default_factory=dict)
    costs: dict[Pair, Spent] | None = None

    def restricted(self, pairs: Container[Pair]) -> JudgedSet:
        """The same of these pairs alone."""
        return JudgedSet(
            {pair: state for pair, state in self.states.items() if pair in pairs},
            {pair: reason for pair, reason in self.reasons.items() if pair in pairs},
            self.costs and {pair: cost for pair, cost in self.costs.items() if pair in pairs},
        )

    def spent(self) -> Spent | None:
        """What all of its pairs took; None where that is not known."""
        if self.costs is None:
            return None
        total = Spent()
        for cost in self.costs.values():
            total = total.plus(cost)
        return total


def texts_of_queries(collection: Collection) -> dict[str, str]:
    """What the queries of a collection say, by their ids."""
    if not collection.queries.is_file():
        return {}
    return {query.id: query.text for query in read_queries(collection.queries).values()}


def read_set(collection: Collection, name: str) -> JudgedSet:
    """What `judgements/NAME.jsonl` says of each pair, or the qrels where there is none."""
    path = collection.judgements(name)
    return judged_in(path) if path.exists() else JudgedSet(_states_of_qrels(collection, name))


def sets_alike(
    parents: tuple[Parent | None, Parent | None], sets: tuple[JudgedSet, JudgedSet]
) -> tuple[JudgedSet, JudgedSet]:
    """Two sets, each without the pairs that the other was never to judge, being a part alone."""
    first, second = sets
    if parents[1] is not None and parents[1].is_part:
        first = first.restricted(second.states)
    if parents[0] is not None and parents[0].is_part:
        second = second.restricted(first.states)
    return first, second


def judged_in(path: Path) -> JudgedSet:
    """What a file of judgements says of each pair.

    Equal ids, states and costs are one object each, as a set may have millions of pairs.
    """
    costs: dict[Pair, Spent] = {}
    ids, states, spent = dict[str, str](), dict[State, State](), dict[Spent, Spent]()
    read = JudgedSet({}, costs=costs)
    for row in read_judgements(path):
        outcome = row.judged.outcome
        if isinstance(outcome, Failure):
            state, reason = State(None, outcome.status), outcome.detail
        else:
            state, reason = judged(outcome.grade), outcome.reason or ""
        pair = Pair(*(ids.setdefault(name, name) for name in outcome.pair))
        cost = Spent.on(row.judged)
        read.states[pair] = states.setdefault(state, state)
        costs[pair] = spent.setdefault(cost, cost)
        if reason:
            read.reasons[pair] = reason
    return read


def _states_of_qrels(collection: Collection, name: str) -> dict[Pair, State]:
    path = collection.existing_qrels(name)
    return {
        Pair(query_id, doc_id): judged(grade)
        for query_id, graded in read_qrels(path).items()
        for doc_id, grade in graded.items()
    }
