"""What `diff` returns: three sentences, tables, and the JSON of the command."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from labeler.agreement.diff import sentences
from labeler.agreement.diff.agreeing import SIDES, Agreeing, Beside
from labeler.agreement.diff.noise import Noise
from labeler.agreement.diff.shares import MovesByQuery, QueryMoves
from labeler.agreement.diff.sides import Sides
from labeler.agreement.diff.spending import CostChange, spending_of
from labeler.arrays import Floats
from labeler.judging.transitions import Move, Transitions
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.report.notebook import notebook_html
from labeler.report.table import Column, Interval, Row, Table
from labeler.stats.levels import SIGNIFICANT

if TYPE_CHECKING:
    from pandas import DataFrame

    from labeler.evaluation.boards.board import Leaderboard

MOST_QUERIES = 5
"""So many of the queries in which most pairs moved are shown."""
MOST_SWAPS = 10


@dataclass(frozen=True, eq=False, repr=False)
class Diff:
    """Two sets of grades of the same pairs: what moved, what it brought, and what it cost.

    `spread` are the moves of each query, those first in which most moved beyond chance; `up` and
    `down` the shares of the pairs that both grade. `board` is None where fewer than two runs are,
    or a part of the pairs was judged; `noise` where neither set was asked twice.
    """

    sides: Sides
    transitions: Transitions
    spread: MovesByQuery
    up: Interval
    down: Interval
    beside: Beside
    board: Leaderboard | None = None
    noise: Noise | None = None
    more: tuple[Finding, ...] = ()

    @property
    def names(self) -> tuple[str, str]:
        """What the two sets are called, the earlier one first."""
        return self.sides.names

    @property
    def agreeing(self) -> Agreeing | None:
        """How far both agree with people; None where nobody's human qrels are known."""
        return self.beside.agreeing

    @property
    def by_query(self) -> tuple[QueryMoves, ...]:
        """The moves of each query, those first in which most moved beyond chance."""
        return self.spread.queries

    @property
    def moved(self) -> tuple[Move, ...]:
        """The pairs that moved, the farthest first."""
        return self.transitions.moved

    @property
    def grades(self) -> list[int]:
        """The grades that stand in either set."""
        return [state.grade for state in self.transitions.states if state.grade is not None]

    @property
    def grade_table(self) -> Floats:
        """How many pairs went from each of these grades, in rows, to each other; grades come first
        among the states.
        """
        return self.transitions.table[: len(self.grades), : len(self.grades)]

    @property
    def pairs(self) -> int:
        """How many pairs both sets grade."""
        return sum(query.pairs for query in self.by_query)

    @cached_property
    def spending(self) -> CostChange:
        """What both sets took, and how many pairs of each have no grade."""
        return spending_of(self.sides)

    @property
    def sentences(self) -> list[str]:
        """How much moved, whether it is closer to people, and whether systems change places."""
        shares = self.up, self.down
        return [
            sentences.how_much(self.sides, self.moved, self.by_query, shares, self.noise),
            sentences.how_close(self.beside, self.names),
            sentences.order(self.board, self.sides),
        ]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What a reader should know of the figures, and where moves concentrate."""
        concentrated = [Finding(line, level="note") for line in self._concentrated()]
        return (*self.more, *concentrated)

    def _concentrated(self) -> list[str]:
        """In which queries more moved than moves dealt out at random would put into any."""
        out = [query for query in self.by_query if query.stands_out]
        if not out:
            return []
        queries = count_of(len(out), "query", "queries")
        moved, pairs = sum(q.moved for q in out), sum(q.pairs for q in out)
        chance = sum(q.by_chance or 0.0 for q in out)
        text = f"moves concentrate in {queries}: {moved:,} of {pairs:,} pairs there moved"
        return [f"{text}; spread at random over all pairs, about {chance:,.0f} would have"]

    def tables(self) -> list[Table]:
        """The tables `transitions`, `retest`, `queries`, `agreement`, those of systems, and `cost`.

        Each where it is known.
        """
        tables = [self.transitions.matrix_table(*self.names)]
        if self.noise is not None:
            tables.append(self.noise.table())
        tables.append(self.query_table())
        if self.agreeing is not None and self.agreeing.after.differences:
            tables.append(self.agreeing.table())
        if self.board is not None:
            tables += self.board.tables(MOST_SWAPS)
        if self.spending.is_known:
            tables.append(self.spending.table())
        return tables

    def moved_table(self) -> Table:
        """The pairs that moved, the farthest first."""
        return self.transitions.moved_table(*self.names)

    def query_table(self) -> Table:
        """The queries in which most pairs moved beyond what chance would put there."""
        columns = [
            Column("query", align="left"),
            *map(Column, ("pairs", "up", "down", "moved")),
            Column("by chance", format=",.0f"),
            Column("p", format=".2g"),
        ]
        rows: list[Row] = [
            [q.query_id, q.pairs, q.up, q.down, q.moved, q.by_chance, q.p]
            for q in self.by_query[:MOST_QUERIES]
            if q.moved
        ]
        return Table("queries", columns, rows, self._spread_title())

    def _spread_title(self) -> str:
        title = "where most pairs moved"
        if self.spread.p is None:
            return title
        if self.spread.p < SIGNIFICANT:
            return f"{title} beyond chance (uneven over queries: p {self.spread.p:.2g})"
        return f"{title} (not shown to be uneven over queries: p {self.spread.p:.2g})"

    def frame(self) -> DataFrame:
        """The pairs that moved as a pandas DataFrame."""
        return self.moved_table().frame()

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command `diff`; `a` is the earlier set, `b` the later one."""
        whole = self.transitions.as_json()
        return {
            "names": dict(zip(SIDES, self.names, strict=True)),
            "parents": {
                side: None if parent is None else parent.as_json()
                for side, parent in zip(SIDES, self.sides.parents, strict=True)
            },
            "pairs": self.pairs,
            "stale": self.sides.stale,
            "grades": self.grades,
            "transitions": [[int(count) for count in row] for row in self.grade_table],
            "up": self.up._asdict(),
            "down": self.down._asdict(),
            "retest": None if self.noise is None else self.noise.as_json(),
            "states": whole["states"],
            "table": whole["table"],
            "agreement": None if self.agreeing is None else self.agreeing.as_json(),
            "leaderboard": None if self.board is None else self._board_as_json(self.board),
            "cost": self.spending.cost_as_json(),
            "failures": self.spending.failures_as_json(),
            "uneven_p": self.spread.p,
            "queries": [query._asdict() for query in self.by_query if query.moved],
            "moves": whole["moved"],
            "warnings": [finding.text for finding in self.findings if finding.level == "warning"],
        }

    def _board_as_json(self, board: Leaderboard) -> dict[str, Any]:
        """The systems by both sets, and how alike each order is to that by people's grades."""
        boards = {} if self.agreeing is None else {
            "a": self.agreeing.before.board, "b": self.agreeing.after.board
        }  # fmt: skip
        alike = {
            side: {name: c._asdict() for name, c in by_human.statistics.items()}
            for side, by_human in boards.items()
            if by_human is not None
        }
        return {**board.as_json(), "to_human": alike or None}

    def __repr__(self) -> str:
        moved = sum(query.moved for query in self.by_query)
        before, after = self.names
        return f"Diff({before!r} to {after!r}: {moved:,} of {self.pairs:,} pairs moved)"

    def _repr_html_(self) -> str:
        return notebook_html(self.tables(), self.findings, self.sentences)
