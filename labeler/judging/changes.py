"""What a set of judgements says of each pair, and what changed from one set to another."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, compress
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np

from labeler.arrays import Flags, Floats, Integers, Places
from labeler.collection.card import Parent
from labeler.collection.judgements import JudgedBlock, Origin, judged_blocks
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.collection.pool import Pairs
from labeler.collection.queries import read_queries
from labeler.collection.stale import shown_in_block
from labeler.collection.whose import is_of_people, routed_pairs
from labeler.data import Pair, Qrels, State, judged
from labeler.errors import BadInput
from labeler.files.jsonl import row_of_line
from labeler.files.read import numbered_bytes
from labeler.report.neutral import flat
from labeler.report.result import Result
from labeler.report.table import Column, Row, Table
from labeler.trec.columns import Codes, Small
from labeler.trec.pairs import NONE, Joined, PairColumns, joined_pairs, taken
from labeler.trec.qrels import read_qrels

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
        rank = ranks[self.before[rows], self.after[rows]]
        rows = rows[np.argsort(rank, kind="stable")][:limit]
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
        before: str = "before",
        after: str = "after",
        limit: int = 20,
        width: int | None = None,
    ) -> str:
        """The first pairs that moved, to be read: the grades, the query, and both reasons.

        Lines are broken at `width`, where there is one.
        """
        lines = []
        for move in self.first_moved(limit):
            lines.append(
                _broken(f"{' '.join(move.pair)}  {move.before} -> {move.after}", "", width)
            )
            texts = {"query": move.query, before: move.reason_before, after: move.reason_after}
            for name, text in texts.items():
                lines += [_broken(f"{name}: {text}", "    ", width)] if text else []
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


def human_beside(collection: AnyCollection, *names: str) -> str | None:
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


@dataclass(frozen=True, eq=False)
class Distributions:
    """How probable an assessor holds each of `grades` of some pairs.

    `shares` are `(pairs, grades)`.
    """

    pairs: PairColumns[Any]
    grades: tuple[int, ...]
    shares: Floats

    @classmethod
    def of(
        cls, pairs: PairColumns[Any], given: Sequence[Mapping[int, float] | None]
    ) -> Distributions:
        """Those of the pairs that have one, `given` being parallel to all of them."""
        grades = tuple(sorted({grade for each in given if each for grade in each}))
        shares = [[each.get(grade, 0.0) for grade in grades] for each in given if each]
        mask = np.fromiter(map(bool, given), dtype=np.bool_, count=len(given))
        return cls(pairs.keep(mask), grades, np.array(shares, dtype=np.float64))

    @classmethod
    def of_pairs(cls, by_pair: Mapping[Pair, Mapping[int, float]]) -> Distributions:
        """Those of a dict by pairs."""
        given = list(by_pair.values())
        pairs = PairColumns.of_pairs(dict(zip(by_pair, range(len(given)), strict=True)), np.int64)
        return cls.of(pairs, [given[row] for row in pairs.value.tolist()])

    def put(self, pairs: PairColumns[Any], grades: Sequence[int], matrix: Floats) -> Flags:
        """Put them in the place of rows of a `matrix`, `(pairs, grades)`; which rows these are.

        The shares of the grades sum to 1 then. A pair without a share of any of them is left.
        """
        column = {grade: self.shares[:, at] for at, grade in enumerate(self.grades)}
        nothing = np.zeros(len(self.shares))
        shares = np.stack([column.get(grade, nothing) for grade in grades], axis=1)
        whole, at = shares.sum(axis=1), pairs.rows_in(self.pairs)
        has = taken(whole, at, 0.0) > 0
        matrix[has] = shares[at[has]] / whole[at[has], None]
        return has


@dataclass(frozen=True)
class Reasons:
    """Why each pair has its grade, as a file of judgements says, read when somebody asks for it.

    `row`, `(n,)`, is the place of each pair's row among the file's rows, and `size` that of the
    file when it was read.
    """

    path: Path
    row: Places
    size: int

    def of(self, pairs: Places) -> list[str]:
        """The reasons of some pairs, of a failure its detail; empty of -1.

        `BadInput` where the file is not the one any more that was read.
        """
        if self.path.stat().st_size != self.size:
            raise BadInput(f"{self.path}: changed since it was read; compare the sets again")
        at = taken(self.row, pairs, NONE).tolist()
        texts = dict.fromkeys(at, "")
        lines = (line for line in numbered_bytes(self.path) if b"{" in line[1])  # none is blank
        for row, (number, line) in enumerate(lines):
            if row in texts:
                values = row_of_line(self.path, number, line) or {}
                what = "detail" if values.get("grade") is None else "reason"
                texts[row] = str(values.get(what) or "")
        return [texts[row] for row in at]

    def shown(self) -> list[str]:
        """What was shown for each grade; empty of a failure, and where that is not known."""
        every = list(chain.from_iterable(map(shown_in_block, judged_blocks(self.path))))
        return [every[at] for at in self.row.tolist()]


@dataclass(frozen=True, eq=False)
class JudgedSet:
    """What a set of judgements says of each pair, in columns over the pairs of `states`.

    `took`, `(n, 3)`, are each pair's replies, prompt tokens and completion tokens, and `cost`,
    `(n,)`, its dollars, `nan` for an unknown price; both are None where only grades are known.
    `shares` say how probable each grade is, of each pair, where that was read. `asked` are the
    models that were asked, `served` what servers called theirs; `origin` is that of the last row.
    """

    states: PairColumns[State]
    took: Places | None = None
    cost: Floats | None = None
    reasons: Reasons | None = None
    shares: Sequence[Mapping[int, float] | None] = ()
    asked: frozenset[str] = frozenset()
    served: frozenset[str] = frozenset()
    prompts: frozenset[str] = frozenset()
    origin: Origin | None = None

    @classmethod
    def of_grades(cls, qrels: Qrels) -> JudgedSet:
        """A set of which only grades are known."""
        grades = PairColumns.of(qrels, np.int64)
        distinct, code = grades.coded
        states = tuple(map(judged, distinct))
        return cls(grades.holding(code, states))

    def __len__(self) -> int:
        return self.states.size

    @cached_property
    def grades(self) -> PairColumns[int]:
        """The grades of the pairs that have one."""
        return self.states.holding(self.grade).keep(self.is_graded)

    @cached_property
    def grade(self) -> Integers:
        """The grade of each pair, `(n,)`; 0 where it has none."""
        labels, code = self.states.coded
        return np.array([state.grade or 0 for state in labels], dtype=np.int64)[code]

    @cached_property
    def failures(self) -> dict[Pair, str]:
        """The status of each pair that has no grade."""
        failed = self.restricted(~self.is_graded).states
        return {pair: state.status for pair, state in failed.by_pair()}

    @cached_property
    def is_graded(self) -> Flags:
        """Which pairs have a grade, `(n,)`."""
        labels, code = self.states.coded
        return np.array([state.grade is not None for state in labels], dtype=np.bool_)[code]

    @cached_property
    def distributions(self) -> Distributions | None:
        """How probable each grade is, of the pairs of which the assessor says it."""
        return Distributions.of(self.states, self.shares) if any(self.shares) else None

    @cached_property
    def shown(self) -> list[str]:
        """What was shown for each grade; empty of a failure, and where that is not known."""
        return self.reasons.shown() if self.reasons else [""] * len(self)

    def reasons_of(self, rows: Places) -> list[str]:
        """Why some of the pairs have their grades; empty where that is not known."""
        return self.reasons.of(rows) if self.reasons and len(rows) else [""] * len(rows)

    def answer(self, row: int) -> int | str | None:
        """The grade of a pair, or the status of its failure; None where it stands in no row."""
        if row == NONE:
            return None
        labels, code = self.states.coded
        state: State = labels[code[row]]
        return state.answer

    def restricted(self, mask: Flags) -> JudgedSet:
        """The same of the pairs of a mask, `(n,)`, alone."""
        if mask.all():
            return self
        return replace(
            self,
            states=self.states.keep(mask),
            took=None if self.took is None else self.took[mask],
            cost=None if self.cost is None else self.cost[mask],
            reasons=self.reasons and replace(self.reasons, row=self.reasons.row[mask]),
            shares=list(compress(self.shares, mask.tolist())),
        )

    def among(self, pairs: PairColumns[Any]) -> JudgedSet:
        """The same of some pairs alone."""
        return self.restricted(self.states.rows_in(pairs) != NONE)

    def without(self, pairs: Set[Pair]) -> JudgedSet:
        """The same without some pairs."""
        if not pairs:
            return self
        others = PairColumns.of_pairs(dict.fromkeys(pairs, 0), np.int8)
        return self.restricted(self.states.rows_in(others) == NONE)

    def spent(self) -> Spent | None:
        """What all of its pairs took; None where that is not known."""
        if self.took is None or self.cost is None:
            return None
        cost = float(sum(self.cost.data))
        replies, inside, outside = self.took.sum(axis=0).tolist()
        return Spent(replies, inside, outside, None if math.isnan(cost) else cost)


def texts_of_queries(collection: Collection) -> dict[str, str]:
    """What the queries of a collection say, by their ids."""
    if not collection.queries.is_file():
        return {}
    return {query.id: query.text for query in read_queries(collection.queries).values()}


def read_set(collection: Collection, name: str) -> JudgedSet:
    """What `judgements/NAME.jsonl` says of each pair, or the qrels where there is none."""
    path = collection.judgements(name)
    if path.exists():
        return judged_in(path)
    return JudgedSet.of_grades(read_qrels(collection.existing_qrels(name)))


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


def judged_in(path: Path, *, shares: bool = False) -> JudgedSet:
    """What a file of judgements says of each pair; `shares` is as of `set_of_blocks`."""
    size = path.stat().st_size if path.is_file() else None
    read, row = set_of_blocks(judged_blocks(path), shares=shares)
    return read if size is None else replace(read, reasons=Reasons(path, row, size))


def set_of_blocks(
    blocks: Iterable[JudgedBlock], *, shares: bool = False
) -> tuple[JudgedSet, Places]:
    """What rows say of each pair, its last row where there are several, and that row's place.

    `shares` says whether distributions are kept beside.
    """
    queries, documents, states = Codes(), Codes(), Codes()
    took, cost = array("q"), array("d")
    distributions = list[Mapping[int, float] | None]()
    origins, served = dict[int, Origin](), set[str]()
    origin = None
    for block in blocks:
        queries.extend(block.query_id)
        documents.extend(block.doc_id)
        states.extend(block.state)
        took.extend(chain.from_iterable(block.counts))
        cost.extend(math.nan if each is None else each for each in block.cost)
        origins |= {id(rest.origin): rest.origin for rest in block.rest}
        served.update(block.model)
        distributions += [made_of.distribution for made_of in block.made_of] if shares else []
        origin = block.rest[-1].origin if block.rest else origin
    every = Pairs(tuple(queries.place), tuple(documents.place), queries.code, documents.code)
    row = _last_rows(every)
    edges = np.searchsorted(every.query[row], np.arange(len(every.queries) + 1))
    places = edges, every.documents, every.document[row]
    judged_set = JudgedSet(
        PairColumns(every.queries, *places, states.code[row], tuple(states.place)),
        _narrow(np.asarray(took, dtype=np.int64)).reshape(-1, 3)[row],
        np.asarray(cost, dtype=np.float64)[row],
        shares=[distributions[at] for at in row.tolist()] if shares else (),
        asked=frozenset(each.model for each in origins.values() if each.model),
        served=frozenset(served - {""}),
        prompts=frozenset(each.prompt for each in origins.values()),
        origin=origin,
    )
    return judged_set, row


def _narrow(values: Integers) -> Places:
    """The same in half the memory, where 32 bits hold each."""
    return values.astype(np.int32) if values.max(initial=0) < 2**31 else values


def _last_rows(every: Pairs) -> Small:
    """The last row of each pair, by query, both in the order in which they first appear."""
    order = np.argsort(every.codes, kind="stable")
    codes = every.codes[order]
    is_last = np.append(codes[1:] != codes[:-1], True)[: len(codes)]
    first, last = order[np.roll(is_last, 1)], order[is_last]
    return np.asarray(last[np.lexsort((first, every.query[first]))], dtype=np.int32)
