"""Whether runs are shown to lose no more than a margin against a baseline, or to gain or lose it.

The procedure is that of two one-sided tests (`labeler.stats.power`). What is not shown either
way stays so: more queries may show it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from labeler.arrays import Floats
from labeler.errors import Misuse, about
from labeler.evaluation.options import parse_limits
from labeler.evaluation.rulings import Ruling, number_needed, settled_by
from labeler.evaluation.scores import UNBOUNDED, Comparing
from labeler.metrics import Measure, parse, parse_all
from labeler.report.result import Hidden
from labeler.report.table import Column, Interval, Table, interval_text, shown
from labeler.stats.power import lower_bound
from labeler.stats.student import SIGNIFICANT

# Margins: which loss against a baseline would matter, by measure, in the measure's own units.

Margin = float | Mapping[str, float] | None
DEFAULT_MARGIN = 0.05
"""The smallest difference that users are said to notice: Spärck Jones (1974), J. of Doc. 30(4)."""


def margins_by_measure(
    margin: Margin, measures: Sequence[str], *, default: bool = False
) -> dict[str, float]:
    """One margin for all measures, or one for each that is named; `""` names all. None by default.

    A gate's have a `default`, for measures between 0 and 1 alone.
    """
    sizes = margin if isinstance(margin, Mapping) else {} if margin is None else {"": margin}
    with about("margin"):
        for size in sizes.values():
            if not 0 < size < math.inf:
                raise Misuse(f"a margin is a number above 0, not {size!r}")
        parsed = parse_all(measures)
        if default and not sizes:
            sizes = {"": DEFAULT_MARGIN}
            if unbounded := [str(each) for each in parsed if each.name in UNBOUNDED]:
                name = unbounded[0]
                raise Misuse(
                    f"{name} has no largest value, so that no margin suits it by default; name "
                    f"one, as {name}:1"
                )
        margins = {str(each): float(sizes[""]) for each in parsed if "" in sizes}
        return margins | {str(parse(name)): float(size) for name, size in sizes.items() if name}


def read_margins(texts: Sequence[str]) -> dict[str, float]:
    """Margins from `0.05`, for all measures, and `nDCG@10:0.05`, for one."""
    named = [text if ":" in text else f":{text}" for text in texts]
    return dict(parse_limits(named, "0.05 or nDCG@10:0.05", "margin"))


NOT_SHOWN = "not shown either way"
WORSE = "worse by more than the margin"


@dataclass(frozen=True)
class Equivalence:
    """A run against the baseline by one measure, with a margin in the measure's own units.

    `low` and `high` are the bounds of two one-sided tests at 5 %, within the interval of the
    difference. A loss of more than the margin is shown where `most`, the upper bound at the level
    that a gate has for that, lies below it. `identical` says that both rank the same judged
    documents alike in every query.
    """

    run: str
    baseline: str
    measure: str
    margin: float
    queries: int
    difference: float
    low: float
    high: float
    can_fail: bool = True
    identical: bool = False
    most: Hidden[float] = math.inf

    @property
    def interval(self) -> Interval:
        """The difference with its bounds."""
        return Interval(self.difference, self.low, self.high)

    @property
    def passes(self) -> bool:
        """Whether a loss of the margin is excluded."""
        return self.identical or self.low > -self.margin

    @property
    def resolved(self) -> float:
        """The smallest loss that so many queries exclude of a run that is as good."""
        return 0.0 if self.identical else self.difference - self.low

    @shown
    def verdict(self) -> str:
        """In words."""
        if math.isnan(self.difference):
            return "undefined"
        if self.most < -self.margin:
            return WORSE
        if not self.passes:
            return NOT_SHOWN
        if self.identical or self.high < self.margin:
            return "worse, by less than the margin" if self.high < 0 else "equal within the margin"
        return "not worse by more than the margin"

    def ruling(self, doubt: str) -> Ruling:
        """What comes of a gate on it, of which there may be a doubt.

        `Misuse` where these data could not decide it.
        """
        whose, gate = f"{self.run}: {self.measure}", f"a loss of {self.margin:g} in {self.measure}"
        ruling = Ruling(self.run, "no_worse_than", gate, "pass")
        if doubt:
            return replace(ruling, verdict="cannot tell", why=f"{self.run}: {doubt}")
        with about("no_worse_than"):
            if not self.queries:
                raise Misuse(f"{self.measure} of {self.run} is undefined for all queries")
            if not self.can_fail:
                raise Misuse(
                    f"the gate cannot fail: even a run that scores 0 at all of {self.queries} "
                    f"queries loses less than {self.margin:g} of {self.baseline}'s {self.measure}; "
                    "a smaller margin can"
                )
        if self.passes:
            return ruling
        if self.verdict == WORSE:
            loss = f"{abs(self.difference):.4f} worse than {self.baseline}'s, by more than"
            why = f"{whose} is {loss} {self.margin:g} (at least {-self.most:.4f})"
            return replace(ruling, verdict="fail", why=why)
        change = interval_text(self.interval, "+.4f", "+.3f")
        end = self.low if self.difference > -self.margin else self.most
        needed = number_needed(self.difference, end, -self.margin, self.queries)
        settled = settled_by(needed, f"{self.difference:+.4f} is true")
        why = (
            f"{whose} against {self.baseline}'s is {change}, so that a loss of {self.margin:g} is "
            f"not excluded over all queries like these; {settled}"
        )
        return replace(ruling, verdict="cannot tell", why=why, needed=needed)


def equivalences(
    comparing: Comparing, margins: Mapping[str, float], identical: Sequence[str] = ()
) -> Iterator[Equivalence]:
    """Every other run against the baseline by each measure that has a margin.

    The runs `identical` rank their documents as the baseline does.
    """
    by_name, baseline = {str(of): of for of in comparing.measures}, str(comparing.baseline)
    for name, margin in margins.items():
        if (measure := by_name.get(name)) is None:
            raise Misuse(
                f"{name} is no mean over queries, or is not scored, so that no margin can be held",
                parameter="margin",
            )
        ends = {c.run: (c.low, c.high) for c in comparing.by(measure)}
        for run in comparing.scores:
            if run == baseline:
                continue
            both = np.array([comparing.scores[side].of(measure) for side in (run, baseline)])
            scores, base = both[:, ~np.isnan(both).any(axis=0)]
            low, high = bounds(scores, base, measure)
            if run in ends:  # of few queries they may lie outside the interval
                low, high = max(low, ends[run][0]), min(high, ends[run][1])
            reach = math.hypot(*(comparing.scores[side].lean for side in (run, baseline)))
            low, high = low - reach, high + reach
            least = -math.inf if measure.name in UNBOUNDED else lower_bound(-base, most_lost(base))
            yield Equivalence(
                run,
                baseline,
                name,
                margin,
                len(base),
                float((scores - base).mean()) if len(base) else math.nan,
                low,
                high,
                can_fail=not least > -margin,  # were all that the baseline scores lost
                identical=run in identical,
                most=high,
            )


def bounds(
    scores: Floats, base: Floats, measure: Measure, level: float = SIGNIFICANT
) -> tuple[float, float]:
    """The least and the most that scores may lie above those of a baseline, each at a level."""
    gains = scores - base
    low = lower_bound(gains, most_lost(base), level)
    return low, -lower_bound(-gains, most_won(base, measure), level)


def most_lost(base: Floats) -> float:
    """How much a query of the baseline may lose, as a rule: the mean of its scores above 0."""
    scored = base[base > 0]
    return float(scored.mean()) if len(scored) else 0.0


def most_won(base: Floats, measure: Measure) -> float:
    """How much a query of the baseline may gain, as a rule; 0 where that has no end."""
    below = base[base < 1]
    return float(1 - below.mean()) if measure.name not in UNBOUNDED and len(below) else 0.0


def equivalence_table(equivalences: Sequence[Equivalence]) -> Table:
    """A row for each run and measure: its difference, its bounds, and what they show."""
    columns = [
        Column("run", align="left"),
        Column("baseline", only="programs"),
        Column("measure", align="left"),
        Column("margin", format="g"),
        Column("difference", format="+.4f", ends="+.3f"),
        Column("queries", only="programs"),
        Column("verdict", align="left", widest=None),
    ]
    rows = [
        (e.run, e.baseline, e.measure, e.margin, e.interval, e.queries, e.verdict)
        for e in equivalences
    ]
    title = f"held against {equivalences[0].baseline}, with a margin"
    note = "bounds of two one-sided tests at 5 %; in each row alone"
    return Table("equivalence", columns, rows, title, note)
