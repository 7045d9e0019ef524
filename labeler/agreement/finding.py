"""All that is found about one assessor."""

from __future__ import annotations

from dataclasses import dataclass

from labeler.agreement.calibration import Calibration
from labeler.agreement.ceiling import Ceiling
from labeler.agreement.circularity import Circularity
from labeler.agreement.compare import Agreement
from labeler.agreement.details import ClassFigures, GradeBias, QueryFigures
from labeler.agreement.differences import Difference
from labeler.agreement.plan import Plan
from labeler.agreement.raters import Joint
from labeler.evaluation.leaderboard import Leaderboard


@dataclass(frozen=True)
class Details:
    """Where the two disagree."""

    classes: list[ClassFigures]
    grades: list[GradeBias]
    queries: list[QueryFigures]
    calibration: list[Calibration]


@dataclass(frozen=True, eq=False)
class Finding:
    """One assessor against people; `against` is the assessor that `differences` are taken from."""

    people: str
    other: str
    agreement: Agreement
    details: Details
    board: Leaderboard | None = None
    circular: tuple[Circularity, ...] = ()
    against: str | None = None
    differences: tuple[Difference, ...] = ()
    ceiling: tuple[Ceiling, ...] = ()
    joint: Joint | None = None
    plans: tuple[Plan, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """How options were taken, the agreement's warnings and those of the leaderboard."""
        of_board = () if self.board is None else self.board.warnings
        return (*self.notes, *self.agreement.warnings, *of_board, *map(str, self.circular))
