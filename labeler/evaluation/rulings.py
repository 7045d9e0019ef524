"""What comes of a gate: pass, fail, or that nobody can tell, and how much more would settle it.

A value with its interval is held against a bound. Where the interval lies on one side of it, more
queries would hardly show another; where it holds the bound, they may.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from labeler.errors import GateFailed, GateUndecided
from labeler.messages import SHOWN
from labeler.report.table import Column, Interval, Table, interval_text

Verdict = Literal["pass", "fail", "cannot tell"]
WORST = "worst-"
"""What stands before the field of queries of whose groups the worst is held."""


@dataclass(frozen=True)
class Gate:
    """The least that a measure or statistic may be, or the most where less is `better` (-1).

    The value must reach the bound; with `low_end` the worse end of its interval must. With a field
    `by` of the queries it is a gate on each group, or on one `group` alone. `pairs` are those of
    each query, where they are what costs; `allowing` says what the interval allows for.
    """

    name: str
    bound: float
    low_end: bool = False
    by: str = ""
    group: str | None = None
    better: int = 1
    pairs: float = 0.0
    allowing: str = ""

    @property
    def parameter(self) -> str:
        """What asks for it."""
        return "require_low" if self.low_end else "require"

    def __str__(self) -> str:
        of_group = f"{WORST}{self.by}" if self.group is None else f"{self.by}={self.group}"
        low = "low end of " if self.low_end else ""
        return f"{low}{self.name}:{self.bound:g}{f'@{of_group}' if self.by else ''}"

    def of(self, whose: str, estimate: Interval, number: float) -> Ruling:
        """What comes of it for a value with its interval, by so many queries.

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
        settled = settled_by(needed, f"{estimate[0]:.4f} is true", self.pairs)
        side = "more" if self.better > 0 else "less"
        why = (
            f"{of} is {interval_text(estimate, '.4f', '.3f')}{self.allowing}, which leaves open "
            f"whether it is {self.bound:g} or {side} over all queries like these; {settled}"
        )
        verdict: Verdict = "pass" if held >= bound else "cannot tell"
        return replace(ruling, verdict=verdict, why=why, needed=needed)


# What would settle it.

LIKELY = 1.5
"""A bound so many times as far off as the end of an interval is told in four of five samples: the
quantiles of normal values at .8 and at the interval's level, by the latter, are 1.43 to 1.51."""
MOST = 1_000_000


def number_needed(value: float, end: float, bound: float, number: float) -> float:
    """How many queries would show on which side of a bound a value lies, if it is true.

    By so many the `end` of its interval lies as far off as it does, and it nears the value with the
    root of their number. In four of five samples they suffice. Infinite above `MOST`.
    """
    if value == bound or not math.isfinite(end):
        return math.inf
    needed = math.ceil(number * (LIKELY * (end - value) / (bound - value)) ** 2)
    return needed if needed <= MOST else math.inf


def settled_by(needed: float, case: str, pairs: float = 0.0) -> str:
    """That so many, of so many pairs each, would settle in some case what is open, or that none."""
    if math.isinf(needed):
        return f"no number of them would settle it if {case}"
    of_pairs = f", with {needed * pairs:,.0f} pairs," if pairs else ""
    return f"about {needed:,.0f} of them{of_pairs} would settle it with a chance of 80 % if {case}"


def cannot_show(text: str) -> str:
    """What stands before all else: what no outcome of these queries shows, or they leave open."""
    return f"What these queries cannot show: {text}"


# What comes of gates.


@dataclass(frozen=True)
class Ruling:
    """What comes of a gate for one run, group or assessor: the verdict, and why.

    `needed` is how many queries would settle what these leave open, infinite where no
    number would; None where they leave nothing open.
    """

    whose: str
    parameter: str
    gate: str
    verdict: Verdict
    why: str = ""
    needed: float | None = None


def left_open(rulings: Sequence[Ruling]) -> list[str]:
    """What of scores these queries leave open, and how many would settle it; of many some."""
    of = [r for r in rulings if r.needed is not None and r.parameter != "no_worse_than"]
    more = [cannot_show(f"the same of {len(of) - SHOWN:,} more.")] if len(of) > SHOWN else []
    return [*(cannot_show(f"{ruling.why}.") for ruling in of[:SHOWN]), *more]


def check_gates(rulings: Sequence[Ruling]) -> None:
    """`GateFailed` where something failed, else `GateUndecided` where something is open."""
    failures = [r.why for r in rulings if r.verdict == "fail"]
    lines = [*failures, *(f"cannot tell: {r.why}" for r in rulings if r.verdict == "cannot tell")]
    if lines:
        raise (GateFailed if failures else GateUndecided)("; ".join(lines))


def gate_table(rulings: Sequence[Ruling]) -> Table:
    """A row for each gate and run: the verdict, and how many queries would settle what is open."""
    columns = [
        *(Column(name, align="left", widest=None) for name in ("run", "gate", "verdict")),
        Column("queries needed", format=",.0f"),
    ]
    rows = [
        (r.whose, r.gate, r.verdict, "no number" if r.needed == math.inf else r.needed)
        for r in rulings
    ]
    return Table("gates", columns, rows, "gates")
