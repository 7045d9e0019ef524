"""How far each rater is, how they agree, and whether their grades or their pace change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from labeler.agreement.compare import StatisticOptions
from labeler.agreement.several.joint import GradeMatrix, Together, joint_agreement
from labeler.annotate.raters.agreement import gold_accuracy, matrix_of, overlap_of
from labeler.annotate.raters.drift import RaterDrift, drifts_of
from labeler.annotate.raters.journals import RaterAnswers, answers_in, of_kind, read_journals
from labeler.annotate.raters.patterns import patterns_of
from labeler.annotate.raters.rater import RaterStatus
from labeler.annotate.raters.seconds import pace_of
from labeler.annotate.raters.steady import (
    SampleFacts,
    random_samples,
    steady_grades,
    words_of_documents,
)
from labeler.annotate.raters.tables import drift_table, rater_table, raters_as_json
from labeler.collection.annotations import JournalRow
from labeler.collection.layout import Collection, open_collection
from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.report.notebook import notebook_html
from labeler.report.table import Table

if TYPE_CHECKING:
    from pandas import DataFrame

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
    >>> from labeler.annotate.task import RaterAnswer
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
