"""A fitted map from what an assessor says to probabilities of the grades that people give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from labeler.agreement.align import GradeMatrix, drawn_weights
from labeler.agreement.compare import interval_of
from labeler.arrays import Flags, Floats, Integers
from labeler.data import Pair, Qrels
from labeler.errors import BadInput
from labeler.messages import count_of
from labeler.report.table import Interval
from labeler.stats.intervals import Sample
from labeler.stats.regression import cumulative_logistic, logistic_function
from labeler.trec.pairs import PairColumns

EDGE = 0.005
"""A probability nearer to 0 or 1 than this is taken for this: what lies beyond is not measured."""
FOLDS = 10
FLOOR = 0.001
"""The probability that the log loss takes for a smaller one: nothing here is measured finer."""
FEWEST = 2
"""Queries to fit to."""


@dataclass(frozen=True)
class Recalibration:
    """From an assessor's probabilities of `grades` to those of people's grades, `scale`.

    `logit P(people >= k) = intercept_k + slope * expected grade`, and where the assessor gives
    distributions over people's own grades, a second slope times the logit of its own probability of
    `k` or more.
    """

    scale: Sequence[int]
    grades: Sequence[int]
    intercepts: Sequence[float]
    slopes: Sequence[float]

    def probabilities(self, given: GradeMatrix) -> Floats:
        """A probability for each grade of `scale`, `(pairs, grades)`."""
        columns = columns_of(given, self.scale, logits=len(self.slopes) > 1)
        above = logistic_function(np.array(self.intercepts) + columns @ np.array(self.slopes))
        falling = np.minimum.accumulate(np.clip(above, 0.0, 1.0), axis=1)
        ends = np.ones((len(above), 1)), np.zeros((len(above), 1))
        return -np.diff(np.concatenate([ends[0], falling, ends[1]], axis=1), axis=1)


def columns_of(given: GradeMatrix, scale: Sequence[int], *, logits: bool) -> Floats:
    """What foretells each cut, `(pairs, cuts, features)`: the expected grade, and a logit."""
    shares, grades = given.mean_shares, given.scale
    middle = (grades[0] + grades[-1]) / 2
    expected = np.repeat((shares @ grades - middle)[:, None], len(scale) - 1, axis=1)
    if not logits:
        return expected[:, :, None]
    above = [shares[:, grades >= cut].sum(axis=1) for cut in scale[1:]]
    own = np.clip(np.stack(above, axis=1), EDGE, 1 - EDGE)
    return np.stack([expected, np.log(own / (1 - own))], axis=2)


def takes_logits(given: GradeMatrix, scale: Sequence[int]) -> bool:
    """Whether the assessor has probabilities of people's own grades."""
    return given.has_distributions and set(given.grades) <= set(scale)


@dataclass(frozen=True, eq=False)
class CalibrationSet:
    """The pairs that both people and an assessor graded, a row each.

    `outcome` are positions in `scale`, people's grades; `query` positions in `queries`; `weight`
    one over the chance of a pair to be drawn.
    """

    scale: Sequence[int]
    queries: Sequence[str]
    given: GradeMatrix
    outcome: Integers
    query: Integers
    weight: Floats

    def __len__(self) -> int:
        return len(self.outcome)

    def fit(self, rows: Flags | slice = slice(None)) -> Recalibration:
        """The map that fits some rows best."""
        index = np.zeros(len(self), bool)
        index[rows] = True
        given = self.given.keep(index)
        columns = columns_of(given, self.scale, logits=takes_logits(given, self.scale))
        fitted = cumulative_logistic(columns, self.outcome[index], self.weight[index])
        return Recalibration(self.scale, given.grades, *(tuple(side.tolist()) for side in fitted))


def calibration_set(
    human: Qrels,
    given: GradeMatrix,
    weights: Mapping[Pair, float] | None,
    no_common: str,
) -> CalibrationSet:
    """The pairs with a human grade from 0 and probabilities; `BadInput` where too few are."""
    people = PairColumns.of(human, np.int64)
    grade, weight = given.pairs.beside(people, -1), drawn_weights(given.pairs, weights)
    rows = (grade >= 0) & ~np.isnan(weight)
    if not rows.any():
        raise BadInput(no_common)
    graded = given.keep(rows)
    queries, query = graded.pairs.by_query_id()
    if len(queries) < FEWEST:
        raise BadInput(
            f"people graded pairs of {count_of(len(queries), 'query', 'queries')}; a fit is "
            "checked on other queries, which takes two or more"
        )
    scale, outcome = np.unique(grade[rows], return_inverse=True)
    return CalibrationSet(tuple(scale.tolist()), queries, graded, outcome, query, weight[rows])


# How well fitted probabilities foretell people's grades of queries not fitted to.


class HeldOut(NamedTuple):
    """Probabilities of each pair by fits without its query, and by people's shares there alone."""

    calibrated: Floats
    shares_alone: Floats


def held_out(pairs: CalibrationSet, seed: int = 0) -> HeldOut:
    """Each pair's probabilities, of fits to the folds of queries that its query is not in."""
    calibrated = np.zeros((len(pairs), len(pairs.scale)))
    alone = np.zeros_like(calibrated)
    for rows in folds_of(pairs.query, seed):
        calibrated[rows] = pairs.fit(~rows).probabilities(pairs.given.keep(rows))
        # how often people gave each grade elsewhere, with half a pair more of each grade
        weight = pairs.weight[~rows] / pairs.weight[~rows].mean()
        counts = np.bincount(pairs.outcome[~rows], weight, len(pairs.scale)) + 0.5
        alone[rows] = counts / counts.sum()
    return HeldOut(calibrated, alone)


def folds_of(query: Integers, seed: int) -> Iterator[Flags]:
    """The rows of each fold of queries, which are numbered from 0."""
    queries = int(query.max()) + 1
    order = np.random.default_rng(seed).permutation(queries)
    fold = np.empty(queries, np.int64)
    fold[order] = np.arange(queries) % min(FOLDS, queries)
    for number in range(min(FOLDS, queries)):
        yield fold[query] == number


def log_losses(probabilities: Floats, outcome: Integers) -> Floats:
    """The negative log of the probability of what people said, of each pair, in nats."""
    grades = probabilities.shape[1]
    of_outcome = probabilities[np.arange(len(outcome)), outcome]
    return np.asarray(-np.log((1 - grades * FLOOR) * of_outcome + FLOOR))


def mean_by_query(pairs: CalibrationSet, values: Floats) -> Interval:
    """The weighted mean over pairs, with an interval over queries."""
    columns = [pairs.weight * values, pairs.weight]
    by_query = [np.bincount(pairs.query, column, len(pairs.queries)) for column in columns]
    return interval_of(Sample(np.stack(by_query, axis=1)), lambda sums: sums[..., 0] / sums[..., 1])
