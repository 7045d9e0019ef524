"""`route`: which pairs should a person look at, and what is that expected to bring?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeler.agreement.compare import Estimate, StatisticOptions, estimate
from labeler.agreement.overview import plain, short, signed
from labeler.agreement.shares import RoutingSources, open_routing
from labeler.agreement.statistics import find_statistic
from labeler.arrays import Floats, Integers
from labeler.collection.layout import Collection
from labeler.collection.lock import Note
from labeler.collection.user_files import Output
from labeler.data import Pair
from labeler.errors import Misuse
from labeler.lab.calibrate import calibration_set
from labeler.lab.recalibration import CalibrationSet
from labeler.lab.route_criteria import (
    ABOUT,
    Criterion,
    default_criterion,
    held_out_needs,
    needs,
    order_of,
)
from labeler.messages import count_of, no_pair_in_common
from labeler.options import COUNT, SEED, check_options, option
from labeler.people.sample import SheetSample, route_sheet
from labeler.report.finding import Finding
from labeler.report.result import notebook_html
from labeler.report.table import Column, Interval, Row, Table
from labeler.stats.estimates import Mean
from labeler.stats.intervals import between
from labeler.stats.resampling import Sample

if TYPE_CHECKING:
    from pandas import DataFrame

# What grading so many routed pairs is expected to bring, by people's grades of a random sample.

SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True)
class ForecastPoint:
    """The expected agreement with people when they have graded so many pairs of the pool.

    `routed` is it where these are the pairs in doubt, `at_random` where they are drawn by chance,
    and `gain` what the first is more than the second.
    """

    pairs: int
    share: float
    routed: Estimate
    at_random: Estimate
    gain: Mean


class NeedsOfPart(NamedTuple):
    """How much some of people's pairs are needed, and how much the pool's are."""

    rows: NDArray[np.bool_]
    sampled: Floats
    pool: Floats


@dataclass(frozen=True, eq=False)
class SampledByPeople:
    """The pairs that people graded by chance: both grades as positions, queries and weights.

    `parts` hold some of these rows each, how much they are needed, and how much the pool's pairs
    are by the same reckoning.
    """

    grades: tuple[int, ...]
    human: Integers
    assessor: Integers
    query: Integers
    queries: int
    weight: Floats
    parts: Sequence[NeedsOfPart]

    def routed(self, pairs: int) -> Floats:
        """How probably each pair would be among the `pairs` of the pool that are most needed."""
        shares = np.zeros(len(self.human))
        for part in self.parts:
            shares[part.rows] = routed_shares(part.sampled, part.pool, pairs)
        return shares

    def tables(self, corrected: Floats) -> Floats:
        """A table a query, where people's grade stands for a share `corrected` of each pair."""
        k = len(self.grades)
        size = self.queries * k * k
        corner = (self.query * k + self.human) * k
        parts = ((corner + self.assessor, 1 - corrected), (corner + self.human, corrected))
        counts = sum(np.bincount(cell, self.weight * part, size) for cell, part in parts)
        return np.asarray(counts, dtype=np.float64).reshape(self.queries, k, k)


def routed_shares(need: Floats, pool: Floats, pairs: int) -> Floats:
    """How probably each pair is among the `pairs` most needed of the pool; a part where it ties."""
    if pairs >= len(pool):
        return np.ones(len(need))
    if pairs <= 0:
        return np.zeros(len(need))
    least = np.partition(pool, len(pool) - pairs)[len(pool) - pairs]
    above, ties = int((pool > least).sum()), int((pool == least).sum())
    return np.where(need > least, 1.0, np.where(need == least, (pairs - above) / ties, 0.0))


def forecast(
    sampled: SampledByPeople, pool: int, budgets: Sequence[int], options: StatisticOptions
) -> tuple[ForecastPoint, ...]:
    """The expected agreement of the pool's pairs, of which there are so many."""
    name = (options.names or ("kappa",))[0]
    statistic = find_statistic(name, sampled.grades)
    grades = np.array(sampled.grades, dtype=np.float64)

    def agreement(corrected: Floats) -> Estimate:
        sample = Sample(sampled.tables(corrected), options.draws, options.seed)
        return estimate(statistic, sample, grades, options, len(sampled.human))

    points = []
    for pairs in budgets:
        share = pairs / pool
        routed = agreement(sampled.routed(pairs))
        by_chance = np.full(len(sampled.human), share)
        both = [sampled.tables(corrected) for corrected in (sampled.routed(pairs), by_chance)]
        gain = _gain(np.stack(both, axis=1), lambda t: statistic.compute(t, grades), options)
        points.append(ForecastPoint(pairs, share, routed, agreement(by_chance), gain))
    return tuple(points)


def _gain(tables: Floats, compute: Callable[[Floats], Floats], options: StatisticOptions) -> Mean:
    """The first of two agreements less the second, over the same queries."""

    def difference(both: Floats) -> Floats:
        return compute(both[..., 0, :, :]) - compute(both[..., 1, :, :])

    sample = Sample(tables, options.draws, options.seed)
    return Mean(float(difference(sample.total)), *between("cluster-bootstrap", sample, difference))


def budgets_of(pool: int, budget: int) -> list[int]:
    """The budgets of the curve: shares of the pool, and the one that was asked for."""
    return sorted({round(share * pool) for share in SHARES} | {min(budget, pool)})


# What `route` returns: the pairs for people, the expected gain, tables and JSON.


class RoutedPair(NamedTuple):
    """A pair for a person, the grade that stands until then, and how much it is needed."""

    pair: Pair
    grade: int
    need: float


@dataclass(frozen=True, eq=False, repr=False)
class RouteResult:
    """The pairs whose grades people should check, the most needed first.

    `candidates` counts the pairs that nobody has looked at. `expected` are points of the curve of
    agreement by how many of them people grade; empty where `people` graded no random sample.
    """

    names: tuple[str, ...]
    by: Criterion
    pairs: tuple[RoutedPair, ...]
    candidates: int
    people: str = ""
    statistic: str = "kappa"
    expected: tuple[ForecastPoint, ...] = ()
    collection: Collection | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def point(self) -> ForecastPoint | None:
        """What is expected of the pairs that were chosen."""
        return next((p for p in self.expected if p.pairs == len(self.pairs)), None)

    @property
    def sentences(self) -> list[str]:
        """Which pairs these are, and what to expect of grading them."""
        pairs = count_of(len(self.pairs), "pair", "pairs")
        queries = len({routed.pair.query_id for routed in self.pairs})
        these = (
            f"{pairs} of {self.candidates:,} that nobody has graded, in "
            f"{count_of(queries, 'query', 'queries')}: chosen by {self.by}, {ABOUT[self.by]}."
        )
        point = self.point
        if point is None or point.routed.value is None:
            return [these]
        now = self.expected[0].routed
        expected = (
            f"Grade these {pairs} and expect {self.statistic} {_ends(point.routed)} with people "
            f"over all {self.candidates:,}, where {short(self.names[0])} alone has {_ends(now)}; "
            f"as many drawn by chance would bring {_ends(point.at_random)}."
        )
        return [these, expected, *self._gain(point)]

    def _gain(self, point: ForecastPoint) -> list[str]:
        """Whether routing is worth it, as far as people's drawn grades can tell."""
        gain = point.gain
        if gain.low is None or gain.high is None:
            return []
        ends = f"{signed(gain.value, 2)} [{signed(gain.low, 2)}, {signed(gain.high, 2)}]"
        if gain.low <= 0 <= gain.high:
            return [f"People's drawn pairs do not tell routing from chance: a gain of {ends}."]
        return [f"Routing gains {ends} over chance."]

    def tables(self, limit: int | None = None) -> list[Table]:
        """The tables `expected` and `pairs`, of which at most `limit` are shown."""
        pairs = [
            Column("query_id", align="left"),
            Column("doc_id", align="left"),
            Column("grade", format="d"),
            Column("need", format=".3f"),
        ]
        rows: list[Row] = [
            [*routed.pair, routed.grade, routed.need] for routed in self.pairs[:limit]
        ]
        left = len(self.pairs) - len(rows)
        note = f"… and {left:,} more" if left else ""
        listed = Table("pairs", pairs, rows, title="the most needed first", note=note)
        return [self._expected_table(), listed] if self.expected else [listed]

    def _expected_table(self) -> Table:
        columns = [
            Column("pairs", format=",d"),
            Column("share", title="of all", format=".0%"),
            Column("routed", format=".3f", ends=".3f"),
            Column("at random", format=".3f", ends=".3f"),
            Column("gain", format="+.3f", ends="+.3f"),
        ]
        rows: list[Row] = [
            [
                point.pairs,
                point.share,
                _cell(point.routed),
                _cell(point.at_random),
                _cell(point.gain),
            ]
            for point in self.expected
        ]
        title = f"{self.statistic} to expect, by how many pairs people grade"
        return Table("expected", columns, rows, title=title)

    def frame(self) -> DataFrame:
        """The pairs as a pandas DataFrame."""
        return self.tables()[-1].frame()

    def as_json(self) -> dict[str, Any]:
        """The JSON of the command `route`."""
        return {
            "assessors": list(self.names),
            "by": self.by,
            "people": self.people or None,
            "statistic": self.statistic,
            "candidates": self.candidates,
            "expected": [asdict(point) for point in self.expected],
            "pairs": [
                {**routed.pair._asdict(), "grade": routed.grade, "need": routed.need}
                for routed in self.pairs
            ],
            "warnings": [f.text for f in self.findings if f.level == "warning"],
        }

    def __repr__(self) -> str:
        return f"RouteResult({len(self.pairs)} of {self.candidates} pairs, by {self.by})"

    def _repr_html_(self) -> str:
        return notebook_html(self.tables(), self.findings, self.sentences)


def _cell(estimate: Estimate | Mean) -> Interval:
    return Interval(estimate.value, estimate.low, estimate.high)


def _ends(estimate: Estimate) -> str:
    if estimate.value is None:
        return "undefined"
    value = plain(estimate.value, 2)
    if estimate.low is None or estimate.high is None:
        return value
    return f"{value} [{plain(estimate.low, 2)}, {plain(estimate.high, 2)}]"


FEW_QUERIES = 10


@dataclass(frozen=True)
class RouteOptions:
    """How many pairs a person grades, what routes them, and by which statistic that is worth it.

    `by` is a criterion; None is disagreement, or doubt where one assessor gave plain grades.
    `people` are human qrels of pairs drawn by chance; None is a collection's own, where it has
    some.
    """

    budget: int = option(100, "How many pairs people grade.", COUNT, flags="--pairs")
    by: Criterion | None = option(
        None, "What makes a pair worth a look.", usual="disagreement, or doubt"
    )
    people: str | None = option(
        None, "Human qrels of pairs drawn by chance, to tell what it brings.", metavar="QRELS"
    )
    runs: tuple[Path, ...] = option(
        (),
        "A run, or a folder of runs, to route by; repeatable.",
        metavar="RUN",
        flags="--run",
    )
    statistics: StatisticOptions = field(default_factory=lambda: StatisticOptions(("kappa",)))
    seed: int = option(0, "Orders pairs that are needed alike.", SEED)

    def __post_init__(self) -> None:
        check_options(self)


def route(*sources: str | Path, options: RouteOptions | None = None) -> RouteResult:
    """Choose the pairs whose grades people should check, and say what that is expected to bring.

    `sources` are a collection and names of sets of its grades, or files of grades: people's grades
    replace those of the first, the others help to tell which are in doubt. Pairs that people graded
    already are not chosen. What is expected rests on people's grades of pairs drawn by chance.

    >>> import tempfile
    >>> from labeler.trec.write import write_qrels
    >>> folder = tempfile.TemporaryDirectory()
    >>> first, second = (Path(folder.name) / f"{name}.qrels" for name in ("first", "second"))
    >>> write_qrels(first, {"q": {"a": 2, "b": 0, "c": 1}})
    >>> write_qrels(second, {"q": {"a": 2, "b": 3, "c": 0}})
    >>> [routed.pair.doc_id for routed in route(first, second, options=RouteOptions(2)).pairs]
    ['b', 'c']
    >>> folder.cleanup()
    """
    options = options or RouteOptions()
    opened = open_routing([str(source) for source in sources], options.people, options.runs)
    return route_opened(opened, options)


def route_opened(opened: RoutingSources, options: RouteOptions) -> RouteResult:
    """The same of what was read already."""
    if options.budget < 1:
        raise Misuse("expected one pair or more", parameter="budget")
    by = options.by or default_criterion(opened)
    judged = None if opened.human is None else _judged(opened)
    need = needs(opened, by, judged)
    rows = enumerate(opened.shares.pairs)
    candidates = np.array([row for row, pair in rows if pair not in opened.looked_at], dtype=int)
    if not len(candidates):
        raise Misuse("people graded every pair already; there is none to route")
    order = order_of(need, candidates, options.seed)[: options.budget]
    expected = () if judged is None else _expected(opened, judged, by, candidates, options)
    pairs = tuple(
        RoutedPair(opened.shares.pairs[row], int(opened.grades[row]), float(need[row]))
        for row in order
    )
    findings = [*map(Finding, opened.notes), *_by_chance(need, candidates, order, by)]
    findings += _findings(opened, judged)
    return RouteResult(
        opened.names,
        by,
        pairs,
        len(candidates),
        opened.human_name if judged is not None else "",
        (options.statistics.names or ("kappa",))[0],
        expected,
        opened.collection,
        tuple(findings),
    )


def write_routed(
    result: RouteResult, output: Output | Path, note: Note = lambda _line: None
) -> SheetSample:
    """Write the routed pairs as a sheet for people, which `import_sheet` takes back.

    The collection keeps with the sample that its pairs were routed, so that no statistic takes
    people's grades of them for those of a random sample.

    >>> from labeler.testing import fake_model, small_collection
    >>> import labeler
    >>> collection = small_collection()
    >>> for name in ("low", "high"):
    ...     grade = {"low": 0, "high": 2}[name]
    ...     model = fake_model(f'{{"grade": {grade}}}', name)
    ...     _ = labeler.judge(collection, model=model, name=name)
    >>> result = route(collection.folder, "low", "high", options=RouteOptions(2))
    >>> write_routed(result, collection.folder / "routed.csv").pairs
    2
    """
    if result.collection is None:
        raise Misuse("a sheet is of a collection, whose texts people read; these are files")
    made = {"source": result.names[0], "by": result.by, "assessors": list(result.names)}
    pairs = [routed.pair for routed in result.pairs]
    return route_sheet(result.collection, pairs, output, made, note)


def _judged(opened: RoutingSources) -> CalibrationSet:
    human = opened.human or {}
    rows = zip(opened.shares.pairs, opened.grades.tolist(), strict=True)
    labels: dict[str, dict[str, int | str]] = {}
    for pair, grade in rows:
        labels.setdefault(pair.query_id, {})[pair.doc_id] = int(grade)
    none = no_pair_in_common(opened.human_name, human, opened.names[0], labels)
    return calibration_set(human, opened.shares, opened.weights, none)


def _expected(
    opened: RoutingSources,
    judged: CalibrationSet,
    by: Criterion,
    candidates: Integers,
    options: RouteOptions,
) -> tuple[ForecastPoint, ...]:
    """The curve of expected agreement over the pairs that nobody has graded."""
    rows = np.array([opened.shares.row[pair] for pair in judged.shares.pairs])
    grades = tuple(sorted({*judged.scale, *map(int, opened.grades)}))
    scale = np.array([grades.index(grade) for grade in judged.scale])
    sampled = SampledByPeople(
        grades,
        scale[judged.outcome],
        np.searchsorted(grades, opened.grades[rows]),
        judged.query,
        len(judged.queries),
        judged.weight,
        [
            NeedsOfPart(part.rows, part.need[rows[part.rows]], part.need[candidates])
            for part in held_out_needs(opened, by, judged, options.seed)
        ],
    )
    size = len(candidates)
    return forecast(sampled, size, budgets_of(size, options.budget), options.statistics)


def _by_chance(
    need: Floats, candidates: Integers, order: Integers, by: Criterion
) -> Iterator[Finding]:
    """That pairs were taken which are no more in doubt than others that were not."""
    alike = int((need[order] == need[candidates].min()).sum())
    if alike and len(order) < len(candidates):
        text = f"{alike:,} of these {count_of(len(order), 'pair', 'pairs')} are needed no more than"
        yield Finding(f"{text} any other, by {by}: they were taken by chance")


def _findings(opened: RoutingSources, judged: CalibrationSet | None) -> Iterator[Finding]:
    if opened.shares.left_out:
        text = f"{opened.shares.left_out} labels are no grade, or one that next to no pair has"
        yield Finding(f"{text}: left out")
    if judged is None:
        text = "nothing tells what this will bring: people graded no pairs drawn by chance"
        yield Finding(text)
    elif len(judged.queries) < FEW_QUERIES:
        queries = count_of(len(judged.queries), "query", "queries")
        yield Finding(f"people graded pairs of {queries}: what is expected is guessed")
