"""Gates on scores: what a continuous-integration job asks for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labeler.errors import GateFailed, GateUndecided, Misuse, about
from labeler.evaluation.options import parse_limits
from labeler.metrics import Measure, parse

if TYPE_CHECKING:
    from labeler.evaluation.equivalence import Equivalence
    from labeler.evaluation.evaluate import Report
    from labeler.evaluation.groups import ByGroup
    from labeler.evaluation.scores import RunScores


@dataclass(frozen=True)
class ScoreGate:
    """The mean that every run must reach; with `low_end` the low end of its interval must.

    With a field `by` of the queries it is a gate on each group, or on one `group` alone.
    """

    measure: Measure
    bound: float
    low_end: bool = False
    by: str = ""
    group: str | None = None

    @property
    def parameter(self) -> str:
        """What asks for it."""
        return "require_low" if self.low_end else "require"

    def missed(self, whose: str, value: float, low: float) -> tuple[str, ...]:
        """That a score, or the low end of its interval, does not keep the gate."""
        held = low if self.low_end else value
        if held >= self.bound:
            return ()
        what = f"{'may be as low as' if self.low_end else 'is'} {held:.4f}, below"
        if math.isnan(held):
            nothing = "has no interval to hold" if self.low_end else "is undefined, and so not held"
            what = f"{nothing} against"
        return (f"{whose} {what} {self.bound:g}",)


@dataclass(frozen=True)
class GateOutcome:
    """What did not pass its gate, and what cannot be told; nothing where all passed."""

    failures: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()

    def __add__(self, other: GateOutcome) -> GateOutcome:
        return GateOutcome(self.failures + other.failures, self.undecided + other.undecided)

    def check(self) -> None:
        """`GateFailed` where something failed, else `GateUndecided` where something is open."""
        open_ones = [f"cannot tell: {text}" for text in self.undecided]
        if self.failures:
            raise GateFailed("; ".join([*self.failures, *open_ones]))
        if open_ones:
            raise GateUndecided("; ".join(open_ones))


def outcome_of(
    report: Report, gates: Sequence[ScoreGate], *, no_worse_than: bool = False
) -> GateOutcome:
    """Each run below a gate, or that loses more than a margin.

    What cannot be told: scores that nobody may rely on, and losses that more queries would have to
    show or exclude.

    Every run must pass every gated measure. Then at most 5 % of builds that truly lose a margin
    pass, however many runs and measures are held (Berger 1982, Technometrics 24).
    `Misuse` where these data could not pass the gate, or not fail it.
    """
    outcomes = [_held(report, run, gate) for run in report.runs for gate in gates if not gate.by]
    outcomes += [_held_by_group(report, gate) for gate in gates if gate.by]
    if no_worse_than:
        from labeler.evaluation.equivalence import check_equivalences  # agreement needs none of it

        doubts = {e.run: doubt for e in report.equivalences if (doubt := doubt_of(report, e))}
        tested = [e for e in report.equivalences if e.run not in doubts]
        failures, unshown = check_equivalences(tested)
        open_ones = [*unshown, *(f"{run}: {doubt}" for run, doubt in doubts.items())]
        outcomes.append(GateOutcome(tuple(failures), tuple(open_ones)))
    return sum(outcomes, GateOutcome())


def doubt_of(report: Report, e: Equivalence) -> str:
    """Why it is not known whether a run loses a margin; empty where a test may say."""
    return "" if e.identical else report.trust.against_gate((e.run, e.baseline), e.measure)


def _held(report: Report, run: RunScores, gate: ScoreGate) -> GateOutcome:
    """One run's score against a gate; where it may not be relied on, neither pass nor failure."""
    name = str(gate.measure)

    def decided() -> bool:
        ends = run.ends(name)
        return bool(ends) and (ends["low"] >= gate.bound or ends["high"] < gate.bound)

    if doubt := report.trust.against_gate((run.name,), name, decided):
        return GateOutcome((), (f"{run.name}: {name} against {gate.bound:g} is {doubt}",))
    value, low = run.scores.means()[name], run.intervals[name][0]
    return GateOutcome(gate.missed(f"{run.name}: {name}", value, low))


# Gates on groups of queries: the worst group of a field, or one that is named.

WORST = "worst-"
EXAMPLE = "nDCG@10:0.4@worst-kind or nDCG@10:0.4@kind=keyword"


def check_groups(report: Report, gates: Sequence[ScoreGate]) -> None:
    """`Misuse` where a gate names a group that no query is in."""
    for gate in gates:
        if gate.group is None:
            continue
        sizes = _grouped(report, gate).sizes
        if gate.group not in sizes:
            listed = ", ".join(f"{name:.40}" for name in list(sizes)[:12])
            raise Misuse(
                f"no query has {gate.by}={gate.group}; {gate.by} is one of {listed}",
                parameter=gate.parameter,
            )


def read_gates(require: Sequence[str] = (), require_low: Sequence[str] = ()) -> list[ScoreGate]:
    """Gates from `nDCG@10:0.45`, `nDCG@10:0.4@worst-kind` and `nDCG@10:0.4@kind=keyword`."""
    gates = []
    for texts, parameter in ((require, "require"), (require_low, "require_low")):
        for text in texts:
            name, colon, rest = text.partition(":")
            bound, at, where = rest.partition("@")
            (limit,) = parse_limits([f"{name}{colon}{bound}"], "nDCG@10:0.45", parameter)
            with about(parameter):
                group = _group_of(text, where) if at else ("", None)
                low_end = parameter == "require_low"
                gates.append(ScoreGate(parse(limit.name), limit.number, low_end, *group))
    return gates


def _group_of(text: str, where: str) -> tuple[str, str | None]:
    by, equals, group = where.partition("=")
    if equals and by and group:
        return by, group
    if not equals and where.startswith(WORST) and len(where) > len(WORST):
        return where.removeprefix(WORST), None
    raise Misuse(f"cannot read {text!r}; write it as {EXAMPLE}")


def _held_by_group(report: Report, gate: ScoreGate) -> GateOutcome:
    """What does not keep a gate, and what cannot be held against it: a group of few queries."""
    failures, undecided = list[str](), list[str]()
    grouped, measure = _grouped(report, gate), str(gate.measure)
    scores = [s for s in grouped.scores if s.measure == measure and gate.group in (None, s.group)]
    if thin := {s.group: f"{s.group} ({math.floor(s.effective)})" for s in scores if s.thin}:
        undecided.append(
            f"{measure} by {gate.by}: {', '.join(thin.values())}: fewer than {grouped.fewest} "
            "queries decide no gate"
        )
    for score in (s for s in scores if not s.thin):
        whose = f"{score.run}, {gate.by} {score.group}: {measure}"
        if doubt := report.trust.against_gate((score.run,), measure):
            undecided.append(f"{whose} against {gate.bound:g} is {doubt}")
        else:
            failures += gate.missed(whose, score.value, score.low)
    return GateOutcome(tuple(failures), tuple(undecided))


def _grouped(report: Report, gate: ScoreGate) -> ByGroup:
    return next(grouped for grouped in report.by if grouped.by == gate.by)
