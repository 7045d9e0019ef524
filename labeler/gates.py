"""Gates on scores: what a continuous-integration job asks of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from labeler.errors import GateFailed, Misuse
from labeler.evaluating import Report
from labeler.metrics import Measure, parse


@dataclass(frozen=True)
class Gate:
    """The mean that every run must reach: the least, or the most where lower is better."""

    measure: Measure
    bound: float


def parse_gates(texts: Sequence[str]) -> list[Gate]:
    """Gates from `nDCG@10:0.45`."""
    gates = []
    for text in texts:
        name, colon, number = text.rpartition(":")
        try:
            bound = float(number) if colon else math.nan
        except ValueError:
            bound = math.nan
        if not math.isfinite(bound):
            raise Misuse(f"cannot read the gate {text!r}; write it as nDCG@10:0.45")
        gates.append(Gate(parse(name), bound))
    return gates


def check_gates(report: Report, gates: Sequence[Gate], no_worse_than: str | None) -> None:
    """`GateFailed` names each run that lies below a gate, or is worse than the named one.

    A run is worse where its mean is lower and the two can be told apart (Holm, 5 %).
    """
    failed = []
    for run in report.runs:
        means = run.scores.means()
        for gate in gates:
            value = means[str(gate.measure)]
            lower = gate.measure.definition.lower_is_better
            if not (value <= gate.bound if lower else value >= gate.bound):
                side = "above" if lower else "below"
                failed.append(f"{run.name}: {gate.measure} is {value:.4f}, {side} {gate.bound:g}")
    if no_worse_than is not None:
        worse = [c for c in report.comparisons if c.verdict == "worse"]
        failed += [
            f"{c.run}: {c.measure} is {abs(c.difference):.4f} worse than {c.baseline}'s"
            f" (p {c.p_holm:.3f})"
            for c in worse
        ]
    if failed:
        raise GateFailed("; ".join(failed))
