"""What `diff` returns: three sentences, tables, and the JSON of the command."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labeler.agreement.diff.shares import QueryMoves, Share
from labeler.agreement.sentences import hundred, plain, short, signed
from labeler.arrays import Floats
from labeler.judging.changes import JudgedSet
from labeler.judging.transitions import Move, Transitions
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.report.notebook import notebook_html
from labeler.report.table import Column, Row, Table

if TYPE_CHECKING:
    from pandas import DataFrame

    from labeler.evaluation.boards.board import Leaderboard

from labeler.agreement.diff.agreeing import SIDES, Agreeing

MOST_QUERIES = 5
"""So many of the queries in which most pairs moved are shown."""


@dataclass(frozen=True, eq=False, repr=False)
class Diff:
    """Two sets of grades of the same pairs: what moved, what it brought, and what it cost.

    `by_query` are the moves of each query, most moved pairs first; `up` and `down` the shares of
    the pairs that both grade. `agreeing` is None where nobody's
    human qrels are known, `board` where fewer than two runs are.
    """

    names: tuple[str, str]
    transitions: Transitions
    sides: tuple[JudgedSet, JudgedSet]
    by_query: tuple[QueryMoves, ...]
    up: Share
    down: Share
    agreeing: Agreeing | None = None
    board: Leaderboard | None = None
    findings: tuple[Finding, ...] = ()

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

    @property
    def sentences(self) -> list[str]:
        """How much moved, whether it is closer to people, and whether systems change places."""
        return [self._how_much(), self._how_close(), self._order()]

    def _how_much(self) -> str:
        before, after = self.names
        if not self.pairs:
            return f"No pair has a grade in both {before} and {after}."
        moved = sum(query.moved for query in self.by_query)
        pairs = count_of(self.pairs, "pair", "pairs")
        up, down = (f"{hundred(s.value or 0.0)}{_hundreds(s)}" for s in (self.up, self.down))
        return (
            f"{after} gives another grade than {before} to {moved:,} of the {pairs} that both "
            f"graded: of 100, {up} are higher and {down} lower.{self._beside()}"
        )

    def _beside(self) -> str:
        """The pairs that only one of the two has, and those of which one has no grade."""
        alone = sum(move.is_one_sided for move in self.moved)
        failed = [
            m for m in self.moved if not m.is_one_sided and None in (m.before.grade, m.after.grade)
        ]
        gained = sum(move.before.grade is None and move.after.grade is not None for move in failed)
        lost = sum(move.before.grade is not None and move.after.grade is None for move in failed)
        sentences = ""
        if gained or lost:
            sentences += f" {gained:,} without a grade got one, {lost:,} lost theirs."
        if alone:
            sentences += f" {count_of(alone, 'pair stands', 'pairs stand')} on one side only."
        return sentences

    def _how_close(self) -> str:
        agreeing, names = self.agreeing, self.names
        if agreeing is None:
            return "Which of the two is closer to people is not known: no human qrels were named."
        change = next(iter(agreeing.after.differences), None)
        if change is None or change.value is None:
            return f"The two share too few pairs with {short(agreeing.human)} to be compared."
        human, name = short(agreeing.human), change.statistic.name
        values = [plain(value or 0.0, 2) for value in (change.second, change.first)]
        ends = (
            ""
            if change.low is None or change.high is None
            else (f", {signed(change.low, 2)} to {signed(change.high, 2)}")
        )
        difference = f"{signed(change.value, 2)}{ends}"
        basis = f"by {name} over {count_of(change.pairs, 'pair', 'pairs')}"
        verdict = agreeing.verdict(change)
        if verdict.endswith("is closer"):
            return (
                f"{verdict} to {human} {basis}: {values[0]} of {names[0]}, {values[1]} of"
                f" {names[1]}, a difference of {difference}."
            )
        return (
            f"Which of the two is closer to {human} cannot be told {basis}: {values[0]} of"
            f" {names[0]}, {values[1]} of {names[1]}, a difference of {difference}."
        )

    def _order(self) -> str:
        if self.board is None:
            return "Whether systems change places is not known: fewer than two runs were given."
        return self.board.sentences[0]

    def tables(self) -> list[Table]:
        """The tables `transitions`, `moved`, `queries`, and where known `agreement` and `runs`."""
        tables = [self.transitions.matrix_table(*self.names), self.query_table()]
        if self.agreeing is not None and self.agreeing.after.differences:
            tables.append(self.agreeing.table())
        if self.board is not None:
            tables.append(self.board.tables()[0])
        if any(side.spent for side in self.sides):
            tables.append(self.cost_table())
        return tables

    def moved_table(self) -> Table:
        """The pairs that moved, the farthest first."""
        return self.transitions.moved_table(*self.names)

    def query_table(self) -> Table:
        """The queries in which most pairs moved."""
        columns = [Column("query", align="left"), *map(Column, ("pairs", "up", "down"))]
        rows: list[Row] = [list(q) for q in self.by_query[:MOST_QUERIES] if q.moved]
        return Table("queries", columns, rows, "where most pairs moved")

    def cost_table(self) -> Table:
        """What each set took."""
        columns = [
            Column("set", align="left"),
            Column("replies"),
            Column("tokens in"),
            Column("tokens out"),
            Column("cost", format="$"),
            Column("no grade"),
        ]
        rows: list[Row] = []
        for name, side, lost in zip(self.names, self.sides, self._failures(), strict=True):
            spent, no_grade = side.spent, sum(lost.values())
            cells = [None] * 4 if spent is None else [
                spent.replies, spent.prompt_tokens, spent.completion_tokens, spent.cost
            ]  # fmt: skip
            rows.append([name, *cells, no_grade])
        return Table("cost", columns, rows)

    def _failures(self) -> list[Counter[str]]:
        """The pairs without a grade of each set, by status."""
        return [
            Counter(s.status for s in side.states.values() if s.grade is None)
            for side in self.sides
        ]

    def frame(self) -> DataFrame:
        """The pairs that moved as a pandas DataFrame."""
        return self.moved_table().frame()

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command `diff`; `a` is the earlier set, `b` the later one."""
        whole = self.transitions.as_json()
        return {
            "names": dict(zip(SIDES, self.names, strict=True)),
            "pairs": self.pairs,
            "grades": self.grades,
            "transitions": [[int(count) for count in row] for row in self.grade_table],
            "up": self.up._asdict(),
            "down": self.down._asdict(),
            "states": whole["states"],
            "table": whole["table"],
            "agreement": None if self.agreeing is None else self.agreeing.as_json(),
            "leaderboard": None if self.board is None else self._board_as_json(self.board),
            "cost": {
                side: None if judged.spent is None else vars(judged.spent)
                for side, judged in zip(SIDES, self.sides, strict=True)
            },
            "failures": dict(zip(SIDES, map(dict, self._failures()), strict=True)),
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
        sentences = [Finding(sentence, level="note") for sentence in self.sentences]
        return notebook_html(self.tables(), [*sentences, *self.findings])


def _hundreds(share: Share) -> str:
    """The interval of a share as so many of 100."""
    if share.low is None or share.high is None:
        return ""
    return f" ({100 * share.low:.0f} to {100 * share.high:.0f} over queries like these)"
