"""Gates on scores of runs and of groups of queries: what a continuous-integration job asks for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from labeler.errors import Misuse, about
from labeler.evaluation.options import parse_limits
from labeler.evaluation.rulings import WORST, Gate, Ruling
from labeler.metrics import parse
from labeler.report.table import Interval
from labeler.stats.student import SIGNIFICANT, t_quantile

if TYPE_CHECKING:
    from labeler.evaluation.equivalence import Equivalence
    from labeler.evaluation.evaluate import Report
    from labeler.evaluation.groups import ByGroup
    from labeler.evaluation.scores import RunScores


def outcome_of(
    report: Report, gates: Sequence[Gate], *, no_worse_than: bool = False
) -> list[Ruling]:
    """What comes of gates on each run, or on groups, and of the margins of a comparison.

    What cannot be told: scores that nobody may rely on, and what more queries would have to show.

    Every run must pass every gated measure. Then at most 5 % of builds that truly lose a margin
    pass, however many runs and measures are held (Berger 1982, Technometrics 24).
    `Misuse` where these data could not pass the gate, or not fail it.
    """
    rulings = [_held(report, run, gate) for run in report.runs for gate in gates if not gate.by]
    rulings += [ruling for gate in gates if gate.by for ruling in _held_by_group(report, gate)]
    if no_worse_than:
        rulings += [e.ruling(doubt_of(report, e)) for e in report.equivalences]
    return rulings


def doubt_of(report: Report, e: Equivalence) -> str:
    """Why it is not known whether a run loses a margin; empty where a test may say."""
    return "" if e.identical else report.trust.against_gate((e.run, e.baseline), e.measure)


def _held(report: Report, run: RunScores, gate: Gate) -> Ruling:
    """One run's score against a gate; where it may not be relied on, neither pass nor failure."""

    def decided() -> bool:
        ends = run.ends(gate.name)
        return bool(ends) and (ends["low"] >= gate.bound or ends["high"] < gate.bound)

    if doubt := report.trust.against_gate((run.name,), gate.name, decided):
        return _doubted(run.name, gate, doubt)
    return gate.of(run.name, run.means()[gate.name], len(run.scores.queries))


def _doubted(whose: str, gate: Gate, doubt: str) -> Ruling:
    why = f"{whose}: {gate.name} against {gate.bound:g} is {doubt}"
    return Ruling(whose, gate.parameter, str(gate), "cannot tell", why)


# Gates on groups of queries: the worst group of a field, or one that is named.

EXAMPLE = "nDCG@10:0.4@worst-kind or nDCG@10:0.4@kind=keyword"


def check_groups(report: Report, gates: Sequence[Gate]) -> None:
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


def read_gates(require: Sequence[str] = (), require_low: Sequence[str] = ()) -> list[Gate]:
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
                gates.append(Gate(str(parse(limit.name)), limit.number, low_end, *group))
    return gates


def _group_of(text: str, where: str) -> tuple[str, str | None]:
    by, equals, group = where.partition("=")
    if equals and by and group:
        return by, group
    if not equals and where.startswith(WORST) and len(where) > len(WORST):
        return where.removeprefix(WORST), None
    raise Misuse(f"cannot read {text!r}; write it as {EXAMPLE}")


def _held_by_group(report: Report, gate: Gate) -> Iterator[Ruling]:
    """What comes of a gate on groups; those of few queries cannot be held against it.

    Some group of many is lower than it truly is: of the worst one fails what is shown of it
    allowing for all of them (Bonferroni).
    """
    grouped = _grouped(report, gate)
    scores = [s for s in grouped.scores if s.measure == gate.name and gate.group in (None, s.group)]
    if thin := {s.group: f"{s.group} ({math.floor(s.effective)})" for s in scores if s.thin}:
        listed, few = ", ".join(thin.values()), f"fewer than {grouped.fewest} queries"
        why = f"{gate.name} by {gate.by}: {listed}: {few} decide no gate; so many of each would"
        yield Ruling(f"{gate.by} {listed}", gate.parameter, str(gate), "cannot tell", why)
    held = [score for score in scores if not score.thin]
    groups = len({score.group for score in held})
    for score in held:
        whose = f"{score.run}, {gate.by} {score.group}"
        if doubt := report.trust.against_gate((score.run,), gate.name):
            yield _doubted(whose, gate, doubt)
        else:
            allowing = f" (allowing for {groups} groups)" if groups > 1 else ""
            reach = (score.high - score.value) * reach_for(groups, score.effective)
            estimate = Interval(score.value, score.low, score.value + reach)
            yield replace(gate, allowing=allowing).of(whose, estimate, score.queries)


def reach_for(groups: int, queries: float) -> float:
    """How many times as far an interval of 95 % reaches if it allows for so many groups."""
    freedom, level = max(queries - 1, 1), SIGNIFICANT / 2
    return t_quantile(1 - level / groups, freedom) / t_quantile(1 - level, freedom)


def _grouped(report: Report, gate: Gate) -> ByGroup:
    return next(grouped for grouped in report.by if grouped.by == gate.by)
