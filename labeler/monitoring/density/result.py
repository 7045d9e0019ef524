"""What is said of queries' density: alarms, findings, tables, and blocks of a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labeler.monitoring.density.changes import Changes
from labeler.monitoring.density.clusters import Cluster
from labeler.monitoring.density.figures import DensityFigures, WeekDensity
from labeler.monitoring.density.page_blocks import page_blocks
from labeler.monitoring.density.proposal import Proposal
from labeler.monitoring.density.sentences import alarms, findings
from labeler.monitoring.density.tables import every_table, weeks_table
from labeler.report.finding import Finding
from labeler.report.page.blocks import Block
from labeler.report.table import Table


@dataclass(frozen=True)
class QueryDensity:
    """How well a corpus covers users' queries, and how near the evaluation's are to them."""

    figures: DensityFigures

    @property
    def weeks(self) -> tuple[WeekDensity, ...]:
        """The figures of each week."""
        return self.figures.weeks

    @property
    def changes(self) -> Changes | None:
        """What changed in the last week, where it is an alarm."""
        return self.figures.changes

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """Queries of the recent weeks that the corpus does not cover."""
        return self.figures.clusters

    @property
    def proposal(self) -> Proposal | None:
        """Queries that would make the evaluation current."""
        return self.figures.proposal

    def alarms(self) -> list[Finding]:
        """What is wrong in the last week; empty where nothing is."""
        return alarms(self.figures)

    def findings(self) -> list[Finding]:
        """What a reader should know, alarms first."""
        return [*self.alarms(), *findings(self.figures)]

    def table(self) -> Table:
        """A row for each week."""
        return weeks_table(self.figures)

    def tables(self) -> list[Table]:
        """The weeks, what changed, the clusters that are not covered, and the proposed queries."""
        return every_table(self.figures)

    def blocks(self) -> list[Block]:
        """The charts and tables of a page."""
        return page_blocks(self.figures)

    def weekly(self) -> dict[str, dict[str, float | None]]:
        """The figures of each week that are worth a line over time, by its Monday."""
        return self.figures.weekly()

    def as_json(self) -> dict[str, Any]:
        """All figures by name, and what is said of them."""
        return {
            **self.figures.as_json(),
            "alarms": [str(alarm) for alarm in self.alarms()],
            "findings": [str(finding) for finding in self.findings()],
        }

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def __repr__(self) -> str:
        return f"QueryDensity({len(self.weeks)} weeks, {len(self.alarms())} alarms)"
