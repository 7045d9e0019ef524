"""The same runs by two qrels: two leaderboards, how alike they are, which pairs swap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labeler.arrays import Floats
from labeler.data import Qrels
from labeler.errors import BadInput, Misuse
from labeler.evaluation.evaluate import mean_measure
from labeler.evaluation.inputs import (
    AnyQrels,
    AnyRuns,
    Kin,
    RunsByName,
    kin_behind,
    kin_finding,
    origin_findings,
    qrels_from,
    qrels_path,
    runs_from,
    short,
    top_grade_beside,
)
from labeler.evaluation.options import Scoring
from labeler.evaluation.scores import (
    few_queries,
    most_difference,
    name_findings,
    run_findings,
)
from labeler.evaluation.two_sided import (
    SHOWN,
    Decisions,
    PairCounts,
    Swap,
    System,
    TwoQrels,
    TwoScores,
    decisions,
    judged_name,
    pair_findings,
    score_twice,
    statistic_table,
    swap_table,
    system_table,
    two_qrels,
)
from labeler.messages import count_of, no_pair_in_common, no_query_in_common
from labeler.metrics import Measure, parse
from labeler.metrics.judged import Facts
from labeler.report.finding import Finding
from labeler.report.result import Hidden, Result
from labeler.report.table import Table, interval_text
from labeler.stats.correlation import (
    Correlation,
    competition_ranks,
    correlations,
    noise_ceiling,
    swapped_pairs,
)
from labeler.stats.families import Systems, each_pair, p_of_all_pairs

FIRST, SECOND = "the first qrels", "the second qrels"


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
    by `evaluate`; a collection as `runs` stands for all of its runs. Where the two did not judge
    the same pairs, both are scored on the pairs that both judged.

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
    names = str(qrels_path(first) or FIRST), str(qrels_path(second) or SECOND)
    tops, texts = (top_grade_beside(first), top_grade_beside(second)), list[str]()
    sides = zip((first, second), names, strict=True)
    two, of_both = _common([qrels_from(q, texts.append, name) for q, name in sides], names, tops)
    findings = [*map(Finding, texts), *of_both]
    board = leaderboard_of(two, runs_by_name, parsed, seed, kin_behind(second, runs_by_name))
    if board is None:
        raise BadInput(f"{measure} is undefined for some run in every query")
    for name, facts in zip(runs_by_name, board.facts, strict=True):
        of_run = run_findings(name, two.pool, facts, Scoring())
        findings += [finding.without_advice() for finding in of_run]
    findings += few_queries(len(board.queries))
    findings += [finding for qrels in (first, second) for finding in origin_findings(qrels)]
    board = replace(board, qrels=names)
    findings = [*name_findings([str(measure)]), *findings]
    findings += board.own_findings
    return replace(board, findings=tuple(dict.fromkeys(findings)))


def _common(
    grades: Sequence[Qrels], names: tuple[str, str], tops: tuple[int | None, int | None]
) -> tuple[TwoQrels, list[Finding]]:
    """Both over their common queries, and what to say of them; `BadInput` where there is none."""
    first, second = ({q for q, row in own.items() if row} for own in grades)
    if not first & second:
        raise BadInput(no_query_in_common(names[0], first, names[1], second))
    two = two_qrels(grades[0], grades[1], tops, name=names[0])
    if two is None:
        raise BadInput(no_pair_in_common(names[0], grades[0], names[1], grades[1]))
    findings = []
    if dropped := len(first ^ second):
        left_out = count_of(dropped, "query is", "queries are")
        findings.append(Finding(f"{left_out} in one of the two qrels only: left out"))
    if dropped := len(first & second) - len(two.pool.queries):
        left_out = count_of(dropped, "query")
        findings.append(Finding(f"{left_out} of which no pair was judged by both: left out"))
    return two, findings


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Result):
    """Two leaderboards of the same systems over the same queries, and how alike they are.

    `systems` are in the order of the runs; `scores` is `(2, systems, queries)`, by the first qrels
    and by the second. Queries of which the measure is undefined for some run are left out;
    `undefined` counts them. `pairs` counts what the two judged; where that differs, scores are on
    the pairs that both judged. `decisions` says how far the two agree on which pairs of systems
    differ, allowing for all pairs; `ceiling` is the tau-b of two sets of as many queries by the
    first qrels, `kin` are the systems akin to whoever judged, `facts` are of the runs.
    """

    measure: str
    queries: tuple[str, ...]
    systems: tuple[System, ...]
    statistics: Mapping[str, Correlation]
    swaps: tuple[Swap, ...]
    decisions: Decisions
    scores: Floats
    undefined: int
    pairs: PairCounts
    ceiling: float | None
    kin: Hidden[tuple[Kin, ...]]
    facts: tuple[Facts, ...]
    qrels: tuple[str, str] = (FIRST, SECOND)
    findings: tuple[Finding, ...] = ()

    @property
    def names(self) -> tuple[str, str]:
        """What tables call the two qrels: their files' names, numbered where these are the same."""
        first, second = (short(qrels) for qrels in self.qrels)
        return (first, second) if first != second else (f"{first} (1)", f"{second} (2)")

    @property
    def sentences(self) -> list[str]:
        """How alike the two orders are, and on which differences of systems the two agree."""
        first, second = self.names
        return list(board_sentences(self, first, second))

    def tables(self, most_swaps: int | None = SHOWN) -> list[Table]:
        """The tables `runs`, `statistics` and `swaps`, of these the surest."""
        return [
            system_table(
                self.systems,
                self.measure,
                self.names,
                judged=judged_name(parse(self.measure)) if self.pairs.on_shared_pairs else "",
            ),
            statistic_table(self.statistics, len(self.queries), self.names),
            swap_table(self.swaps, self.measure, self.names, most_swaps),
        ]

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command `leaderboard`."""
        return self.picked(
            *("qrels", "measure", "swaps"),
            queries=len(self.queries),
            pairs=self.pairs,
            runs=self.systems,
            statistics=self.statistics,
            noise_ceiling=self.ceiling,
            significance=self.decisions,
            warnings=self.findings,
        )

    def __repr__(self) -> str:
        tau = self.statistics["tau_b"].value
        alike = None if tau is None else round(tau, 4)
        return f"Leaderboard({self.measure!r}, runs={len(self.systems)}, tau_b={alike})"

    @property
    def own_findings(self) -> tuple[Finding, ...]:
        """What was left out of the comparison."""
        findings = list(pair_findings(self.pairs, self.names))
        if self.undefined:
            left_out = count_of(self.undefined, "query")
            findings.append(
                Finding(f"{self.measure} is undefined for some run in {left_out}: left out")
            )
        return (*findings, *kin_finding(self.kin))


def leaderboard_of(
    two: TwoQrels | None,
    runs: RunsByName,
    measure: Measure,
    seed: int = 0,
    kin: Sequence[Kin] = (),
) -> Leaderboard | None:
    """The leaderboard of runs by both; `None` where nothing is scored, or nowhere defined.

    `kin` are the systems akin to whoever judged.
    """
    if two is None or not runs:
        return None
    scored, names = score_twice(two, runs, measure), list(runs)
    defined = np.logical_not(np.isnan(scored.values).any(axis=(0, 1)))
    if not defined.any():
        return None
    scores = np.ascontiguousarray(scored.values[:, :, defined])
    sides = first, second = scores
    p = [p_of_all_pairs(Systems(side, most=most_difference(measure)), seed) for side in sides]
    means = np.array([first.mean(axis=1), second.mean(axis=1)])
    return Leaderboard(
        str(measure),
        tuple(q for q, is_defined in zip(scored.queries, defined, strict=True) if is_defined),
        _systems(names, replace(scored, values=scores), measure, seed),
        correlations(first, second, seed),
        tuple(
            Swap(
                names[i],
                names[j],
                *(means[:, i] - means[:, j]).tolist(),
                *(float(side[i, j]) for side in p),
            )
            for i, j in swapped_pairs(*means)
        ),
        decisions(means, p),
        scores,
        int((~defined).sum()),
        two.counts,
        noise_ceiling(first, seed),
        tuple(kin),
        scored.facts,
    )


def _systems(
    runs: Sequence[str], scored: TwoScores, measure: Measure, seed: int
) -> tuple[System, ...]:
    scores = scored.values
    first, second = scores.mean(axis=2)
    first_ranks, second_ranks = (competition_ranks(side).tolist() for side in (first, second))
    verdicts = each_pair(scores[1] - scores[0], most_difference(measure), seed)
    systems = []
    for i, (run, verdict) in enumerate(zip(runs, verdicts, strict=True)):
        means = float(first[i]), float(second[i])
        ranks = first_ranks[i], second_ranks[i]
        judged = scored.judged[:, i].tolist()
        systems.append(System(run, *means, *ranks, means[1] - means[0], *verdict.ends, *judged))
    return tuple(systems)


# What two leaderboards say, in sentences that need no statistics to be understood.

ALLOWED = "allowing for all pairs, at p < .05"


def board_sentences(board: Leaderboard, first: str, second: str) -> Iterator[str]:
    """How alike the orders are, on which differences the two agree, what queries' noise allows.

    `first` and `second` are what sentences call the two; `people` is a plural.
    """
    yield order_sentence(board, first, second)
    if len(board.systems) > 2:
        yield significance_sentence(board.decisions, first, second)
        if board.ceiling is not None:
            yield (
                f"For comparison: another {count_of(len(board.queries), 'such query')}, graded "
                f"by {first}, would order these systems with a tau-b of about "
                f"{board.ceiling:.2f} to the order by {first} here."
            )


def order_sentence(board: Leaderboard, first: str, second: str) -> str:
    """How alike the two orders are, and which pairs change places."""
    tau = board.statistics["tau_b"]
    if tau.value is None:
        return f"Whether {second} would order systems as {first} {_do(first)} cannot be told."
    count = len(board.systems)
    both = count_of(board.pairs.both, "pair")
    over = f", over the {both} that both judged," if board.pairs.on_shared_pairs else ""
    likeness = _likeness(tau, first)
    swaps = _swaps_text(board.swaps, count * (count - 1) // 2, first, second)
    return f"By {board.measure}{over} {second} orders {count} systems {likeness}: {swaps}."


def _do(who: str) -> str:
    return "do" if who == "people" else "does"


def _likeness(tau: Correlation, first: str) -> str:
    """A word where both ends of the interval allow for it, else the value and its ends."""
    value, low, high, is_open = tau
    assert value is not None
    value_text = interval_text(tau, ".2f") + (" [nearly anything]" if is_open else "")
    if value > 1 - 1e-9:
        word = "exactly as"
    elif low is None or high is None or _word(low) != _word(high):
        return f"with a tau-b of {value_text} to {first}'s order (1: the same)"
    else:
        word = _word(value)
    return f"{word} {first} {_do(first)} (tau-b {value_text})"


def _word(tau: float) -> str:
    return "nearly as" if tau >= 0.9 else "much as" if tau >= 0.7 else "not as"


def _swaps_text(swaps: Sequence[Swap], pairs: int, first: str, second: str) -> str:
    """Which pairs change places, and by whose grades; not being told apart is no equality."""
    change = f"{'changes' if len(swaps) == 1 else 'change'} places"
    number = f"{len(swaps):,}" if swaps else "none"
    counted = f"{number} of the {count_of(pairs, 'pair')} of systems {change}"
    if not swaps:
        return counted
    by = Counter(swap.significant_by for swap in swaps)
    ours, theirs = by["both"] + by["the first alone"], by["both"] + by["the second alone"]
    if not ours and not theirs:
        return (
            f"{counted}; neither's grades tell any of those apart ({ALLOWED}), which is no sign "
            "of equality"
        )
    return (
        f"{counted}; of those, {first}'s grades tell {ours:,} apart, {second}'s {theirs:,} "
        f"({ALLOWED})"
    )


def significance_sentence(of: Decisions, first: str, second: str) -> str:
    """Which of the second's significant differences are the first's too."""
    counts = (
        f"{first}'s grades tell {of.significant_first:,} of the {of.pairs:,} pairs apart, "
        f"{second}'s {of.significant_second:,} ({ALLOWED})"
    )
    if not of.significant_second:
        return f"{counts}."
    if not of.unconfirmed:
        return f"{counts}; the latter are all among the former."
    share = f"{100 * (of.unconfirmed_share or 0):.0f} %"
    turned = of.AD
    other_way = f", {turned:,} of them the other way round" if turned else ""
    are = "is" if of.unconfirmed == 1 else "are"
    return (
        f"{counts}; {of.unconfirmed:,} of the latter ({share}) {are} not by {first}'s{other_way}."
    )
