"""The page of a report, and its short form for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from labeler.agreement.shown import (
    overview,
    report_parts,
    summary,
)
from labeler.collection.readme import NOBODY, assessors_table, datasheet
from labeler.collection_report.contents import NextStep
from labeler.collection_report.gathered import GatheredReport
from labeler.data import Pair, Query
from labeler.evaluation.evaluate import Report
from labeler.evaluation.inputs import short
from labeler.evaluation.plot import difference_drawing, measure_drawing
from labeler.judging.status import status_table
from labeler.messages import count_of
from labeler.pipeline.query_lists import (
    LENGTHS,
    SYSTEMS_NAMED,
    QueryLists,
    ShownLengths,
    ShownQuery,
    fact_choices,
    fitting,
)
from labeler.report.finding import Finding
from labeler.report.neutral import cut, flat, github_comment, markdown_text
from labeler.report.page import (
    Chart,
    Disclosure,
    DisclosureRows,
    FilterForm,
    FindingList,
    Page,
    PageBlock,
    PageSection,
    Paragraph,
    TableBlock,
)
from labeler.report.table import Column, Row, Table, table_of

MOST_BYTES = 2_000_000
"""A page is smaller than that."""


def findings_blocks(findings: Sequence[Finding]) -> Iterator[PageBlock]:
    """The warnings, then a line that opens to the notes."""
    warnings = [finding for finding in findings if finding.level == "warning"]
    notes = [finding for finding in findings if finding.level != "warning"]
    if warnings:
        yield FindingList(warnings)
    if notes:
        yield Disclosure(count_of(len(notes), "note"), [FindingList(notes)])


def systems_section(scores: Report, tables: Mapping[str, Table]) -> PageSection:
    """The systems with their intervals, as a chart and a table."""
    blocks = [
        Paragraph(f"Scored {scores.grades}."),
        Chart(measure_drawing(scores, scores.measures[0])),
        TableBlock(tables["scores"], "Means over queries, with 95 % intervals"),
        *map(TableBlock, scores.group_tables()),
    ]
    return PageSection("Systems", blocks)


def differences_section(
    report: GatheredReport, scores: Report, tables: Mapping[str, Table]
) -> PageSection | None:
    """Paired differences from the baseline; None of one system alone."""
    if "comparisons" not in tables:
        return None
    title = f"Differences from {scores.compared()[0].baseline}, query by query"
    blocks = [
        Paragraph(report.private(" ".join(scores.sentences))),
        Chart(difference_drawing(scores, title)),
        TableBlock(tables["comparisons"]),
    ]
    return PageSection("Differences between systems", blocks)


def holes_section(tables: Mapping[str, Table]) -> PageSection:
    """What the documents that nobody judged leave open; their share stands beside the scores."""
    text = (
        "Scores count an unjudged document as not relevant. The table says what they would "
        "be if such documents were of the top grade, and the least and the most possible."
    )
    blocks: list[PageBlock] = [Paragraph(text)]
    if "scenarios" in tables:
        blocks.append(TableBlock(tables["scenarios"], "What unjudged documents leave open"))
    return PageSection("Unjudged documents", blocks)


CAPTIONS = {
    "statistics": "Statistics of agreement, with 95 % intervals over queries",
    "queries": "Queries with most disagreement",
    "runs": "The systems by the grades of both",
}


def agreement_section(report: GatheredReport) -> PageSection:
    """How far assessors agree with people, or that nobody knows."""
    main = report.agreement.main
    if main is None:
        return PageSection("Agreement with people", [Paragraph(report.sentences[2])])
    lines = "\n".join(summary(main)).split("\n")
    blocks: list[PageBlock] = [
        Paragraph(report.private(line.replace("people", "People", line.startswith("people"))))
        for line in lines
    ]
    if len(report.agreement.reports) > 1:
        sentence, table = overview(report.agreement.reports, None)
        blocks += Paragraph(sentence), TableBlock(table)
    texts = {query.query.id: query.query.text for query in report.queries}
    grades = f"Grades of {short(main.human)} and of {short(main.assessor)}"
    captions = {**CAPTIONS, "confusion": grades}
    tables = (part for part in report_parts(main, texts) if isinstance(part, Table))
    blocks += (TableBlock(table, captions.get(table.name, "")) for table in tables)
    return PageSection("Agreement with people", blocks)


def far_section(report: GatheredReport, lists: QueryLists) -> PageSection | None:
    """The pairs with grades farthest apart; None where no grades are unequal."""
    apart, main = report.agreement.apart, report.agreement.main
    if main is None or not apart:
        return None
    rows = list[Row]()
    for (query_id, doc_id), *grades in report.far:
        query = report.contents.queries.get(query_id, Query(query_id, ""))
        asked = cut(f"{query_id} {query.text}".strip(), 100)
        reason = cut(report.reasons_of_main.get(Pair(query_id, doc_id), ""), 600)
        rows.append([asked, lists.words(doc_id), *grades, reason])
    text = f"{len(apart):,} pairs have other grades; the {len(rows)} farthest apart are shown."
    numbers = [Column(short(main.human)), Column(short(main.assessor))]
    words = [Column(name, align="left") for name in ("query", "document", "the assessor's reason")]
    table = Table("far", [*words[:2], *numbers, words[2]], rows)
    title = "Where people and the assessor differ most"
    return PageSection(title, [Paragraph(text), TableBlock(table, title)])


def queries_section(report: GatheredReport, lists: QueryLists) -> PageSection:
    """The queries, a row each: the worst by the mean of the systems' scores first."""
    measure = report.scores.measures[0] if report.scores else ""
    text = "There is no run: the documents with the highest grades are shown."
    if lists.systems:
        text = f"A row opens to the first {report.options.top} documents of each system. "
        text += "A document without a grade is marked as unjudged."
    worst_first = sorted(
        report.queries,  # without a relevant document no system could do better: these come last
        key=lambda each: (each.mean is None or each.relevant == 0, each.mean or 0.0),
    )
    if measure:
        means = [q.mean for q in worst_first if q.mean is not None and q.relevant]
        text += " Queries that systems answer worst come first." + "".join(
            f" {means.count(mean):,} tie at a mean of {mean:.3f}."
            for mean in sorted({*means[:1], *means[-1:]})
            if means.count(mean) > 1
        )
    text += " On paper stand the first ten."
    figures = [_figures_of(query, lists, measure) for query in worst_first]
    rows = [
        lists.row(query, [*own.values()], size=query.spread)
        for query, own in zip(worst_first, figures, strict=True)
    ]
    columns = [*figures[0]]
    table, form = DisclosureRows("query", columns, rows), FilterForm(lists.choices, columns)
    return PageSection("Every query", [Paragraph(text), form, table])


def _figures_of(query: ShownQuery, lists: QueryLists, measure: str) -> dict[str, str]:
    """What stands beside a query: scores, of many systems their mean and how far they differ."""
    scores = {f"{measure} of {name}": query.scores.get(name) for name in lists.systems}
    if len(scores) > SYSTEMS_NAMED:
        scores = {f"mean {measure}": query.mean, "largest difference": query.spread}
    column = Column(format=".3f")
    figures = {name: column.text(score) for name, score in scores.items()} if measure else {}
    figures["relevant"] = f"{query.relevant:,}"
    if lists.systems:
        figures["unjudged"] = f"{sum(d.grade is None for d in query.documents):,}"
    return figures


def cost_section(report: GatheredReport) -> PageSection | None:
    """What judging took; None where no model judged."""
    if not report.judged:
        return None
    text = "What each set of judgements took. A cost is unknown where no price is."
    table = TableBlock(status_table(report.judged), "Judgements")
    return PageSection("Cost", [Paragraph(text), table])


def provenance_section(report: GatheredReport) -> PageSection:
    """What made the collection."""
    of, sheet = report.contents, datasheet(report.contents.card, report.contents.queries)
    lines = [line for lines in sheet.values() for line in map(flat, lines)]
    blocks: list[PageBlock] = [
        Paragraph(f"{line[:1].upper()}{line[1:]}.")
        for line in map(report.private, lines)
        if not (of.people and line == NOBODY)
    ]
    assessors = assessors_table(of.card)
    if assessors.rows:
        blocks.append(TableBlock(report.private.table(assessors), "Assessors"))
    if not blocks:
        blocks.append(Paragraph("The collection has no card: what made it is not known."))
    return PageSection("What made it", blocks)


def fitting_page(report: GatheredReport, most: int = MOST_BYTES) -> Page:
    """The fullest page of less than so many bytes; it says what it leaves out."""
    return fitting(lambda lengths: report_page(report, lengths), most)


def report_page(report: GatheredReport, lengths: ShownLengths) -> Page:
    """The whole page, with as much of each query as there is room for."""
    scores = report.scores
    systems = [run.name for run in scores.ranked] if scores else sorted(report.runs)
    choices = fact_choices(report.queries)
    lists = QueryLists(systems, report.documents, report.reasons, lengths, choices)
    tables = {t.name: t for t in scores.tables(scenarios=True)} if scores else {}
    sections = [
        summary_section(report, cuts=lengths != LENGTHS[0]),
        systems_section(scores, tables) if scores else None,
        differences_section(report, scores, tables) if scores else None,
        agreement_section(report),
        holes_section(tables) if scores else None,
        cost_section(report),
        far_section(report, lists),
        queries_section(report, lists) if report.queries else None,
        provenance_section(report),
    ]
    blocks = [section for section in sections if section is not None]
    return Page(f"{report.contents.title}: report", blocks, _counts(report), filters=True)


def summary_section(report: GatheredReport, *, cuts: bool) -> PageSection:
    """Three sentences, what to know of them, warnings first, and what the collection lacks."""
    blocks: list[PageBlock] = [Paragraph(sentence, lead=True) for sentence in report.sentences]
    blocks += findings_blocks(report.findings)
    if missing := report.missing:
        title = "What is missing, and the command that makes it"
        blocks.append(TableBlock(table_of("missing", NextStep, missing), title))
    if cuts:
        text = "titles and reasons of documents are cut shorter, and long lists."
        blocks.append(Paragraph(f"So that this page stays below 2 MB, {text}"))
    return PageSection("Summary", blocks)


def _counts(report: GatheredReport) -> str:
    of = report.contents
    return " · ".join(
        (
            count_of(of.documents, "document"),
            count_of(len(of.queries), "query"),
            count_of(of.pool, "pooled pair"),
            count_of(len(of.runs), "run"),
            count_of(len(of.qrels), "set of grades", "sets of grades"),
        )
    )


def summary_text(report: GatheredReport) -> str:
    """The short form, as Markdown: sentences, systems, differences, agreement, findings."""
    title = f"# {markdown_text(flat(report.contents.title))}: report"
    return github_comment("\n\n".join([title, _counts(report), report.markdown()]))
