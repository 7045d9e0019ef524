"""What comparing assessors with human grades gives, and the gates that it may have to keep."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labeler.agreement.alternative import AlternativeTest
from labeler.agreement.calibration import Calibration
from labeler.agreement.compare import Agreement
from labeler.agreement.differences import Difference
from labeler.agreement.joint import Ceiling, Together
from labeler.agreement.plan import SampleSizePlan
from labeler.agreement.statistics import find_statistic, parse_name
from labeler.arrays import Floats
from labeler.errors import about
from labeler.evaluation.inputs import short
from labeler.evaluation.options import parse_limits
from labeler.evaluation.rulings import Gate, Ruling
from labeler.report.finding import Finding
from labeler.report.result import Result, as_plain
from labeler.report.table import Column, Interval, Table

if TYPE_CHECKING:
    from labeler.evaluation.leaderboard import Leaderboard

# Where two assessors disagree, by query.


class QueryFigures(NamedTuple):
    """One query: its pairs, the share with the same grade, mean absolute error, signed bias."""

    query_id: str
    pairs: float
    agreement: float
    mae: float
    bias: float


def by_query(agreement: Agreement) -> list[QueryFigures]:
    """Every query, those that disagree most first: by mean error times root of pairs.

    By the mean alone, queries of one or two pairs would always come first.
    """
    pairs = agreement.tables.sum(axis=(1, 2))
    statistics = (find_statistic(name, agreement.scale) for name in QueryFigures._fields[2:])
    columns = pairs, *(statistic(agreement.tables) for statistic in statistics)
    figures = zip(agreement.queries, *(column.tolist() for column in columns), strict=True)
    rows = [QueryFigures(*row) for row in figures if row[1] > 0]
    # what is alike but for rounding is in the order of the ids
    return sorted(rows, key=lambda q: (-round(q.mae * math.sqrt(q.pairs), 9), q.query_id))


# The results of comparing one assessor with the human grades.


@dataclass(frozen=True, eq=False, repr=False)
class AssessorReport(Result):
    """One assessor beside the human grades.

    `against` is the assessor that `differences` are taken from; `grade_names` say what the compared
    grades are called. `stale` counts the grades of either side whose texts have changed since.
    """

    human: str
    assessor: str
    agreement: Agreement
    calibration: Sequence[Calibration] = ()
    board: Leaderboard | None = None
    against: str | None = None
    differences: Sequence[Difference] = ()
    ceilings: Sequence[Ceiling] = ()
    alternative: AlternativeTest | None = None
    joint: Together | None = None
    plans: Sequence[SampleSizePlan] = ()
    notes: Sequence[Finding] = ()
    grade_names: Mapping[int, str] = field(default_factory=dict)
    stale: int = 0

    @property
    def findings(self) -> Sequence[Finding]:
        """How options were taken, the agreement's warnings and those of the leaderboard."""
        of_board = () if self.board is None else self.board.own_findings
        return (*self.notes, *self.agreement.warnings, *of_board)

    def as_json(self, *, details: bool = False) -> dict[str, Any]:
        """The figures by name; those of several assessors, of a ceiling and of plans where known.

        With `details`, also where the assessor disagrees.
        """
        agreement, left_out = self.agreement, as_plain(self.agreement.left_out)
        optional = {
            "against": self.against,
            "differences": {each.statistic.name: each for each in self.differences},
            "joint": self.joint,
            "ceiling": {each.statistic: each for each in self.ceilings},
            "alternative": self.alternative,
            "how_many": self.plans,
            "details": {
                "queries": by_query(agreement),
                "calibration": self.calibration,
            }
            if details
            else None,
        }
        return self.picked(
            "stale",
            "findings",
            pairs=agreement.pairs,
            queries=len(agreement.queries),
            left_out={**left_out, "scenarios": agreement.scenarios},
            statistics=agreement.statistics,
            next_set=agreement.next_set,
            confusion=numbers(agreement.confusion),
            scale=agreement.scale,
            leaderboard=self.board,
            **{name: value for name, value in optional.items() if value},
        )


def numbers(table: Floats) -> list[list[float]]:
    """Counts as integers, weighted counts as they are."""
    whole = bool(np.all(table == np.round(table)))
    rows: list[list[float]] = (table.astype(np.int64) if whole else table).tolist()
    return rows


NAMED = 3
"""Of more assessors a warning says how many they are."""


@dataclass(frozen=True, eq=False, repr=False)
class AgreementResult(Result):
    """The reports of all assessors."""

    assessors: Sequence[AssessorReport]

    def _findings(self) -> Iterator[Finding]:
        """Every warning once; those of some assessors alone name them."""
        names_by_finding: dict[Finding, list[str]] = {}
        for report in self.assessors:
            for finding in dict.fromkeys(report.findings):
                names_by_finding.setdefault(finding, []).append(short(report.assessor))
        for finding, names in names_by_finding.items():
            if len(names) == len(self.assessors):
                yield finding
                continue
            whom = ", ".join(names) if len(names) <= NAMED else f"{len(names)} assessors"
            yield Finding(f"{whom}: {finding.text}", whom, finding.settings, finding.level)

    def tables(self) -> list[Table]:
        """A row for each assessor and statistic: the value and its 95 % interval."""
        rows = [
            (report.assessor, name, estimate)
            for report in self.assessors
            for name, estimate in report.agreement.statistics.items()
        ]
        columns = (
            Column("assessor", align="left"),
            Column("statistic", align="left"),
            Column("value", format=".3f", ends=".3f"),
        )
        return [Table("statistics", columns, rows)]

    def as_json(self, *, details: bool = False) -> Any:
        """The JSON of the command `agree`: one object, or a list for several assessors."""
        rows = [report.as_json(details=details) for report in self.assessors]
        if len(rows) == 1:
            return rows[0]
        each = zip(self.assessors, rows, strict=True)
        return [{"other": report.assessor, **row} for report, row in each]


# Gates on agreement: what a continuous-integration job asks for.


def agreement_gates(texts: Sequence[str], *, low_end: bool = False) -> list[Gate]:
    """Gates from `kappa-quadratic:0.6`; `Misuse` where no statistic has such a name."""
    parameter = "require_low" if low_end else "require"
    limits = parse_limits(texts, "kappa-quadratic:0.6", parameter)
    with about(parameter):
        for limit in limits:
            parse_name(limit.name)
    return [Gate(limit.name, limit.number, low_end) for limit in limits]


def held_agreement(reports: Sequence[AssessorReport], gates: Sequence[Gate]) -> list[Ruling]:
    """What comes of the gates on each assessor; where 0 is best, of how far off a value is."""
    rulings = []
    for report in reports:
        agreement = report.agreement
        for gate in gates:
            statistic, of = find_statistic(gate.name, agreement.scale), agreement.of(gate.name)
            if not statistic.better and of.value is not None:
                low, high = of.low, of.high
                if low is not None and high is not None:
                    low, high = max(low, -high, 0.0), max(-low, high)
                of = Interval(abs(of.value), low, high)
            queries = len(agreement.queries)
            each = agreement.pairs / max(queries, 1)
            held = replace(gate, better=statistic.better or -1, pairs=each)
            rulings.append(held.of(report.assessor, of, queries))
    return rulings
