"""From which doubt on the strong assessor is asked, chosen and judged on different queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from labeler.agreement.align import UNGRADED, GradeMatrix, drawn_weights, grade_matrix, tables_of
from labeler.agreement.compare import interval_of
from labeler.agreement.shares import RoutingSources
from labeler.agreement.statistics import Statistic, find_statistic
from labeler.arrays import Flags, Floats, Integers, Places
from labeler.collection.judged_set import JudgedSet
from labeler.collection.layout import Collection
from labeler.errors import BadInput
from labeler.lab.members import Member, read_member
from labeler.lab.route import needs
from labeler.report.table import Interval
from labeler.stats.intervals import Sample, jackknife_error
from labeler.stats.student import LEVEL, t_quantile
from labeler.trec.pairs import NONE, PairColumns, taken

STEPS = 20
"""So many shares of the pool are tried, from none to all."""


def member_of(collection: Collection, name: str) -> Member:
    """A set of a collection's judgements."""
    collection.existing_judgements(name)
    return read_member(collection, name)


def took(judged: JudgedSet, unit: str) -> Floats:
    """What each pair took: dollars, tokens or calls, `(n,)`."""
    replies, prompt, completion, dollars = judged.amounts[judged.of_spent].T
    if unit == "dollars":
        return np.asarray(np.nan_to_num(dollars))
    return np.asarray(prompt + completion if unit == "tokens" else np.maximum(replies, 1))


def took_by(members: Iterable[Member], pairs: PairColumns[Any], unit: str) -> Floats:
    """What each of some pairs took of all who judged it, `(n,)`."""
    each = [taken(took(m.judged, unit), pairs.rows_in(m.judged.states), 0.0) for m in members]
    return sum(each, np.zeros(pairs.size))


def unit_of(*members: Member) -> str:
    """What costs are counted in: dollars where every reply has some, else tokens, else calls.

    The strong member is the last.
    """
    sets = [each.judged for each in members if each.judged.of_spent is not None]
    costs = [judged.amounts[judged.of_spent, 3] for judged in sets]
    if not any(np.isnan(cost).any() for cost in costs) and costs[-1].any():
        return "dollars"
    return "tokens" if all((took(each.judged, "tokens") > 0).all() for each in members) else "calls"


class Doubts(NamedTuple):
    """How unsure the cheap assessor is of each of people's pairs, and of each pair of the pool."""

    of_pairs: Floats
    of_pool: Floats


@dataclass(frozen=True)
class CascadeCheck:
    """A cascade on queries that its threshold was not chosen on.

    `loss` is the strong assessor's agreement less the cascade's. `saving`, the share of the
    strong assessor's cost that is saved, holds at the chosen threshold.
    """

    cheap: Interval
    strong: Interval
    cascade: Interval
    loss: Interval
    saving: Interval


Agreement = Callable[[Floats], Floats]


def agreement_of(statistic: Statistic) -> Agreement:
    """The statistic of tables, as higher for closer."""
    sign = statistic.better or 1
    return lambda tables: sign * statistic(tables)


def candidates(of_pool: Floats) -> Floats:
    """The thresholds that are tried, from the one that sends nothing to the one that sends all."""
    if not len(of_pool):
        return np.array([np.inf])
    steps = np.quantile(of_pool, np.linspace(1, 0, STEPS + 1), method="inverted_cdf")
    return np.concatenate([[np.inf], np.unique(steps)[::-1]])


@dataclass(frozen=True, eq=False)
class CascadePairs:
    """Pairs with a human grade and the strong assessor's, a row each, and how agreement is counted.

    The columns of `matrix` are people's grades, the cheap assessor's, where it did not fail, and
    the strong one's. `query` numbers the queries by their ids; `cost` is what each of the two
    assessors took, `(pairs, 2)`.
    """

    matrix: GradeMatrix
    query: Integers
    cost: Floats
    agreement: Agreement

    @property
    def queries(self) -> int:
        """How many queries there are."""
        return len(self.matrix.pairs.queries)

    @property
    def failed(self) -> Flags:
        """Which pairs the cheap assessor failed on."""
        return ~self.matrix.graded[:, 1]

    def tables(self, sent: Flags) -> Floats:
        """A table a query, human grades in rows, where the strong assessor decides `sent` pairs.

        A pair without a grade is in none.
        """
        human, cheap, strong = self.matrix.values.T
        grades = np.where(sent, strong, cheap)
        of, shape = grades != UNGRADED, (self.queries, len(self.matrix.grades))
        return tables_of(self.query[of], human[of], grades[of], shape, self.matrix.weights[of])

    def costs(self, sent: Flags) -> Floats:
        """What the cascade takes, and the strong assessor alone, weighted, `(queries, 2)`."""
        cheap, strong = self.cost.T
        both = (cheap + np.where(sent, strong, 0.0), strong)
        weight = self.matrix.weights
        each = [np.bincount(self.query, weight * cost, self.queries) for cost in both]
        return np.stack(each, axis=1)

    def threshold_for(self, rows: Flags, doubts: Doubts, tolerance: float) -> float:
        """The highest threshold by which some rows lose at most `tolerance`, in 95 of 100 cases.

        From the one that sends all on, each is tried until the upper end of what it loses is more:
        a fixed sequence of tests needs no allowance for their number (Angelopoulos et al. 2021,
        Learn then Test, arXiv:2110.01052). Queries are what is drawn.
        """
        highest, *others = candidates(doubts.of_pool)[::-1]
        for tried in others:
            if not self.most_lost(rows, doubts.of_pairs >= tried) <= tolerance:  # or undefined
                break
            highest = tried
        return float(highest)

    def both(self, sent: Flags) -> Floats:
        """The strong assessor's tables and the cascade's, `(queries, 2, k, k)`.

        The cascade sends what the cheap assessor failed on, too.
        """
        everything = np.ones(len(sent), bool)
        return np.stack([self.tables(each) for each in (everything, sent | self.failed)], axis=1)

    def loss(self, tables: Floats) -> Floats:
        """The strong assessor's agreement less the cascade's, of the tables of `both`."""
        strong, cascade = (self.agreement(tables[..., side, :, :]) for side in (0, 1))
        return strong - cascade

    def most_lost(self, rows: Flags, sent: Flags) -> float:
        """What some rows lose at the most, in 95 of 100 cases, where `sent` pairs are sent.

        Of a single query nobody can say.
        """
        queries = np.unique(self.query[rows])
        if len(queries) < 2:
            return math.inf
        sample = Sample(self.both(sent)[queries])
        error = jackknife_error(sample.of_rest(self.loss))
        return float(self.loss(sample.total)) + t_quantile(LEVEL, len(queries) - 1) * error

    def check(self, held_out: Flags, sent: Flags) -> CascadeCheck:
        """Agreement and loss of `held_out` choices, what `sent` saves; with intervals over queries.

        Agreement would look too good where the threshold was chosen. What is saved was not chosen
        by, and hangs on the one threshold that is used.
        """
        both, cheap = self.both(held_out), self.tables(np.zeros(len(sent), bool))
        costs = Sample(self.costs(sent | self.failed))
        saved = interval_of(costs, lambda c: 1 - c[..., 0] / np.maximum(c[..., 1], 1e-300))
        of_cheap, strong, cascade = (
            interval_of(Sample(side), self.agreement) for side in (cheap, both[:, 0], both[:, 1])
        )
        return CascadeCheck(of_cheap, strong, cascade, interval_of(Sample(both), self.loss), saved)


# How unsure the cheap assessor is of each pair, and the pairs on which a threshold is chosen.


@dataclass(frozen=True, eq=False)
class CascadeEvidence:
    """The pairs that people and the strong assessor graded, and how doubts of them are had.

    `in_pool` is the row of each pair in the pool, -1 where the cheap assessor failed, which is sent
    whatever the threshold is. `unit` is what costs are counted in. `without` counts pairs that the
    strong assessor did not grade.
    """

    sources: RoutingSources
    pairs: CascadePairs
    in_pool: Places
    unit: str
    without: int = 0

    def doubts(self, held_out: Flags | None = None) -> Doubts:
        """How unsure the cheap assessor is, learned without the rows `held_out` where it is."""
        fitted = self.in_pool if held_out is None else self.in_pool[~held_out]
        learned_from = np.zeros(self.sources.matrix.pairs.size, bool)
        learned_from[fitted[fitted != NONE]] = True
        of_pool = needs(self.sources, learned_from)
        return Doubts(taken(of_pool, self.in_pool, np.inf), of_pool)


def graded_by_people(sources: RoutingSources, cheap: Member) -> Flags:
    """Which pairs of the cheap set people graded, drawn by chance."""
    states = cheap.judged.states
    graded = states.beside(PairColumns.of(sources.human or {}, np.int64), -1) >= 0
    return graded & ~np.isnan(drawn_weights(states, sources.weights))


def evidence_of(
    sources: RoutingSources,
    members: Sequence[Member],
    statistic: str,
) -> CascadeEvidence:
    """What people and the strong assessor say of the same pairs.

    `members` are the cheap assessor's judgements, then the sets that help to tell its doubt, whose
    cost counts, too, and last the strong assessor's.
    """
    cheap, strong = members[0].judged, members[-1].judged
    pool, people = sources.matrix.pairs, PairColumns.of(sources.human or {}, np.int64)
    columns = {
        "people": people.keep(people.value >= 0),
        "cheap": pool.holding(sources.grades),
        "strong": strong.grades,
    }
    scale = sorted({grade for column in columns.values() for grade in column.used()})
    every = grade_matrix(columns, scale, sources.weights)
    by_people, by_cheap, by_strong = every.graded.T
    failed = every.pairs.rows_in(cheap.states.keep(~cheap.is_graded)) != NONE
    graded = by_people & (by_cheap | failed)
    matrix = every.keep(graded & by_strong)
    pairs = matrix.pairs
    queries, query = pairs.by_query_id()
    if len(queries) < 2:
        raise BadInput(
            f"{members[-1].name}: the strong assessor graded people's pairs of fewer than two "
            "queries, on which no threshold can be chosen"
        )
    unit = unit_of(*members)
    cost = [took_by(some, pairs, unit) for some in (members[:-1], members[-1:])]
    agreement = agreement_of(find_statistic(statistic, scale))
    cascade = CascadePairs(matrix, query, np.stack(cost, axis=1), agreement)
    without = int(graded.sum()) - pairs.size
    return CascadeEvidence(sources, cascade, pairs.rows_in(pool), unit, without)
