"""The reports of assessors as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from labeler.agreement.assessor_report import AssessorReport, Details
from labeler.agreement.calibration import Bin
from labeler.agreement.compare import Agreement, Estimate
from labeler.agreement.differences import Difference
from labeler.agreement.several.alternative import AlternativeTest
from labeler.agreement.several.ceiling import Ceiling
from labeler.agreement.several.joint import JointAgreement, Together
from labeler.arrays import Floats

if TYPE_CHECKING:
    from labeler.evaluation.boards.board import Leaderboard
    from labeler.evaluation.boards.systems import System

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
    from labeler.evaluation.boards.board import (
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
        "judge_bias": board.bias.as_json(),
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
