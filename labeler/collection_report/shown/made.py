"""Grades, costs and provenance as blocks."""

from __future__ import annotations

from collections.abc import Iterator

from labeler.collection_report.gathered import GatheredReport
from labeler.collection_report.grades import grades_table
from labeler.judging.status import status_table
from labeler.report.charts import NamedCounts, shares
from labeler.report.page import (
    Block,
    Chart,
    Disclosure,
    FactList,
    PageSection,
    Paragraph,
    Preformatted,
    TableBlock,
)


def grades_section(report: GatheredReport) -> PageSection | None:
    """The grades by origin and kind; None where there is no grade."""
    groups = report.grades
    if not groups:
        return None
    grades = sorted({grade for group in groups for grade in group.grades})
    rows = [
        NamedCounts(f"{g.field} {g.group}".strip(), [g.grades.get(grade, 0) for grade in grades])
        for g in groups
    ]
    names = [f"{grade} {report.scale_names.get(grade, '')}".strip() for grade in grades]
    title = f"Grades of {report.sets.scoring}"
    blocks: list[Block] = [
        Chart(shares(title, rows, names)),
        TableBlock(grades_table(groups, report.scale_names), f"{title}, by origin and kind"),
    ]
    return PageSection("Grades by origin and kind", blocks)


def cost_section(report: GatheredReport) -> PageSection | None:
    """What judging took; None where no model judged."""
    if not report.judged:
        return None
    table = status_table(report.judged)
    costs = [judged.cost for judged in report.judged if judged.cost is not None]
    text = "What each set of judgements took. A cost is unknown where no price is."
    if not costs:
        text = "What each set of judgements took; of no model a price is known."
    return PageSection("Cost", [Paragraph(text), TableBlock(table, "Judgements")])


def provenance_section(report: GatheredReport) -> PageSection:
    """What made the collection."""
    made = report.provenance
    blocks: list[Block] = []
    if made.facts:
        blocks.append(FactList([(name, report.private(value)) for name, value in made.facts]))
    blocks += [
        Paragraph(f"{report.private(line)[:1].upper()}{report.private(line)[1:]}.")
        for line in made.lines
    ]
    if made.assessors.rows:
        blocks.append(TableBlock(report.private.table(made.assessors), "Assessors"))
    blocks += _prompts(report)
    if made.hashes:
        files = FactList(list(made.hashes.items()))
        blocks.append(Disclosure(f"SHA-256 of {len(made.hashes)} files", [files]))
    if not blocks:
        blocks.append(Paragraph("The collection has no card: what made it is not known."))
    return PageSection("What made it", blocks)


def _prompts(report: GatheredReport) -> Iterator[Block]:
    for prompt in report.provenance.prompts:
        if prompt.text:
            yield Disclosure(f"Prompt {prompt.id}: {prompt.use}", [Preformatted(prompt.text)])
        else:
            yield Paragraph(
                f"Prompt {prompt.id} ({prompt.use}): its text is not kept in the collection, and "
                "no prompt of this name and hash is found here."
            )
