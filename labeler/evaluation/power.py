"""How many queries are enough to tell runs apart."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labeler.arrays import Floats
from labeler.errors import BadInput, Misuse
from labeler.evaluation.evaluate import mean_measure, report_on
from labeler.evaluation.inputs import AnyQrels, AnyRuns, origin_findings, runs_from
from labeler.evaluation.options import EvaluationOptions
from labeler.messages import count_of
from labeler.options import COUNT, SIZE, Bounds, Options, given, option
from labeler.report.finding import Finding
from labeler.report.result import Result
from labeler.report.table import Column, Interval, Table
from labeler.stats.families import Systems, contenders
from labeler.stats.power import (
    MOST_QUERIES,
    detectable,
    pooled_deviation,
    queries_needed,
    variance_factors,
)

NUMBERS = (25, 50, 100, 200, 500, 1000)
DIFFERENCES = (0.01, 0.02, 0.05, 0.1)
RANGE = 0.95
"""Of samples of normal differences whose range holds the truth; of real ones it is fewer."""
RUNS, CHANCE = Bounds(2, 1000), Bounds(0.051, 0.999)
"""How many runs a plan may be for, and with which power: above the chance of a false alarm."""


@dataclass(frozen=True, repr=False)
class PowerPlan(Result):
    """What so many queries can tell, and how many a difference needs.

    `deviation` is that of the paired differences, pooled over all pairs of runs. `deviation_range`
    is what these queries say of it: as a rule it holds the truth nine times in ten (the page of
    methods has the figures).
    `runs` are those that may be the best. `planned_runs` are to be compared, the best of them with
    the others. `grades` says whose they are.
    `detectable` has a difference for each number of queries, and `needed` a number of queries for
    each difference; the ranges are by the ends of `deviation_range`.
    """

    measure: str
    queries: int
    runs: int
    deviation: float
    deviation_range: tuple[float, float]
    planned_runs: int
    power: float
    detectable: dict[int, float]
    needed: dict[float, int]
    detectable_range: dict[int, tuple[float, float]]
    needed_range: dict[float, tuple[int | None, int | None]]
    findings: tuple[Finding, ...] = ()
    grades: str = ""

    @property
    def sentences(self) -> list[str]:
        """What so many queries can tell, and how much the differences of runs vary."""
        number, least = next(iter(self.detectable.items()))
        if self.queries in self.detectable:
            number, least = self.queries, self.detectable[self.queries]
        smallest, enough = next(iter(self.needed.items()))
        many = count_of(number, "query finds", "queries find")
        queries = count_of(self.queries, "query")
        low, high = self.deviation_range
        among = f" where the best of {self.planned_runs} runs is compared with the others"
        among = ", between two runs" if self.planned_runs == 2 else among
        fewest, most = self.needed_range[smallest]
        needed = f"about {enough:,} queries or far more, as so few say little of it"
        if fewest is not None and most is not None:
            needed = f"about {enough:,} queries, anything from {fewest:,} to {most:,}"
        return [
            f"{many} a difference of {least:.3f} in {self.measure} {self.power:.0%} of the time"
            f"{among}; one of {smallest:g} takes {needed}.",
            f"{self.measure} of the {self.runs} runs that may be the best, over {queries}: the"
            f" difference of two has a standard deviation of {self.deviation:.4f} (pooled over"
            f" pairs of runs; so few leave {low:.4f} to {high:.4f} possible).",
        ]

    def tables(self) -> list[Table]:
        """The tables `detectable` and `needed`."""
        chance = f"{self.power:.0%} power"
        between = Column("", title="from, to", format="", ends=".4f")
        least = [Column("queries", align="left"), Column(f"detectable with {chance}")]
        enough = [Column("difference", format="g", align="left"), Column(f"queries for {chance}")]
        detected = [
            (n, d, Interval(None, *self.detectable_range[n])) for n, d in self.detectable.items()
        ]
        needed = [(d, n, Interval(None, *self.needed_range[d])) for d, n in self.needed.items()]
        return [
            Table("detectable", [*least, between], detected),
            Table("needed", [*enough, replace(between, ends=",")], needed, note=self.grades),
        ]

    def as_json(self) -> dict[str, Any]:
        """All figures, and all findings as warnings."""
        return super().as_json() | {"warnings": list(map(str, self.findings))}


@dataclass(frozen=True)
class PowerOptions(Options):
    """What to plan for: numbers of queries, differences, and the power.

    `planned_runs` are compared, the best with the others; by default as many as may be the best of
    the earlier ones.
    """

    queries: tuple[int, ...] = option((), "What can so many queries tell? Repeatable.", COUNT)
    differences: tuple[float, ...] = option(
        (), "How many does this difference need? Repeatable.", SIZE, flags="--difference"
    )
    power: float = option(0.8, "The chance to find the difference.", CHANCE)
    planned_runs: int | None = option(
        None,
        "Plan for so many runs (default: those that may be the best of these).",
        RUNS,
        flags="--compared",
    )


def power(
    qrels: AnyQrels,
    runs: AnyRuns | None = None,
    measure: object = "nDCG@10",
    options: PowerOptions | None = None,
    **settings: Any,
) -> PowerPlan:
    """Say what so many queries can tell apart, and how many a difference needs.

    From the scores of two or more earlier runs. Qrels and runs are taken as by `evaluate`. The
    plan is for the test that `evaluate` makes of those that may be the best: of the best with the
    others. `settings` are fields of `PowerOptions`.

    >>> import labeler
    >>> qrels = {f"q{n}": {"d1": 1} for n in range(20)}
    >>> always = {q: {"d1": 2.0, "d2": 1.0} for q in qrels}
    >>> often = {q: {"d1": 1.0, "d2": 2.0 * (n % 4 == 0)} for n, q in enumerate(qrels)}
    >>> plan = labeler.power(qrels, [always, often], "P@1", differences=[0.1])
    >>> plan.needed
    {0.1: 157}
    """
    options = given(PowerOptions, options, settings)
    runs_by_name = runs_from(runs, qrels)
    if len(runs_by_name) < 2:
        raise Misuse("power needs two or more runs, whose differences vary from query to query")
    mean_measure(measure)
    report = report_on(qrels, runs_by_name, EvaluationOptions((str(measure),), scenarios=False))
    plan = _plan_of(np.array([run.scores.values[0] for run in report.runs]), str(measure), options)
    of_scores = (finding.without_advice() for finding in report.findings)
    findings = (*of_scores, *origin_findings(qrels, of_pool=True))
    return replace(plan, findings=findings, grades=str(report.grades))


def _plan_of(values: Floats, measure: str, options: PowerOptions) -> PowerPlan:
    """The plan from the scores of some runs, `(runs, queries)`."""
    queries = values.shape[1]
    if queries < 2:
        raise BadInput("one query says nothing of how differences vary from query to query")
    values = _contending(values)
    spread = pooled_deviation(values)
    if not spread > 0:
        raise BadInput(f"the runs do not differ in {measure} at any query, so nothing varies")
    target, runs = options.power, options.planned_runs or len(values)
    low, high = (spread * math.sqrt(end) for end in variance_factors(values, RANGE))
    numbers = sorted(set(options.queries or (queries, *NUMBERS)))
    differences = options.differences or DIFFERENCES
    spreads = (spread, low, high)
    least = {n: [detectable(n, of, target, runs) for of in spreads] for n in numbers}
    enough = {d: [queries_needed(d, of, target, runs) for of in spreads] for d in differences}
    for difference, (number, *_) in enough.items():
        if number is None:
            raise Misuse(f"a difference of {difference:g} needs over {MOST_QUERIES:,} queries")
    return PowerPlan(
        measure,
        queries,
        len(values),
        spread,
        (low, high),
        runs,
        target,
        {n: ends[0] for n, ends in least.items()},
        {d: ends[0] for d, ends in enough.items() if ends[0] is not None},
        {n: (low, high) for n, (_, low, high) in least.items()},
        {d: (low, high) for d, (_, low, high) in enough.items()},
    )


def _contending(values: Floats) -> Floats:
    """The rows of the runs that may be the best: worse ones are told from these without a plan."""
    defined = ~np.isnan(values).any(axis=0)
    if not defined.any():
        return values
    may = contenders(Systems(values[:, defined]))
    return values[may] if may.sum() > 1 else values
