"""The page of a report, and its short form for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from labeler.agreement.report import AssessorReport
from labeler.agreement.shown import (
    confusion_table,
    detail_tables,
    overview,
    report_parts,
    short,
    statistics_table,
    summary,
)
from labeler.collection_report.figures import (
    WHERE_UNJUDGED,
    FarPair,
    documents_shown,
)
from labeler.collection_report.gathered import GatheredReport
from labeler.collection_report.queries import (
    MOST_BYTES,
    TEXT,
    Detail,
    QueryBlocks,
    cut_text,
    levels,
)
from labeler.data import Document
from labeler.evaluation.evaluate import Report
from labeler.evaluation.plot import measure_drawing
from labeler.judging.status import status_table
from labeler.messages import count_of
from labeler.report.charts import Axis, NamedValue, intervals
from labeler.report.finding import Finding
from labeler.report.page import (
    Chart,
    Disclosure,
    DisclosureRows,
    FactList,
    FindingList,
    Page,
    PageBlock,
    PageSection,
    Paragraph,
    Preformatted,
    TableBlock,
)
from labeler.report.table import Table

MOST_WARNINGS = 5
"""So many warnings are shown at once; of more, the first ones, and the others open."""


def first_findings(findings: Sequence[Finding]) -> Iterator[PageBlock]:
    """The first warnings, then a line that opens to the other warnings and the notes."""
    warnings = [finding for finding in findings if finding.level == "warning"]
    notes = [finding for finding in findings if finding.level != "warning"]
    first = warnings if len(warnings) <= MOST_WARNINGS else warnings[: MOST_WARNINGS - 1]
    if first:
        yield FindingList(first)
    if rest := [*warnings[len(first) :], *notes]:
        counts = {"more warning": len(warnings) - len(first), "note": len(notes)}
        words = " and ".join(count_of(n, what) for what, n in counts.items() if n)
        yield Disclosure(words, [FindingList(rest)])


def systems_section(scores: Report) -> PageSection:
    """The systems with their intervals, as a chart and a table."""
    measure = scores.measures[0]
    blocks: list[PageBlock] = [
        Paragraph(f"Scored {scores.grades}."),
        Chart(measure_drawing(scores, measure)),
        TableBlock(scores.tables()[0], "Means over queries, with 95 % intervals"),
    ]
    blocks += map(TableBlock, scores.group_tables())
    return PageSection("Systems", blocks)


def differences_section(report: GatheredReport, scores: Report) -> PageSection | None:
    """Paired differences from the baseline; None of one system alone."""
    tables = {table.name: table for table in scores.tables()}
    if "comparisons" not in tables:
        return None
    compared = scores.compared()
    measure, baseline = compared[0].measure, compared[0].baseline
    rows = [NamedValue(c.run, c.difference, c.low, c.high) for c in compared]
    axis = Axis(f"{measure} less that of {baseline}", "+.3f", reference=0.0)
    blocks: list[PageBlock] = [
        Paragraph(report.private(" ".join(scores.sentences))),
        Chart(intervals(f"Differences from {baseline}, query by query", rows, axis)),
        TableBlock(tables["comparisons"]),
    ]
    if "equivalence" in tables:
        blocks.append(Disclosure("More on differences", [TableBlock(tables["equivalence"])]))
    return PageSection("Differences between systems", blocks)


def holes_section(scores: Report) -> PageSection:
    """What the documents that nobody judged leave open; their share stands beside the scores."""
    blocks: list[PageBlock] = [
        Paragraph(
            "Scores count an unjudged document as not relevant. The table says what they would "
            "be if such documents were of the top grade, and the least and the most possible."
        ),
    ]
    tables = {table.name: table for table in scores.tables()}
    if "scenarios" in tables:
        blocks.append(TableBlock(tables["scenarios"], "What unjudged documents leave open"))
    return PageSection("Unjudged documents", blocks)


FEW_STATISTICS = ("agreement", "kappa", "kappa-quadratic", "alpha-ordinal", "tau-b", "mae", "bias")
"""The statistics that are shown at once; the others open."""
CAPTIONS = {
    "queries": "Queries with most disagreement",
    "runs": "The systems by the grades of both",
}
FAR = 20
"""So many pairs are shown on which people and the assessor differ most."""


def agreement_section(report: GatheredReport) -> PageSection:
    """How far assessors agree with people, or that nobody knows."""
    main = report.agreement.main
    if main is None:
        return PageSection("Agreement with people", [Paragraph(report.sentences[2])])
    return PageSection("Agreement with people", [*_agreement(report, main)])


def _agreement(report: GatheredReport, main: AssessorReport) -> Iterator[PageBlock]:
    names = report.agreement.scale_names
    for line in "\n".join(summary(main)).split("\n"):
        yield Paragraph(report.private(line.replace("people", "People", line.startswith("people"))))
    if len(report.agreement.reports) > 1:
        sentence, table = overview(report.agreement.reports, None)
        yield Paragraph(sentence)
        yield TableBlock(table)
    texts = {query.query.id: query.query.text for query in report.queries}
    parts = [part for part in report_parts(main, names, texts) if isinstance(part, Table)]
    title = f"{short(main.assessor)} beside {short(main.human)}, with 95 % intervals over queries"
    statistics = statistics_table(main.agreement)
    few = few_statistics(statistics)
    yield TableBlock(few, title)
    if len(few.rows) < len(statistics.rows):
        yield Disclosure(f"All {len(statistics.rows)} statistics", [TableBlock(statistics, title)])
    counts = confusion_table(main.agreement, short(main.human), short(main.assessor), names)
    yield TableBlock(counts, f"Grades of {short(main.human)} and of {short(main.assessor)}")
    for table in parts:
        if table.name not in ("confusion", "statistics"):
            yield TableBlock(table, CAPTIONS.get(table.name, ""))
    more = [
        t
        for t in detail_tables(main.details, texts)
        if t.name in ("classes", "grades", "calibration") and t.rows
    ]
    if more:
        yield Disclosure("By grade", list(map(TableBlock, more)))


def few_statistics(table: Table) -> Table:
    """The statistics that are shown at once; all where none of these was computed."""
    few = [row for row in table.rows if row[0] in FEW_STATISTICS]
    return replace(table, rows=few or table.rows)


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
    inner: list[PageBlock] = [blocks.excerpt(doc_id, TEXT) or Paragraph(f"Document {doc_id}")]
    if reason := report.reasons_of_main.get(far.pair):
        inner.insert(0, Paragraph(f"The assessor's reason: {cut_text(reason, 600)}"))
    asked = cut_text(f"{query_id} {query.text if query else ''}".strip(), 100)
    return Disclosure(
        f"{asked}: {blocks.title(doc_id)}", inner, [str(far.human), str(far.assessor)]
    )


def cost_section(report: GatheredReport) -> PageSection | None:
    """What judging took; None where no model judged."""
    if not report.judged:
        return None
    text = "What each set of judgements took. A cost is unknown where no price is."
    table = TableBlock(status_table(report.judged), "Judgements")
    return PageSection("Cost", [Paragraph(text), table])


def provenance_section(report: GatheredReport) -> PageSection:
    """What made the collection."""
    made = report.provenance
    lines = map(report.private, made.lines)
    blocks: list[PageBlock] = [Paragraph(f"{line[:1].upper()}{line[1:]}.") for line in lines]
    if made.assessors.rows:
        blocks.append(TableBlock(report.private.table(made.assessors), "Assessors"))
    blocks += _prompts(report)
    if made.sha256:
        files = FactList(list(made.sha256.items()))
        blocks.append(Disclosure(f"SHA-256 of {len(made.sha256)} files", [files]))
    if not blocks:
        blocks.append(Paragraph("The collection has no card: what made it is not known."))
    return PageSection("What made it", blocks)


def _prompts(report: GatheredReport) -> Iterator[PageBlock]:
    for prompt in report.provenance.prompts:
        if prompt.text:
            yield Disclosure(f"Prompt {prompt.id}: {prompt.use}", [Preformatted(prompt.text)])
        else:
            yield Paragraph(
                f"Prompt {prompt.id} ({prompt.use}): its text is not kept in the collection, and "
                "no prompt of this name and hash is found here."
            )


def fitting_page(report: GatheredReport, most: int = MOST_BYTES) -> Page:
    """The fullest page of less than so many bytes; it says what it leaves out."""
    documents = documents_of_report(report)
    pages = (report_page(report, documents, detail) for detail in levels(report.options.top))
    page = next(pages)
    while len(page.html().encode()) >= most and (smaller := next(pages, None)):
        page = smaller
    return page


def documents_of_report(report: GatheredReport) -> dict[str, Document]:
    """The documents that some page of a report shows."""
    ids = {document.id for query in report.queries for document in query.documents}
    ids |= {far.pair.doc_id for far in report.agreement.apart[:FAR]}
    return documents_shown(report.contents, ids, TEXT + 1)


def report_page(report: GatheredReport, documents: Mapping[str, Document], detail: Detail) -> Page:
    """The whole page, with as much of each query as `detail` says."""
    rows = QueryBlocks(report, documents, detail)
    scores = report.scores
    sections = [
        summary_section(report, detail.cuts(levels(report.options.top)[0])),
        systems_section(scores) if scores else None,
        differences_section(report, scores) if scores else None,
        agreement_section(report),
        holes_section(scores) if scores else None,
        cost_section(report),
        far_section(report, rows),
        rows.section() if report.queries else None,
        provenance_section(report),
    ]
    blocks = [section for section in sections if section is not None]
    return Page(f"{report.contents.title}: report", blocks, subtitle=_counts(report))


def summary_section(report: GatheredReport, cuts: str) -> PageSection:
    """Warnings first, then three sentences, and what the collection lacks."""
    blocks: list[PageBlock] = [*first_findings(report.findings)]
    blocks += [Paragraph(sentence, lead=True) for sentence in report.sentences]
    if missing := report.missing:
        blocks.append(Paragraph("What is missing, and the command that makes it:"))
        blocks.append(FactList([(step.lacks, step.command) for step in missing]))
    if cuts:
        blocks.append(Paragraph(f"So that this page stays below 2 MB: {cuts}."))
    return PageSection("Summary", blocks)


def _counts(report: GatheredReport) -> str:
    of = report.contents
    return " · ".join(
        (
            count_of(of.documents, "document"),
            count_of(len(of.queries), "query", "queries"),
            count_of(of.pool, "pooled pair"),
            count_of(len(of.runs), "run"),
            count_of(len(of.qrels), "set of grades", "sets of grades"),
        )
    )


def summary_page(report: GatheredReport) -> Page:
    """The short form: warnings, three sentences, systems, differences, agreement."""
    findings = [
        replace(finding, text=finding.text.replace(WHERE_UNJUDGED, ""))
        for finding in report.findings
    ]
    blocks: list[PageBlock] = [FindingList(findings)] if findings else []
    blocks.append(Paragraph(" ".join(report.sentences)))
    blocks += [Paragraph(f"{step.lacks} Next: {step.command}") for step in report.missing]
    titles = {"scores": "Systems", "comparisons": "Differences"}
    for table in report.tables():
        if table.name in titles:
            blocks.append(PageSection(titles[table.name], [TableBlock(table)]))
    if report.agreement.main is not None:
        table = few_statistics(statistics_table(report.agreement.main.agreement))
        blocks.append(PageSection("Agreement with people", [TableBlock(table)]))
    return Page(f"{report.contents.title}: report", blocks, subtitle=_counts(report))
