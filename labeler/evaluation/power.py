"""How many queries are enough to tell runs apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from labeler.errors import BadInput, Misuse
from labeler.evaluation.inputs import AnyQrels, AnyRuns, runs_from
from labeler.evaluation.system_scores import SystemScores, scores_of
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.report.notebook import notebook_html
from labeler.report.table import Column, Table
from labeler.stats.power import detectable, paired_deviations, pooled, queries_needed

if TYPE_CHECKING:
    from pandas import DataFrame

NUMBERS = (25, 50, 100, 200, 500, 1000)
DIFFERENCES = (0.01, 0.02, 0.05, 0.1)


@dataclass(frozen=True, repr=False)
class PowerPlan:
    """What so many queries can tell, and how many a difference needs.

    `deviation` is that of the paired differences, pooled over all pairs of runs; `largest` is of
    the pair that varies most. `detectable` has a difference for each number of queries, and
    `needed` a number of queries for each difference, with both deviations.
    """

    measure: str
    queries: int
    runs: int
    deviation: float
    largest: float
    widest_pair: tuple[str, str]
    power: float
    level: float
    detectable: dict[int, tuple[float, float]]
    needed: dict[float, tuple[int, int]]
    findings: tuple[Finding, ...] = ()

    @property
    def sentence(self) -> str:
        """What so many queries can tell, and how much the differences of runs vary."""
        number, (least, _) = next(iter(self.detectable.items()))
        if self.queries in self.detectable:
            number, (least, _) = self.queries, self.detectable[self.queries]
        smallest, (enough, _) = next(iter(self.needed.items()))
        many = count_of(number, "query finds", "queries find")
        first, second = self.widest_pair
        queries = count_of(self.queries, "query", "queries")
        return (
            f"{many} a difference of {least:.3f} in {self.measure} {self.power:.0%} of the time;"
            f" one of {smallest:g} takes {count_of(enough, 'query', 'queries')}.\n"
            f"{self.measure} of {self.runs} runs over {queries}: over queries, the difference of"
            f" two runs has a standard deviation of {self.deviation:.4f} (pooled over pairs of"
            f" runs), and {self.largest:.4f} where it varies most ({first}, {second})."
        )

    def tables(self) -> list[Table]:
        """The tables `detectable` and `needed`."""
        chance, widest = f"{self.power:.0%} power", Column("by the widest pair")
        least = [Column("queries", align="left"), Column(f"detectable with {chance}"), widest]
        enough = [Column("difference", format="g", align="left"), Column(f"queries for {chance}")]
        return [
            Table("detectable", least, [[n, *pair] for n, pair in self.detectable.items()]),
            Table("needed", [*enough, widest], [[d, *pair] for d, pair in self.needed.items()]),
        ]

    def frame(self) -> DataFrame:
        """The detectable differences as a pandas DataFrame, a row for each number of queries."""
        return self.tables()[0].frame()

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command `power`."""
        return {name: value for name, value in asdict(self).items() if name != "findings"}

    def __repr__(self) -> str:
        facts = f"queries={self.queries}, runs={self.runs}, deviation={self.deviation:.4f}"
        return f"PowerPlan({self.measure!r}, {facts})"

    def _repr_html_(self) -> str:
        sentence = Finding(self.sentence, level="note")
        return notebook_html(self.tables(), [sentence, *self.findings])


@dataclass(frozen=True)
class PowerOptions:
    """What to plan for: numbers of queries, differences, power and significance level."""

    queries: tuple[int, ...] = ()
    differences: tuple[float, ...] = ()
    power: float = 0.8
    level: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise Misuse("the level lies between 0 and 1", parameter="level")
        if not self.level < self.power < 1:
            raise Misuse("the power lies between the level and 1", parameter="power")
        if not all(0 < difference < math.inf for difference in self.differences):
            raise Misuse("a difference is a number above 0", parameter="differences")


def power(  # noqa: PLR0913 - whoever calls it names the few that are needed
    qrels: AnyQrels,
    runs: AnyRuns | None = None,
    measure: object = "nDCG@10",
    *,
    queries: Sequence[int] = (),
    differences: Sequence[float] = (),
    power: float = 0.8,
    level: float = 0.05,
) -> PowerPlan:
    """Say what so many queries can tell apart, and how many a difference needs.

    From the scores of two or more earlier runs. Qrels and runs are taken as by `evaluate`.

    >>> import labeler
    >>> qrels = {f"q{n}": {"d1": 1} for n in range(20)}
    >>> always = {q: {"d1": 2.0, "d2": 1.0} for q in qrels}
    >>> often = {q: {"d1": 1.0, "d2": 2.0 * (n % 4 == 0)} for n, q in enumerate(qrels)}
    >>> plan = labeler.power(qrels, [always, often], "P@1", differences=[0.1])
    >>> plan.needed
    {0.1: (157, 157)}
    """
    options = PowerOptions(tuple(queries), tuple(differences), power, level)
    runs_by_name = runs_from(runs, qrels)
    if len(runs_by_name) < 2:
        raise Misuse("power needs two or more runs, whose differences vary from query to query")
    return plan_of(scores_of(qrels, runs_by_name, measure), str(measure), options)


def plan_of(scores: SystemScores, measure: str, options: PowerOptions) -> PowerPlan:
    """The plan from the per-query scores of some runs."""
    queries = len(scores.queries)
    if queries < 2:
        raise BadInput("one query says nothing of how differences vary from query to query")
    deviations = paired_deviations(scores.values)
    i, j = max(deviations, key=lambda pair: deviations[pair])
    spread, largest = pooled(list(deviations.values())), deviations[i, j]
    if not largest > 0:
        raise BadInput(f"the runs do not differ in {measure} at any query, so nothing varies")
    chance = (options.power, options.level)
    numbers = sorted(set(options.queries or (queries, *NUMBERS)))
    differences = options.differences or DIFFERENCES
    return PowerPlan(
        measure,
        queries,
        len(scores.runs),
        spread,
        largest,
        (scores.runs[i], scores.runs[j]),
        *chance,
        {n: (detectable(n, spread, *chance), detectable(n, largest, *chance)) for n in numbers},
        {
            d: (queries_needed(d, spread, *chance), queries_needed(d, largest, *chance))
            for d in differences
        },
        scores.findings,
    )
