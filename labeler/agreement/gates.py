"""Gates on agreement: what a continuous-integration job asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a command of scores needs nothing of agreement, and starts sooner without
    from labeler.agreement.assessor_report import AssessorReport
    from labeler.agreement.compare import Estimate, StatisticOptions
    from labeler.agreement.statistics.registry import Statistic
from labeler.errors import about
from labeler.evaluation.gates import parse_limits, raise_failed


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
