"""From which doubt on the strong assessor is asked, chosen and judged on different queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from labeler.agreement.shares import GradeShares, RoutingSources
from labeler.agreement.statistics import Statistic
from labeler.arrays import Flags, Floats, Integers
from labeler.collection.judgements import JudgementRow, read_judgements
from labeler.collection.layout import Collection
from labeler.data import Failure, Judgement, Pair
from labeler.errors import BadInput
from labeler.lab.recalibration import CalibrationSet
from labeler.lab.route import Criterion, needs
from labeler.stats.estimates import Mean
from labeler.stats.intervals import Sample, between
from labeler.stats.regression import isotonic

FAILED = -1
"""The position of the grade that the cheap assessor did not give."""
STEPS = 20
"""So many shares of the pool are tried, from none to all."""


@dataclass(frozen=True, eq=False)
class CascadeMember:
    """A set of judgements: its rows by pair, in the order of its file."""

    name: str
    rows: Mapping[Pair, JudgementRow]

    @property
    def failures(self) -> dict[Pair, str]:
        """The status of each pair that has no grade."""
        outcomes = (row.judged.outcome for row in self.rows.values())
        return {each.pair: each.status for each in outcomes if isinstance(each, Failure)}

    @property
    def grades(self) -> dict[Pair, int]:
        """The grade of each pair that has one."""
        outcomes = (row.judged.outcome for row in self.rows.values())
        return {each.pair: each.grade for each in outcomes if isinstance(each, Judgement)}

    def took(self, pair: Pair, unit: str) -> float:
        """What a pair took: dollars, tokens or calls."""
        judged = self.rows[pair].judged
        if unit == "dollars":
            return judged.cost or 0.0
        if unit == "tokens":
            return float(judged.prompt_tokens + judged.completion_tokens)
        return float(max(judged.attempts, 1))

    @property
    def models(self) -> list[str]:
        """The models that answered, as they were asked for."""
        return sorted({row.origin.model for row in self.rows.values()} - {""})


def member_of(collection: Collection, name: str) -> CascadeMember:
    """A set of a collection's judgements."""
    path = collection.existing_judgements(name)
    return CascadeMember(name, {row.judged.outcome.pair: row for row in read_judgements(path)})


def took_by(members: Iterable[CascadeMember], pair: Pair, unit: str) -> float:
    """What a pair took of all who judged it."""
    return sum(member.took(pair, unit) for member in members if pair in member.rows)


def unit_of(*members: CascadeMember) -> str:
    """What costs are counted in: dollars where every reply has some, else tokens, else calls.

    The strong member is the last.
    """
    judged = [row.judged for side in members for row in side.rows.values()]
    of_strong = members[-1].rows.values()
    if all(j.cost is not None for j in judged) and any(row.judged.cost for row in of_strong):
        return "dollars"
    tokens = all(j.prompt_tokens + j.completion_tokens > 0 for j in judged)
    return "tokens" if tokens else "calls"


class Doubts(NamedTuple):
    """How unsure the cheap assessor is of each of people's pairs, and of each pair of the pool."""

    of_pairs: Floats
    of_pool: Floats


@dataclass(frozen=True)
class CascadeCheck:
    """A cascade on queries that its threshold was not chosen on.

    `loss` is the strong assessor's agreement less the cascade's. `saving`, the share of the cost of
    asking it alone that is saved, and `sent`, of the pairs that it decides, are by the one
    threshold that is used.
    """

    cheap: Mean
    strong: Mean
    cascade: Mean
    loss: Mean
    saving: Mean
    sent: Mean


Agreement = Callable[[Floats], Floats]


def agreement_of(statistic: Statistic, scale: Sequence[int]) -> Agreement:
    """The statistic of tables, as higher for closer."""
    grades = np.array(scale, dtype=np.float64)
    sign = statistic.better or 1
    return lambda tables: np.asarray(sign * statistic.compute(tables, grades), dtype=np.float64)


def candidates(of_pool: Floats) -> Floats:
    """The thresholds that are tried, from the one that sends nothing to the one that sends all."""
    if not len(of_pool):
        return np.array([np.inf])
    steps = np.quantile(of_pool, np.linspace(1, 0, STEPS + 1), method="inverted_cdf")
    return np.concatenate([[np.inf], np.unique(steps)[::-1]])


@dataclass(frozen=True, eq=False)
class CascadePairs:
    """Pairs with a human grade and the strong assessor's, a row each, and how agreement is counted.

    Grades are positions in `scale`, `FAILED` where the cheap assessor failed; `cost` is what each
    of the two took, `(pairs, 2)`; `weight` is one over the chance of a pair to be drawn.
    """

    scale: tuple[int, ...]
    queries: int
    query: Integers
    weight: Floats
    human: Integers
    cheap: Integers
    strong: Integers
    cost: Floats
    agreement: Agreement

    def tables(self, sent: Flags) -> Floats:
        """A table a query, human grades in rows, where the strong assessor decides `sent` pairs.

        A pair without a grade is in none.
        """
        k, grades = len(self.scale), np.where(sent, self.strong, self.cheap)
        graded = grades != FAILED
        cell = ((self.query * k + self.human) * k + grades)[graded]
        counts = np.bincount(cell, self.weight[graded], self.queries * k * k)
        return counts.astype(np.float64).reshape(self.queries, k, k)

    def sums(self, *columns: Floats | Flags | int) -> Floats:
        """The weighted sum of each column over each query's pairs, `(queries, columns)`."""
        each = [np.bincount(self.query, self.weight * c, self.queries) for c in columns]
        return np.stack(each, axis=1).astype(np.float64)

    def costs(self, sent: Flags) -> Floats:
        """What the cascade takes, and the strong assessor alone, `(queries, 2)`."""
        cheap, strong = self.cost.T
        return self.sums(cheap + np.where(sent, strong, 0.0), strong)

    def threshold_for(self, rows: Flags, doubts: Doubts, tolerance: float) -> float:
        """The highest threshold by which some rows lose no more agreement than `tolerance`."""
        queries = np.unique(self.query[rows])
        tried = candidates(doubts.of_pool)
        sent = [np.ones(len(rows), dtype=bool), *(doubts.of_pairs >= each for each in tried)]
        values = [float(self.agreement(self.tables(s)[queries].sum(axis=0))) for s in sent]
        losses = values[0] - np.array(values[1:])
        # a single low value among higher ones is noise: the more is sent, the less is lost
        _, gains = isotonic(np.arange(float(len(tried))), -losses, np.ones(len(tried)))
        small = np.flatnonzero(-gains <= tolerance)
        return float(tried[small[0]] if len(small) else tried[-1])

    def check(self, held_out: Flags, sent: Flags) -> CascadeCheck:
        """Agreement and loss of `held_out` choices, what `sent` saves; with intervals over queries.

        Agreement would look too good where the threshold was chosen. What is saved was not chosen
        by, and hangs on the one threshold that is used.
        """
        none, everything = np.zeros(len(sent), dtype=bool), np.ones(len(sent), dtype=bool)
        failed = self.cheap == FAILED
        # (queries, 3, k, k): cheap where it has a grade, strong, cascade
        sides = [self.tables(each) for each in (none, everything, held_out | failed)]
        tables, agreement = np.stack(sides, axis=1), self.agreement
        loss = _over_queries(
            tables, lambda t: agreement(t[..., 1, :, :]) - agreement(t[..., 2, :, :])
        )
        sent = sent | failed
        saved = _over_queries(
            self.costs(sent), lambda c: 1 - c[..., 0] / np.maximum(c[..., 1], 1e-300)
        )
        share = _over_queries(self.sums(sent, 1), lambda m: m[..., 0] / m[..., 1])
        cheap, strong, cascade = (_over_queries(side, agreement) for side in sides)
        return CascadeCheck(cheap, strong, cascade, loss, saved, share)


def _over_queries(sums: Floats, compute: Callable[[Floats], Floats]) -> Mean:
    value = float(compute(sums.sum(axis=0)))
    return Mean(value, *between(Sample(sums), compute))


# How unsure the cheap assessor is of each pair, and the pairs on which a threshold is chosen.


@dataclass(frozen=True, eq=False)
class CascadeEvidence:
    """The pairs that people and the strong assessor graded, and how doubts of them are had.

    `judged` holds the same rows as `pairs`; a pair that the cheap assessor failed on has equal
    shares of all grades there, and is sent whatever the threshold is. `without` counts pairs that
    the strong assessor did not grade. `ties` is the seed by which equal doubts are told apart; None
    leaves them equal.
    """

    sources: RoutingSources
    by: Criterion
    pairs: CascadePairs
    judged: CalibrationSet
    without: int = 0
    ties: int | None = None

    def doubts(self, held_out: Flags | None = None) -> Doubts:
        """How unsure the cheap assessor is, learned without the rows `held_out` where it is."""
        failed = self.pairs.cheap == FAILED
        fitted = ~failed if held_out is None else ~failed & ~held_out
        of_pool = untied(needs(self.sources, self.by, self.judged, fitted), self.ties)
        row_of = self.sources.shares.row
        values = [
            np.inf if lacks else of_pool[row_of[pair]]
            for pair, lacks in zip(self.judged.shares.pairs, failed, strict=True)
        ]
        return Doubts(np.array(values), of_pool)


def untied(doubts: Floats, seed: int | None) -> Floats:
    """The doubts with equal ones told apart by chance, and all others in their order."""
    if seed is None or not len(doubts):
        return doubts
    distinct = np.unique(doubts)
    gap = float(np.diff(distinct).min()) if len(distinct) > 1 else 1.0
    return doubts + np.random.default_rng(seed).random(len(doubts)) * gap / 2


def graded_by_people(sources: RoutingSources, cheap: CascadeMember) -> list[Pair]:
    """The pairs of the cheap set that people graded, drawn by chance."""
    human, weights = sources.human or {}, sources.weights
    return [
        pair
        for pair in cheap.rows
        if human.get(pair.query_id, {}).get(pair.doc_id, -1) >= 0
        and (weights is None or pair in weights)
    ]


def evidence_of(
    sources: RoutingSources,
    members: Sequence[CascadeMember],
    by: Criterion,
    statistic: Callable[[tuple[int, ...]], Statistic],
    ties: int | None = None,
) -> CascadeEvidence:
    """What people and the strong assessor say of the same pairs.

    `members` are the cheap assessor's judgements, then the sets that help to tell its doubt, whose
    cost counts, too, and last the strong assessor's.
    """
    cheap, strong = members[0], members[-1]
    human, row_of, by_strong = sources.human or {}, sources.shares.row, strong.grades
    failures = cheap.failures
    graded = [p for p in graded_by_people(sources, cheap) if p in row_of or p in failures]
    pairs = [pair for pair in graded if pair in by_strong]
    queries = sorted({pair.query_id for pair in pairs})
    if len(queries) < 2:
        problem = "the strong assessor graded people's pairs of fewer than two queries"
        raise BadInput(f"{strong.name}: {problem}, on which no threshold can be chosen")
    of_people = [human[pair.query_id][pair.doc_id] for pair in pairs]
    of_cheap = [None if p in failures else int(sources.grades[row_of[p]]) for p in pairs]
    of_strong = [by_strong[pair] for pair in pairs]
    graded_by_cheap = [grade for grade in of_cheap if grade is not None]
    scale = tuple(sorted({*of_people, *of_strong, *graded_by_cheap}))
    index: dict[int | None, int] = {grade: number for number, grade in enumerate(scale)}
    index[None] = FAILED
    weights = sources.weights
    query = np.array([queries.index(pair.query_id) for pair in pairs])
    weight = np.array([1.0 if weights is None else weights[pair] for pair in pairs])
    unit = unit_of(*members)
    cost = np.array([[took_by(members[:-1], p, unit), strong.took(p, unit)] for p in pairs])
    cascade = CascadePairs(
        scale,
        len(queries),
        query,
        weight,
        np.array([index[grade] for grade in of_people]),
        np.array([index[grade] for grade in of_cheap]),
        np.array([index[grade] for grade in of_strong]),
        cost,
        agreement_of(statistic(scale), scale),
    )
    grades = tuple(sorted(set(of_people)))
    outcome = np.array([grades.index(grade) for grade in of_people])
    shares = _shares(sources.shares, pairs)
    judged = CalibrationSet(grades, tuple(queries), shares, outcome, query, weight)
    return CascadeEvidence(sources, by, cascade, judged, len(graded) - len(pairs), ties)


def _shares(shares: GradeShares, pairs: list[Pair]) -> GradeShares:
    """The cheap assessor's shares of these pairs; of one that it failed on, all alike."""
    matrix = np.full((len(pairs), len(shares.grades)), 1 / len(shares.grades))
    distributed = np.zeros(len(pairs))
    for row, pair in enumerate(pairs):
        if pair in shares.row:
            matrix[row] = shares.matrix[shares.row[pair]]
            distributed[row] = shares.distributed[shares.row[pair]]
    return GradeShares(shares.grades, tuple(pairs), matrix, distributed)
