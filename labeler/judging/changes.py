"""What a set of judgements says of each pair, and what changed from one set to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from labeler.arrays import Floats, Places
from labeler.collection.card import Parent
from labeler.collection.judged_set import JudgedSet
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.collection.queries import query_texts
from labeler.collection.whose import is_of_people, routed_pairs
from labeler.data import Pair, State
from labeler.report.neutral import flat
from labeler.report.result import Result
from labeler.report.table import Column, Row, Table
from labeler.trec.pairs import Joined, joined_pairs

# From one set of judgements to another of the same pairs: what became of each grade.

ABSENT = "absent"


NOTHING = State(None, ABSENT)


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


@dataclass(frozen=True, eq=False, repr=False)
class Transitions(Result):
    """`table[i, j]` pairs went from `states[i]` to `states[j]`.

    `before` and `after`, `(n,)`, are the places in `states` of each of the `joined` pairs of
    `sets`; `queries` are the texts of queries, by their ids.
    """

    states: tuple[State, ...]
    table: Floats
    joined: Joined
    before: Places
    after: Places
    sets: tuple[JudgedSet, JudgedSet]
    queries: Mapping[str, str] = field(default_factory=dict)

    @property
    def pairs(self) -> int:
        """How many pairs either side has."""
        return int(self.table.sum())

    @property
    def changed(self) -> int:
        """How many pairs moved."""
        return self.pairs - int(np.trace(self.table))

    @cached_property
    def moved(self) -> tuple[Move, ...]:
        """The pairs that moved, the farthest first."""
        return self.first_moved(self.changed)

    def first_moved(self, limit: int) -> tuple[Move, ...]:
        """The first of them: what a failure took or gave a grade, then the farthest."""
        if limit <= 0:
            return ()
        rows = self.joined.by_id(self.before != self.after)
        ranks = np.array([[_rank(old, new) for new in self.states] for old in self.states])
        rows = rows[np.argsort(ranks[self.before[rows], self.after[rows]], kind="stable")][:limit]
        pairs = list(self.joined.pairs(rows))
        columns = (
            *(
                [self.states[at] for at in code[rows].tolist()]
                for code in (self.before, self.after)
            ),
            [self.queries.get(pair.query_id, "") for pair in pairs],
            *(own.reasons_of(self.joined.row[rows, side]) for side, own in enumerate(self.sets)),
        )
        return tuple(map(Move, pairs, *columns))

    def as_json(self) -> dict[str, Any]:
        """The matrix, the names of its rows and columns, and every pair that moved."""
        names = Move._fields[1:]
        moved = [
            move.pair._asdict() | dict(zip(names, map(str, move[1:]), strict=True))
            for move in self.moved
        ]
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
            Column("query", "query text", align="left", widest=None),
            Column("reason_before", f"reason of {before}", align="left", widest=None),
            Column("reason_after", f"reason of {after}", align="left", widest=None),
        ]
        rows = [[*move.pair, *map(str, move[1:])] for move in self.moved]
        filled = [at for at in range(len(columns)) if at < 4 or any(row[at] for row in rows)]
        cells = [[row[at] for at in filled] for row in rows]
        return Table("moved", [columns[at] for at in filled], cells)

    def listing(
        self,
        before: str,
        after: str,
        limit: int = 20,
    ) -> str:
        """The first pairs that moved, to be read: the grades, the query, and both reasons."""
        lines = []
        for move in self.first_moved(limit):
            lines.append(flat(f"{' '.join(move.pair)}  {move.before} -> {move.after}"))
            texts = {"query": move.query, before: move.reason_before, after: move.reason_after}
            lines += [f"    {name}: {flat(text)}" for name, text in texts.items() if text]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Transitions({self.changed} of {self.pairs} moved)"


def changes_of(
    old: JudgedSet, new: JudgedSet, queries: Mapping[str, str] | None = None
) -> Transitions:
    """What became of every pair that either set has; grades first, then statuses.

    `queries` are the texts of queries, by their ids.
    """
    joined = joined_pairs([old.states, new.states])
    every = sorted({NOTHING, *old.states.coded[0], *new.states.coded[0]}, key=_order)
    codes = []
    for column, own in enumerate((old.states, new.states)):
        labels, code = own.coded
        places = np.array([every.index(state) for state in labels], dtype=np.int16)
        codes.append(joined.values(column, places[code], every.index(NOTHING)))
    size = len(every)
    cells = codes[0].astype(np.int32) * size + codes[1]
    counts = np.bincount(cells, minlength=size**2).reshape(size, size)
    used = np.flatnonzero(counts.any(axis=0) | counts.any(axis=1))
    before, after = (np.searchsorted(used, code).astype(np.int16) for code in codes)
    states = tuple(every[at] for at in used.tolist())
    table = counts[np.ix_(used, used)].astype(np.float64)
    return Transitions(states, table, joined, before, after, (old, new), queries or {})


def _order(state: State) -> tuple[bool, int, bool, str]:
    return state.grade is None, state.grade or 0, state.status == ABSENT, state.status


def _rank(old: State, new: State) -> int:
    """What a failure took or gave a grade comes first, then the farthest; one-sided ones last."""
    if ABSENT in (old.status, new.status):
        return 1
    if old.grade is None or new.grade is None:
        return -1_000_000
    return -abs(old.grade - new.grade)


def human_beside(collection: AnyCollection, *names: str) -> str | None:
    """People's qrels of a collection that are none of `names`: `human`, or else a sheet's."""
    opened = open_collection(collection)
    others = (name for name in opened.qrels_names() if name not in names)
    people = [n for n in others if is_of_people(opened, n) and not routed_pairs(opened, n)]
    return "human" if "human" in people else next(iter(people), None)


def texts_of_queries(collection: Collection) -> dict[str, str]:
    """What the queries of a collection say, by their ids."""
    return query_texts(collection.queries) if collection.queries.is_file() else {}


def sets_alike(
    parents: tuple[Parent | None, Parent | None], sets: tuple[JudgedSet, JudgedSet]
) -> tuple[JudgedSet, JudgedSet]:
    """Two sets, each without the pairs that the other was never to judge, being a part alone."""
    first, second = sets
    if parents[1] is not None and parents[1].is_part:
        first = first.among(second.states)
    if parents[0] is not None and parents[0].is_part:
        second = second.among(first.states)
    return first, second
