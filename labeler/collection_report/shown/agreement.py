"""Agreement with people, and the pairs on which they and the assessor differ most, as blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from labeler.agreement.overview import grade_name, overview, short, summary
from labeler.agreement.report import AssessorReport
from labeler.agreement.shown import confusion_table, detail_tables, report_parts
from labeler.collection_report.agreed import FarPair
from labeler.collection_report.gathered import GatheredReport
from labeler.collection_report.shown.queries import TEXT, QueryBlocks, cut_text
from labeler.report.charts import Axis, Drawing, NamedValues, matrix, strip
from labeler.report.page import (
    Block,
    Chart,
    Disclosure,
    DisclosureRows,
    PageSection,
    Paragraph,
    TableBlock,
)
from labeler.report.table import Table

FEW_STATISTICS = ("agreement", "kappa", "kappa-quadratic", "alpha-ordinal", "tau-b", "mae", "bias")
"""The statistics that are shown at once; the others open."""
CAPTIONS = {
    "queries": "Queries with most disagreement",
    "leaderboard": "The systems by the grades of both",
}
FAR = 20
"""So many pairs are shown on which people and the assessor differ most."""


def agreement_section(report: GatheredReport) -> PageSection:
    """How far assessors agree with people, or that nobody knows."""
    main = report.agreement.main
    if main is None:
        return PageSection("Agreement with people", [Paragraph(report.sentences[2])])
    return PageSection("Agreement with people", [*_agreement(report, main)])


def _agreement(report: GatheredReport, main: AssessorReport) -> Iterator[Block]:
    names = report.agreement.scale_names
    for sentence in summary(main):
        for line in sentence.split("\n"):
            yield Paragraph(
                report.private(line[:1].upper() + line[1:] if line.startswith("people") else line)
            )
    if len(report.agreement.reports) > 1:
        sentence, table = overview(report.agreement.reports, None)
        yield Paragraph(sentence)
        yield TableBlock(table)
    texts = {query.query.id: query.query.text for query in report.queries}
    parts = [part for part in report_parts(main, names, texts) if isinstance(part, Table)]
    tables = {table.name: table for table in parts}
    title = f"{short(main.assessor)} beside {short(main.human)}, with 95 % intervals over queries"
    statistics = tables.pop("statistics")
    few = few_statistics(statistics)
    yield TableBlock(few, title)
    if len(few.rows) < len(statistics.rows):
        yield Disclosure(f"All {len(statistics.rows)} statistics", [TableBlock(statistics, title)])
    yield Chart(_matrix(report, main))
    if chart := _strip(main):
        yield Chart(chart)
    for name, table in tables.items():
        if name != "confusion":
            yield TableBlock(table, CAPTIONS.get(name, ""))
    more = [
        t
        for t in detail_tables(main.details, texts)
        if t.name in ("classes", "grades", "calibration") and t.rows
    ]
    counts = confusion_table(main.agreement, short(main.human), short(main.assessor), names)
    yield Disclosure("By grade", [TableBlock(table) for table in (counts, *more)])


def few_statistics(table: Table) -> Table:
    """The statistics that are shown at once; all where none of these was computed."""
    few = [row for row in table.rows if row[0] in FEW_STATISTICS]
    return replace(table, rows=few or table.rows)


def _matrix(report: GatheredReport, main: AssessorReport) -> Drawing:
    agreement = main.agreement
    names = [grade_name(grade, report.agreement.scale_names) for grade in agreement.scale]
    raters = short(main.human), short(main.assessor)
    counts = agreement.confusion.tolist()
    return matrix(f"Grades of {raters[0]} and of {raters[1]}", counts, names, raters)


def _strip(main: AssessorReport) -> Drawing | None:
    queries = main.details.queries
    if len(queries) < 3:
        return None
    errors = {query.query_id: query.mae for query in queries}
    axis = Axis("mean difference in grades", ".2f", 0.0)
    title = f"How far {short(main.assessor)} is from {short(main.human)}, query by query"
    return strip(title, [NamedValues("queries", errors)], axis)


def far_section(report: GatheredReport, blocks: QueryBlocks) -> PageSection | None:
    """The pairs with grades farthest apart; None where no grades are unequal."""
    apart, main = report.agreement.apart, report.agreement.main
    if main is None or not apart:
        return None
    rows = [_far(report, blocks, far) for far in apart[:FAR]]
    text = f"{len(apart):,} pairs have other grades; the {len(rows)} farthest apart are shown."
    columns = [short(main.human), short(main.assessor)]
    title = "Where people and the assessor differ most"
    return PageSection(title, [Paragraph(text), DisclosureRows("query", columns, rows)])


def _far(report: GatheredReport, blocks: QueryBlocks, far: FarPair) -> Disclosure:
    query_id, doc_id = far.pair
    query = report.contents.queries.get(query_id)
    inner: list[Block] = []
    if reason := report.reasons_of_main.get(far.pair):
        inner.append(Paragraph(f"The assessor's reason: {cut_text(reason, 600)}"))
    if excerpt := blocks.excerpt(doc_id, TEXT):
        inner.append(excerpt)
    else:
        inner.append(Paragraph(f"Document {doc_id}"))
    asked = cut_text(f"{query_id} {query.text if query else ''}".strip(), 100)
    return Disclosure(
        f"{asked}: {blocks.title(doc_id)}", inner, [str(far.human), str(far.assessor)]
    )
