"""The reports of assessors as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from labeler.agreement.calibration import Bin, Calibration
from labeler.agreement.compare import Agreement, Estimate, StatisticOptions
from labeler.agreement.differences import Difference
from labeler.agreement.plan import SampleSizePlan
from labeler.agreement.several.alternative import AlternativeTest
from labeler.agreement.several.joint import Ceiling, JointAgreement, Together
from labeler.arrays import Floats
from labeler.errors import about
from labeler.evaluation.gates import parse_limits, raise_failed
from labeler.report.finding import Finding
from labeler.report.result import as_plain, notebook_html
from labeler.report.table import Column, Interval, Row, Table
from labeler.stats.intervals import between
from labeler.stats.resampling import AT_ONCE

if TYPE_CHECKING:
    from pandas import DataFrame

    from labeler.agreement.baseline import Baseline
    from labeler.agreement.statistics.registry import Statistic
    from labeler.evaluation.leaderboard import Leaderboard
    from labeler.evaluation.two_sided import System

# Where two assessors disagree: by class, by people's grade, by query.


class ClassFigures(NamedTuple):
    """How well the other finds the pairs that people gave one grade; `None` where undefined."""

    grade: int
    precision: float | None
    recall: float | None
    f1: float | None
    support: float


class GradeBias(NamedTuple):
    """The mean of the other's grade minus people's, over the pairs that people gave `grade`."""

    grade: int
    bias: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class QueryFigures:
    """One query: its pairs, the share with the same grade, mean absolute error, signed bias."""

    query_id: str
    pairs: float
    agreement: float
    mae: float
    bias: float


def by_class(table: Floats, scale: tuple[int, ...]) -> list[ClassFigures]:
    """Precision, recall and F1 of each grade, people's being the truth."""
    rows = []
    for index, grade in enumerate(scale):
        hits, assigned, true = table[index, index], table[:, index].sum(), table[index].sum()
        rows.append(
            ClassFigures(
                grade,
                _share(hits, assigned),
                _share(hits, true),
                _share(2 * hits, assigned + true),
                float(true),
            )
        )
    return rows


def bias_by_grade(agreement: Agreement, options: StatisticOptions) -> list[GradeBias]:
    """The signed bias at each of people's grades, with intervals over queries."""
    grades = np.array(agreement.scale, dtype=np.float64)
    rows = []
    for index, grade in enumerate(agreement.scale):
        sample = agreement.sample.part(index)
        counts = sample.total.sum()
        if not counts:
            rows.append(GradeBias(grade, None, None, None))
            continue

        def bias(cells: Floats, own: float = float(grade)) -> Floats:
            with np.errstate(invalid="ignore"):
                return np.asarray(cells @ (grades - own) / cells.sum(axis=-1), dtype=np.float64)

        ends = between(options.method, sample, bias)
        rows.append(GradeBias(grade, float(bias(sample.total)), *ends))
    return rows


class QueriesByDisagreement(Sequence[QueryFigures]):
    """Every query's figures, those that disagree most first: by mean error times root of pairs.

    By the mean alone, queries of one or two pairs would always come first. What is held is arrays,
    for queries may be a million.
    """

    def __init__(self, queries: Sequence[str], tables: Floats, scale: Sequence[int]) -> None:
        grades = np.array(scale, dtype=np.float64)
        # (k * k,): how far the other's grade is above people's
        apart = (grades[None, :] - grades[:, None]).ravel()
        totals = tables.sum(axis=(1, 2))
        graded = np.flatnonzero(totals > 0)
        pairs = totals[graded]
        mae, bias, same = (np.zeros(len(graded)) for _ in range(3))
        for start in range(0, len(graded), AT_ONCE):
            rows = slice(start, start + AT_ONCE)
            share = tables[graded[rows]] / pairs[rows, None, None]
            cells = share.reshape(len(share), -1)
            mae[rows] = (cells * np.abs(apart)).sum(axis=1)
            bias[rows] = (cells * apart).sum(axis=1)
            same[rows] = np.trace(share, axis1=1, axis2=2)
        self._ids = [queries[at] for at in graded.tolist()]
        self._figures = np.stack([pairs, same, mae, bias], axis=1)
        by_id = np.array(sorted(range(len(graded)), key=self._ids.__getitem__), dtype=np.int64)
        weighty = -mae * np.sqrt(pairs)
        self._order = by_id[np.argsort(weighty[by_id], kind="stable")]

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, index: int) -> QueryFigures: ...
    @overload
    def __getitem__(self, index: slice) -> list[QueryFigures]: ...
    def __getitem__(self, index: int | slice) -> QueryFigures | list[QueryFigures]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        row = int(self._order[index])
        return QueryFigures(self._ids[row], *self._figures[row].tolist())


def by_query(agreement: Agreement) -> QueriesByDisagreement:
    """Every query, those that disagree most first."""
    return QueriesByDisagreement(agreement.queries, agreement.tables, agreement.scale)


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


# The results of comparing one assessor with the human grades.


@dataclass(frozen=True)
class Details:
    """Where an assessor disagrees: by grade, by query, and by how sure it was."""

    classes: list[ClassFigures]
    grades: list[GradeBias]
    queries: Sequence[QueryFigures]
    calibration: list[Calibration]


@dataclass(frozen=True, eq=False)
class AssessorReport:
    """One assessor beside the human grades.

    `against` is the assessor that `differences` are taken from. `stale` counts the grades of either
    side whose texts have changed since.
    """

    human: str
    assessor: str
    agreement: Agreement
    details: Details
    board: Leaderboard | None = None
    against: str | None = None
    differences: tuple[Difference, ...] = ()
    ceilings: tuple[Ceiling, ...] = ()
    alternative: AlternativeTest | None = None
    baseline: Baseline | None = None
    joint: JointAgreement | None = None
    plans: tuple[SampleSizePlan, ...] = ()
    notes: tuple[Finding, ...] = ()
    stale: int = 0

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """How options were taken, the agreement's warnings and those of the leaderboard."""
        of_board = () if self.board is None else self.board.own_findings
        return (*self.notes, *self.agreement.warnings, *of_board)


Json = dict[str, Any]


def as_json(reports: Sequence[AssessorReport], *, details: bool = False) -> Json | list[Json]:
    """One object, or with several assessors a list of them, each with `other`."""
    rows = [_report(report, details=details) for report in reports]
    if len(rows) == 1:
        return rows[0]
    return [{"other": report.assessor, **row} for report, row in zip(reports, rows, strict=True)]


def _report(report: AssessorReport, *, details: bool) -> Json:
    """The keys that are always there; then those of several assessors, of a ceiling, of details."""
    agreement = report.agreement
    row: Json = {
        "pairs": agreement.pairs,
        "queries": len(agreement.queries),
        "left_out": _left_out(agreement),
        "stale": report.stale,
        "statistics": {name: _estimate(e) for name, e in agreement.statistics.items()},
        "confusion": numbers(agreement.confusion),
        "scale": list(agreement.scale),
        "leaderboard": _leaderboard(report.board, report) if report.board else None,
        "warnings": [str(warning) for warning in report.warnings],
    }
    if report.baseline is not None:
        row["baseline"] = report.baseline.as_json()
    if report.against is not None:
        row["against"] = report.against
        row["differences"] = {d.statistic.name: _difference(d) for d in report.differences}
    if report.joint is not None:
        row["joint"] = _joint(report.joint)
    if report.ceilings:
        row["ceiling"] = {c.statistic: _ceiling(c) for c in report.ceilings}
    if report.alternative is not None:
        row["alternative"] = _alternative(report.alternative)
    if report.plans:
        row["how_many"] = [asdict(plan) for plan in report.plans]
    if details:
        row["details"] = _details(report.details)
    return row


def _estimate(e: Estimate) -> Json:
    row: Json = {"value": e.value, "low": e.low, "high": e.high, "method": e.method}
    if e.naive is not None:
        row |= {"naive_low": e.naive.low, "naive_high": e.naive.high}
        row["design_effect"] = e.naive.design_effect
    return row


def _left_out(agreement: Agreement) -> Json:
    out = agreement.left_out
    return {
        "only_people": out.only_human,
        "only_other": out.only_assessor,
        "unjudged_by_people": out.unjudged_by_human,
        "skipped_by_people": out.skipped_by_human,
        "not_drawn": out.not_drawn,
        "outside_scale": dict(out.outside),
        "failures": dict(out.failures),
        "clipped": out.clipped,
        "scenarios": {name: asdict(s) for name, s in agreement.scenarios.items()},
    }


def numbers(table: Floats) -> list[list[float]]:
    """Counts as integers, weighted counts as they are."""
    whole = bool(np.all(table == np.round(table)))
    return [[int(cell) if whole else float(cell) for cell in row] for row in table]


def _leaderboard(board: Leaderboard, report: AssessorReport) -> Json:
    from labeler.evaluation.leaderboard import (
        correlation_as_json,  # needs numpy's tables of metrics
    )

    swaps = sorted(board.swaps, key=lambda swap: swap.p_first)
    return {
        "measure": board.measure,
        "queries": len(board.queries),
        "pairs": board.pairs_as_json(),
        "systems": [_system(system) for system in board.ranked],
        "tau-b": correlation_as_json(board.statistics["tau_b"]),
        "noise_ceiling": board.ceiling,
        "tau-ap": board.statistics["tau_ap"].value,
        "max_drop": int(board.statistics["max_drop"].value or 0),
        "bias": board.difference,
        "significance": board.decisions_as_json(),
        "judge_bias": as_plain(board.bias),
        "swapped": [
            {
                "better": swap.better,
                "worse": swap.worse,
                "p": swap.p_first,
                "p_other": swap.p_second,
                "significant": swap.significant,
            }
            for swap in swaps
        ],
        "circular": [favour.as_json() for favour in board.bias.favors],
    }


def _system(system: System) -> Json:
    return {
        "run": system.run,
        "people": system.first,
        "other": system.second,
        "people_rank": system.first_rank,
        "other_rank": system.second_rank,
        "bias": system.difference,
        "bias_low": system.low,
        "bias_high": system.high,
        "judged_people": system.judged[0],
        "judged_other": system.judged[1],
    }


def _difference(d: Difference) -> Json:
    return {
        "pairs": d.pairs,
        "first": d.first,
        "second": d.second,
        "value": d.value,
        "low": d.low,
        "high": d.high,
        "method": d.method,
        "verdict": d.verdict,
    }


def _joint(joint: JointAgreement) -> Json:
    groups = {"people": joint.people, "others": joint.others}
    return {
        "raters": list(joint.assessors),
        **{whose: _together(group) for whose, group in groups.items() if group is not None},
        "pairwise": dict(joint.pairwise),
    }


def _together(group: Together) -> Json:
    return {
        "raters": list(group.assessors),
        "statistics": {name: _estimate(e) for name, e in group.statistics.items()},
    }


def _ceiling(ceiling: Ceiling) -> Json:
    return {
        "pairs": ceiling.pairs,
        "queries": ceiling.queries,
        "people": [asdict(row) for row in ceiling.rows],
        "overall": asdict(ceiling.overall),
        "verdict": ceiling.verdict,
    }


def _alternative(test: AlternativeTest) -> Json:
    advantage = test.advantage
    return {
        "epsilon": test.epsilon,
        "people": [{**asdict(row), "difference": row.difference} for row in test.rows],
        "winning_rate": test.winning_rate,
        "winning_rate_pairs": test.winning_rate_pairs,
        "advantage": {"value": advantage.value, "low": advantage.low, "high": advantage.high},
        "passes": test.passes,
        "verdict": test.verdict,
    }


def _bin(bin_: Bin) -> Json:
    """A bin of a calibration; in the command's JSON, its mean probability is called `said`."""
    values = bin_._asdict()
    return {"said" if name == "probability" else name: value for name, value in values.items()}


def _details(details: Details) -> Json:
    return {
        "classes": [row._asdict() for row in details.classes],
        "bias_by_grade": [row._asdict() for row in details.grades],
        "queries": [asdict(row) for row in details.queries],
        "calibration": [
            {**asdict(calibration), "bins": [_bin(b) for b in calibration.bins]}
            for calibration in details.calibration
        ],
    }


# What `labeler.agree` returns: as a table, as a frame, as the JSON of the command.


@dataclass(frozen=True, eq=False)
class AgreementResult:
    """The reports of all assessors, and by assessor what the compared grades are called."""

    assessors: tuple[AssessorReport, ...]
    scale_names: Mapping[str, Mapping[int, str]] = field(default_factory=dict)

    def table(self) -> Table:
        """A row for each assessor and statistic: the value and its 95 % interval."""
        rows: list[Row] = [
            [report.assessor, name, Interval(e.value, e.low, e.high)]
            for report in self.assessors
            for name, e in report.agreement.statistics.items()
        ]
        columns = (
            Column("assessor", align="left"),
            Column("statistic", align="left"),
            Column("value", format=".3f", ends=".3f"),
        )
        return Table("statistics", columns, rows)

    def frame(self) -> DataFrame:
        """The statistics as a pandas DataFrame, a row for each assessor and statistic."""
        return self.table().frame()

    def as_json(self, *, details: bool = False) -> Any:
        """The JSON of the command `agree`: one object, or a list for several assessors."""
        return as_json(self.assessors, details=details)

    def __repr__(self) -> str:
        lines = []
        for report in self.assessors:
            kappa = report.agreement.headline["kappa"]
            value = "undefined" if kappa.value is None else f"{kappa.value:.3f}"
            ends = "" if kappa.low is None else f" [{kappa.low:.3f}, {kappa.high:.3f}]"
            lines.append(
                f"{report.assessor}: {report.agreement.pairs:,} pairs, kappa {value}{ends}"
            )
        return f"<AgreementResult {'; '.join(lines)}>"

    def _repr_html_(self) -> str:
        findings = [finding for report in self.assessors for finding in report.warnings]
        return notebook_html([self.table()], dict.fromkeys(findings))


# Gates on agreement: what a continuous-integration job asks for.


@dataclass(frozen=True)
class AgreementGate:
    """A statistic's name and its limit: the least, or the most where less is better.

    The value has to keep it; with `low_end` the end of the interval that is farther from people.
    """

    name: str
    limit: float
    low_end: bool = False


def agreement_gates(texts: Sequence[str], *, low_end: bool = False) -> list[AgreementGate]:
    """Gates from `kappa-quadratic:0.6`; `Misuse` where no statistic has such a name."""
    from labeler.agreement.statistics import parse_name

    parameter = "require_low" if low_end else "require"
    limits = parse_limits(texts, "kappa-quadratic:0.6", parameter)
    with about(parameter):
        for limit in limits:
            parse_name(limit.name)
    return [AgreementGate(limit.name, limit.number, low_end) for limit in limits]


def check_agreement(
    reports: Sequence[AssessorReport], gates: Sequence[AgreementGate], options: StatisticOptions
) -> None:
    """`GateFailed` names every assessor that does not keep a gate."""
    from labeler.agreement.compare import estimated
    from labeler.agreement.statistics import find_statistic

    failed = []
    for report in reports:
        agreement = report.agreement
        for gate in gates:
            statistic = find_statistic(gate.name, agreement.scale)
            estimate = agreement.statistics.get(statistic.name) or estimated(
                statistic, agreement, options
            )
            short = shortfall(gate, statistic, estimate)
            failed += [f"{report.assessor}: {short}"] if short else []
    raise_failed(failed)


def shortfall(gate: AgreementGate, statistic: Statistic, estimate: Estimate) -> str | None:
    """Why the gate fails, `None` where it is kept."""
    low, high = (estimate.low, estimate.high) if gate.low_end else (estimate.value, estimate.value)
    if low is None or high is None:
        return f"{gate.name} has no {'interval' if gate.low_end else 'value'} to hold against it"
    ends = "may be as {} as" if gate.low_end else "is"
    if statistic.better > 0:
        worst, holds, side = low, low >= gate.limit, "low"
    elif statistic.better < 0:
        worst, holds, side = high, high <= gate.limit, "high"
    else:
        worst = low if abs(low) > abs(high) else high
        holds, side = abs(worst) <= gate.limit, "far off"
    least = "at least" if statistic.better > 0 else "at most"
    problem = f"{gate.name} {ends.format(side)} {worst:.4f}; wanted {least} {gate.limit:g}"
    return None if holds else problem
