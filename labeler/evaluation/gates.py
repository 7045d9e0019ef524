"""Gates on scores and on agreement: what a continuous-integration job asks for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from labeler.errors import GateFailed, GateUndecided, Misuse, about
from labeler.evaluation.options import parse_limits
from labeler.metrics import parse
from labeler.report.table import Column, Interval, Table, interval_text
from labeler.stats.student import SIGNIFICANT, t_quantile

if TYPE_CHECKING:
    from labeler.evaluation.equivalence import Equivalence
    from labeler.evaluation.evaluate import Report
    from labeler.evaluation.groups import ByGroup, GroupScore
    from labeler.evaluation.scores import RunScores

Verdict = Literal["pass", "fail", "cannot tell"]


@dataclass(frozen=True)
class Gate:
    """The least that a measure or statistic may be, or the most where less is `better` (-1).

    The value must reach the bound; with `low_end` the worse end of its interval must. With a field
    `by` of the queries it is a gate on each group, or on one `group` alone.
    """

    name: str
    bound: float
    low_end: bool = False
    by: str = ""
    group: str | None = None
    better: int = 1
    units: str = "queries"

    @property
    def parameter(self) -> str:
        """What asks for it."""
        return "require_low" if self.low_end else "require"

    def __str__(self) -> str:
        of_group = f"{WORST}{self.by}" if self.group is None else f"{self.by}={self.group}"
        low = "low end of " if self.low_end else ""
        return f"{low}{self.name}:{self.bound:g}{f'@{of_group}' if self.by else ''}"

    def of(self, whose: str, estimate: Interval, number: float) -> Ruling:
        """What comes of it for a value with its interval, by so many queries or pairs.

        It fails where the whole interval lies on the wrong side of the bound, so that the value is
        shown to lie there. Where that alone is open, nobody can tell.
        """
        value, *ends = (math.nan if end is None else self.better * end for end in estimate)
        (low, high), bound = sorted(ends), self.better * self.bound
        held, of = low if self.low_end else value, f"{whose}: {self.name}"
        ruling = Ruling(whose, self.parameter, str(self), "pass" if held >= bound else "fail")
        if math.isnan(held):
            nothing = "has no interval to hold" if self.low_end else "is undefined, and so not held"
            return replace(ruling, why=f"{of} {nothing} against {self.bound:g}")
        if held < bound and not high >= bound:
            beyond = "below" if self.better > 0 else "above"
            return replace(ruling, why=f"{of} is {estimate[0]:.4f}, {beyond} {self.bound:g}")
        if not low < bound:
            return ruling
        needed = number_needed(value, high if value < bound else low, bound, number)
        settled = settled_by(needed, f"{estimate[0]:.4f} is true")
        side = "more" if self.better > 0 else "less"
        why = (
            f"{of} is {interval_text(estimate, '.4f', '.3f')}, which leaves open whether it is "
            f"{self.bound:g} or {side} over all {self.units} like these; {settled}"
        )
        verdict: Verdict = "pass" if held >= bound else "cannot tell"
        return replace(ruling, verdict=verdict, why=why, needed=needed)


# What would settle it.

LIKELY = 1.5
"""A bound so many times as far off as the end of an interval is told in four of five samples: the
quantiles of normal values at .8 and at the interval's level, by the latter, are 1.43 to 1.51."""
MOST = 1_000_000


def number_needed(value: float, end: float, bound: float, number: float) -> float:
    """How many queries, or pairs, would show on which side of a bound a value lies, if it is true.

    By so many the `end` of its interval lies as far off as it does, and it nears the value with the
    root of their number. In four of five samples they suffice. Infinite above `MOST`.
    """
    if value == bound or not math.isfinite(end):
        return math.inf
    needed = math.ceil(number * (LIKELY * (end - value) / (bound - value)) ** 2)
    return needed if needed <= MOST else math.inf


def settled_by(needed: float | None, case: str) -> str:
    """That so many would settle in some case what is open, or that no number would."""
    number = "no number" if needed is None or math.isinf(needed) else f"about {needed:,.0f}"
    return f"{number} of them would settle it with a chance of 80 % or more if {case}"


def cannot_show(text: str) -> str:
    """What stands before all else: what no outcome of these queries shows, or they leave open."""
    return f"What these queries cannot show: {text}"


# What comes of gates.


@dataclass(frozen=True)
class Ruling:
    """What comes of a gate for one run, group or assessor: the verdict, and why.

    `needed` is how many queries or pairs would settle what these leave open, infinite where no
    number would; None where they leave nothing open.
    """

    whose: str
    parameter: str
    gate: str
    verdict: Verdict
    why: str = ""
    needed: float | None = None


@dataclass(frozen=True)
class GateOutcome:
    """What comes of all gates."""

    rulings: tuple[Ruling, ...] = ()

    def _of(self, verdict: Verdict) -> tuple[str, ...]:
        return tuple(ruling.why for ruling in self.rulings if ruling.verdict == verdict)

    @property
    def failures(self) -> tuple[str, ...]:
        """What did not pass."""
        return self._of("fail")

    @property
    def undecided(self) -> tuple[str, ...]:
        """What cannot be told."""
        return self._of("cannot tell")

    @property
    def left_open(self) -> list[str]:
        """Which gates these queries cannot decide, beside margins, and how many would."""
        of = (ruling for ruling in self.rulings if ruling.parameter != "no_worse_than")
        return [cannot_show(f"{ruling.why}.") for ruling in of if ruling.needed is not None]

    def check(self) -> None:
        """`GateFailed` where something failed, else `GateUndecided` where something is open."""
        open_ones = [f"cannot tell: {text}" for text in self.undecided]
        if self.failures:
            raise GateFailed("; ".join([*self.failures, *open_ones]))
        if open_ones:
            raise GateUndecided("; ".join(open_ones))


def gate_table(rulings: Sequence[Ruling]) -> Table:
    """A row for each gate and run: the verdict, and how many queries would settle what is open."""
    columns = [
        *(Column(name, align="left") for name in ("run", "gate", "verdict")),
        Column("queries needed", format=",.0f"),
    ]
    rows = [(r.whose, r.gate, r.verdict, r.needed) for r in rulings]
    return Table("gates", columns, rows, "gates")


def outcome_of(
    report: Report, gates: Sequence[Gate], *, no_worse_than: bool = False
) -> GateOutcome:
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
    return GateOutcome(tuple(rulings))


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

WORST = "worst-"
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
            yield gate.of(whose, allowing_for(score, groups), score.queries)


def allowing_for(score: GroupScore, groups: int) -> Interval:
    """A group's score, with the high end that allows for so many groups."""
    levels, freedom = (SIGNIFICANT / 2 / groups, SIGNIFICANT / 2), max(score.effective - 1, 1)
    wider, own = (t_quantile(1 - level, freedom) for level in levels)
    high = score.value + (score.high - score.value) * wider / own
    return Interval(score.value, score.low, high)


def _grouped(report: Report, gate: Gate) -> ByGroup:
    return next(grouped for grouped in report.by if grouped.by == gate.by)
