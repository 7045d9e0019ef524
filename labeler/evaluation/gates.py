"""Gates on scores: what a continuous-integration job asks for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from labeler.errors import GateFailed, Misuse, about
from labeler.metrics import Measure, parse
from labeler.stats.levels import SIGNIFICANT
from labeler.stats.student import t_quantile

if TYPE_CHECKING:  # a command of scores needs nothing of agreement, and starts sooner without
    from labeler.evaluation.correction.corrected import CorrectedDifference, Corrections
    from labeler.evaluation.score_report import Report
    from labeler.evaluation.scores import RunScores


class Limit(NamedTuple):
    """The gate that `NAME:NUMBER` asks for, before its name is looked up."""

    name: str
    number: float


@dataclass(frozen=True)
class ScoreGate:
    """The mean that every run must reach: the least, or the most where lower is better.

    With `low_end` the worse end of its interval must.
    """

    measure: Measure
    bound: float
    low_end: bool = False


def parse_limits(texts: Sequence[str], example: str, parameter: str = "require") -> list[Limit]:
    """Names with finite numbers behind the last colon; `Misuse` shows the example."""
    limits = []
    for text in texts:
        name, colon, number = text.rpartition(":")
        try:
            limit = float(number) if colon else math.nan
        except ValueError:
            limit = math.nan
        if not math.isfinite(limit):
            problem = f"cannot read the gate {text!r}; write it as {example}"
            raise Misuse(problem, parameter=parameter)
        limits.append(Limit(name, limit))
    return limits


def score_gates(texts: Sequence[str], *, low_end: bool = False) -> list[ScoreGate]:
    """Gates from `nDCG@10:0.45`."""
    parameter = "require_low" if low_end else "require"
    limits = parse_limits(texts, "nDCG@10:0.45", parameter)
    with about(parameter):
        return [ScoreGate(parse(limit.name), limit.number, low_end) for limit in limits]


def check_scores(
    report: Report,
    gates: Sequence[ScoreGate],
    *,
    no_worse_than: bool = False,
    of_groups: Iterable[str] = (),
) -> None:
    """`GateFailed` names each run below a gate, or not shown to lose less than a margin.

    `of_groups` are what gates on groups of queries say against runs.

    Each run must pass by each measure that has one, so that no more than 5 % of builds whose run
    truly loses a margin pass, however many runs and measures are held (Berger 1982, Technometrics
    24). `Misuse` where these data could not pass the gate, or not fail it.
    """
    failures = [short for run in report.runs for short in _short_scores(run, gates)]
    failures += of_groups
    if no_worse_than:
        from labeler.evaluation.comparison.equivalence import (
            check_equivalences,  # agreement needs none of it
        )

        failures += check_equivalences(report.equivalences)
    raise_failed(failures)


def _short_scores(run: RunScores, gates: Sequence[ScoreGate]) -> Iterator[str]:
    means = run.scores.means()
    for gate in gates:
        name = str(gate.measure)
        if gate.low_end:
            yield from short_end(f"{run.name}: {name}", gate, run.intervals[name])
            continue
        value = means[name]
        if short := shortfall(gate, value):
            is_what = short if math.isnan(value) else f"{value:.4f}, {short}"
            yield f"{run.name}: {gate.measure} is {is_what}"


def short_end(
    whose: str, gate: ScoreGate, ends: tuple[float | None, float | None]
) -> Iterator[str]:
    """How the worse end of an interval does not keep a gate; nothing where it does."""
    lower = gate.measure.definition.lower_is_better
    worst = ends[1] if lower else ends[0]
    if worst is None or math.isnan(worst):
        yield f"{whose} has no interval to hold against {gate.bound:g}"
    elif short := shortfall(gate, worst):
        yield f"{whose} may be as {'high' if lower else 'low'} as {worst:.4f}, {short}"


def shortfall(gate: ScoreGate, value: float) -> str | None:
    """On which side of its bound the value lies, `None` where it keeps it."""
    if math.isnan(value):
        return f"undefined, and so not held against {gate.bound:g}"
    lower = gate.measure.definition.lower_is_better
    if value <= gate.bound if lower else value >= gate.bound:
        return None
    return f"{'above' if lower else 'below'} {gate.bound:g}"


def check_corrected(
    corrections: Corrections,
    gates: Sequence[ScoreGate],
    margins: Mapping[str, float] | None = None,
) -> None:
    """`GateFailed` names each run whose corrected mean may lie below a gate, or lose a margin.

    A gate is on the corrected mean. By each measure that has a margin it must be shown that the
    corrected mean loses less than that against the baseline (one-sided, 5 %).
    """
    failures = [short for gate in gates for short in _short_corrections(corrections, gate)]
    margins = margins or {}
    scored = {c.measure for c in corrections.comparisons}
    if unscored := [name for name in margins if scored and name not in scored]:
        problem = f"{unscored[0]} is not scored, so that no margin can be held"
        raise Misuse(problem, parameter="margin")
    for c in corrections.comparisons:
        margin = margins.get(c.measure)
        if margin is not None and not least_gain(c) > -margin:
            loss = f"{c.run}: {c.measure}, corrected, may be {-least_gain(c):.4f} worse than"
            failures.append(f"{loss} {c.baseline}'s; a loss of {margin:g} is not excluded")
    raise_failed(failures)


def least_gain(difference: CorrectedDifference) -> float:
    """The lower bound of what a run gains: its interval's worse end, drawn in to one side's 5 %."""
    mean, freedom = difference.means.corrected, difference.means.freedom
    end = mean.high if difference.lower_is_better else mean.low
    if end is None:
        return -math.inf
    share = t_quantile(1 - SIGNIFICANT, freedom) / t_quantile(1 - SIGNIFICANT / 2, freedom)
    least = mean.value + (end - mean.value) * share
    return -least if difference.lower_is_better else least


def _short_corrections(corrections: Corrections, gate: ScoreGate) -> Iterator[str]:
    for row in corrections.scores:
        if row.measure != str(gate.measure):
            continue
        mean = row.means.corrected
        if gate.low_end:
            yield from short_end(f"{row.run}: {gate.measure}", gate, (mean.low, mean.high))
        elif short := shortfall(gate, mean.value):
            yield f"{row.run}: {gate.measure}, corrected, is {mean.value:.4f}, {short}"


def raise_failed(failures: Sequence[str]) -> None:
    """`GateFailed` with all that did not keep its gate; nothing where all did."""
    if failures:
        raise GateFailed("; ".join(failures))
