"""How a rater agrees with the others, and with pairs whose right grade is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from labeler.agreement.compare import StatisticOptions, estimate
from labeler.agreement.several.joint import GradeMatrix, grade_matrix, tables_of_two
from labeler.agreement.statistics import find_statistic
from labeler.annotate.samples import purposes
from labeler.annotate.session import LONGEST_BY_MEDIAN
from labeler.collection.annotations import JournalRow
from labeler.collection.card import card_section, read_card
from labeler.collection.layout import Collection
from labeler.collection.people import read_sample, sample_path
from labeler.data import Pair, Qrels
from labeler.messages import count_of
from labeler.report.result import as_plain
from labeler.report.table import Interval, shown
from labeler.stats.drift import drift
from labeler.stats.intervals import Sample
from labeler.stats.means import clustered_interval
from labeler.stats.randomization import holm
from labeler.stats.student import SIGNIFICANT
from labeler.trec.qrels import read_qrels

# How long a rater takes, with breaks bounded.


@dataclass(frozen=True)
class RaterPace:
    """The median seconds of an answer, and the hours of all; `None` where no time is known.

    A time of more than five medians was a break, and counts as five medians.
    """

    answers: int
    median: float | None
    hours: float | None


def longest_seconds(rows: Sequence[JournalRow]) -> float:
    """The longest time that is taken as it is; endless where none is known."""
    times = seconds_of(rows)
    return LONGEST_BY_MEDIAN * median(times) if times else math.inf


def seconds_of(rows: Sequence[JournalRow]) -> list[float]:
    """The seconds of the answers whose time is known."""
    return [row.seconds for row in rows if row.is_answer and row.seconds is not None]


def pace_of(rows: Sequence[JournalRow]) -> RaterPace:
    """The pace over some answers."""
    times = seconds_of(rows)
    if not times:
        return RaterPace(0, None, None)
    longest = longest_seconds(rows)
    return RaterPace(len(times), median(times), sum(min(t, longest) for t in times) / 3600)


STATISTICS = ("kappa", "alpha-ordinal")
"""What is said of a rater beside the others."""


@dataclass(frozen=True)
class Overlap:
    """A rater beside every other one, on the pairs that both graded; `None` where undefined.

    A pair that two others graded, too, counts twice: once beside each.
    """

    pairs: int
    queries: int
    others: tuple[str, ...]
    statistics: Mapping[str, Interval]

    def as_json(self) -> dict[str, Any]:
        """The figures by name."""
        figures = {"pairs": self.pairs, "queries": self.queries, "others": self.others}
        return as_plain(figures | dict(self.statistics))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class GoldAccuracy:
    """The share of gold pairs to which a rater gave the right grade, over queries.

    `bias` is the mean of the rater's grade less the right one.
    """

    pairs: int
    accuracy: Interval
    bias: float


def matrix_of(rows_by_rater: Mapping[str, Sequence[JournalRow]]) -> GradeMatrix | None:
    """The grades of all raters side by side; `None` where none has given one."""
    graded: dict[str, Qrels] = {}
    grades: set[int] = set()
    for rater, rows in rows_by_rater.items():
        for row in rows:
            if row.grade is not None:
                graded.setdefault(rater, {}).setdefault(row.query_id, {})[row.doc_id] = row.grade
                grades.add(row.grade)
    if not graded:
        return None
    lowest = min(grades)
    # the grades that occur, and another one where they are all alike
    return grade_matrix(graded, tuple(sorted(grades)) if len(grades) > 1 else (lowest, lowest + 1))


def overlap_of(matrix: GradeMatrix, rater: str, options: StatisticOptions) -> Overlap | None:
    """A rater beside all others; `None` where nobody else graded a pair of theirs."""
    if rater not in matrix.assessors:
        return None
    column = matrix.assessors.index(rater)
    tables, others, both = np.zeros((len(matrix.queries),) + 2 * (len(matrix.grades),)), [], 0
    for index, other in enumerate(matrix.assessors):
        beside = tables_of_two(matrix, index, column)
        if index != column and beside.any():
            tables += beside
            others.append(other)
            both += int(beside.sum())
    inside = tables.sum(axis=(1, 2)) > 0
    if not others:
        return None
    sample = Sample(tables[inside], options.draws, options.seed)
    grades = np.array(matrix.grades, dtype=np.float64)
    figures = {}
    for name in STATISTICS:
        of = estimate(find_statistic(name, matrix.grades), sample, grades)
        figures[name] = Interval(of.value, of.low, of.high)
    return Overlap(both, int(inside.sum()), tuple(others), figures)


def gold_grade(row: JournalRow) -> int | None:
    """The right grade of a pair that trains raters, as the journal keeps it."""
    grade = row.detail.get("gold")
    return grade if type(grade) is int else None


def gold_accuracy(rows: Sequence[JournalRow]) -> GoldAccuracy | None:
    """How often the answers to gold pairs are right; `None` without any."""
    graded = [(r, r.grade, gold_grade(r)) for r in rows if r.purpose == "gold"]
    known_pairs = [(r, grade, gold) for r, grade, gold in graded if None not in (grade, gold)]
    if not known_pairs:
        return None
    apart = np.array([(grade or 0) - (gold or 0) for _, grade, gold in known_pairs], dtype=float)
    right = (apart == 0).astype(np.float64)
    ends = clustered_interval(right, [row.query_id for row, _, _ in known_pairs])
    return GoldAccuracy(len(right), Interval(float(right.mean()), *ends), float(apart.mean()))


# Whether a rater's grades, strictness or pace change over time.

FEWEST_PAIRS = 20
"""Of fewer answers no drift is tested."""
SHORTEST = 0.1
"""Seconds; less is counted as so much."""
GRADE, PACE = "mean grade", "seconds a pair"
Value = Callable[[JournalRow], float | None]


@dataclass(frozen=True)
class RaterDrift:
    """How a series of a rater's answers changes from the first to the last, along a line.

    `change` is in grades, or of the seconds a pair the share by which they grow. `p` is exact
    under no drift, whatever answers to one query have in common; `p_holm` allows for the rater's
    other series, and is `None` where too few stretches of one query are there to test.
    """

    series: str
    pairs: int
    blocks: int
    change: float
    p: float | None
    p_holm: float | None = None

    @shown
    def drifts(self) -> bool:
        """Whether the change is told from chance."""
        return self.p_holm is not None and self.p_holm < SIGNIFICANT

    def sentence(self, rater: str) -> str:
        """The change in words."""
        pairs = count_of(self.pairs, "pair", "pairs")
        p = "p below .001" if (self.p_holm or 0) < 0.001 else f"p {self.p_holm:.3f}"
        if self.series == PACE:
            more = "more" if self.change > 0 else "less"
            how = f"took {abs(100 * self.change):.0f} % {more} time for a pair at the end"
            return f"{rater} {how} of {pairs} than at the beginning ({p})"
        up = "up" if self.change > 0 else "down"
        return (
            f"{rater}: {self.series} goes {up} by {abs(self.change):.2f} from the first to the last"
            f" of {pairs} ({p})"
        )


def drifts_of(
    rows: Sequence[JournalRow], references: Mapping[str, Mapping[Pair, float]], seed: int = 0
) -> list[RaterDrift]:
    """The drift of a rater's answers, in the order in which they were given.

    `references` are steady grades of pairs, as the other raters' or the assessor's: the rater's
    grade less theirs is strictness, free of which pairs came first. A series of fewer than
    `FEWEST_PAIRS` is left out. The p of the others allow for their number (Holm).
    """
    audit = [row for row in rows if row.purpose == "audit"]
    gold = [row for row in rows if row.purpose == "gold"]
    series: list[tuple[str, Sequence[JournalRow], Value]] = [
        (GRADE, audit, lambda row: row.grade),
        *(
            (f"grade less {name}", audit, _less(reference))
            for name, reference in references.items()
        ),
        ("grade less gold", gold, _less_gold),
        (PACE, audit, _log_seconds(longest_seconds(audit))),
    ]
    tested = [drift_of(name, of, value, seed) for name, of, value in series]
    return _with_holm([each for each in tested if each is not None])


def drift_of(
    name: str, rows: Sequence[JournalRow], value: Value, seed: int = 0
) -> RaterDrift | None:
    """The drift of one series; `None` where too few answers have a value."""
    values = [(value(row), row.query_id) for row in rows]
    defined = [(number, query_id) for number, query_id in values if number is not None]
    if len(defined) < FEWEST_PAIRS:
        return None
    numbers = np.array([number for number, _ in defined], dtype=np.float64)
    of = drift(numbers, [query_id for _, query_id in defined], seed)
    change = math.expm1(of.change) if name == PACE else of.change
    return RaterDrift(name, of.values, of.blocks, change, of.p)


def _with_holm(drifts: Sequence[RaterDrift]) -> list[RaterDrift]:
    p = [each.p for each in drifts if each.p is not None]
    corrected = iter(holm(np.array(p)).tolist() if p else [])
    return [
        each if each.p is None else replace(each, p_holm=float(next(corrected))) for each in drifts
    ]


def _less(reference: Mapping[Pair, float]) -> Value:
    def value(row: JournalRow) -> float | None:
        steady = reference.get(row.pair)
        return None if row.grade is None or steady is None else row.grade - steady

    return value


def _less_gold(row: JournalRow) -> float | None:
    gold = gold_grade(row)
    return None if row.grade is None or gold is None else float(row.grade - gold)


def _log_seconds(longest: float) -> Value:
    def value(row: JournalRow) -> float | None:
        if row.seconds is None or not row.is_answer:
            return None
        return math.log(min(max(row.seconds, SHORTEST), max(longest, SHORTEST)))

    return value


# Steady grades of pairs, beside which a rater's strictness is seen, and samples.

OTHERS = "the other raters'"


class SampleFacts(NamedTuple):
    """How many pairs a random sample has, whose it is, and the qrels that it was balanced over."""

    pairs: int
    rater: str | None
    source: str | None


def random_samples(collection: Collection) -> dict[str, SampleFacts]:
    """The random samples of a collection by id; routed ones are none."""
    entries = card_section(read_card(collection), "samples")
    samples = {}
    for name, purpose in purposes(collection).items():
        if purpose == "audit":
            entry = card_section(entries, name)
            pairs = len(read_sample(sample_path(collection.folder, name)))
            samples[name] = SampleFacts(
                pairs, _text(entry.get("rater")), _text(entry.get("source"))
            )
    return samples


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def steady_grades(
    collection: Collection,
    rows: Sequence[JournalRow],
    others: Sequence[JournalRow],
    samples: Mapping[str, SampleFacts],
) -> dict[str, dict[Pair, float]]:
    """The mean grade of the other raters, and the assessor's grade, of a rater's pairs, by name."""
    pairs = {row.pair for row in rows}
    grades: dict[Pair, list[int]] = {}
    for row in others:
        if row.pair in pairs and row.grade is not None:
            grades.setdefault(row.pair, []).append(row.grade)
    steady = {OTHERS: {pair: sum(given) / len(given) for pair, given in grades.items()}}
    sources = {samples[row.sample].source for row in rows if row.sample in samples}
    for source in sorted(name for name in sources if name):
        path = collection.qrels(source)
        if path.is_file():
            qrels = read_qrels(path)
            of_pairs = {p: qrels.get(p.query_id, {}).get(p.doc_id) for p in pairs}
            steady[f"{source}'s"] = {p: float(g) for p, g in of_pairs.items() if g is not None}
    return {name: by_pair for name, by_pair in steady.items() if by_pair}
