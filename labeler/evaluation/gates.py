"""Gates on scores: what a continuous-integration job asks for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from labeler.errors import GateFailed, Misuse, about
from labeler.messages import count_of
from labeler.metrics import Measure, parse

if TYPE_CHECKING:  # a command of scores needs nothing of agreement, and starts sooner without
    from labeler.evaluation.comparison import Comparison
    from labeler.evaluation.corrected import Corrections
    from labeler.evaluation.evaluate import Report
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


def check_scores(report: Report, gates: Sequence[ScoreGate], no_worse_than: str | None) -> None:
    """`GateFailed` names each run that lies below a gate, or is worse than the named one.

    A run is worse where its mean is lower and the two can be told apart (Holm, 5 %). `Misuse` where
    nothing could be worse, with too few queries to tell any two runs apart.
    """
    failures = [short for run in report.runs for short in _short_scores(run, gates)]
    if no_worse_than is not None:
        _check_decidable(report.comparisons)
        failures += [
            f"{c.run}: {c.measure} is {abs(c.difference):.4f} worse than {c.baseline}'s"
            f" (p {c.p_holm:.2g})"
            for c in report.comparisons
            if c.verdict == "worse"
        ]
    raise_failed(failures)


def _short_scores(run: RunScores, gates: Sequence[ScoreGate]) -> Iterator[str]:
    means = run.scores.means()
    for gate in gates:
        name = str(gate.measure)
        if gate.low_end:
            yield from _short_end(f"{run.name}: {name}", gate, run.intervals[name])
            continue
        value = means[name]
        if short := _shortfall(gate, value):
            is_what = short if math.isnan(value) else f"{value:.4f}, {short}"
            yield f"{run.name}: {gate.measure} is {is_what}"


def _short_end(
    whose: str, gate: ScoreGate, ends: tuple[float | None, float | None]
) -> Iterator[str]:
    """How the worse end of an interval does not keep a gate; nothing where it does."""
    lower = gate.measure.definition.lower_is_better
    worst = ends[1] if lower else ends[0]
    if worst is None or math.isnan(worst):
        yield f"{whose} has no interval to hold against {gate.bound:g}"
    elif short := _shortfall(gate, worst):
        yield f"{whose} may be as {'high' if lower else 'low'} as {worst:.4f}, {short}"


def _check_decidable(comparisons: Sequence[Comparison]) -> None:
    """`Misuse` where no outcome of a comparison could fail the gate `no_worse_than`."""
    for comparison in comparisons:
        n = count_of(comparison.queries, "query", "queries")
        problem = f"the smallest p that {n} can give is {comparison.p_least:.3f}"
        if not comparison.queries:
            problem = f"{comparison.measure} of {comparison.run} is undefined for all queries"
        if not comparison.decidable:
            more = "more queries are needed, or the interval t"
            raise Misuse(f"the gate cannot fail: {problem}; {more}", parameter="no_worse_than")


def _shortfall(gate: ScoreGate, value: float) -> str | None:
    """On which side of its bound the value lies, `None` where it keeps it."""
    if math.isnan(value):
        return f"undefined, and so not held against {gate.bound:g}"
    lower = gate.measure.definition.lower_is_better
    if value <= gate.bound if lower else value >= gate.bound:
        return None
    return f"{'above' if lower else 'below'} {gate.bound:g}"


def check_corrected(
    corrections: Corrections, gates: Sequence[ScoreGate], no_worse_than: str | None
) -> None:
    """`GateFailed` names each run whose corrected mean may lie below a gate, or is worse.

    A gate is on the corrected mean.
    """
    failures = [short for gate in gates for short in _short_corrections(corrections, gate)]
    if no_worse_than is not None:
        failures += [
            f"{c.run}: {c.measure}, corrected, is {abs(c.means.corrected.value):.4f} worse than"
            f" {c.baseline}'s"
            for c in corrections.comparisons
            if c.verdict == "worse"
        ]
    raise_failed(failures)


def _short_corrections(corrections: Corrections, gate: ScoreGate) -> Iterator[str]:
    for row in corrections.scores:
        if row.measure != str(gate.measure):
            continue
        mean = row.means.corrected
        if gate.low_end:
            yield from _short_end(f"{row.run}: {gate.measure}", gate, (mean.low, mean.high))
        elif short := _shortfall(gate, mean.value):
            yield f"{row.run}: {gate.measure}, corrected, is {mean.value:.4f}, {short}"


def raise_failed(failures: Sequence[str]) -> None:
    """`GateFailed` with all that did not keep its gate; nothing where all did."""
    if failures:
        raise GateFailed("; ".join(failures))
