"""What a set of judgements says of each pair, and what changed from one set to another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np

from labeler.arrays import Floats
from labeler.collection.card import Parent
from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection, open_collection
from labeler.collection.queries import read_queries
from labeler.collection.whose import is_of_people, routed_pairs
from labeler.data import JUDGED, Failure, Judged, Pair
from labeler.report.neutral import flat
from labeler.report.result import Result
from labeler.report.table import Cell, Column, Row, Table
from labeler.trec.qrels import read_qrels

# From one set of judgements to another of the same pairs: what became of each grade.

ABSENT = "absent"


class State(NamedTuple):
    """What a set says of a pair: a grade, a failure's status, or `absent` where it says nothing."""

    grade: int | None
    status: str

    def __str__(self) -> str:
        return str(self.grade) if self.grade is not None else self.status


class Move(NamedTuple):
    """A pair whose state changed, with its query's text and what each assessor gave as a reason.

    Of a failure, the reason is its detail. What is not known is empty.
    """

    pair: Pair
    before: State
    after: State
    query: str = ""
    reason_before: str = ""
    reason_after: str = ""

    @property
    def is_one_sided(self) -> bool:
        """Whether one side has neither a grade nor a failure of it."""
        return ABSENT in (self.before.status, self.after.status)


@dataclass(frozen=True, eq=False, repr=False)
class Transitions(Result):
    """`table[i, j]` pairs went from `states[i]` to `states[j]`; `moved` lists the changed."""

    states: tuple[State, ...]
    table: Floats
    moved: tuple[Move, ...]

    @property
    def pairs(self) -> int:
        """How many pairs either side has."""
        return int(self.table.sum())

    def as_json(self) -> dict[str, Any]:
        """The matrix, the names of its rows and columns, and every pair that moved."""
        moved = [
            {
                **move.pair._asdict(),
                **move._asdict(),
                "before": str(move.before),
                "after": str(move.after),
            }
            for move in self.moved
        ]
        for row in moved:
            del row["pair"]
        states = list(map(str, self.states))
        return self.picked("pairs", states=states, table=self.table.astype(int), moved=moved)

    def tables(self) -> list[Table]:
        """The pairs that moved, and the matrix."""
        return [self.moved_table(), self.matrix_table()]

    def matrix_table(self, before: str = "before", after: str = "after") -> Table:
        """How many pairs went from each state, in rows, to each other, in columns."""
        states = [Column(str(state), format=",.0f") for state in self.states]
        columns = [
            Column("before", f"{before} \\ {after}", align="left"),
            *states,
            Column("all", format=",.0f"),
        ]
        rows: list[Row] = [
            [str(state), *map(int, counts), int(counts.sum())]
            for state, counts in zip(self.states, self.table, strict=True)
        ]
        return Table("transitions", columns, rows)

    def moved_table(self, before: str = "before", after: str = "after") -> Table:
        """The pairs that moved, what a failure took or gave a grade first, then the farthest."""
        columns = [
            Column("query_id", "query", align="left"),
            Column("doc_id", "document", align="left", widest=None),
            Column("before", before),
            Column("after", after),
        ]
        rows: list[list[Cell]] = [
            [*move.pair, str(move.before), str(move.after)] for move in self.moved
        ]
        texts = {
            "query": ("query text", [move.query for move in self.moved]),
            "reason_before": (f"reason of {before}", [move.reason_before for move in self.moved]),
            "reason_after": (f"reason of {after}", [move.reason_after for move in self.moved]),
        }
        for name, (title, values) in texts.items():
            if any(values):
                columns.append(Column(name, title, align="left", widest=None))
                for row, value in zip(rows, values, strict=True):
                    row.append(value)
        return Table("moved", columns, rows)

    def listing(
        self,
        before: str = "before",
        after: str = "after",
        limit: int = 20,
        width: int | None = None,
    ) -> str:
        """The first pairs that moved, to be read: the grades, the query, and both reasons.

        Lines are broken at `width`, where there is one.
        """
        lines = []
        for move in self.moved[:limit]:
            lines.append(
                _broken(f"{' '.join(move.pair)}  {move.before} -> {move.after}", "", width)
            )
            texts = {"query": move.query, before: move.reason_before, after: move.reason_after}
            for name, text in texts.items():
                lines += [_broken(f"{name}: {text}", "    ", width)] if text else []
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Transitions({len(self.moved)} of {self.pairs} moved)"


def transitions(before: Mapping[Pair, State], after: Mapping[Pair, State]) -> Transitions:
    """What became of every pair that either side has; grades first, then statuses."""
    absent = State(None, ABSENT)
    pairs: dict[tuple[State, State], list[Pair]] = defaultdict(list)
    for pair in before.keys() | after.keys():
        pairs[before.get(pair, absent), after.get(pair, absent)].append(pair)
    states = sorted({state for change in pairs for state in change}, key=_order)
    index_of = {state: index for index, state in enumerate(states)}
    table = np.zeros((len(states), len(states)))
    for (old, new), changed in pairs.items():
        table[index_of[old], index_of[new]] = len(changed)
    ranked = sorted(
        (rank, pair, old, new)
        for (old, new), changed in pairs.items()
        if old != new
        for rank in (_rank(old, new),)
        for pair in changed
    )
    moved = tuple(Move(pair, old, new) for _, pair, old, new in ranked)
    return Transitions(tuple(states), table, moved)


def judged(grade: int) -> State:
    """The state of a pair with a grade."""
    return State(grade, JUDGED)


def _broken(text: str, indent: str, width: int | None) -> str:
    """One line of a listing, broken at a width, with what follows indented further."""
    line = indent + flat(text)
    if width is None or len(line) <= width:
        return line
    return "\n".join(wrap(line, width, subsequent_indent=f"{indent}  ", break_on_hyphens=False))


def _order(state: State) -> tuple[bool, int, bool, str]:
    return state.grade is None, state.grade or 0, state.status == ABSENT, state.status


def _rank(old: State, new: State) -> int:
    """What a failure took or gave a grade comes first, then the farthest; one-sided ones last."""
    if ABSENT in (old.status, new.status):
        return 1
    if old.grade is None or new.grade is None:
        return -1_000_000
    return -abs(old.grade - new.grade)


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
