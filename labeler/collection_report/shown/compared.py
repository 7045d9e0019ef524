"""The page of two sides beside each other, and its short form for a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from labeler.collection_report.compared import ReportComparison
from labeler.collection_report.private import reworded
from labeler.collection_report.shown.findings import first_findings
from labeler.collection_report.shown.queries import cut_text
from labeler.judging.changes import Move
from labeler.report.charts import Axis, Drawing, NamedValue, intervals
from labeler.report.page import (
    Block,
    Chart,
    Disclosure,
    DisclosureRows,
    FindingList,
    Page,
    PageSection,
    Paragraph,
    TableBlock,
)
from labeler.report.table import Interval

MOVES = 100
"""So many of the pairs that moved are shown."""
CAPTIONS = {
    "transitions": "What became of each grade",
    "queries": "Where most pairs moved",
    "agreement": "Agreement with people",
    "runs": "The systems by both, on what both judged",
    "cost": "Cost",
}


def comparison_page(compared: ReportComparison) -> Page:
    """What changed, on a page."""
    blocks = [*comparison_blocks(compared)]
    if compared.changes is not None:
        blocks += [_grades(compared), *_moves(compared)]
    return Page(_title(compared), blocks, subtitle=_subtitle(compared))


def comparison_summary(compared: ReportComparison) -> Page:
    """Warnings, sentences and the systems, for a pull request."""
    blocks = [*comparison_blocks(compared, charts=False)]
    return Page(_title(compared), blocks, subtitle=_subtitle(compared))


def _title(compared: ReportComparison) -> str:
    title = compared.after.contents.title
    return f"{title}: from {compared.before.label} to {compared.after.label}"


def _subtitle(compared: ReportComparison) -> str:
    sides = compared.before, compared.after
    if all(side.label == side.scoring for side in sides):
        return ""
    return " · ".join(
        f"{side.label}: {f'graded by {side.scoring}' if side.scoring else 'no grades'}"
        for side in sides
    )


def comparison_blocks(compared: ReportComparison, *, charts: bool = True) -> Iterator[Block]:
    """The summary, what changed in the collection, and the systems."""
    findings = [*first_findings(compared.findings)] if charts else [FindingList(compared.findings)]
    lines = [line for sentence in compared.sentences for line in sentence.split("\n") if line]
    yield PageSection("Summary", [*findings, *(Paragraph(line, lead=True) for line in lines)])
    if compared.parts:
        yield PageSection("What changed in the collection", [TableBlock(compared.parts_table())])
    table = compared.system_table()
    if not table.rows:
        return
    text = (
        "Here each side is scored by all of its own grades, and the sentence on the systems' order "
        "is of the pairs that both judged. That a score changed is not tested."
    )
    blocks: list[Block] = [Paragraph(text)]
    if charts:
        blocks.append(Chart(_chart(compared)))
    yield PageSection("Systems", [*blocks, TableBlock(table, "Scores and places")])


def _chart(compared: ReportComparison) -> Drawing:
    side = compared.after.scores or compared.before.scores
    measure = side.measures[0] if side else ""
    names = compared.before.label, compared.after.label
    rows = []
    for row in compared.system_table().rows:
        before, after = row[1], row[3]
        if isinstance(before, Interval) and isinstance(after, Interval):
            rows.append(
                NamedValue(str(row[0]), before.value, before.low, before.high, other=after.value)
            )
    return intervals(
        f"{measure} by {names[0]} and by {names[1]}", rows, Axis(measure), second=names
    )


def _grades(compared: ReportComparison) -> PageSection:
    tables = compared.changes.tables() if compared.changes else []
    blocks = [
        TableBlock(reworded(table, compared.worded), CAPTIONS.get(table.name, ""))
        for table in tables
        if table.rows
    ]
    return PageSection("Grades", blocks)


def _moves(compared: ReportComparison) -> Iterator[Block]:
    moved = compared.changes.moved if compared.changes else ()
    if not moved:
        return
    text = f"{len(moved):,} pairs moved"
    if len(moved) > MOVES:
        text += f"; the first {MOVES} are shown, those farthest apart first"
    names = [compared.before.label, compared.after.label]
    rows = DisclosureRows("query and document", names, [_move(compared, m) for m in moved[:MOVES]])
    yield PageSection("Pairs that moved", [Paragraph(f"{text}."), rows])


def _move(compared: ReportComparison, move: Move) -> Disclosure:
    query_id, doc_id = move.pair
    query = compared.after.contents.queries.get(query_id)
    text = move.query or (query.text if query else "")
    inner: list[Block] = [
        Paragraph(f"{label}: {cut_text(reason, 600)}")
        for label, reason in (
            (compared.before.label, move.reason_before),
            (compared.after.label, move.reason_after),
        )
        if reason
    ]
    words = f"{query_id} {cut_text(text, 120)}: {doc_id}"
    return Disclosure(
        words, inner or [Paragraph("No reason was given.")], [str(move.before), str(move.after)]
    )
