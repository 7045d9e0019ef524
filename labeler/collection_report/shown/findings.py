"""Findings on the first screen of a page: the first warnings at once, what is left to be opened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from labeler.messages import count_of
from labeler.report.finding import Finding
from labeler.report.page import Block, Disclosure, FindingList

MOST_WARNINGS = 5
"""So many warnings are shown at once; of more, the first ones, and the others open."""


def first_findings(findings: Sequence[Finding]) -> Iterator[Block]:
    """The first warnings, then a line that opens to the other warnings and the notes."""
    warnings = [finding for finding in findings if finding.level == "warning"]
    notes = [finding for finding in findings if finding.level != "warning"]
    first = warnings if len(warnings) <= MOST_WARNINGS else warnings[: MOST_WARNINGS - 1]
    if first:
        yield FindingList(first)
    if rest := [*warnings[len(first) :], *notes]:
        yield Disclosure(_how_many(len(warnings) - len(first), len(notes)), [FindingList(rest)])


def _how_many(warnings: int, notes: int) -> str:
    counts = [count_of(warnings, "more warning", "more warnings")] if warnings else []
    counts += [count_of(notes, "note", "notes")] if notes else []
    return " and ".join(counts)
