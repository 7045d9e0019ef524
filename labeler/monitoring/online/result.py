"""The online measures of a log: what they say in sentences, their tables, their JSON, a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labeler.monitoring.online.figures import OnlineFigures
from labeler.monitoring.online.findings import alarms_of, findings_of
from labeler.monitoring.online.tables import tables_of
from labeler.report.charts.drawing import Axis, NamedValue
from labeler.report.charts.intervals import intervals
from labeler.report.finding import Finding
from labeler.report.page.blocks import Block, Chart, FindingList, PageSection, TableBlock
from labeler.report.table import Table


@dataclass(frozen=True)
class OnlineMeasures:
    """What users' clicks say of a search, in figures, sentences and tables."""

    figures: OnlineFigures

    def findings(self) -> list[Finding]:
        """What a reader of the figures should know, alarms first."""
        return findings_of(self.figures)

    def alarms(self) -> list[Finding]:
        """What is wrong, so that somebody should look; empty where nothing is."""
        return alarms_of(self.figures)

    def tables(self) -> list[Table]:
        """All that was measured, a table for each kind."""
        return [table for table in tables_of(self.figures) if table.rows]

    def table(self, name: str = "ranks") -> Table:
        """One of the tables by its name."""
        return next(table for table in tables_of(self.figures) if table.name == name)

    def blocks(self) -> list[Block]:
        """The same for a page."""
        ranks = self.figures.ranks
        blocks: list[Block] = [FindingList(self.findings())]
        if any(row.ctr.value is not None and row.clicks for row in ranks):
            named = [NamedValue(f"rank {row.rank}", *row.ctr) for row in ranks]
            drawn = intervals("Clicks by rank", named, Axis("CTR", least=0.0))
            blocks.append(Chart(drawn, "Of the documents shown at a rank, how many were clicked."))
        blocks += [TableBlock(table) for table in self.tables()]
        return [PageSection("Clicks", blocks)]

    def as_json(self) -> dict[str, Any]:
        """All figures by name."""
        of = self.figures
        return {
            "reading": of.reading.as_json(),
            "ranks": self.table("ranks").records(),
            "measures": {name: value._asdict() for name, value in of.whole.items()},
            "seconds_to_first_click": of.first_click._asdict(),
            "variants": self.table("variants").records(),
            "sample_ratio_mismatch": of.variants.mismatch if of.variants else None,
            "alarms": [str(finding) for finding in self.alarms()],
            "findings": [str(finding) for finding in self.findings()],
        }
