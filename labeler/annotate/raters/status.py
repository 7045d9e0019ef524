"""How far each rater is, how they agree, and whether their grades or their pace change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from labeler.agreement.compare import StatisticOptions
from labeler.agreement.several.joint import GradeMatrix, together
from labeler.annotate.journal import RaterAnswers, answers_in, of_kind, read_journals
from labeler.annotate.raters.agreement import (
    GoldAccuracy,
    Overlap,
    RaterDrift,
    SampleFacts,
    drifts_of,
    gold_accuracy,
    matrix_of,
    overlap_of,
    pace_of,
    random_samples,
    steady_grades,
)
from labeler.collection.annotations import JournalRow
from labeler.collection.layout import Collection, open_collection
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.report.result import Result
from labeler.report.table import Cell, Column, Interval, Table, interval_text, shown


class RaterStatus(NamedTuple):
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
    seconds_median: float | None
    hours: float | None
    overlap: Overlap | None
    gold_accuracy: GoldAccuracy | None
    drift: tuple[RaterDrift, ...]

    def row(self) -> dict[Column, Cell]:
        """The cells of the table of raters, by their columns."""
        statistics = self.overlap.statistics if self.overlap else {}
        accuracy = self.gold_accuracy.accuracy if self.gold_accuracy else None
        return {
            Column("rater", align="left"): self.rater,
            Column("graded"): self.graded,
            Column("left"): self.left,
            Column("skipped"): self.skipped,
            Column("cannot judge"): self.cannot_judge,
            Column("revealed", "not blind"): self.revealed,
            Column("fixed", "corrected"): self.fixed,
            Column("looks", "pages of results"): self.looks,
            Column("seconds", "seconds a pair", ".1f"): self.seconds_median,
            Column("hours", format=".1f"): self.hours,
            Column("kappa", "kappa with others", ".2f", ".2f"): statistics.get("kappa"),
            Column("alpha", "alpha with others", ".2f", ".2f"): statistics.get("alpha-ordinal"),
            Column("overlap"): self.overlap.pairs if self.overlap else 0,
            Column("gold accuracy", format=".2f", ends=".2f"): accuracy,
            Column("gold"): self.gold,
        }


ALWAYS = ("rater", "graded", "left")
ALL_TOGETHER = "alpha-ordinal"


@dataclass(frozen=True, eq=False, repr=False)
class RatersStatus(Result):
    """The work of all raters of a collection, and `alpha`, the agreement of them all."""

    raters: tuple[RaterStatus, ...]
    alpha: Interval | None
    findings: tuple[Finding, ...] = ()

    @shown
    def sentences(self) -> list[str]:
        """How much is graded and how far raters agree, in sentences."""
        graded = sum(rater.graded for rater in self.raters)
        left = sum(rater.left for rater in self.raters)
        raters = count_of(len(self.raters), "rater", "raters")
        text = f"{raters}: {count_of(graded, 'pair', 'pairs')} graded, {left:,} left."
        if self.alpha is None or self.alpha.value is None:
            return [text]
        alpha = interval_text(self.alpha, ".2f")
        return [text, f"Ordinal alpha of all raters where they overlap: {alpha}."]

    def tables(self) -> list[Table]:
        """A row for each rater, without columns in which nobody has anything; and the drifts."""
        rows = [rater.row() for rater in self.raters]
        used = [c for c in rows[0] if c.name in ALWAYS or any(row[c] for row in rows)]
        raters = Table("raters", used, [[row[column] for column in used] for row in rows])
        columns = [
            *(Column("rater", align="left"), Column("over time", align="left")),
            *(Column("change", format="+.2f"), Column("pairs"), Column("stretches")),
            Column("p", "p (for several)", format=".3g"),
        ]
        drifts = [
            [rater.rater, each.series, each.change, each.pairs, each.blocks, each.p_holm]
            for rater in self.raters
            for each in rater.drift
        ]
        note = "change from the first to the last pair: in grades, or as a share of the seconds"
        return [raters, *([Table("drift", columns, drifts, note=note)] if drifts else [])]

    def as_json(self) -> dict[str, Any]:
        """All figures by name; what is undefined is None."""
        return self.picked("raters", "alpha", "sentences", warnings=self.findings)


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
    >>> status_of_raters(collection).sentences
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
    samples = random_samples(opened)
    statuses, findings = [], list[Finding]()
    for rater, rows in journals.items():
        others = [row for name, of in counted.items() if name != rater for row in of]
        references = steady_grades(opened, counted[rater], others, samples)
        drifts = drifts_of(used[rater], references, seed)
        looks = len(answers_in([row for row in rows if row.task != "grade"]).standing)
        overlap = None if matrix is None else overlap_of(matrix, rater, options)
        statuses.append(_status(rater, given[rater], looks, samples))
        statuses[-1] = statuses[-1]._replace(overlap=overlap, drift=tuple(drifts))
        findings += [Finding(each.sentence(rater), about=rater) for each in drifts if each.drifts]
        findings += _about_revealed(statuses[-1], with_revealed=with_revealed)
    return RatersStatus(tuple(statuses), _together(matrix, options), tuple(findings))


def _status(
    rater: str, given: RaterAnswers, looks: int, samples: Mapping[str, SampleFacts]
) -> RaterStatus:
    """The counts of a rater's answers; how they agree and change stands elsewhere."""
    audit = [row for row in given.standing if row.purpose == "audit"]
    pace = pace_of(given.blind)
    return RaterStatus(
        rater=rater,
        graded=sum(row.grade is not None for row in audit),
        left=_left(rater, audit, samples),
        skipped=given.skipped,
        cannot_judge=sum(row.cannot_judge for row in audit),
        fixed=sum(row.purpose == "fix" for row in given.standing),
        revealed=sum(row.revealed and row.grade is not None for row in audit),
        gold=sum(row.purpose == "gold" for row in given.standing),
        looks=looks,
        seconds_median=pace.median,
        hours=pace.hours,
        overlap=None,
        gold_accuracy=gold_accuracy(given.blind),
        drift=(),
    )


def _left(rater: str, audit: Sequence[JournalRow], samples: Mapping[str, SampleFacts]) -> int:
    """How many pairs of the samples that the rater works on, or that are theirs, are unanswered."""
    begun = {row.sample for row in audit}
    own = begun | {name for name, sample in samples.items() if sample.rater == rater}
    whole = sum(samples[name].pairs for name in own if name in samples)
    return max(whole - sum(row.sample in samples for row in audit), 0)


def _together(matrix: GradeMatrix | None, options: StatisticOptions) -> Interval | None:
    """Alpha of all raters; None of one alone."""
    if matrix is None or len(matrix.assessors) < 2:
        return None
    people = together(matrix, matrix.assessors, options)
    if people is None:
        return None
    of = people.statistics[ALL_TOGETHER]
    return Interval(of.value, of.low, of.high)


def _about_revealed(of: RaterStatus, *, with_revealed: bool) -> list[Finding]:
    if not of.revealed:
        return []
    pairs = count_of(of.revealed, "pair", "pairs")
    counted = "which statistics count" if with_revealed else "which no statistic counts"
    text = f"{of.rater} graded {pairs} after the assessor's grade had been shown, {counted}"
    return [Finding(text, about=of.rater, level="warning" if with_revealed else "note")]
