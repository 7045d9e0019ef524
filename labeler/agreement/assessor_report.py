"""The results of comparing one assessor with the human grades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labeler.agreement.calibration import Calibration
from labeler.agreement.compare import Agreement
from labeler.agreement.details import ClassFigures, GradeBias, QueryFigures
from labeler.agreement.differences import Difference
from labeler.agreement.plan import SampleSizePlan
from labeler.agreement.several.alternative import AlternativeTest
from labeler.agreement.several.ceiling import Ceiling
from labeler.agreement.several.joint import JointAgreement
from labeler.report.finding import Finding

if TYPE_CHECKING:
    from labeler.agreement.baseline.result import Baseline
    from labeler.evaluation.boards.board import Leaderboard


@dataclass(frozen=True)
class Details:
    """Where an assessor disagrees: by grade, by query, and by how sure it was."""

    classes: list[ClassFigures]
    grades: list[GradeBias]
    queries: Sequence[QueryFigures]
    calibration: list[Calibration]


@dataclass(frozen=True, eq=False)
class AssessorReport:
    """One assessor beside the human grades.

    `against` is the assessor that `differences` are taken from. `stale` counts the grades of either
    side whose texts have changed since.
    """

    human: str
    assessor: str
    agreement: Agreement
    details: Details
    board: Leaderboard | None = None
    against: str | None = None
    differences: tuple[Difference, ...] = ()
    ceilings: tuple[Ceiling, ...] = ()
    alternative: AlternativeTest | None = None
    baseline: Baseline | None = None
    joint: JointAgreement | None = None
    plans: tuple[SampleSizePlan, ...] = ()
    notes: tuple[Finding, ...] = ()
    stale: int = 0

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """How options were taken, the agreement's warnings and those of the leaderboard."""
        of_board = () if self.board is None else self.board.warnings
        return (*self.notes, *self.agreement.warnings, *of_board)
