"""How far each rater is, how they agree, and whether their grades or their pace change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labeler.agreement.compare import StatisticOptions
from labeler.agreement.several.joint import GradeMatrix, Together, joint_agreement
from labeler.annotate.journal import RaterAnswers, answers_in, of_kind, read_journals
from labeler.annotate.raters.agreement import (
    GoldAccuracy,
    Overlap,
    RaterDrift,
    RaterPace,
    SampleFacts,
    drifts_of,
    gold_accuracy,
    matrix_of,
    overlap_of,
    pace_of,
    random_samples,
    steady_grades,
    words_of_documents,
)
from labeler.collection.annotations import JournalRow
from labeler.collection.layout import Collection, open_collection
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.report.result import notebook_html
from labeler.report.table import Column, Interval, Row, Table
from labeler.stats.shares import clustered_interval

if TYPE_CHECKING:
    from pandas import DataFrame

# One rater's work: counts, pace, agreement, gold pairs and drift.


@dataclass(frozen=True)
class RaterStatus:
    """One rater's work.

    `graded`, `cannot_judge` and `skipped` count pairs of random samples, of which `left` have no
    answer; `fixed` routed pairs, which enter no statistic; `gold` pairs to train on. `revealed`
    pairs were graded after the assessor's grade had been shown: they are not blind, and in no
    statistic. `looks` counts answers about pages of results.
    """

    rater: str
    graded: int
    left: int
    skipped: int
    cannot_judge: int
    fixed: int
    revealed: int
    gold: int
    looks: int
    pace: RaterPace
    overlap: Overlap | None
    accuracy: GoldAccuracy | None
    drifts: tuple[RaterDrift, ...]


# What is said of raters, as tables and as JSON.

UNDEFINED = Interval(None, None, None)


def rater_table(raters: Sequence[RaterStatus]) -> Table:
    """A row for each rater; columns in which nobody has anything are left out."""
    rows = [_row(rater) for rater in raters]
    always = ("rater", "graded", "left")
    used = [
        number
        for number, column in enumerate(COLUMNS)
        if column.name in always or any(_is_something(row[number]) for row in rows)
    ]
    columns = [COLUMNS[number] for number in used]
    return Table("raters", columns, [[row[number] for number in used] for row in rows])


COLUMNS = (
    Column("rater", align="left"),
    Column("graded"),
    Column("left"),
    Column("skipped"),
    Column("cannot judge"),
    Column("revealed", "not blind"),
    Column("fixed", "corrected"),
    Column("looks", "pages of results"),
    Column("seconds", "seconds a pair", format=".1f"),
    Column("hours", format=".1f"),
    Column("kappa", "kappa with others", format=".2f", ends=".2f"),
    Column("alpha", "alpha with others", format=".2f", ends=".2f"),
    Column("overlap"),
    Column("gold accuracy", format=".2f", ends=".2f"),
    Column("gold"),
)


def _row(of: RaterStatus) -> Row:
    return [
        of.rater,
        of.graded,
        of.left,
        of.skipped,
        of.cannot_judge,
        of.revealed,
        of.fixed,
        of.looks,
        of.pace.median,
        of.pace.hours,
        _figure(of.overlap, "kappa"),
        _figure(of.overlap, "alpha-ordinal"),
        of.overlap.pairs if of.overlap else 0,
        of.accuracy.share if of.accuracy else UNDEFINED,
        of.gold,
    ]


def _is_something(cell: Any) -> bool:
    return cell.value is not None if isinstance(cell, Interval) else bool(cell)


def _figure(overlap: Overlap | None, name: str) -> Interval:
    if overlap is None:
        return UNDEFINED
    of = overlap.statistics[name]
    return Interval(of.value, of.low, of.high)


def drift_table(raters: Sequence[RaterStatus]) -> Table:
    """A row for each rater and series: the change from the first to the last, and its p."""
    columns = [
        Column("rater", align="left"),
        Column("over time", align="left"),
        Column("change", format="+.2f"),
        Column("pairs"),
        Column("stretches"),
        Column("p", "p (for several)", format=".3g"),
    ]
    rows: list[Row] = [
        [rater.rater, each.series, each.change, each.pairs, each.blocks, each.p_holm]
        for rater in raters
        for each in rater.drifts
    ]
    note = "change from the first to the last pair: in grades, or as a share of the seconds a pair"
    return Table("drift", columns, rows, note=note)


def raters_as_json(raters: Sequence[RaterStatus]) -> list[dict[str, Any]]:
    """A row for each rater, all figures by name."""
    return [
        {
            "rater": of.rater,
            "graded": of.graded,
            "left": of.left,
            "skipped": of.skipped,
            "cannot_judge": of.cannot_judge,
            "revealed": of.revealed,
            "fixed": of.fixed,
            "gold": of.gold,
            "looks": of.looks,
            "seconds_median": of.pace.median,
            "hours": of.pace.hours,
            "overlap": of.overlap.as_json() if of.overlap else None,
            "gold_accuracy": of.accuracy.as_json() if of.accuracy else None,
            "drift": [each.as_json() for each in of.drifts],
        }
        for of in raters
    ]


# What a reader of a rater's grades should know of how they were given, as plain findings.

FEWEST_ALIKE = 20
"""Of fewer grades it says little that all are alike."""
WORDS_A_SECOND = 20.0
"""Faster than people skim: reading for sense goes at 4 (Brysbaert 2019, J. of Memory and Language
109)."""
WORDS_TO_DECIDE = 60
"""So many words may be enough to see that a text is beside the point."""
LEAST_SECONDS = 1.0
OFTEN = 0.1
"""What is so fast in more than this share of answers is said, where chance does not explain it."""


def patterns_of(
    rater: str,
    rows: Sequence[JournalRow],
    words: Mapping[str, int],
    others: Sequence[JournalRow] = (),
) -> Iterator[Finding]:
    """Findings about a rater's blind grades; `words` are those of each document, where known.

    `others` are the grades of the other raters, to which one and the same grade is compared.
    """
    yield from _all_alike(rater, rows, others)
    yield from _too_fast(rater, rows, words)


def _all_alike(
    rater: str, rows: Sequence[JournalRow], others: Sequence[JournalRow]
) -> Iterator[Finding]:
    grades = Counter(row.grade for row in rows if row.grade is not None)
    count = sum(grades.values())
    if count < FEWEST_ALIKE or len(grades) > 1:
        return
    (grade,) = grades
    text = f"{rater} gave the grade {grade} to all {count_of(count, 'pair', 'pairs')}"
    theirs = [row.grade for row in others if row.grade is not None]
    if theirs:
        share = sum(other == grade for other in theirs) / len(theirs)
        text += f"; other raters gave it to {100 * share:.0f} % of theirs"
    yield Finding(f"{text}: agreement with such grades says little", about=rater)


def least_seconds(words: int | None) -> float:
    """The time within which nobody has skimmed enough of a text to grade it.

    >>> least_seconds(10), least_seconds(40), least_seconds(5000), least_seconds(None)
    (1.0, 2.0, 3.0, 1.0)
    """
    to_read = min(words or 0, WORDS_TO_DECIDE)
    return max(LEAST_SECONDS, to_read / WORDS_A_SECOND)


def _too_fast(
    rater: str, rows: Sequence[JournalRow], words: Mapping[str, int]
) -> Iterator[Finding]:
    timed = [row for row in rows if row.grade is not None and row.seconds is not None]
    if len(timed) < FEWEST_ALIKE:
        return
    fast = np.array(
        [(row.seconds or 0.0) < least_seconds(words.get(row.doc_id)) for row in timed], dtype=float
    )
    low, _ = clustered_interval(fast, [row.query_id for row in timed])
    if low > OFTEN:
        text = (
            f"{rater} graded {int(fast.sum()):,} of {count_of(len(timed), 'pair', 'pairs')} faster"
            f" than their texts can be skimmed ({LEAST_SECONDS:.0f} to "
            f"{WORDS_TO_DECIDE / WORDS_A_SECOND:.0f} seconds, by length)"
        )
        yield Finding(text, about=rater)


ALL_TOGETHER = "alpha-ordinal"


@dataclass(frozen=True, eq=False, repr=False)
class RatersStatus:
    """The work of all raters of a collection, and the agreement of them all."""

    raters: tuple[RaterStatus, ...]
    together: Together | None
    findings: tuple[Finding, ...]

    @property
    def headline(self) -> list[str]:
        """How much is graded and how far raters agree, in sentences."""
        graded = sum(rater.graded for rater in self.raters)
        left = sum(rater.left for rater in self.raters)
        raters = count_of(len(self.raters), "rater", "raters")
        text = f"{raters}: {count_of(graded, 'pair', 'pairs')} graded, {left:,} left."
        if self.together is None:
            return [text]
        alpha = self.together.statistics[ALL_TOGETHER]
        if alpha.value is None:
            return [text]
        ends = "" if alpha.low is None else f" [{alpha.low:.2f}, {alpha.high:.2f}]"
        return [text, f"Ordinal alpha of all raters where they overlap: {alpha.value:.2f}{ends}."]

    def table(self) -> Table:
        """A row for each rater."""
        return rater_table(self.raters)

    def tables(self) -> list[Table]:
        """The raters, and where there are enough answers, how they change over time."""
        drifts = drift_table(self.raters)
        return [self.table(), *([drifts] if drifts.rows else [])]

    def frame(self) -> DataFrame:
        """A row for each rater as a pandas DataFrame."""
        return self.table().frame()

    def as_json(self) -> dict[str, Any]:
        """All figures by name; what is undefined is None."""
        return {
            "raters": raters_as_json(self.raters),
            "alpha": _alpha_as_json(self.together),
            "sentences": self.headline,
            "warnings": [str(finding) for finding in self.findings],
        }

    def __repr__(self) -> str:
        graded = sum(rater.graded for rater in self.raters)
        names = ", ".join(rater.rater for rater in self.raters)
        return f"<RatersStatus of {names}: {count_of(graded, 'pair', 'pairs')} graded>"

    def _repr_html_(self) -> str:
        return notebook_html(self.tables(), self.findings, self.headline)


def status_of_raters(
    collection: Collection | Path | str, *, with_revealed: bool = False, seed: int = 0
) -> RatersStatus:
    """How far each rater of a collection is, and what their journals say of them.

    Statistics count pairs of random samples that were graded blind; `with_revealed` adds those
    that were graded after the assessor's grade had been shown.

    >>> from labeler.annotate.annotate import AnnotateOptions, rating_sessions
    >>> from labeler.annotate.session import RaterAnswer
    >>> from labeler.testing import small_collection
    >>> collection = small_collection()
    >>> (session,) = rating_sessions(collection, AnnotateOptions(("anna",)))
    >>> _ = session.answer(RaterAnswer(session.state()["item"]["id"], grade=3, seconds=8.0))
    >>> status_of_raters(collection).headline
    ['1 rater: 1 pair graded, 3 left.']
    """
    opened = open_collection(collection)
    journals = read_journals(opened)
    given = {rater: answers_in(of_kind(rows, "grade")) for rater, rows in journals.items()}
    used = {rater: of.standing if with_revealed else of.blind for rater, of in given.items()}
    counted = {
        rater: [row for row in rows if row.purpose == "audit" and row.grade is not None]
        for rater, rows in used.items()
    }
    matrix, options = matrix_of(counted), StatisticOptions(seed=seed)
    words = words_of_documents(opened, [row for rows in counted.values() for row in rows])
    samples = random_samples(opened)
    statuses, findings = [], list[Finding]()
    for rater, rows in journals.items():
        others = [row for name, of in counted.items() if name != rater for row in of]
        references = steady_grades(opened, counted[rater], others, samples)
        drifts = drifts_of(used[rater], references, seed)
        beside = _Beside(samples, matrix, options)
        statuses.append(_status(rater, given[rater], drifts, beside))
        looks = answers_in([row for row in rows if row.task != "grade"]).standing
        statuses[-1] = replace(statuses[-1], looks=len(looks))
        findings += patterns_of(rater, counted[rater], words, others)
        findings += [Finding(each.sentence(rater), about=rater) for each in drifts if each.is_alarm]
        findings += _revealed_said(statuses[-1], with_revealed=with_revealed)
    return RatersStatus(tuple(statuses), _together(matrix, options), tuple(findings))


class _Beside(NamedTuple):
    """What all raters have in common."""

    samples: Mapping[str, SampleFacts]
    matrix: GradeMatrix | None
    options: StatisticOptions


def _status(
    rater: str, given: RaterAnswers, drifts: Sequence[RaterDrift], beside: _Beside
) -> RaterStatus:
    audit = [row for row in given.standing if row.purpose == "audit"]
    return RaterStatus(
        rater,
        sum(row.grade is not None for row in audit),
        _left(rater, audit, beside.samples),
        given.skipped,
        sum(row.cannot_judge for row in audit),
        sum(row.purpose == "fix" for row in given.standing),
        sum(row.revealed and row.grade is not None for row in audit),
        sum(row.purpose == "gold" for row in given.standing),
        0,
        pace_of(given.blind),
        None if beside.matrix is None else overlap_of(beside.matrix, rater, beside.options),
        gold_accuracy(given.blind),
        tuple(drifts),
    )


def _left(rater: str, audit: Sequence[JournalRow], samples: Mapping[str, SampleFacts]) -> int:
    """How many pairs of the samples that the rater works on, or that are theirs, are unanswered."""
    begun = {row.sample for row in audit}
    own = begun | {name for name, sample in samples.items() if sample.rater == rater}
    whole = sum(samples[name].pairs for name in own if name in samples)
    return max(whole - sum(row.sample in samples for row in audit), 0)


def _together(matrix: GradeMatrix | None, options: StatisticOptions) -> Together | None:
    if matrix is None or len(matrix.assessors) < 2:
        return None
    return joint_agreement(matrix, matrix.assessors, (), options).people


def _alpha_as_json(together: Together | None) -> dict[str, float | None] | None:
    if together is None:
        return None
    alpha = together.statistics[ALL_TOGETHER]
    return {"value": alpha.value, "low": alpha.low, "high": alpha.high}


def _revealed_said(of: RaterStatus, *, with_revealed: bool) -> list[Finding]:
    if not of.revealed:
        return []
    pairs = count_of(of.revealed, "pair", "pairs")
    counted = "which statistics count" if with_revealed else "which no statistic counts"
    text = f"{of.rater} graded {pairs} after the assessor's grade had been shown, {counted}"
    return [Finding(text, about=of.rater, level="warning" if with_revealed else "note")]
