"""Gates on agreement: what a continuous-integration job asks of an assessor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from labeler.agreement.compare import Estimate
from labeler.agreement.registry import Statistic
from labeler.errors import Misuse


@dataclass(frozen=True)
class Gate:
    """A statistic's name and its limit: the least, or the most where less is better.

    The end of the interval that is farther from people has to keep it, or the value alone with
    `of_value`.
    """

    name: str
    limit: float
    of_value: bool = False


def parse_gates(texts: Sequence[str], *, of_value: bool = False) -> list[Gate]:
    """Gates from `kappa-quadratic:0.6`."""
    gates = []
    for text in texts:
        name, colon, number = text.rpartition(":")
        try:
            limit = float(number) if colon else math.nan
        except ValueError:
            limit = math.nan
        if not math.isfinite(limit):
            raise Misuse(f"cannot read the gate {text!r}; write it as kappa-quadratic:0.6")
        gates.append(Gate(name, limit, of_value))
    return gates


def shortfall(gate: Gate, statistic: Statistic, found: Estimate) -> str | None:
    """Why the gate fails, `None` where it is kept."""
    low, high = (found.value, found.value) if gate.of_value else (found.low, found.high)
    if low is None or high is None:
        return f"{gate.name} has no {'value' if gate.of_value else 'interval'} to hold against it"
    ends = "is" if gate.of_value else "may be as {} as"
    if statistic.better > 0:
        worst, kept, side = low, low >= gate.limit, "low"
    elif statistic.better < 0:
        worst, kept, side = high, high <= gate.limit, "high"
    else:
        worst = low if abs(low) > abs(high) else high
        kept, side = abs(worst) <= gate.limit, "far off"
    least = "at least" if statistic.better > 0 else "at most"
    said = f"{gate.name} {ends.format(side)} {worst:.4f}; wanted {least} {gate.limit:g}"
    return None if kept else said
