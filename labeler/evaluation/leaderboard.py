"""The same runs by two qrels, as files, collections or what a program holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from labeler.data import Qrels
from labeler.errors import BadInput, Misuse
from labeler.evaluation.boards.board import Leaderboard, leaderboard_of
from labeler.evaluation.boards.two_sided import OWN_POOLS, TwoQrels, score_twice, two_qrels
from labeler.evaluation.evaluate import mean_measure
from labeler.evaluation.inputs import (
    AnyQrels,
    AnyRuns,
    qrels_from,
    qrels_path,
    runs_from,
    short_name,
    top_grade_beside,
)
from labeler.evaluation.options import Scoring
from labeler.evaluation.origin import kin_behind, origin_findings
from labeler.evaluation.paired import summary_interval
from labeler.evaluation.scores import (
    RunScores,
    few_queries,
    name_findings,
    qrels_findings,
    run_findings,
)
from labeler.messages import count_of, no_pair_in_common, no_query_in_common
from labeler.metrics import Measure, Scores
from labeler.report.finding import Finding
from labeler.trec.rankings import pool_of


def leaderboard(  # noqa: PLR0913 - whoever calls it names the few that are needed
    first: AnyQrels,
    second: AnyQrels,
    runs: AnyRuns | None = None,
    measure: object = "nDCG@10",
    *,
    own_pools: bool = False,
    seed: int = 0,
) -> Leaderboard:
    """Rank the same runs by two qrels: correlations with intervals, drops, and pairs that swap.

    Over the queries that both qrels judge. `first` is the one to trust. Qrels and runs are taken as
    by `evaluate`; a collection as `runs` stands for all of its runs. Where the two did not judge
    the same pairs, both are scored on the pairs that both judged, or with `own_pools` each on all
    that it judged.

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
    parsed = mean_measure(measure)
    sides = [_side(first, "the first qrels"), _side(second, "the second qrels")]
    two, findings = _common(sides, parsed, own_pools=own_pools)
    scored = score_twice(two, runs_by_name, parsed)
    for name, facts in zip(runs_by_name, scored.facts, strict=True):
        of_run = run_findings(name, two.pool, facts, Scoring())
        findings += [finding.without_advice() for finding in of_run]
    board = leaderboard_of(list(runs_by_name), two, scored, parsed, seed)
    if board is None:
        raise BadInput(f"{measure} is undefined for some run in every query")
    findings += few_queries([_first_run(board, parsed)])
    findings += [finding for qrels in (first, second) for finding in origin_findings(qrels)]
    board = board.against_kin(kin_behind(second, runs_by_name))
    board = replace(board, qrels=(sides[0].name, sides[1].name))
    findings = [*name_findings([str(measure)]), *findings]
    findings += board.own_findings
    return replace(board, findings=tuple(dict.fromkeys(findings)))


@dataclass(frozen=True)
class _Side:
    """One of the two qrels: what messages call it, its grades, its scale's top, its warnings."""

    name: str
    qrels: Qrels
    top: int | None
    findings: tuple[Finding, ...]


def _side(qrels: AnyQrels, name: str) -> _Side:
    path, texts = qrels_path(qrels), list[str]()
    grades = qrels_from(qrels, texts.append, name)
    of_qrels = tuple(map(Finding, texts))
    return _Side(name if path is None else str(path), grades, top_grade_beside(qrels), of_qrels)


def _common(
    sides: Sequence[_Side], measure: Measure, *, own_pools: bool
) -> tuple[TwoQrels, list[Finding]]:
    """Both over their common queries, and what to say of them; `BadInput` where there is none."""
    first, second = sides
    queries = [{q for q, row in side.qrels.items() if row} for side in sides]
    if not queries[0] & queries[1]:
        raise BadInput(no_query_in_common(first.name, queries[0], second.name, queries[1]))
    tops = first.top, second.top
    two = two_qrels(first.qrels, second.qrels, tops, own_pools=own_pools, name=first.name)
    if two is None:
        apart = no_pair_in_common(first.name, first.qrels, second.name, second.qrels)
        raise BadInput(f"{apart}; own pools would score each on all that it judged")
    findings = [*first.findings, *second.findings]
    for number, side in enumerate(sides):
        pool = pool_of(two.qrels(number), side.name)
        of_side = qrels_findings(pool, [measure], Scoring(max_grade=side.top), may_skip=False)
        findings += [finding.without_advice() for finding in of_side]
    if dropped := len(queries[0] ^ queries[1]):
        left_out = count_of(dropped, "query is", "queries are")
        findings.append(Finding(f"{left_out} in one of the two qrels only: left out"))
    if dropped := len(queries[0] & queries[1]) - len(two.pool.queries):
        left_out = count_of(dropped, "query", "queries")
        findings.append(Finding(f"{left_out} of which no pair was judged by both: left out"))
    if two.shared:
        findings += [finding for side in sides for finding in _relevant_alone(side)]
    return two, findings


def _relevant_alone(side: _Side) -> Iterator[Finding]:
    """That qrels list relevant documents alone, so that those both judged tell systems little."""
    if all(grade > 0 for row in side.qrels.values() for grade in row.values()):
        what = f"{short_name(side.name)} lists relevant documents alone"
        yield Finding(
            f"{what}: where the others are meant to be irrelevant, {OWN_POOLS} counts so",
            settings=(OWN_POOLS,),
        )


def _first_run(board: Leaderboard, measure: Measure) -> RunScores:
    """The first run's scores by the first qrels, with their interval."""
    values = board.scores[0, 0]
    interval = summary_interval(measure, values)
    scores = Scores(board.queries, (measure,), values[None])
    return RunScores(board.systems[0].run, scores, {str(measure): interval}, {}, {})
