"""Gates on scores and on agreement: what a continuous-integration job asks for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from labeler.errors import GateFailed, Misuse
from labeler.messages import count_of
from labeler.metrics import Measure, parse

if TYPE_CHECKING:  # a command of scores needs nothing of agreement, and starts sooner without
    from labeler.evaluation.compare import Comparison
    from labeler.evaluation.corrected import Corrections
    from labeler.evaluation.evaluate import Report


class Limit(NamedTuple):
    """What `--require NAME:NUMBER` says."""

    name: str
    number: float


@dataclass(frozen=True)
class ScoreGate:
    """The mean that every run must reach: the least, or the most where lower is better."""

    measure: Measure
    bound: float


def parse_limits(texts: Sequence[str], example: str) -> list[Limit]:
    """Names with finite numbers behind the last colon; `Misuse` shows the example."""
    limits = []
    for text in texts:
        name, colon, number = text.rpartition(":")
        try:
            limit = float(number) if colon else math.nan
        except ValueError:
            limit = math.nan
        if not math.isfinite(limit):
            raise Misuse(f"cannot read the gate {text!r}; write it as {example}")
        limits.append(Limit(name, limit))
    return limits


def score_gates(texts: Sequence[str]) -> list[ScoreGate]:
    """Gates from `nDCG@10:0.45`."""
    limits = parse_limits(texts, "nDCG@10:0.45")
    return [ScoreGate(parse(limit.name), limit.number) for limit in limits]


def check_scores(report: Report, gates: Sequence[ScoreGate], no_worse_than: str | None) -> None:
    """`GateFailed` names each run that lies below a gate, or is worse than the named one.

    A run is worse where its mean is lower and the two can be told apart (Holm, 5 %). `Misuse` where
    nothing could be worse, with too few queries to tell any two runs apart.
    """
    failed = []
    if no_worse_than is not None:
        _check_decidable(report.comparisons)
    for run in report.runs:
        means = run.scores.means()
        for gate in gates:
            value = means[str(gate.measure)]
            short = _falls_short(gate, value)
            is_what = short if math.isnan(value) else f"{value:.4f}, {short}"
            failed += [f"{run.name}: {gate.measure} is {is_what}"] if short else []
    if no_worse_than is not None:
        worse = [c for c in report.comparisons if c.verdict == "worse"]
        failed += [
            f"{c.run}: {c.measure} is {abs(c.difference):.4f} worse than {c.baseline}'s"
            f" (p {c.p_holm:.2g})"
            for c in worse
        ]
    _fail(failed)


def _check_decidable(comparisons: Sequence[Comparison]) -> None:
    for one in comparisons:
        if not one.queries:
            raise Misuse(
                f"--no-worse-than: {one.measure} of {one.run} is undefined for all queries"
            )
        if not one.decidable:
            n = count_of(one.queries, "query", "queries")
            few = f"the smallest p that {n} can give is {one.p_least:.3f}"
            raise Misuse(f"--no-worse-than cannot fail: {few}; more queries, or --interval t")


def _falls_short(gate: ScoreGate, value: float) -> str | None:
    """On which side of its bound the value lies, `None` where it keeps it."""
    if math.isnan(value):
        return f"undefined, and so not held against {gate.bound:g}"
    lower = gate.measure.definition.lower_is_better
    if value <= gate.bound if lower else value >= gate.bound:
        return None
    return f"{'above' if lower else 'below'} {gate.bound:g}"


def check_corrected(
    found: Corrections, gates: Sequence[ScoreGate], no_worse_than: str | None
) -> None:
    """`GateFailed` names each run whose corrected figure may lie below a gate, or is worse.

    It is the interval's worse end that has to keep the gate.
    """
    failed = list(_corrected_short(found, gates))
    if no_worse_than is not None:
        worse = [c for c in found.comparisons if c.verdict == "worse"]
        failed += [
            f"{c.run}: {c.measure}, corrected, is {abs(c.found.corrected.value):.4f} worse than"
            f" {c.baseline}'s"
            for c in worse
        ]
    _fail(failed)


def _corrected_short(found: Corrections, gates: Sequence[ScoreGate]) -> Iterator[str]:
    for gate in gates:
        for row in found.rows:
            if row.measure != str(gate.measure):
                continue
            mean = row.found.corrected
            lower = gate.measure.definition.lower_is_better
            worst = mean.high if lower else mean.low
            if worst is None:
                yield f"{row.run}: {gate.measure} has no interval to hold against {gate.bound:g}"
            elif short := _falls_short(gate, worst):
                side = "high" if lower else "low"
                yield f"{row.run}: {gate.measure} may be as {side} as {worst:.4f}, {short}"


def _fail(failed: Sequence[str]) -> None:
    if failed:
        raise GateFailed("; ".join(failed))
