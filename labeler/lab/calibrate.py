"""`calibrate`: an assessor's grades as probabilities of the grades that people would give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labeler.agreement.align import GradeMatrix, PairWeights, drawn_weights
from labeler.agreement.calibration import Calibration, CalibrationRows, at_cut
from labeler.agreement.compare import interval_of
from labeler.agreement.shares import graded_together
from labeler.agreement.sources import Sources, sources_of
from labeler.arrays import Flags, Floats, Integers
from labeler.collection.user_files import Output
from labeler.data import Pair, Qrels
from labeler.errors import BadInput, Misuse
from labeler.evaluation.inputs import short
from labeler.files.jsonl import write_rows
from labeler.messages import count_of, no_pair_in_common
from labeler.report.finding import Finding
from labeler.report.result import Result
from labeler.report.table import Column, Interval, Table, figure_table, frame_of, interval_text
from labeler.stats.intervals import Sample
from labeler.stats.regression import cumulative_logistic, logistic_function
from labeler.trec.pairs import PairColumns

if TYPE_CHECKING:
    from pandas import DataFrame


# A fitted map from what an assessor says to probabilities of the grades that people give.

EDGE = 0.005
"""A probability nearer to 0 or 1 than this is taken for this: what lies beyond is not measured."""
FOLDS = 10
FLOOR = 0.001
"""The probability that the log loss takes for a smaller one: nothing here is measured finer."""


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

    def fit(self, rows: Flags) -> Recalibration:
        """The map that fits some rows best."""
        given = self.given.keep(rows)
        columns = columns_of(given, self.scale, logits=takes_logits(given, self.scale))
        fitted = cumulative_logistic(columns, self.outcome[rows], self.weight[rows])
        return Recalibration(self.scale, given.grades, *(tuple(side.tolist()) for side in fitted))


def calibration_set(
    human: Qrels,
    given: GradeMatrix,
    weights: PairWeights,
    people: str = "people",
) -> CalibrationSet:
    """The pairs with a human grade from 0 and probabilities; `BadInput` where too few are.

    So it is where people gave one grade throughout.
    """
    grade = given.pairs.beside(PairColumns.of(human, np.int64), -1)
    weight = drawn_weights(given.pairs, weights)
    rows = (grade >= 0) & ~np.isnan(weight)
    if not rows.any():
        labels, name = given.pairs.holding(given.values[:, 0]), given.assessors[0]
        raise BadInput(no_pair_in_common(people, human, name, labels))
    graded = given.keep(rows)
    queries, query = graded.pairs.by_query_id()
    if len(queries) < 2:
        raise BadInput(
            f"people graded pairs of {count_of(len(queries), 'query')}; a fit is "
            "checked on other queries, which takes two or more"
        )
    scale, outcome = np.unique(grade[rows], return_inverse=True)
    if len(scale) < 2:
        raise BadInput(
            f"{people} has the grade {scale[0]} throughout; there is nothing to foretell"
        )
    return CalibrationSet(tuple(scale.tolist()), queries, graded, outcome, query, weight[rows])


# How well fitted probabilities foretell people's grades of queries not fitted to.


class HeldOut(NamedTuple):
    """Probabilities of each pair by fits without its query, and by people's shares there alone."""

    calibrated: Floats
    shares_alone: Floats


def held_out(pairs: CalibrationSet) -> HeldOut:
    """Each pair's probabilities, of fits to the folds of queries that its query is not in."""
    calibrated = np.zeros((len(pairs), len(pairs.scale)))
    alone = np.zeros_like(calibrated)
    for rows in folds_of(pairs.query):
        calibrated[rows] = pairs.fit(~rows).probabilities(pairs.given.keep(rows))
        # how often people gave each grade elsewhere, with half a pair more of each grade
        weight = pairs.weight[~rows] / pairs.weight[~rows].mean()
        counts = np.bincount(pairs.outcome[~rows], weight, len(pairs.scale)) + 0.5
        alone[rows] = counts / counts.sum()
    return HeldOut(calibrated, alone)


def folds_of(query: Integers, seed: int = 0) -> Iterator[Flags]:
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


# What `calibrate` returns: how far probabilities hold on other queries, tables, JSON, a file.


@dataclass(frozen=True)
class CutReliability:
    """How far the probabilities of a grade of `cut` or more lie from people's, before and after.

    Of an assessor without distributions, before means its grades taken for certain. After is on
    queries not fitted to; the interval of its error begins at 0.
    """

    cut: int
    before: Calibration
    after: Calibration


@dataclass(frozen=True, eq=False, repr=False)
class CalibrateResult(Result):
    """A fit, the probabilities it gives to every pair of the assessor, and how far they hold.

    `probabilities` are `(pairs, grades)`, in the order of `given.pairs` and of the fit's scale.
    `log_loss` is in nats, by name: `calibrated`, `shares alone` (people's shares of grades, the
    same for every pair) and `as it came` (the assessor's own distributions). `gain` is how much
    less the first is than the second. `pairs` and `queries` are how many `people` graded.
    `assessor` is whose pairs these are.
    """

    assessor: str
    people: str
    fit: Recalibration
    given: GradeMatrix
    probabilities: Floats
    pairs: int
    queries: int
    log_loss: Mapping[str, Interval]
    gain: Interval
    cuts: Sequence[CutReliability]
    findings: Sequence[Finding] = ()

    @property
    def scale(self) -> Sequence[int]:
        """People's grades."""
        return self.fit.scale

    def rows(self) -> Iterator[tuple[Pair, list[float], float]]:
        """Each pair with the probability of each grade, and the mean of the calibrated grade."""
        expected = self.probabilities @ np.array(self.scale, float)
        pairs = self.given.pairs.pairs()
        return zip(pairs, self.probabilities.tolist(), expected.tolist(), strict=True)

    @property
    def sentences(self) -> list[str]:
        """What the probabilities tell, and how far they lie from people's grades."""
        name = short(self.assessor)
        given = count_of(self.given.pairs.size, "pair")
        loss = self.log_loss["calibrated"]
        tells = (
            f"{name}: fitted to {count_of(self.pairs, 'pair')} of "
            f"{count_of(self.queries, 'query')} that {short(self.people)} graded, "
            f"probabilities for {given}."
        )
        gained = (
            f"On queries not fitted to, the log loss is {interval_text(loss)} nats a pair, "
            f"{interval_text(self.gain)} less than by people's shares of grades alone."
        )
        return [tells, gained]

    def tables(self) -> list[Table]:
        """The tables `log loss` and `cuts`."""
        loss = figure_table("log loss", self.log_loss, "probabilities")
        columns = [
            Column("cut"),
            Column("before", title="off by, before", format=".3f", ends=".3f"),
            Column("after", title="after", format=".3f", ends=".3f"),
        ]
        rows = [(c.cut, c.before.interval, c.after.interval) for c in self.cuts]
        return [
            loss,
            Table("cuts", columns, rows, title="probability of a grade of the cut or more"),
        ]

    def frame(self) -> DataFrame:
        """A row for each pair: ids, the probability of each grade, and the expected grade."""
        rows = ((*pair, *shares, expected) for pair, shares, expected in self.rows())
        grades = (f"p{grade}" for grade in self.scale)
        return frame_of(rows, "query_id", "doc_id", *grades, "expected")

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command `calibrate`."""
        return self.picked(
            *("assessor", "people", "fit", "gain", "pairs", "queries", "cuts", "findings"),
            probabilities=self.given.pairs.size,
            log_loss={name.replace(" ", "_"): mean for name, mean in self.log_loss.items()},
        )


def write_probabilities(output: Output, result: CalibrateResult) -> None:
    """Write a row for each pair: ids, the probability of each grade, and the expected grade."""
    rows = (
        {
            **pair._asdict(),
            "probabilities": dict(zip(map(str, result.scale), shares, strict=True)),
            "expected": expected,
        }
        for pair, shares, expected in result.rows()
    )
    with output.writing():
        write_rows(output.path, rows)


FEW_QUERIES = 10


def calibrate(*sources: str | Path, people: str = "human") -> CalibrateResult:
    """Fit probabilities of people's grades to what an assessor said, and check them by query.

    `sources` are a collection and the name of a set of its judgements, or a file of judgements or
    qrels, for which `people` is a file, too; of several assessors the mean of their
    probabilities is fitted. Grade distributions are taken where there are some. All that is said of
    the fit is of queries that it was not fitted to.

    >>> import tempfile
    >>> from labeler.trec.write import write_qrels
    >>> folder = tempfile.TemporaryDirectory()
    >>> human, llm = (Path(folder.name) / f"{name}.qrels" for name in ("human", "llm"))
    >>> write_qrels(human, {f"q{n}": {"a": n % 2, "b": 0, "c": 1} for n in range(12)})
    >>> write_qrels(llm, {f"q{n}": {"a": n % 2, "b": 0, "c": 1} for n in range(12)})
    >>> result = calibrate(llm, people=str(human))
    >>> [round(share) for share in result.probabilities[0]]
    [1, 0]
    >>> folder.cleanup()
    """
    opened = _opened([str(source) for source in sources], people)
    given, left_out = graded_together(opened.assessors)
    name = ", ".join(given.assessors)
    of_sources = (source.notes for source in opened.assessors)
    notes = chain(opened.notes, *of_sources, (f"{name}: {line}" for line in left_out))
    pairs = calibration_set(opened.human, given, opened.weights, opened.human_name)
    fitted, held = pairs.fit(np.ones(len(pairs), bool)), held_out(pairs)
    losses = {
        "calibrated": log_losses(held.calibrated, pairs.outcome),
        "shares alone": log_losses(held.shares_alone, pairs.outcome),
    }
    own_shares = pairs.given.mean_shares
    if takes_logits(pairs.given, pairs.scale):
        own = np.zeros((len(pairs), len(pairs.scale)))
        own[:, [pairs.scale.index(grade) for grade in pairs.given.grades]] = own_shares
        losses["as it came"] = log_losses(own, pairs.outcome)
    gain = mean_by_query(pairs, losses["shares alone"] - losses["calibrated"])
    before = _at_cuts(pairs, pairs.given.grades, own_shares)
    # a fit leans away from queries that are left out, so that none shows how small its error is
    after = [replace(of, low=0.0) for of in _at_cuts(pairs, pairs.scale, held.calibrated)]
    return CalibrateResult(
        name,
        opened.human_name,
        fitted,
        given,
        fitted.probabilities(given),
        len(pairs),
        len(pairs.queries),
        {name: mean_by_query(pairs, loss) for name, loss in losses.items()},
        gain,
        tuple(map(CutReliability, pairs.scale[1:], before, after)),
        (*_few(pairs, gain), *map(Finding, notes)),
    )


def _opened(sources: Sequence[str], people: str) -> Sources:
    """A collection and names of its judgements, or files; `people` names the human qrels."""
    if not sources:
        raise Misuse("expected an assessor's judgements: a file, or a collection and a name in it")
    first, *rest = sources
    if Path(first).is_dir():
        if not rest:
            raise Misuse(f"expected a name after {first}: whose judgements?")
        return sources_of(first, [people, *rest])
    if not Path(people).exists():
        raise Misuse(
            f"{people}: no such file; beside a file of judgements, people's grades are one, too",
            parameter="people",
        )
    return sources_of(people, sources)


def _at_cuts(pairs: CalibrationSet, grades: Sequence[int], matrix: Floats) -> list[Calibration]:
    human = np.array(pairs.scale)[pairs.outcome]
    rows = CalibrationRows(pairs.query, human, pairs.weight, grades, matrix)
    return [at_cut(rows, cut) for cut in pairs.scale[1:]]


def _few(pairs: CalibrationSet, gain: Interval) -> Iterator[Finding]:
    """That the fit is of few queries, or that it foretells no better than people's shares."""
    if len(pairs.queries) < FEW_QUERIES:
        text = f"people graded pairs of {len(pairs.queries)} queries; a fit to fewer than "
        yield Finding(f"{text}{FEW_QUERIES} may not hold of others")
    if gain.low is None or gain.low <= 0:
        text = "on other queries the probabilities cannot be told from the shares of people's "
        yield Finding(f"{text}grades: too few are graded, or the assessor tells nothing of them")
