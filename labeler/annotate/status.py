"""How far each rater is, how long they take, and how they agree with each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Annotated, NamedTuple

from labeler.agreement.align import GradeMatrix, grade_matrix
from labeler.agreement.compare import StatisticOptions
from labeler.agreement.joint import together
from labeler.annotate.journal import read_journals
from labeler.annotate.samples import purposes
from labeler.collection.annotations import JournalRow, RaterAnswers, answers_in
from labeler.collection.card import card_section, read_card
from labeler.collection.layout import AnyCollection, open_collection
from labeler.collection.people import read_sample, sample_path
from labeler.messages import count_of
from labeler.report.result import Result
from labeler.report.table import Column, Interval, Table, interval_text, shown, table_of


class RaterStatus(NamedTuple):
    """One rater's work.

    `graded`, `cannot_judge` and `skipped` count pairs of random samples, of which `left` have no
    answer; `fixed` routed pairs, which enter no statistic.
    """

    rater: str
    graded: int
    left: int
    skipped: int
    cannot_judge: int
    fixed: Annotated[int, Column(title="corrected")]
    seconds_median: Annotated[float | None, Column("seconds", "seconds a pair", ".1f")]


@dataclass(frozen=True, eq=False, repr=False)
class RatersStatus(Result):
    """The work of all raters of a collection, and `alpha`, the agreement of them all."""

    raters: Sequence[RaterStatus]
    alpha: Interval | None

    @shown
    def sentences(self) -> list[str]:
        """How much is graded and how far raters agree, in sentences."""
        graded = sum(rater.graded for rater in self.raters)
        left = sum(rater.left for rater in self.raters)
        raters = count_of(len(self.raters), "rater")
        text = f"{raters}: {count_of(graded, 'pair')} graded, {left:,} left."
        if self.alpha is None or self.alpha.value is None:
            return [text]
        alpha = interval_text(self.alpha, ".2f")
        return [text, f"Ordinal alpha of all raters where they overlap: {alpha}."]

    def tables(self) -> list[Table]:
        """A row for each rater."""
        return [table_of("raters", RaterStatus, self.raters)]


def status_of_raters(collection: AnyCollection) -> RatersStatus:
    """How far each rater of a collection is, and what their journals say of them.

    Statistics count pairs of random samples.

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
    given = {rater: answers_in(rows) for rater, rows in read_journals(opened).items()}
    matrix = _matrix_of({rater: of.standing for rater, of in given.items()})
    audits = [name for name, purpose in purposes(opened).items() if purpose == "audit"]
    sizes = {name: len(read_sample(sample_path(opened.folder, name))) for name in audits}
    card = read_card(opened)
    owners = {name: card_section(card, "samples", name).get("rater") for name in audits}
    statuses = [_status(rater, of, sizes, owners) for rater, of in given.items()]
    people = None if matrix is None else together(matrix, matrix.assessors, StatisticOptions())
    alpha = None if people is None else people.statistics["alpha-ordinal"]
    return RatersStatus(tuple(statuses), alpha)


def _status(
    rater: str, given: RaterAnswers, sizes: Mapping[str, int], owners: Mapping[str, str | None]
) -> RaterStatus:
    """A rater's work; of each random sample `sizes` has its pairs, and `owners` whose it is."""
    audit = [row for row in given.standing if row.purpose == "audit"]
    begun = {row.sample for row in audit}
    whole = sum(n for name, n in sizes.items() if name in begun or owners[name] == rater)
    left = max(whole - sum(row.sample in sizes for row in audit), 0)
    times = [row.seconds for row in given.standing if row.is_answer and row.seconds is not None]
    return RaterStatus(
        rater,
        sum(row.grade is not None for row in audit),
        left,
        given.skipped,
        sum(row.cannot_judge for row in audit),
        sum(row.purpose == "fix" for row in given.standing),
        median(times) if times else None,
    )


def _matrix_of(rows_by_rater: Mapping[str, Sequence[JournalRow]]) -> GradeMatrix | None:
    """The grades of pairs of random samples side by side; `None` where nobody has given one."""
    graded: dict[str, dict[str, dict[str, int]]] = {}
    for rater, rows in rows_by_rater.items():
        for row in rows:
            if row.purpose == "audit" and row.grade is not None:
                graded.setdefault(rater, {}).setdefault(row.query_id, {})[row.doc_id] = row.grade
    grades = {grade for own in graded.values() for row in own.values() for grade in row.values()}
    if len(grades) == 1:
        grades |= {max(grades) + 1}  # a scale has two grades
    return grade_matrix(graded, tuple(sorted(grades))) if graded else None
