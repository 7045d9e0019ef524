"""From which doubt on the strong assessor is asked, chosen and judged on different queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeler import __version__
from labeler.agreement.shares import GradeShares, RoutingSources
from labeler.agreement.statistics.registry import Statistic
from labeler.arrays import Floats, Integers
from labeler.collection.card import card_section, read_card, update_card_entry
from labeler.collection.judgements import (
    JudgementLines,
    JudgementRow,
    Origin,
    read_judgements,
    replacing_set,
)
from labeler.collection.layout import Collection
from labeler.collection.lock import Note, locked
from labeler.collection.readme import write_readme
from labeler.data import Failure, Judgement, Pair
from labeler.errors import BadInput
from labeler.lab.members import Member, check_panel_name
from labeler.lab.recalibration import CalibrationSet
from labeler.lab.route_criteria import Criterion, doubt_of, needs
from labeler.report.table import Column
from labeler.stats.estimates import Mean
from labeler.stats.intervals import between
from labeler.stats.regression import isotonic
from labeler.stats.resampling import Sample

# The sets behind a cascade: a cheap assessor's rows, a strong one's, and what each pair took.

RULE = "cascade"


@dataclass(frozen=True, eq=False)
class CascadeMember:
    """A set of judgements: its rows by pair, in the order of its file."""

    name: str
    rows: Mapping[Pair, JudgementRow]

    @property
    def failures(self) -> dict[Pair, str]:
        """The status of each pair that has no grade."""
        return {
            pair: row.judged.outcome.status
            for pair, row in self.rows.items()
            if isinstance(row.judged.outcome, Failure)
        }

    @property
    def grades(self) -> dict[Pair, int]:
        """The grade of each pair that has one."""
        return {
            pair: row.judged.outcome.grade
            for pair, row in self.rows.items()
            if isinstance(row.judged.outcome, Judgement)
        }

    @property
    def digest(self) -> str:
        """A hash of its grades and failures."""
        return Member(self.name, self.grades, self.failures).digest

    def grade_or_status(self, pair: Pair) -> int | str | None:
        """The grade of a pair, the status of its failure, or `None` where it was not asked."""
        if pair not in self.rows:
            return None
        outcome = self.rows[pair].judged.outcome
        return outcome.status if isinstance(outcome, Failure) else outcome.grade

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


class CascadeMade(NamedTuple):
    """A cascade's members, the pairs that the strong one decides, and how these were told."""

    members: tuple[CascadeMember, CascadeMember]
    sent: frozenset[Pair]
    settings: Mapping[str, Any]


def write_cascade(
    collection: Collection,
    name: str,
    made: CascadeMade,
    note: Note = lambda _line: None,
) -> None:
    """Write `judgements/NAME.jsonl` and `qrels/NAME.qrels`: each row says who decided it.

    A pair that was sent has the strong member's grade, or its failure; every other pair the cheap
    one's grade.
    """
    (cheap, strong), sent = made.members, made.sent
    origin = cascade_origin(made.members, made.settings)
    path, qrels = collection.judgements(name), collection.qrels(name)
    lines = JudgementLines(origin)
    with locked(collection, note):
        check_panel_name(collection, name, RULE, [cheap.name, strong.name])
        with replacing_set(path, qrels) as out:
            for pair in cheap.rows:
                decided = strong if pair in sent else cheap
                says = {
                    cheap.name: cheap.grade_or_status(pair),
                    strong.name: strong.grade_or_status(pair),
                }
                more = {"members": says, "decided": decided.name}
                out.write(lines.line(decided.rows[pair].judged, panel=more) + "\n")
        entry = _card_entry(collection, made.members, sent, origin)
        update_card_entry(collection, "judge", name, entry)
        write_readme(collection)


def cascade_origin(
    members: tuple[CascadeMember, CascadeMember], settings: Mapping[str, Any]
) -> Origin:
    """What made a cascade's grades: its threshold, and each member with a hash of its grades."""
    cheap, strong = members
    digests = {member.name: member.digest for member in members}
    title = f"{RULE} of {cheap.name}, {strong.name}"
    return Origin("", title, {"rule": RULE, **settings, "members": digests})


def _card_entry(
    collection: Collection,
    members: tuple[CascadeMember, CascadeMember],
    sent: frozenset[Pair],
    origin: Origin,
) -> dict[str, Any]:
    cheap, strong = members
    judge = card_section(read_card(collection), "judge")
    statuses = [strong.failures[pair] for pair in sorted(sent) if pair in strong.failures]
    pairs = len(cheap.rows)
    return {
        "labeler": __version__,
        "prompt": origin.model,
        "model": origin.model,
        "served": sorted({*cheap.models, *strong.models}),
        "parameters": dict(origin.parameters),
        "members": {m.name: {"models": m.models, "digest": m.digest} for m in members},
        "scale": card_section(card_section(judge, strong.name), "scale"),
        "pairs": pairs,
        "judged": pairs - len(statuses),
        "failed": len(statuses),
        "failures": {status: statuses.count(status) for status in sorted(set(statuses))},
        "sent": len(sent),
    }


FAILED = -1
"""The position of the grade that the cheap assessor did not give."""
STEPS = 20
"""So many shares of the pool are tried, from none to all."""


@dataclass(frozen=True, eq=False)
class CascadePairs:
    """Pairs with a human grade and the strong assessor's, a row each.

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

    def tables(self, sent: NDArray[np.bool_]) -> Floats:
        """A table a query, human grades in rows, where the strong assessor decides `sent` pairs.

        A pair without a grade is in none.
        """
        k, grades = len(self.scale), np.where(sent, self.strong, self.cheap)
        graded = grades != FAILED
        cell = ((self.query * k + self.human) * k + grades)[graded]
        counts = np.bincount(cell, self.weight[graded], self.queries * k * k)
        return counts.astype(np.float64).reshape(self.queries, k, k)

    def costs(self, sent: NDArray[np.bool_]) -> Floats:
        """What the cascade takes, and the strong assessor alone, `(queries, 2)`."""
        cascade = self.cost[:, 0] + np.where(sent, self.cost[:, 1], 0.0)
        both = (cascade, self.cost[:, 1])
        sums = [np.bincount(self.query, self.weight * cost, self.queries) for cost in both]
        return np.stack(sums, axis=1).astype(np.float64)


class Doubts(NamedTuple):
    """How unsure the cheap assessor is of each row, and of each pair of the pool.

    `rows` are those that the doubts may be judged on: where doubt was learned from people's grades,
    those of the queries that it was not learned from.
    """

    rows: NDArray[np.bool_]
    of_pairs: Floats
    of_pool: Floats


class ThresholdPoint(NamedTuple):
    """What a threshold brings on the pairs that people graded: agreement, and shares of the strong
    assessor's calls and of its cost alone.
    """

    threshold: float
    sent: Annotated[float, Column(format=".0%")]
    agreement: float
    cost: Annotated[float, Column(title="of the strong one's cost", format=".0%")]


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
    distinct = np.unique(steps)[::-1]
    return np.concatenate([[np.inf], distinct])


def threshold_points(
    pairs: CascadePairs, doubts: Floats, thresholds: Floats, agreement: Agreement
) -> list[ThresholdPoint]:
    """What each threshold brings on all pairs; a curve, not a promise for other queries."""
    return [
        _point(pairs, float(threshold), doubts >= threshold, agreement) for threshold in thresholds
    ]


def _point(
    pairs: CascadePairs, threshold: float, sent: NDArray[np.bool_], agreement: Agreement
) -> ThresholdPoint:
    cascade, alone = pairs.costs(sent).sum(axis=0)
    return ThresholdPoint(
        threshold,
        float(np.average(sent, weights=pairs.weight)),
        float(agreement(pairs.tables(sent).sum(axis=0))),
        float(cascade / alone) if alone else 1.0,
    )


def threshold_for(
    pairs: CascadePairs,
    rows: NDArray[np.bool_],
    doubts: Doubts,
    tolerance: float,
    agreement: Agreement,
) -> float:
    """The highest threshold by which some rows lose no more agreement than `tolerance`."""
    everything = np.ones(len(rows), dtype=bool)
    queries = np.unique(pairs.query[rows])

    def on_rows(sent: NDArray[np.bool_]) -> float:
        return float(agreement(pairs.tables(sent)[queries].sum(axis=0)))

    strong = on_rows(everything)
    tried = candidates(doubts.of_pool)
    losses = np.array([strong - on_rows(doubts.of_pairs >= t) for t in tried])
    # a single low value among higher ones is noise: the more is sent, the less is lost
    _, gains = isotonic(np.arange(float(len(tried))), -losses, np.ones(len(tried)))
    small = np.flatnonzero(-gains <= tolerance)
    return float(tried[small[0]] if len(small) else tried[-1])


def sent_held_out(
    pairs: CascadePairs,
    folds: Sequence[Doubts],
    parts: Sequence[NDArray[np.bool_]],
    tolerance: float,
    agreement: Agreement,
) -> NDArray[np.bool_]:
    """Which rows are sent by thresholds that were chosen on the other queries.

    `parts` are the rows of each fold of queries, `folds` the doubts that know nothing of them.
    """
    sent = np.zeros(len(pairs.query), dtype=bool)
    for rows, doubts in zip(parts, folds, strict=True):
        threshold = threshold_for(pairs, ~rows, doubts, tolerance, agreement)
        sent[rows] = doubts.of_pairs[rows] >= threshold
    return sent


def check(
    pairs: CascadePairs,
    held_out: NDArray[np.bool_],
    sent: NDArray[np.bool_],
    agreement: Agreement,
) -> CascadeCheck:
    """Agreement and loss of `held_out` choices, what `sent` saves; with intervals over queries.

    Agreement would look too good where the threshold was chosen. What is saved was not chosen by,
    and hangs on the one threshold that is used.
    """
    none, everything = np.zeros(len(sent), dtype=bool), np.ones(len(sent), dtype=bool)
    failed = pairs.cheap == FAILED
    # (queries, 3, k, k): cheap where it has a grade, strong, cascade
    tables = np.stack(
        [pairs.tables(none), pairs.tables(everything), pairs.tables(held_out | failed)], axis=1
    )
    cheap, strong, cascade = (
        _over_queries(tables[:, side], agreement) for side in range(tables.shape[1])
    )
    loss = _over_queries(tables, lambda t: agreement(t[..., 1, :, :]) - agreement(t[..., 2, :, :]))
    costs = pairs.costs(sent | failed)
    saving = _over_queries(costs, lambda c: 1 - c[..., 0] / np.maximum(c[..., 1], 1e-300))
    masses = [np.bincount(pairs.query, pairs.weight * m, pairs.queries) for m in (sent | failed, 1)]
    share = _over_queries(
        np.stack(masses, axis=1).astype(np.float64), lambda m: m[..., 0] / m[..., 1]
    )
    return CascadeCheck(cheap, strong, cascade, loss, saving, share)


def _over_queries(sums: Floats, compute: Callable[[Floats], Floats]) -> Mean:
    value = float(compute(sums.sum(axis=0)))
    return Mean(value, *between("cluster-bootstrap", Sample(sums), compute))


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
    unit: str
    without: int = 0
    ties: int | None = None

    def doubts(self, held_out: NDArray[np.bool_] | None = None) -> Doubts:
        """How unsure the cheap assessor is, learned without the rows `held_out` where it is."""
        failed = self.pairs.cheap == FAILED
        rows = np.ones(len(failed), dtype=bool) if held_out is None else held_out
        fitted = ~failed if held_out is None else ~failed & ~held_out
        of_pool = (
            doubt_of(self.sources, self.judged, fitted)
            if self.by == "doubt"
            else needs(self.sources, self.by, None)
        )
        of_pool = _untied(of_pool, self.ties)
        row_of = self.sources.shares.row
        values = [
            np.inf if lacks else of_pool[row_of[pair]]
            for pair, lacks in zip(self.judged.shares.pairs, failed, strict=True)
        ]
        return Doubts(rows, np.array(values), of_pool)


def pool_doubts(
    sources: RoutingSources,
    by: Criterion,
    evidence: CascadeEvidence | None,
    ties: int | None = None,
) -> Floats:
    """How unsure the cheap assessor is of each pair that it graded."""
    if evidence is not None:
        return evidence.doubts().of_pool
    return _untied(needs(sources, by, None), ties)


def _untied(doubts: Floats, seed: int | None) -> Floats:
    """The doubts with equal ones told apart by chance, and all others in their order."""
    if seed is None or not len(doubts):
        return doubts
    distinct = np.unique(doubts)
    gap = float(np.diff(distinct).min()) if len(distinct) > 1 else 1.0
    return doubts + np.random.default_rng(seed).random(len(doubts)) * gap / 2


def evidence_of(
    sources: RoutingSources,
    members: Sequence[CascadeMember],
    strong: CascadeMember,
    by: Criterion,
    ties: int | None = None,
) -> CascadeEvidence:
    """What people and the strong assessor say of the same pairs.

    `members` are the cheap assessor's judgements, then the sets that help to tell its doubt, whose
    cost counts, too.
    """
    cheap = members[0]
    human, weights = sources.human or {}, sources.weights
    row_of, grades_by_strong = sources.shares.row, strong.grades
    graded = [
        pair
        for pair in cheap.rows
        if human.get(pair.query_id, {}).get(pair.doc_id, -1) >= 0
        and (weights is None or pair in weights)
        and (pair in row_of or pair in cheap.failures)
    ]
    pairs = [pair for pair in graded if pair in grades_by_strong]
    queries = sorted({pair.query_id for pair in pairs})
    if len(queries) < 2:
        problem = "the strong assessor graded people's pairs of fewer than two queries"
        raise BadInput(f"{strong.name}: {problem}, on which no threshold can be chosen")
    people = [human[pair.query_id][pair.doc_id] for pair in pairs]
    by_cheap = [None if p in cheap.failures else int(sources.grades[row_of[p]]) for p in pairs]
    by_strong = [grades_by_strong[pair] for pair in pairs]
    scale = tuple(sorted({*people, *by_strong, *(g for g in by_cheap if g is not None)}))
    index = {grade: number for number, grade in enumerate(scale)}
    query = np.array([queries.index(pair.query_id) for pair in pairs])
    weight = np.array([1.0 if weights is None else weights[pair] for pair in pairs])
    unit = unit_of(*members, strong)
    cost = np.array([[took_by(members, p, unit), strong.took(p, unit)] for p in pairs])
    cascade = CascadePairs(
        scale,
        len(queries),
        query,
        weight,
        np.array([index[grade] for grade in people]),
        np.array([FAILED if grade is None else index[grade] for grade in by_cheap]),
        np.array([index[grade] for grade in by_strong]),
        cost,
    )
    peoples = tuple(sorted(set(people)))
    outcome = np.array([peoples.index(grade) for grade in people])
    shares = _shares(sources.shares, pairs)
    judged = CalibrationSet(peoples, tuple(queries), shares, outcome, query, weight)
    without = len(graded) - len(pairs)
    return CascadeEvidence(sources, by, cascade, judged, unit, without, ties)


def _shares(shares: GradeShares, pairs: list[Pair]) -> GradeShares:
    """The cheap assessor's shares of these pairs; of one that it failed on, all alike."""
    matrix = np.full((len(pairs), len(shares.grades)), 1 / len(shares.grades))
    distributed = np.zeros(len(pairs))
    for row, pair in enumerate(pairs):
        if pair in shares.row:
            matrix[row] = shares.matrix[shares.row[pair]]
            distributed[row] = shares.distributed[shares.row[pair]]
    return GradeShares(shares.grades, tuple(pairs), matrix, distributed)
