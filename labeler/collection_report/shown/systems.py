"""The systems, their differences, and what unjudged documents leave open, as blocks."""

from __future__ import annotations

from collections.abc import Iterator

from labeler.collection_report.gathered import GatheredReport
from labeler.evaluation.score_report import Report
from labeler.report.charts import Axis, Drawing, NamedValue, NamedValues, bars, intervals, strip
from labeler.report.page import Block, Chart, Disclosure, PageSection, Paragraph, TableBlock

MOST_DOTS = 800
"""A chart of every query's scores has at most so many dots."""


def systems_section(report: GatheredReport, scores: Report) -> PageSection:
    """The systems with their intervals, as a chart and a table."""
    measure = scores.measures[0]
    return PageSection(
        "Systems",
        [
            Paragraph(_by_which_grades(report)),
            Chart(_intervals(scores, measure)),
            TableBlock(scores.tables()[0], "Means over queries, with 95 % intervals"),
            *_each_query(scores, measure),
            *(TableBlock(table) for table in scores.group_tables() if table.name.startswith("by-")),
        ],
    )


def _by_which_grades(report: GatheredReport) -> str:
    sets = report.sets
    return f"Scored by the grades of {sets.scoring}: {sets.rule}."


def _intervals(scores: Report, measure: str) -> Drawing:
    rows = [NamedValue(run.name, *run.means()[measure]) for run in scores.ranked]
    return intervals(f"{measure} of each system", rows, Axis(measure, ".3f"))


def _each_query(scores: Report, measure: str) -> Iterator[Block]:
    queries = len(scores.runs[0].scores.queries)
    ranked = scores.ranked[: MOST_DOTS // max(1, queries)]
    if queries < 3 or not ranked:
        return
    rows = [
        NamedValues(
            run.name, dict(zip(run.scores.queries, run.scores.values[0].tolist(), strict=True))
        )
        for run in ranked
    ]
    more = len(scores.runs) - len(ranked)
    of = f"the first {len(ranked)} systems" if more else "each system"
    yield Chart(strip(f"{measure} of every query, {of}", rows, Axis(measure, ".2f")))


def differences_section(scores: Report) -> PageSection | None:
    """Paired differences from the baseline; None of one system alone."""
    tables = {table.name: table for table in scores.tables()}
    if "comparisons" not in tables:
        return None
    compared = scores.compared()
    measure, baseline = compared[0].measure, compared[0].baseline
    rows = [NamedValue(c.run, c.difference, c.low, c.high) for c in compared]
    axis = Axis(f"{measure} less that of {baseline}", "+.3f", reference=0.0)
    blocks: list[Block] = [
        Paragraph(" ".join(scores.sentences)),
        Chart(intervals(f"Differences from {baseline}, query by query", rows, axis)),
        TableBlock(tables["comparisons"]),
    ]
    more = [tables[name] for name in ("discrimination", "equivalence") if name in tables]
    by_group = [t for t in scores.group_tables() if not t.name.startswith("by-")]
    others = [t for t in more if t.rows] + by_group
    if others:
        blocks.append(Disclosure("More on differences", [TableBlock(table) for table in others]))
    return PageSection("Differences between systems", blocks)


def holes_section(scores: Report) -> PageSection:
    """Which share of the first documents nobody judged, and what that leaves open."""
    name = next(iter(scores.ranked[0].judged))
    rows = [NamedValue(run.name, 1 - run.judged[name]) for run in scores.ranked]
    depth = name.partition("@")[2]
    title = f"Share of the first {depth} documents that nobody judged"
    blocks: list[Block] = [
        Chart(bars(title, rows, Axis("unjudged", ".0%", 0.0, 1.0))),
        Paragraph(
            "Scores count an unjudged document as not relevant. The table says what they would "
            "be if such documents were of the top grade, and the least and the most possible."
        ),
    ]
    tables = {table.name: table for table in scores.tables()}
    if "scenarios" in tables:
        blocks.append(TableBlock(tables["scenarios"], "What unjudged documents leave open"))
    if scores.difference_bounds:
        bounds = TableBlock(scores.difference_bounds_table())
        blocks.append(Disclosure("What they leave open of differences", [bounds]))
    return PageSection("Unjudged documents", blocks)
