"""A fitted map from what an assessor says to probabilities of the grades that people give."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from labeler import __version__
from labeler.agreement.shares import GradeShares
from labeler.arrays import Floats, Integers
from labeler.collection.judgements import Origin
from labeler.collection.user_files import Output
from labeler.errors import BadInput
from labeler.exchange.tables import described, json_value
from labeler.files.atomic import replacing
from labeler.files.boundary import finite, reading
from labeler.report.neutral import json_text
from labeler.report.table import Column
from labeler.stats.estimates import Mean
from labeler.stats.intervals import between
from labeler.stats.regression import cumulative_logistic, isotonic, logistic_function
from labeler.stats.resampling import Sample

FitMethod = Literal["ordinal", "isotonic"]
METHODS: tuple[FitMethod, ...] = get_args(FitMethod)
EDGE = 0.005
"""A probability nearer to 0 or 1 than this is taken for this: what lies beyond is not measured."""


@dataclass(frozen=True)
class Recalibration:
    """From an assessor's probabilities of `grades` to those of people's grades, `scale`.

    `ordinal`: `logit P(people >= k) = intercept_k + slope * expected grade`, and where the assessor
    gives distributions over people's own grades, a second slope times the logit of its own
    probability of `k` or more. `isotonic`: a rising function of the expected grade for each cut,
    whose values at `knots` are `steps`, a row a cut.
    """

    method: FitMethod
    scale: tuple[int, ...]
    grades: tuple[int, ...]
    intercepts: tuple[float, ...] = ()
    slopes: tuple[float, ...] = ()
    knots: tuple[float, ...] = ()
    steps: tuple[tuple[float, ...], ...] = ()

    @property
    def uses_logits(self) -> bool:
        """Whether the assessor's own probabilities count beside its expected grade."""
        return len(self.slopes) > 1

    def probabilities(self, shares: GradeShares) -> Floats:
        """A probability for each grade of `scale`, `(pairs, grades)`."""
        if self.method == "isotonic":
            expected = shares.expected
            above = [np.interp(expected, self.knots, steps) for steps in self.steps]
            return grade_probabilities(np.stack(above, axis=1))
        columns = columns_of(shares, self.scale, logits=self.uses_logits)
        linear = np.array(self.intercepts) + columns @ np.array(self.slopes)
        return grade_probabilities(logistic_function(linear))


def grade_probabilities(above: Floats) -> Floats:
    """Probabilities of grades from those of each cut or more, which are made to fall with it."""
    falling = np.minimum.accumulate(np.clip(above, 0.0, 1.0), axis=1)
    ends = np.ones((len(above), 1)), np.zeros((len(above), 1))
    return -np.diff(np.concatenate([ends[0], falling, ends[1]], axis=1), axis=1)


def columns_of(shares: GradeShares, scale: tuple[int, ...], *, logits: bool) -> Floats:
    """What foretells each cut, `(pairs, cuts, features)`: the expected grade, and a logit."""
    middle = (shares.grades[0] + shares.grades[-1]) / 2
    expected = np.repeat((shares.expected - middle)[:, None], len(scale) - 1, axis=1)
    if not logits:
        return expected[:, :, None]
    grades = np.array(shares.grades)
    above = [shares.matrix[:, grades >= cut].sum(axis=1) for cut in scale[1:]]
    own = np.clip(np.stack(above, axis=1), EDGE, 1 - EDGE)
    return np.stack([expected, np.log(own / (1 - own))], axis=2)


def takes_logits(shares: GradeShares, scale: tuple[int, ...]) -> bool:
    """Whether the assessor has probabilities of people's own grades."""
    return shares.has_distributions and set(shares.grades) <= set(scale)


def fit(
    shares: GradeShares,
    outcome: Integers,
    weight: Floats,
    scale: tuple[int, ...],
    method: FitMethod = "ordinal",
) -> Recalibration:
    """The map that fits best; `outcome` are the positions of people's grades in `scale`."""
    if method == "isotonic":
        return _isotonic(shares, outcome, weight, scale)
    columns = columns_of(shares, scale, logits=takes_logits(shares, scale))
    intercepts, slopes = cumulative_logistic(columns, outcome, weight)
    fitted = tuple(intercepts.tolist()), tuple(slopes.tolist())
    return Recalibration("ordinal", scale, shares.grades, *fitted)


def _isotonic(
    shares: GradeShares, outcome: Integers, weight: Floats, scale: tuple[int, ...]
) -> Recalibration:
    """Each cut's isotonic regression, a little nearer to its mean so that none is sure."""
    keep = len(scale) / (len(outcome) + len(scale))
    steps, knots = [], np.zeros(0)
    for cut in range(1, len(scale)):
        reached = (outcome >= cut).astype(np.float64)
        knots, values = isotonic(shares.expected, reached, weight)
        mean = float(np.average(reached, weights=weight))
        steps.append(tuple(((1 - keep) * values + keep * mean).tolist()))
    return Recalibration(
        "isotonic", scale, shares.grades, knots=tuple(knots.tolist()), steps=tuple(steps)
    )


# How well fitted probabilities foretell people's grades of queries not fitted to.

FOLDS = 10
FLOOR = 0.001
"""The probability that the log loss takes for a smaller one: nothing here is measured finer."""
CURVE_DRAWS = 12
"""How many draws of so many queries a point of the learning curve is the mean of."""
FEWEST = 2
"""Queries to fit to."""


@dataclass(frozen=True, eq=False)
class CalibrationSet:
    """The pairs that both people and an assessor graded, a row each.

    `outcome` are positions in `scale`, people's grades; `query` positions in `queries`; `weight`
    one over the chance of a pair to be drawn.
    """

    scale: tuple[int, ...]
    queries: tuple[str, ...]
    shares: GradeShares
    outcome: Integers
    query: Integers
    weight: Floats

    def __len__(self) -> int:
        return len(self.outcome)

    def fitted_to(self, rows: NDArray[np.bool_], method: FitMethod) -> Callable[..., Floats]:
        """The probabilities that a fit to some rows gives to any others."""
        index = np.flatnonzero(rows)
        recalibration = fit(
            self.shares.of(index), self.outcome[index], self.weight[index], self.scale, method
        )
        return recalibration.probabilities

    def outcome_shares(self, rows: NDArray[np.bool_]) -> Floats:
        """How often people gave each grade in some rows, with half a pair more of each grade."""
        weight = self.weight[rows] / self.weight[rows].mean()
        counts = np.bincount(self.outcome[rows], weight, len(self.scale)) + 0.5
        return np.asarray(counts / counts.sum())


class CurvePoint(NamedTuple):
    """The log loss on other queries of fits to so many queries, with its standard error.

    The error is over draws of so many queries; None of all queries, of which there is one draw.
    """

    queries: int
    pairs: Annotated[float, Column(format=",.0f")]
    log_loss: float
    error: Annotated[float | None, Column(title="standard error", format=".3f")]


class HeldOut(NamedTuple):
    """Probabilities of each pair by fits without its query, and by people's shares there alone."""

    calibrated: Floats
    shares_alone: Floats


def held_out(pairs: CalibrationSet, method: FitMethod, seed: int = 0) -> HeldOut:
    """Each pair's probabilities, of fits to the folds of queries that its query is not in."""
    calibrated = np.zeros((len(pairs), len(pairs.scale)))
    alone = np.zeros_like(calibrated)
    for rows in folds_of(pairs, seed):
        calibrated[rows] = pairs.fitted_to(~rows, method)(pairs.shares.of(np.flatnonzero(rows)))
        alone[rows] = pairs.outcome_shares(~rows)
    return HeldOut(calibrated, alone)


def folds_of(pairs: CalibrationSet, seed: int) -> Iterator[NDArray[np.bool_]]:
    """The rows of each fold of queries."""
    queries = len(pairs.queries)
    order = np.random.default_rng(seed).permutation(queries)
    fold = np.empty(queries, dtype=np.int64)
    fold[order] = np.arange(queries) % min(FOLDS, queries)
    for number in range(min(FOLDS, queries)):
        yield fold[pairs.query] == number


def log_losses(probabilities: Floats, outcome: Integers) -> Floats:
    """The negative log of the probability of what people said, of each pair, in nats."""
    grades = probabilities.shape[1]
    of_outcome = probabilities[np.arange(len(outcome)), outcome]
    return np.asarray(-np.log((1 - grades * FLOOR) * of_outcome + FLOOR), dtype=np.float64)


def mean_by_query(pairs: CalibrationSet, values: Floats) -> Mean:
    """The weighted mean over pairs, with an interval over queries."""
    columns = [pairs.weight * values, pairs.weight]
    queries = len(pairs.queries)
    by_query = [np.bincount(pairs.query, column, queries) for column in columns]
    sums = np.stack(by_query, axis=1).astype(np.float64)

    def compute(totals: Floats) -> Floats:
        return np.asarray(totals[..., 0] / totals[..., 1], dtype=np.float64)

    ends = between("cluster-bootstrap", Sample(sums), compute)
    return Mean(float(compute(sums.sum(axis=0))), *ends)


def learning_curve(
    pairs: CalibrationSet, method: FitMethod, seed: int = 0
) -> tuple[CurvePoint, ...]:
    """The log loss on other queries by how many queries a fit has, up to half of them.

    Each point is the mean over draws of queries; its error is over them.
    """
    queries, rng = len(pairs.queries), np.random.default_rng(seed)
    sizes = sorted({queries // part for part in (8, 4, 2)} - set(range(FEWEST)))
    return tuple(_point(pairs, method, size, rng) for size in sizes)


def _point(
    pairs: CalibrationSet, method: FitMethod, size: int, rng: np.random.Generator
) -> CurvePoint:
    losses, counts = [], []
    for _ in range(CURVE_DRAWS):
        fitted = rng.permutation(len(pairs.queries))[:size]
        rows = np.isin(pairs.query, fitted)
        others = np.flatnonzero(~rows)
        given = pairs.fitted_to(rows, method)(pairs.shares.of(others))
        loss = log_losses(given, pairs.outcome[others])
        losses.append(float(np.average(loss, weights=pairs.weight[others])))
        counts.append(int(rows.sum()))
    error = float(np.std(losses, ddof=1) / np.sqrt(CURVE_DRAWS))
    return CurvePoint(size, float(np.mean(counts)), float(np.mean(losses)), error)


# A fit on disk, with what it was fitted to, so that no other assessor is mapped by it.

KIND = "labeler calibration"
MOST = 1e6
"""Grades, knots and coefficients beyond this come from no fit."""


@dataclass(frozen=True)
class FitOrigin:
    """Who judged, and whose grades it was fitted to, each with a hash of what was read.

    `prompt`, `model` and `parameters` are empty of an assessor of which no judgements are kept.
    """

    assessor: str
    prompt: str
    model: str
    parameters: Mapping[str, Any]
    judgements: str
    people: str
    people_pairs: int
    people_queries: int
    people_grades: str
    labeler: str = __version__

    @property
    def names_assessor(self) -> bool:
        """Whether it says which prompt and model judged."""
        return bool(self.prompt or self.model)


@dataclass(frozen=True)
class SavedCalibration:
    """A fit with what it was fitted to."""

    fit: Recalibration
    origin: FitOrigin

    def as_json(self) -> dict[str, Any]:
        """The fit and its origin by name."""
        return {"kind": KIND, "fit": asdict(self.fit), "origin": asdict(self.origin)}


def origin_of_fit(
    names: tuple[str, str], made_by: Origin | None, shares: GradeShares, pairs: CalibrationSet
) -> FitOrigin:
    """What a fit rests on; `names` are the assessor's and people's."""
    made_by = made_by or Origin("", "", {})
    return FitOrigin(
        names[0],
        made_by.prompt,
        made_by.model,
        dict(made_by.parameters),
        shares_digest(shares),
        names[1],
        len(pairs),
        len(pairs.queries),
        _people_digest(pairs),
    )


def shares_digest(shares: GradeShares) -> str:
    """The hash of every pair with its probabilities, whatever their order."""
    rows = (
        "\0".join([*pair, *(f"{share:.9g}" for share in row)])
        for pair, row in zip(shares.pairs, shares.matrix.tolist(), strict=True)
    )
    return _digest([repr(shares.grades), *sorted(rows)])


def _people_digest(pairs: CalibrationSet) -> str:
    rows = zip(pairs.shares.pairs, pairs.outcome.tolist(), pairs.weight.tolist(), strict=True)
    grades = (f"{pair[0]}\0{pair[1]}\0{pairs.scale[o]}\0{w:.9g}" for pair, o, w in rows)
    return _digest(sorted(grades))


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def write_calibration(output: Output | Path, saved: SavedCalibration) -> None:
    """Write a fit; it reads back as the same."""
    to = Output.of(output)
    with to.writing(), replacing(to.path, read_calibration) as out:
        out.write(json_text(saved.as_json()) + "\n")


def read_calibration(path: Path) -> SavedCalibration:
    """Read a fit; `BadInput` where the file holds something else."""
    with reading(path):
        value = json_value(path)
        if not isinstance(value, dict) or value.get("kind") != KIND:
            raise BadInput(f"{path}: expected a saved calibration, found {described(value)}")
        return SavedCalibration(_fit_in(path, value.get("fit")), _origin_in(path, value))


def _fit_in(path: Path, value: object) -> Recalibration:
    if not isinstance(value, dict) or value.get("method") not in METHODS:
        raise BadInput(f"{path}: expected 'method' to be one of {', '.join(METHODS)}")
    scale, grades = (_numbers(path, value, key) for key in ("scale", "grades"))
    whole = [number for number in (*scale, *grades) if not number.is_integer()]
    if whole or len(scale) < 2 or not grades or list(scale) != sorted(set(scale)):
        raise BadInput(f"{path}: expected 'scale' and 'grades' to be rising integers")
    intercepts, slopes, knots = (
        _numbers(path, value, key) for key in ("intercepts", "slopes", "knots")
    )
    rows = value.get("steps")
    steps = tuple(_numbers(path, {"steps": row}, "steps") for row in rows or [])
    cuts = len(scale) - 1
    is_ordinal = value["method"] == "ordinal" and len(intercepts) == cuts and len(slopes) in {1, 2}
    is_isotonic = (
        value["method"] == "isotonic"
        and knots
        and len(steps) == cuts
        and {len(row) for row in steps} == {len(knots)}
    )
    if not (is_ordinal or is_isotonic):
        raise BadInput(f"{path}: the numbers of the fit do not go with its scale")
    whole_scale, whole_grades = (tuple(map(int, side)) for side in (scale, grades))
    return Recalibration(
        value["method"], whole_scale, whole_grades, intercepts, slopes, knots, steps
    )


def _numbers(path: Path, value: Mapping[str, Any], key: str) -> tuple[float, ...]:
    listed = value.get(key)
    numbers = [finite(number, -MOST, MOST) for number in listed] if isinstance(listed, list) else []
    if not isinstance(listed, list) or None in numbers:
        raise BadInput(f"{path}: expected {key!r} to be numbers, found {described(listed)}")
    return tuple(number for number in numbers if number is not None)


def _origin_in(path: Path, value: Mapping[str, Any]) -> FitOrigin:
    origin = value.get("origin")
    names = FitOrigin.__dataclass_fields__
    kinds = {"people_pairs": int, "people_queries": int, "parameters": dict}
    if isinstance(origin, dict) and origin.keys() == names.keys():
        wrong = [key for key in names if type(origin[key]) is not kinds.get(key, str)]
        if not wrong:
            return FitOrigin(**origin)
    raise BadInput(f"{path}: expected 'origin' to say what the fit was fitted to")
