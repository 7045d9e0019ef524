"""The same systems by two qrels: means, ranks, how alike these are, and which pairs swap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from labeler.arrays import Flags, Floats
from labeler.data import Qrels, Run
from labeler.errors import BadInput, Misuse, about
from labeler.evaluation.comparison import MEANS, difference_interval
from labeler.evaluation.evaluate import report_on
from labeler.evaluation.inputs import AnyQrels, AnyRuns, RunsByName, runs_from, short_name
from labeler.evaluation.options import EvaluationOptions
from labeler.evaluation.systems import (
    Swap,
    System,
    statistic_table,
    swap_table,
    system_table,
)
from labeler.messages import count_of, no_query_in_common
from labeler.metrics import Measure, evaluate, parse
from labeler.report.finding import Finding
from labeler.report.notebook import notebook_html
from labeler.report.table import Table
from labeler.stats.correlation import competition_ranks, swapped_pairs
from labeler.stats.randomization import holm, randomization_test
from labeler.stats.rankings import Correlation, correlations

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard:
    """Two leaderboards of the same systems over the same queries, and how alike they are.

    `systems` are in the order of the runs; `scores` is `(2, systems, queries)`, by the first qrels
    and by the second. Queries of which the measure is undefined for some run are left out;
    `undefined` counts them.
    """

    measure: str
    queries: tuple[str, ...]
    systems: tuple[System, ...]
    statistics: Mapping[str, Correlation]
    swaps: tuple[Swap, ...]
    scores: Floats
    undefined: int = 0
    qrels: tuple[str, str] = ("the first qrels", "the second qrels")
    findings: tuple[Finding, ...] = ()

    @property
    def names(self) -> tuple[str, str]:
        """What tables call the two qrels: their files' names, numbered where these are the same."""
        first, second = (short_name(qrels) for qrels in self.qrels)
        return (first, second) if first != second else (f"{first} (1)", f"{second} (2)")

    def tables(self) -> list[Table]:
        """The tables `runs`, `statistics` and `swaps`."""
        return [
            system_table(self.systems, self.measure, self.names),
            statistic_table(self.statistics, len(self.queries), self.names),
            swap_table(self.swaps, self.measure, self.names),
        ]

    def frame(self) -> DataFrame:
        """The runs as a pandas DataFrame, with their means and ranks by both qrels."""
        return self.tables()[0].frame()

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command `leaderboard`."""
        return {
            "qrels": list(self.qrels),
            "measure": self.measure,
            "queries": len(self.queries),
            "runs": [_system_as_json(system) for system in self.systems],
            "statistics": {
                name: correlation._asdict() for name, correlation in self.statistics.items()
            },
            "swaps": [vars(swap) | {"significant_by": swap.verdict} for swap in self.swaps],
        }

    def __repr__(self) -> str:
        tau = self.statistics["tau_b"].value
        alike = None if tau is None else round(tau, 4)
        return f"Leaderboard({self.measure!r}, runs={len(self.systems)}, tau_b={alike})"

    def _repr_html_(self) -> str:
        return notebook_html(self.tables(), self.findings)

    @property
    def order(self) -> list[int]:
        """The systems' places in `systems`, from the first qrels' best to their worst."""
        ranks = [system.first_rank for system in self.systems]
        return sorted(range(len(ranks)), key=ranks.__getitem__)

    @property
    def ranked(self) -> tuple[System, ...]:
        """The systems in that order."""
        return tuple(self.systems[i] for i in self.order)

    @property
    def difference(self) -> float:
        """The mean over systems of the second's mean minus the first's."""
        return float(np.mean([system.difference for system in self.systems]))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was left out of the comparison."""
        if not self.undefined:
            return ()
        left_out = count_of(self.undefined, "query", "queries")
        return (f"{self.measure} is undefined for some run in {left_out}: left out",)


def _system_as_json(system: System) -> dict[str, Any]:
    return {
        "run": system.run,
        "first": system.first,
        "second": system.second,
        "rank_first": system.first_rank,
        "rank_second": system.second_rank,
    }


def leaderboard_of_dicts(
    first: Qrels, second: Qrels, runs: Mapping[str, Run], measure: Measure, seed: int = 0
) -> Leaderboard | None:
    """Score runs by two qrels over the queries that both judge; `None` where nothing is scored."""
    shared = sorted(first.keys() & second.keys())
    if not shared or not runs:
        return None
    sides = [{query: qrels[query] for query in shared} for qrels in (first, second)]
    scores = [
        [evaluate(side, run, [measure]).of(measure) for run in runs.values()] for side in sides
    ]
    return leaderboard_of(list(runs), shared, np.array(scores), measure, seed)


def leaderboard_of(
    runs: Sequence[str], queries: Sequence[str], scores: Floats, measure: Measure, seed: int = 0
) -> Leaderboard | None:
    """Compare `(2, runs, queries)` scores by two qrels; `None` where no query is scored by both."""
    defined: Flags = np.logical_not(np.isnan(scores).any(axis=(0, 1)))
    if not defined.any():
        return None
    scores = np.ascontiguousarray(scores[:, :, defined])
    # lower is better for some measures: turned over, higher is, as correlations and ranks take it
    sign = -1.0 if measure.definition.lower_is_better else 1.0
    first, second = sign * scores
    return Leaderboard(
        str(measure),
        tuple(query for query, is_defined in zip(queries, defined, strict=True) if is_defined),
        _systems(runs, scores, sign, measure, seed),
        correlations(first, second, seed),
        _swaps(runs, first, second, sign, seed),
        scores,
        int((~defined).sum()),
    )


def _systems(
    runs: Sequence[str], scores: Floats, sign: float, measure: Measure, seed: int
) -> tuple[System, ...]:
    first, second = scores.mean(axis=2)
    first_ranks, second_ranks = (
        competition_ranks(sign * side).tolist() for side in (first, second)
    )
    systems = []
    for i, run in enumerate(runs):
        change = scores[1, i] - scores[0, i]
        low, high = difference_interval(measure, change, "bootstrap", seed)
        ends = (None, None) if np.isnan(low) else (low, high)
        means = float(first[i]), float(second[i])
        ranks = first_ranks[i], second_ranks[i]
        systems.append(System(run, *means, *ranks, means[1] - means[0], *ends))
    return tuple(systems)


def _swaps(
    runs: Sequence[str], first: Floats, second: Floats, sign: float, seed: int
) -> tuple[Swap, ...]:
    pairs = swapped_pairs(first.mean(axis=1), second.mean(axis=1))
    if not pairs:
        return ()
    better, worse = (list(side) for side in zip(*pairs, strict=True))
    # (pairs, queries): by how much the one is better than the other, by each qrels
    both = [scores[better] - scores[worse] for scores in (first, second)]
    p_first, p_second = (holm(randomization_test(rows, seed)[0]) for rows in both)
    by_first, by_second = (sign * rows.mean(axis=1) for rows in both)
    return tuple(
        Swap(runs[i], runs[j], float(a), float(b), float(p), float(q))
        for (i, j), a, b, p, q in zip(pairs, by_first, by_second, p_first, p_second, strict=True)
    )


def leaderboard(
    first: AnyQrels,
    second: AnyQrels,
    runs: AnyRuns | None = None,
    measure: object = "nDCG@10",
    *,
    seed: int = 0,
) -> Leaderboard:
    """Rank the same runs by two qrels: correlations with intervals, drops, and pairs that swap.

    Over the queries that both qrels judge. `first` is the one to trust. Qrels and runs are taken as
    by `evaluate`; a collection as `runs` stands for all of its runs.

    >>> import labeler
    >>> human = {"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 0, "d2": 1}}
    >>> llm = {"q1": {"d1": 0, "d2": 3}, "q2": {"d1": 0, "d2": 2}}
    >>> bm25 = {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d1": 2.0, "d2": 1.0}}
    >>> dense = {"q1": {"d2": 2.0, "d1": 1.0}, "q2": {"d2": 2.0}}
    >>> board = labeler.leaderboard(human, llm, {"bm25": bm25, "dense": dense}, "RR")
    >>> board
    Leaderboard('RR', runs=2, tau_b=None)
    >>> [(system.run, system.first, system.second) for system in board.systems]
    [('bm25', 0.75, 0.5), ('dense', 0.75, 1.0)]
    """
    runs_by_name = runs_from(runs, first)
    if len(runs_by_name) < 2:
        raise Misuse("a leaderboard needs at least two runs")
    by_first = scores_of(first, runs_by_name, measure, "the first qrels")
    by_second = scores_of(second, runs_by_name, measure, "the second qrels")
    findings = [*by_first.findings, *by_second.findings]
    board = _over_common_queries(by_first, by_second, measure, findings, seed)
    left_out = map(Finding, board.warnings)
    return replace(
        board,
        qrels=(by_first.qrels, by_second.qrels),
        findings=tuple(dict.fromkeys([*findings, *left_out])),
    )


def _over_common_queries(
    first: SystemScores,
    second: SystemScores,
    measure: object,
    findings: list[Finding],
    seed: int,
) -> Leaderboard:
    common = sorted(set(first.queries) & set(second.queries))
    if not common:
        raise BadInput(no_query_in_common(first.qrels, first.queries, second.qrels, second.queries))
    if dropped := len(set(first.queries) | set(second.queries)) - len(common):
        left_out = count_of(dropped, "query is", "queries are")
        findings.append(Finding(f"{left_out} in one of the two qrels only: left out"))
    scores = np.array([side.over(common) for side in (first, second)])
    board = leaderboard_of(first.runs, common, scores, parse(str(measure)), seed)
    if board is None:
        raise BadInput(f"{measure} is undefined for some run in every query")
    return board


@dataclass(frozen=True)
class SystemScores:
    """The values of one measure, `(runs, queries)`, and what to know of them."""

    qrels: str
    runs: list[str]
    queries: list[str]
    values: Floats
    findings: tuple[Finding, ...]

    def over(self, queries: Sequence[str]) -> Floats:
        """The values of these queries, in their order."""
        column = {query: i for i, query in enumerate(self.queries)}
        values: Floats = self.values[:, [column[query] for query in queries]]
        return values


def scores_of(
    qrels: AnyQrels, runs: RunsByName, measure: object, name: str = "the qrels"
) -> SystemScores:
    """The scores of some runs by one measure; messages call qrels without a file `name`."""
    with about("measure"):
        parsed = parse(str(measure))
    if parsed.definition.summary not in MEANS:
        raise Misuse(f"{measure} is no mean over queries", parameter="measure")
    report = report_on(qrels, runs, EvaluationOptions((str(measure),), scenarios=False), name)
    values = np.array([run.scores.values[0] for run in report.runs])
    queries = list(report.runs[0].scores.queries)
    findings = tuple(finding.without_advice() for finding in report.findings)
    return SystemScores(report.qrels, list(runs), queries, values, findings)
