"""The page of a report, and its short form for a pull request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from labeler.agreement.shown import statistics_table
from labeler.collection_report.gathered import WHERE_UNJUDGED, GatheredReport
from labeler.collection_report.returned import ReportedQuery, documents_shown
from labeler.collection_report.shown.agreement import (
    FAR,
    agreement_section,
    far_section,
    few_statistics,
)
from labeler.collection_report.shown.detail import MOST_BYTES, Detail, levels
from labeler.collection_report.shown.findings import first_findings
from labeler.collection_report.shown.made import cost_section, grades_section, provenance_section
from labeler.collection_report.shown.queries import TEXT, QueryBlocks, extremes
from labeler.collection_report.shown.systems import (
    differences_section,
    holes_section,
    systems_section,
)
from labeler.data import Document
from labeler.report.page import (
    Block,
    FactList,
    FindingList,
    Page,
    PageSection,
    Paragraph,
    TableBlock,
)

SAMPLED = 60
"""From so many queries it is reckoned how much of all of them a page has room for."""


def fitting_page(report: GatheredReport, most: int = MOST_BYTES) -> Page:
    """The fullest page of less than so many bytes; it says what it leaves out."""
    documents = documents_of_report(report)
    several = levels(report.options.top)
    room = most - len(report_page(report, documents, several[0], queries=()).html().encode())
    fitting = [level for level in several if bytes_of_queries(report, documents, level) < room]
    for detail in fitting:
        page = report_page(report, documents, detail)
        if len(page.html().encode()) < most:
            return page
    return report_page(report, documents, several[-1])


def bytes_of_queries(
    report: GatheredReport, documents: Mapping[str, Document], detail: Detail
) -> float:
    """About how many bytes the rows of queries take, from some of them, evenly spread."""
    step = max(1, len(report.queries) // SAMPLED)
    sample = report.queries[::step]
    section = QueryBlocks(report, documents, detail).section(sample)
    whole = len(Page("", [section]).html().encode()) - len(Page("", []).html().encode())
    return whole * len(report.queries) / max(1, len(sample))


def documents_of_report(report: GatheredReport) -> dict[str, Document]:
    """The documents that some page of a report shows."""
    ids = {document.id for query in report.queries for document in query.documents}
    ids |= {far.pair.doc_id for far in report.agreement.apart[:FAR]}
    return documents_shown(report.contents, ids, TEXT + 1)


def report_page(
    report: GatheredReport,
    documents: Mapping[str, Document],
    detail: Detail,
    queries: Sequence[ReportedQuery] | None = None,
) -> Page:
    """The whole page, with as much of each query as `detail` says; `queries` are all by default."""
    rows = QueryBlocks(report, documents, detail)
    shown = report.queries if queries is None else queries
    scores = report.scores
    sections = [
        summary_section(report, [*detail.cuts(levels(report.options.top)[0])]),
        systems_section(report, scores) if scores else None,
        differences_section(scores) if scores else None,
        agreement_section(report),
        grades_section(report),
        holes_section(scores) if scores else None,
        cost_section(report),
        extremes(rows),
        far_section(report, rows),
        rows.section(shown) if shown else None,
        provenance_section(report),
    ]
    blocks = [section for section in sections if section is not None]
    return Page(f"{report.contents.title}: report", blocks, subtitle=_counts(report))


def summary_section(report: GatheredReport, cuts: list[str] | None = None) -> PageSection:
    """Warnings first, then three sentences, and what the collection lacks."""
    blocks: list[Block] = [*first_findings(report.findings)]
    blocks += [Paragraph(sentence, lead=True) for sentence in report.sentences]
    if missing := report.missing:
        blocks.append(Paragraph("What is missing, and the command that makes it:"))
        blocks.append(FactList([(step.lacks, step.command) for step in missing]))
    if cuts:
        why = "So that this page stays below 2 MB: "
        blocks.append(Paragraph(f"{why}{'; '.join(cuts)}."))
    return PageSection("Summary", blocks)


def _counts(report: GatheredReport) -> str:
    held = report.contents
    counts = (
        (held.documents, "document", "documents"),
        (len(held.queries), "query", "queries"),
        (held.pool, "pooled pair", "pooled pairs"),
        (len(held.runs), "run", "runs"),
        (len(held.qrels), "set of grades", "sets of grades"),
    )
    return " · ".join(f"{n:,} {singular if n == 1 else plural}" for n, singular, plural in counts)


def summary_page(report: GatheredReport, whole: str = "") -> Page:
    """The short form: warnings, three sentences, systems, differences, agreement.

    `whole` says where the whole page is.
    """
    findings = [
        replace(finding, text=finding.text.replace(WHERE_UNJUDGED, ""))
        for finding in report.findings
    ]
    blocks: list[Block] = [FindingList(findings)] if findings else []
    blocks.append(Paragraph(" ".join(report.sentences)))
    blocks += [Paragraph(f"{step.lacks} Next: {step.command}") for step in report.missing]
    if report.scores is not None:
        tables = {table.name: table for table in report.scores.tables()}
        blocks.append(PageSection("Systems", [TableBlock(tables["scores"])]))
        if "comparisons" in tables:
            blocks.append(PageSection("Differences", [TableBlock(tables["comparisons"])]))
    if report.agreement.main is not None:
        table = few_statistics(statistics_table(report.agreement.main.agreement))
        blocks.append(PageSection("Agreement with people", [TableBlock(table)]))
    if whole:
        blocks.append(Paragraph(whole))
    return Page(f"{report.contents.title}: report", blocks, subtitle=_counts(report))
