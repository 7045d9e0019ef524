"""Two leaderboards of the same systems: means, ranks, how alike these are, which pairs swap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from labeler.arrays import Flags, Floats
from labeler.data import Qrels, Run
from labeler.evaluation.boards.two_sided import (
    SHOWN,
    PairCounts,
    Swap,
    System,
    TwoQrels,
    TwoScores,
    decisions_as_json,
    judged_name,
    pair_findings,
    score_twice,
    significance_table,
    statistic_table,
    swap_table,
    system_table,
    two_qrels,
)
from labeler.evaluation.inputs import short_name
from labeler.evaluation.origin import Kin, together
from labeler.evaluation.paired import difference_interval
from labeler.messages import count_of
from labeler.metrics import Measure, parse
from labeler.report.finding import Finding
from labeler.report.result import Hidden, Result, notebook_html
from labeler.report.table import Table, interval_text, number_text
from labeler.stats.correlation import (
    Correlation,
    competition_ranks,
    correlations,
    noise_ceiling,
    swapped_pairs,
)
from labeler.stats.randomization import Decisions, decisions, pairwise_p, randomised_hsd
from labeler.stats.regression import Components, Trend, components, trend

# What an assessor does to systems' scores: a line, what is each system's own, and favour to kin.
#
# An assessor's bias towards a system, its mean less the people's, depends on how good the system
# is: most assessors compress, so that weak systems gain and strong ones lose. And each system has
# an effect of its own, whether it is kin to the assessor or not. So favour to kin is not what
# differs from the mean bias, nor what queries' noise does not explain: it is what lies farther
# from the line through the unrelated systems than an unrelated one would.

FEWEST_OTHERS = 6
"""So many unrelated systems are needed to see how far one of them may lie from their line."""


@dataclass(frozen=True)
class Favour:
    """How a system that is kin to a model fared, against the `others`, of which none is kin.

    `residual` is by how much its bias lies above their line; 95 of 100 unrelated systems lie within
    `reach` of it. Both are `None` where there are too few others. `outside` says that no other
    system scores as high, or none as low, so that the line is drawn beyond its points.
    """

    kin: Kin
    others: int
    residual: float | None = None
    reach: float | None = None
    outside: bool = False

    @property
    def has_evidence(self) -> bool:
        """Whether there were others enough to see."""
        return self.residual is not None

    @property
    def verdict(self) -> str:
        """Whether the system lies farther up than an unrelated one would."""
        if self.residual is None or self.reach is None:
            return "no evidence"
        return "favoured" if self.residual > self.reach else "no favour shown"

    def __str__(self) -> str:
        circular = f"circular: {self.kin}"
        if self.residual is None or self.reach is None:
            return f"{circular}; whether that favors it cannot be seen from {_too_few(self.others)}"
        size = f"{_signed(self.residual)} off the line of the {self.others} unrelated systems"
        within = f"95 of 100 such lie within {number_text(self.reach, '.3f')}"
        beyond = ", drawn beyond their scores" if self.outside else ""
        return f"{circular}; its bias is {size}{beyond} ({within}): {self.verdict}"

    def as_json(self) -> dict[str, Any]:
        """The fields, with families and roles as text."""
        return {
            "run": self.kin.run,
            "family": " and ".join(self.kin.families),
            "role": " and ".join(role for role, _ in self.kin.ties),
            "model": ", ".join(model for _, model in self.kin.ties),
            "others": self.others,
            "residual": self.residual,
            "reach": self.reach,
            "outside": self.outside,
            "verdict": self.verdict,
        }


def _too_few(others: int) -> str:
    counted = count_of(others, "unrelated system", "unrelated systems")
    return f"{counted}, where {FEWEST_OTHERS} that differ are needed"


def favour_findings(favors: Sequence[Favour]) -> Iterator[Finding]:
    """A sentence for each system of which something can be seen, and one for all the others."""
    seen = [favour for favour in favors if favour.has_evidence]
    unseen = [favour for favour in favors if not favour.has_evidence]
    for favour in seen + (unseen if len(unseen) == 1 else []):
        yield Finding(str(favour), about=favour.kin.run)
    if len(unseen) > 1:
        circular = f"circular: {together([favour.kin for favour in unseen])}"
        few = _too_few(unseen[0].others)
        yield Finding(f"{circular}; whether that favors them cannot be seen from {few}")


@dataclass(frozen=True)
class JudgeBias:
    """What an assessor does to the scores of systems that are not kin to it.

    `line` is of bias on people's mean, as both came out on these queries: what a further system is
    to be held against. `components` is how the true scores hang together. `residuals` has each
    system's distance from the line, above 0 where it gains; kin have theirs from the others' line.
    Either is `None` where the systems are too few or too close.
    """

    line: Trend | None
    components: Components | None
    residuals: Mapping[str, float]
    favors: Hidden[tuple[Favour, ...]] = ()

    def sentences(self, first: str, second: str) -> list[str]:
        """How far the assessor compresses, and how much of its own it does to systems."""
        of = self.components
        if of is None:
            return []
        low, slope, high = (number_text(0.1 * x, ".3f") for x in (of.low, of.slope, of.high))
        return [
            f"Where two systems differ by 0.100 by {first}'s grades, they differ by {slope}"
            f" by {second}'s ({low} to {high}); beyond that, systems' scores move by"
            f" {number_text(of.own, '.3f')} (standard deviation) for what they are, and by"
            f" {number_text(of.noise, '.3f')} for these queries."
        ]


def judge_bias(board: Leaderboard, kin: Sequence[Kin] = ()) -> JudgeBias:
    """Fit the line to the systems that are no kin, and hold all kin against it.

    For measures where lower is better a residual above 0 is a gain, too.
    """
    akin = {system.run: system for system in kin}
    is_other = np.array([system.run not in akin for system in board.systems], dtype=np.bool_)
    sign = -1.0 if parse(board.measure).definition.lower_is_better else 1.0
    first, second = sign * board.scores
    x, bias = first.mean(axis=1), (second - first).mean(axis=1)
    line = trend(x[is_other], bias[is_other])
    residuals = {}
    if line is not None:
        residuals = {
            s.run: float(bias[i] - line.at(float(x[i]))) for i, s in enumerate(board.systems)
        }
    others = x[is_other]
    favors = []
    for i in board.order:
        run = board.systems[i].run
        if run in akin and line is not None and len(others) >= FEWEST_OTHERS:
            outside = not others.min() <= x[i] <= others.max()
            reach = line.reach(float(x[i]))
            favors.append(Favour(akin[run], len(others), residuals[run], reach, bool(outside)))
        elif run in akin:
            favors.append(Favour(akin[run], len(others)))
    return JudgeBias(line, components(first[is_other], second[is_other]), residuals, tuple(favors))


def _signed(value: float) -> str:
    return number_text(value, "+.3f")


# What two leaderboards say, in sentences that need no statistics to be understood.

ALONE = "each pair alone at p < .05"


def board_sentences(board: Leaderboard, first: str, second: str) -> Iterator[str]:
    """How alike the orders are, on which differences the two agree, what queries' noise allows.

    `first` and `second` are what sentences call the two; `people` is a plural.
    """
    yield order_sentence(board, first, second)
    if len(board.systems) > 2:
        yield significance_sentence(board.decisions["alone"], first, second)
        if board.ceiling is not None:
            queries = count_of(len(board.queries), "such query", "such queries")
            yield (
                f"For comparison: another {queries}, graded by {first}, would order these systems"
                f" with a tau-b of about {board.ceiling:.2f} to the order by {first} here."
            )


def order_sentence(board: Leaderboard, first: str, second: str) -> str:
    """How alike the two orders are, and which pairs change places."""
    tau = board.statistics["tau_b"]
    if tau.value is None:
        return f"Whether {second} would order systems as {first} {_do(first)} cannot be told."
    count = len(board.systems)
    both = count_of(board.pairs.both, "pair", "pairs")
    over = f", over the {both} that both judged," if board.shared else ""
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
    """Which pairs change places, and by whose grades these can be told apart."""
    if pairs == 1 and not swaps:
        return "they keep their places"
    if pairs == 1:
        return f"they change places{_who_can(swaps, first, second, 'them')}"
    change = "changes" if len(swaps) == 1 else "change"
    number = f"{len(swaps):,}" if swaps else "none"
    counted = f"{number} of the {pairs:,} pairs of systems {change} places"
    return counted + (_who_can(swaps, first, second, "those") if swaps else "")


def _who_can(swaps: Sequence[Swap], first: str, second: str, them: str) -> str:
    """Whose grades tell the pairs that change places apart; not being told apart is no equality."""
    ours = sum(swap.significant for swap in swaps)
    theirs = sum(swap.significant_by_second for swap in swaps)
    if not ours and not theirs:
        return (
            f"; neither's grades tell any of {them} apart ({ALONE}), which is no sign of equality"
        )
    return f"; of {them}, {first}'s grades tell {ours:,} apart, {second}'s {theirs:,} ({ALONE})"


def significance_sentence(of: Decisions, first: str, second: str) -> str:
    """Which of the second's significant differences are the first's too."""
    counts = (
        f"{first}'s grades tell {of.first:,} of the {of.pairs:,} pairs apart, "
        f"{second}'s {of.second:,} ({ALONE})"
    )
    if not of.second:
        return f"{counts}."
    if not of.unconfirmed:
        return f"{counts}; the latter are all among the former."
    share = f"{100 * of.unconfirmed / of.second:.0f} %"
    turned = of.active_disagreements
    other_way = f", {turned:,} of them the other way round" if turned else ""
    are = "is" if of.unconfirmed == 1 else "are"
    return (
        f"{counts}; {of.unconfirmed:,} of the latter ({share}) {are} not by {first}'s{other_way}."
    )


SAME, NO_BIAS = PairCounts(0, 0, 0), JudgeBias(None, None, {})


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Result):
    """Two leaderboards of the same systems over the same queries, and how alike they are.

    `systems` are in the order of the runs; `scores` is `(2, systems, queries)`, by the first qrels
    and by the second. Queries of which the measure is undefined for some run are left out;
    `undefined` counts them. `pairs` counts what the two judged; where that differs, scores are on
    the pairs that both judged (`shared`), or each side's on all of its own. `decisions` says how
    far the two agree on which pairs of systems differ, each pair tested `alone` or allowing for all
    pairs (`hsd`); `ceiling` is the tau-b of two sets of as many queries by the first qrels,
    `bias` what the second does to systems' scores.
    """

    measure: str
    queries: tuple[str, ...]
    systems: tuple[System, ...]
    statistics: Mapping[str, Correlation]
    swaps: tuple[Swap, ...]
    decisions: Mapping[str, Decisions]
    scores: Floats
    undefined: int = 0
    pairs: PairCounts = SAME
    shared: bool = False
    ceiling: float | None = None
    bias: JudgeBias = NO_BIAS
    qrels: tuple[str, str] = ("the first qrels", "the second qrels")
    findings: tuple[Finding, ...] = ()

    @property
    def names(self) -> tuple[str, str]:
        """What tables call the two qrels: their files' names, numbered where these are the same."""
        first, second = (short_name(qrels) for qrels in self.qrels)
        return (first, second) if first != second else (f"{first} (1)", f"{second} (2)")

    @property
    def sentences(self) -> list[str]:
        """How alike the two orders are, and on which differences of systems the two agree."""
        first, second = self.names
        return [*board_sentences(self, first, second), *self.bias.sentences(first, second)]

    def tables(self, most_swaps: int | None = None) -> list[Table]:
        """The tables `runs`, `statistics`, `significance` and `swaps`, of these the surest."""
        return [
            system_table(
                self.systems,
                self.measure,
                self.names,
                judged="" if self.pairs.same else self.judged_name,
            ),
            statistic_table(self.statistics, len(self.queries), self.names),
            significance_table(self.decisions, self.names),
            swap_table(self.swaps, self.measure, self.names, most_swaps),
        ]

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command `leaderboard`."""
        correlations = self.statistics.items()
        return self.picked(
            *("qrels", "measure", "swaps"),
            queries=len(self.queries),
            pairs=self.pairs_as_json(),
            runs=self.systems,
            statistics={name: correlation_as_json(each) for name, each in correlations},
            noise_ceiling=self.ceiling,
            significance=self.decisions_as_json(),
            judge_bias=self.bias,
            circular=self.bias.favors,
            warnings=self.findings,
        )

    def decisions_as_json(self) -> dict[str, Any]:
        """The counts of pairs that either tells apart, by how pairs were tested."""
        return {name: decisions_as_json(of) for name, of in self.decisions.items()}

    def pairs_as_json(self) -> dict[str, Any]:
        """How many pairs the two judged, and whether scores are on those that both judged."""
        return {**vars(self.pairs), "on_shared_pairs": self.shared}

    def __repr__(self) -> str:
        tau = self.statistics["tau_b"].value
        alike = None if tau is None else round(tau, 4)
        return f"Leaderboard({self.measure!r}, runs={len(self.systems)}, tau_b={alike})"

    def _repr_html_(self) -> str:
        return notebook_html(self.tables(SHOWN), self.findings, self.sentences)

    @property
    def judged_name(self) -> str:
        """The measure of how much of each run's first documents was judged."""
        return judged_name(parse(self.measure))

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
    def own_findings(self) -> tuple[Finding, ...]:
        """What was left out of the comparison."""
        findings = list(pair_findings(self.pairs, self.names, shared=self.shared))
        if self.undefined:
            left_out = count_of(self.undefined, "query", "queries")
            text = f"{self.measure} is undefined for some run in {left_out}: left out"
            findings.append(Finding(text))
        return (*findings, *favour_findings(self.bias.favors))

    def against_kin(self, kin: Sequence[Kin]) -> Leaderboard:
        """The same, with the assessor's bias seen from the systems that are no kin to it."""
        return replace(self, bias=judge_bias(self, kin)) if kin else self


def correlation_as_json(correlation: Correlation) -> dict[str, Any]:
    """The value and its ends; `open` where the interval would say nothing."""
    row = correlation._asdict()
    return row if row.pop("open") is False else {**row, "open": True}


@dataclass(frozen=True)
class BoardOptions:
    """How two leaderboards are made: the scales' top grades, and on which pairs they stand.

    With `own_pools` each side is scored on all that it judged, else on the pairs that both did.
    """

    own_pools: bool = False
    tops: tuple[int | None, int | None] = (None, None)
    seed: int = 0


PLAIN = BoardOptions()


def leaderboard_of_dicts(
    first: Qrels,
    second: Qrels,
    runs: Mapping[str, Path | Run],
    measure: Measure,
    options: BoardOptions = PLAIN,
) -> Leaderboard | None:
    """Score runs by two qrels over the queries that both judge; `None` where nothing is scored."""
    two = two_qrels(first, second, options.tops, own_pools=options.own_pools)
    if two is None or not runs:
        return None
    return leaderboard_of(list(runs), two, score_twice(two, runs, measure), measure, options.seed)


def leaderboard_of(
    runs: Sequence[str], two: TwoQrels, scored: TwoScores, measure: Measure, seed: int = 0
) -> Leaderboard | None:
    """The leaderboard of runs scored by both; `None` where the measure is nowhere defined."""
    defined: Flags = np.logical_not(np.isnan(scored.values).any(axis=(0, 1)))
    if not defined.any():
        return None
    scores = np.ascontiguousarray(scored.values[:, :, defined])
    # lower is better for some measures: turned over, higher is, as correlations and ranks take it
    sign = -1.0 if measure.definition.lower_is_better else 1.0
    first, second = sign * scores
    p = [pairwise_p(side, seed) for side in (first, second)]
    # no p that allows for several tests is below that of the one test
    p_hsd = [
        np.maximum(alone, randomised_hsd(side, seed).p)
        for alone, side in zip(p, (first, second), strict=True)
    ]
    means = np.array([first.mean(axis=1), second.mean(axis=1)])
    board = Leaderboard(
        str(measure),
        tuple(q for q, is_defined in zip(scored.queries, defined, strict=True) if is_defined),
        _systems(runs, replace(scored, values=scores), sign, measure, seed),
        correlations(first, second, seed),
        _swaps(runs, means, p, sign),
        {"alone": decisions(means, p), "hsd": decisions(means, p_hsd)},
        scores,
        int((~defined).sum()),
        two.counts,
        two.shared,
        noise_ceiling(first, seed),
    )
    return replace(board, bias=judge_bias(board))


def _systems(
    runs: Sequence[str], scored: TwoScores, sign: float, measure: Measure, seed: int
) -> tuple[System, ...]:
    scores = scored.values
    first, second = scores.mean(axis=2)
    first_ranks, second_ranks = (
        competition_ranks(sign * side).tolist() for side in (first, second)
    )
    systems = []
    for i, run in enumerate(runs):
        change = scores[1, i] - scores[0, i]
        ends = difference_interval(measure, change, "bootstrap", seed)
        low, high = (None if np.isnan(end) else end for end in ends)
        means = float(first[i]), float(second[i])
        ranks = first_ranks[i], second_ranks[i]
        judged = float(scored.judged[0, i]), float(scored.judged[1, i])
        systems.append(System(run, *means, *ranks, means[1] - means[0], low, high, judged))
    return tuple(systems)


def _swaps(
    runs: Sequence[str], means: Floats, p: Sequence[Floats], sign: float
) -> tuple[Swap, ...]:
    """The pairs of which the two sides put another system first, from each side's means and p."""
    return tuple(
        Swap(
            runs[i],
            runs[j],
            *(sign * float(side[i] - side[j]) for side in means),
            *(float(of_side[i, j]) for of_side in p),
        )
        for i, j in swapped_pairs(*means)
    )
