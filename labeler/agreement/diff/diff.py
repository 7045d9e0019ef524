"""`diff`: what changed between two sets of grades, and whether it brought them closer to people."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labeler.agreement.agree import AgreeOptions, agree_all
from labeler.agreement.align import AssessorLabels, GradeMatrix
from labeler.agreement.compare import StatisticOptions
from labeler.agreement.diff import moves
from labeler.agreement.diff.moves import (
    SIDES,
    BesidePeople,
    Noise,
    QueryMoves,
    common_grades,
    has_common_queries,
    moves_by_query,
    noise_of,
    shares_moved,
)
from labeler.agreement.diff.sides import Sides, sides_of
from labeler.agreement.shown import differences_table
from labeler.agreement.sources import RunSources, runs_of, sources_of
from labeler.collection.judged_set import JudgedSet, read_set
from labeler.collection.layout import Collection
from labeler.collection.whose import is_of_people, not_of_people
from labeler.errors import BadInput
from labeler.evaluation.evaluate import mean_measure
from labeler.evaluation.inputs import run_of
from labeler.evaluation.options import STALE_GRADES, Stale
from labeler.judging.changes import Move, Transitions, changes_of, human_beside
from labeler.messages import count_of
from labeler.options import option
from labeler.report.finding import Finding
from labeler.report.result import Result
from labeler.report.table import Column, Interval, Table, table_of
from labeler.trec.memory import Source
from labeler.trec.pairs import NONE, PairColumns

if TYPE_CHECKING:
    from pandas import DataFrame

    from labeler.evaluation.leaderboard import Leaderboard

# What `diff` returns: three sentences, tables, and the JSON of the command.

MOST_QUERIES = 5
"""So many of the queries in which most pairs moved are shown."""
MOST_SWAPS = 10


@dataclass(frozen=True, eq=False, repr=False)
class Diff(Result):
    """Two sets of grades of the same pairs: what moved, what it brought, and what it cost.

    `graded` are the grades of the pairs that both grade; `by_query` the moves of each query, those
    first in which most moved; `up` and `down` the shares of these pairs. `board` is None where
    fewer than two runs are, or a part of the pairs was judged; `noise` where neither set was asked
    twice.
    """

    sides: Sides
    transitions: Transitions
    graded: GradeMatrix
    by_query: list[QueryMoves]
    up: Interval
    down: Interval
    beside: BesidePeople
    board: Leaderboard | None = None
    noise: Noise | None = None
    findings: Sequence[Finding] = ()

    @property
    def names(self) -> tuple[str, str]:
        """What the two sets are called, the earlier one first."""
        return self.sides.names

    @property
    def moved(self) -> Sequence[Move]:
        """The pairs that moved, the farthest first."""
        return self.transitions.moved

    @property
    def pairs(self) -> int:
        """How many pairs both sets grade."""
        return self.graded.pairs.size

    @cached_property
    def common(self) -> tuple[JudgedSet, JudgedSet]:
        """Both sets, of the pairs that both hold."""
        before, after = self.sides.before, self.sides.after
        return before.among(after.states), after.among(before.states)

    @property
    def sentences(self) -> list[str]:
        """How much moved, whether it is closer to people, and whether systems change places."""
        shares = self.up, self.down
        return [
            moves.how_much(self.sides, self.transitions, self.by_query, shares, self.noise),
            moves.how_close(self.beside, self.names),
            moves.order(self.board, self.sides),
        ]

    def tables(self) -> list[Table]:
        """The tables `transitions`, `retest`, `queries`, `agreement`, those of systems, and `cost`.

        Each where it is known.
        """
        tables = [self.transitions.matrix_table(*self.names)]
        if self.noise is not None:
            tables.append(self.noise.table())
        most = [query for query in self.by_query[:MOST_QUERIES] if query.moved]
        tables.append(table_of("queries", QueryMoves, most, title="where most pairs moved"))
        if self.beside.changes:
            tables.append(differences_table(self.beside.reports[-1]))
        if self.board is not None:
            tables += self.board.tables(MOST_SWAPS)
        if any(own.spent() for own in self.common):
            tables.append(self._cost_table())
        return tables

    def _cost_table(self) -> Table:
        columns = [
            Column("set", align="left"),
            *map(Column, ("replies", "tokens in", "tokens out")),
            Column("cost", format="$"),
            Column("no grade"),
        ]
        rows = [
            (name, *(own.spent() or (None,) * 4), len(own.failures))
            for name, own in zip(self.names, self.common, strict=True)
        ]
        return Table("cost", columns, rows, f"of the {len(self.common[0]):,} pairs that both hold")

    def moved_table(self) -> Table:
        """The pairs that moved, the farthest first."""
        return self.transitions.moved_table(*self.names)

    def frame(self) -> DataFrame:
        """The pairs that moved as a pandas DataFrame."""
        return self.moved_table().frame()

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command `diff`; `a` is the earlier set, `b` the later one."""
        whole = self.transitions.as_json()
        # how alike the order by either set is to that by people's grades
        reports = zip(SIDES, self.beside.reports if self.beside.is_of_both else (), strict=False)
        to_human = {side: of.board.statistics for side, of in reports if of.board}
        common = dict(zip(SIDES, self.common, strict=True))
        return self.picked(
            *("pairs", "up", "down", "findings"),
            grades=self.graded.grades,
            names=dict(zip(SIDES, self.names, strict=True)),
            parents=dict(zip(SIDES, self.sides.parents, strict=True)),
            stale=self.sides.stale,
            transitions=replace(self.graded, weight=None).tables().sum(axis=0).astype(int),
            retest=self.noise,
            states=whole["states"],
            table=whole["table"],
            agreement=self.beside,
            leaderboard=self.board and {**self.board.as_json(), "to_human": to_human or None},
            cost={"pairs": len(self.common[0])} | {s: own.spent() for s, own in common.items()},
            failures={s: Counter(own.failures.values()) for s, own in common.items()},
            queries=[q._asdict() for q in self.by_query if q.moved],
            moves=whole["moved"],
        )

    def __repr__(self) -> str:
        moved = sum(query.moved for query in self.by_query)
        before, after = self.names
        return f"Diff({before!r} to {after!r}: {moved:,} of {self.pairs:,} pairs moved)"


STATISTICS = ("kappa", "kappa-quadratic", "alpha-ordinal", "agreement", "tau-b", "bias")
FEW_QUERIES = 10
PICKED = "cannot be told from pairs that were picked by their grades"


@dataclass(frozen=True)
class DiffOptions:
    """Which statistics of agreement with people are compared, and what ranks the systems.

    `stale` grades, of texts that have changed since, are left out (`drop`) or count (`keep`).
    """

    statistics: StatisticOptions = field(default_factory=lambda: StatisticOptions(STATISTICS))
    measure: str = option("nDCG@10", "What ranks the systems.", flags="-m --measure")
    stale: Stale = option("drop", STALE_GRADES)


def diff(
    *sources: Source | Collection,
    people: Source | None = None,
    runs: RunSources = (),
    options: DiffOptions | None = None,
) -> Diff:
    """What became of each grade from one set to another: moves, agreement with people, systems.

    `sources` are a collection and the names of two of its sets of judgements (or qrels), or two
    qrels: paths, dicts, DataFrames or rows. `people` are human qrels, or a name of the collection's
    (by default its own, where it has some); `runs` are as of `agree` (by default the collection's).

    Where a set judges a part of another's pairs, as `relabel` makes it with `only`, both are
    compared on that part, and what cannot be told of it is withheld.

    >>> before = {"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 1, "d2": 0}}
    >>> after = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 1, "d2": 2}}
    >>> changes = diff(before, after)
    >>> changes
    Diff('before' to 'after': 2 of 4 pairs moved)
    >>> changes.up.value, changes.down.value
    (0.25, 0.25)
    """
    options = options or DiffOptions()
    return diff_of(sides_of(sources, options.stale), people, runs, options)


def diff_of(
    sides: Sides,
    people: Source | None = None,
    runs: RunSources = (),
    options: DiffOptions | None = None,
) -> Diff:
    """The same of two sets that were read already."""
    options = options or DiffOptions()
    mean_measure(options.measure)
    if not (len(sides.before) or len(sides.after)):
        raise BadInput(f"{sides.names[0]} and {sides.names[1]} have no pair")
    if people is None and sides.collection is not None:
        # the collection's own human qrels, where they and either set share a pair
        name = human_beside(sides.collection, *sides.names)
        human = PairColumns.of({}) if name is None else read_set(sides.collection, name).states
        people = name if any(len(s.among(human)) for s in (sides.before, sides.after)) else None
    beside = _beside_people(sides, people, runs, options)
    # the systems by both sets, unless a part of the pairs was judged
    board = None
    can_rank = not sides.thins_rankings and has_common_queries(sides)
    ranked = beside.runs or (_runs_to_rank(runs, sides.collection) if can_rank else {})
    if can_rank and len(ranked) > 1:
        from labeler.evaluation.leaderboard import leaderboard

        board = leaderboard(sides.before.grades, sides.after.grades, ranked, options.measure)
        board = replace(board, qrels=sides.names)
    changes = changes_of(sides.before, sides.after, sides.queries)  # after what takes most memory
    findings = [*_findings(sides), *beside.findings, *([] if board is None else board.findings)]
    common = common_grades(changes, sides.names, sides.weights)
    up, down = shares_moved(common, options.statistics)
    return Diff(
        sides,
        changes,
        common,
        moves_by_query(common),
        up,
        down,
        beside,
        board,
        noise_of(sides, common, options.statistics),
        tuple(dict.fromkeys(findings)),
    )


def _runs_to_rank(runs: RunSources, collection: Collection | None) -> Mapping[str, Source]:
    """The runs by name; those of the collection as files, of which a part is held at a time."""
    if runs or collection is None:
        return runs_of(runs, collection)[0]
    return {name: run_of(path, name, collection) for name, path in collection.run_files().items()}


def _beside_people(
    sides: Sides, people: Source | None, runs: RunSources, options: DiffOptions
) -> BesidePeople:
    """How far the two agree with people, or why that is not said."""
    if any(parent.picking for _, _, parent in sides.parts):
        return BesidePeople(withheld=PICKED)
    collection, notes = sides.collection, list[Finding]()
    names: Sequence[str] = sides.names
    if people is None:
        humans = [name for name in names if collection and is_of_people(collection, name)]
        names = [name for name in names if name not in humans]
        if collection is None or len(names) != 1 or not collection.qrels(names[0]).exists():
            return BesidePeople()
        (people,) = humans
    elif isinstance(people, str | os.PathLike):
        path = Path(people) if collection is None else collection.qrels(os.fspath(people))
        notes += [Finding(line)] if (line := not_of_people(path)) else []
    others: Sequence[Source] = sides.sources
    if collection is not None:
        people, others = os.fspath(collection.folder), [str(people), *names]
    sources = sources_of(people, others, runs, stale=options.stale)
    named = zip(sources.assessors, names, strict=True)
    assessors = [_restricted(replace(side, name=name), sides) for side, name in named]
    asked = AgreeOptions(statistics=options.statistics, measure=options.measure)
    reports = agree_all(replace(sources, assessors=assessors), asked)
    findings = (finding for report in reports for finding in report.findings)
    return BesidePeople(reports, "", sources.runs, tuple(dict.fromkeys([*notes, *findings])))


def _restricted(side: AssessorLabels, sides: Sides) -> AssessorLabels:
    """An assessor with the labels of the pairs compared, where one set is a part alone."""
    if not sides.parts:
        return side
    pairs = sides.before.among(sides.after.states).states

    def compared(columns: PairColumns[Any]) -> PairColumns[Any]:
        return columns.keep(columns.rows_in(pairs) != NONE)

    failures = dict(compared(PairColumns.of_pairs(side.failures)).by_pair())
    return replace(side, labels=compared(PairColumns.of(side.labels)), failures=failures)


def _findings(sides: Sides) -> list[Finding]:
    """What a reader should know of the shares that moved."""
    both = sides.before.among(sides.after.states)
    if not len(both):
        return [Finding("the two sets have no pair in common")]
    findings = [Finding(line) for line in (*sides.notes, *sides.unfinished)]
    queries = len(both.states.queries)
    if queries < FEW_QUERIES:
        few = count_of(queries, "query", "queries")
        findings.append(Finding(f"only {few}: how far moves differ from query to query is guessed"))
    return findings
