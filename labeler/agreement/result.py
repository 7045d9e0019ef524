"""What `labeler.agree` returns: as a table, as a frame, as the JSON of the command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labeler.agreement.assessor_report import AssessorReport
from labeler.agreement.report import as_json
from labeler.report.notebook import notebook_html
from labeler.report.table import Column, Interval, Row, Table

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False)
class AgreementResult:
    """The reports of all assessors, and by assessor what the compared grades are called."""

    assessors: tuple[AssessorReport, ...]
    scale_names: Mapping[str, Mapping[int, str]] = field(default_factory=dict)

    def table(self) -> Table:
        """A row for each assessor and statistic: the value and its 95 % interval."""
        rows: list[Row] = [
            [report.assessor, name, Interval(e.value, e.low, e.high)]
            for report in self.assessors
            for name, e in report.agreement.statistics.items()
        ]
        columns = (
            Column("assessor", align="left"),
            Column("statistic", align="left"),
            Column("value", format=".3f", ends=".3f"),
        )
        return Table("statistics", columns, rows)

    def frame(self) -> DataFrame:
        """The statistics as a pandas DataFrame, a row for each assessor and statistic."""
        return self.table().frame()

    def as_json(self, *, details: bool = False) -> Any:
        """The JSON of the command `agree`: one object, or a list for several assessors."""
        return as_json(self.assessors, details=details)

    def __repr__(self) -> str:
        lines = []
        for report in self.assessors:
            kappa = report.agreement.headline["kappa"]
            value = "undefined" if kappa.value is None else f"{kappa.value:.3f}"
            ends = "" if kappa.low is None else f" [{kappa.low:.3f}, {kappa.high:.3f}]"
            lines.append(
                f"{report.assessor}: {report.agreement.pairs:,} pairs, kappa {value}{ends}"
            )
        return f"<AgreementResult {'; '.join(lines)}>"

    def _repr_html_(self) -> str:
        findings = [finding for report in self.assessors for finding in report.warnings]
        return notebook_html([self.table()], dict.fromkeys(findings))
