"""Whether runs are shown to lose no more than a margin against a baseline, or to gain or lose it.

The procedure is that of two one-sided tests (`labeler.stats.power`). What is not shown either
way stays so: more queries may show it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from labeler.arrays import Floats
from labeler.errors import Misuse, about
from labeler.evaluation.options import parse_limits
from labeler.evaluation.scores import MEANS, UNBOUNDED
from labeler.metrics import Measure, Scores, parse, parse_all
from labeler.report.result import Hidden
from labeler.report.table import Column, Interval, Table, interval_text, shown
from labeler.stats.means import TIED
from labeler.stats.power import lower_bound, upper_bound
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

    `low` and `high` are the bounds of two one-sided tests at 5 %; `least_margin` is the smallest
    margin that these data exclude. A loss of more is shown where `most`, the upper bound at the
    level that a gate has for that, lies below the margin. `identical` says that both rank the same
    judged documents alike in every query.
    """

    run: str
    baseline: str
    measure: str
    margin: float
    queries: int
    differing: int
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

    @shown
    def least_margin(self) -> float:
        """The smallest loss that these data exclude."""
        return 0.0 if self.identical else max(-self.low, 0.0)

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


def equivalences(
    runs: Mapping[str, Scores],
    baseline: str,
    margins: Mapping[str, float],
    identical: Sequence[str] = (),
) -> Iterator[Equivalence]:
    """Every other run against the baseline by each measure that has a margin.

    The scores are over the same queries; the runs `identical` rank them as the baseline does.
    """
    by_name = {str(measure): measure for measure in runs[baseline].measures}
    for name, margin in margins.items():
        measure = by_name.get(name)
        if measure is None or measure.definition.summary not in MEANS:
            raise Misuse(
                f"{name} is no mean over queries, or is not scored, so that no margin can be held",
                parameter="margin",
            )
        for run, of_run in runs.items():
            if run == baseline:
                continue
            both = np.array([of_run.of(measure), runs[baseline].of(measure)])
            scores, base = both[:, ~np.isnan(both).any(axis=0)]
            gains = scores - base
            low, high = bounds(scores, base, measure)
            least = -math.inf if measure.name in UNBOUNDED else lower_bound(-base, most_lost(base))
            yield Equivalence(
                run,
                baseline,
                name,
                margin,
                len(gains),
                int((np.abs(gains) > TIED).sum()),
                float(gains.mean()) if len(gains) else math.nan,
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
    return low, upper_bound(gains, most_won(base, measure), level)


def most_lost(base: Floats) -> float:
    """How much a query of the baseline may lose, as a rule: the mean of its scores above 0."""
    scored = base[base > 0]
    return float(scored.mean()) if len(scored) else 0.0


def most_won(base: Floats, measure: Measure) -> float:
    """How much a query of the baseline may gain, as a rule; 0 where that has no end."""
    below = base[base < 1]
    return float(1 - below.mean()) if measure.name not in UNBOUNDED and len(below) else 0.0


def check_equivalences(equivalences: Sequence[Equivalence]) -> tuple[list[str], list[str]]:
    """Which runs lose more than the margin, and of which that is not shown either way.

    `Misuse` where these data could not decide it.
    """
    with about("no_worse_than"):
        for e in equivalences:
            if not e.queries:
                raise Misuse(f"{e.measure} of {e.run} is undefined for all queries")
            if not e.can_fail:
                raise Misuse(
                    f"the gate cannot fail: even a run that scores 0 at all of {e.queries} "
                    f"queries loses less than {e.margin:g} of {e.baseline}'s {e.measure}; a "
                    "smaller margin can"
                )
    short = [e for e in equivalences if not e.passes]
    unshown = [_failure(e) for e in short if e.verdict == NOT_SHOWN]
    return [_failure(e) for e in short if e.verdict != NOT_SHOWN], unshown


def _failure(e: Equivalence) -> str:
    """What is not shown of a run, and what would show it."""
    if e.verdict == NOT_SHOWN:
        change, more = interval_text(e.interval, "+.4f", "+.3f"), "more queries may show less"
        if (above := e.difference + e.margin) > 0 and math.isfinite(e.low):
            # the lower bound nears the difference with the square root of the number of queries
            needed = math.ceil(e.queries * (e.resolved / above) ** 2)
            more = f"about {needed:,} queries would settle it if {e.difference:+.4f} is true"
        open_loss = f"so that a loss of {e.margin:g} is not excluded"
        excluded = f"a loss of {e.least_margin:.3f} or more is; {more}"
        return f"{e.run}: {e.measure} against {e.baseline}'s is {change}, {open_loss}; {excluded}"
    loss = f"{abs(e.difference):.4f} worse than {e.baseline}'s, by more than {e.margin:g}"
    return f"{e.run}: {e.measure} is {loss} (at least {-e.most:.4f})"


def equivalence_table(equivalences: Sequence[Equivalence]) -> Table:
    """A row for each run and measure: its difference, its bounds, and what they show."""
    columns = [
        Column("run", align="left"),
        Column("baseline", only="programs"),
        Column("measure", align="left"),
        Column("margin", format="g"),
        Column("difference", format="+.4f", ends="+.3f"),
        *(Column(name, only="programs") for name in ("queries", "differing")),
        Column("verdict", align="left", widest=None),
    ]
    rows = [
        (e.run, e.baseline, e.measure, e.margin, e.interval, e.queries, e.differing, e.verdict)
        for e in equivalences
    ]
    title = f"held against {equivalences[0].baseline}, with a margin"
    note = "bounds of two one-sided tests at 5 %; in each row alone"
    return Table("equivalence", columns, rows, title, note)
