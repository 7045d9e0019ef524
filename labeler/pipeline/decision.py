"""The page of a comparison: the decision, one chart, and every query with both lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from labeler.evaluation.plot import difference_drawing
from labeler.messages import count_of
from labeler.pipeline.compare import SystemComparison
from labeler.pipeline.query_lists import (
    LENGTHS,
    QueryLists,
    ShownLengths,
    ShownQuery,
    documents_shown,
    fact_choices,
    fitting,
    pairs_shown,
    reasons_in,
)
from labeler.report.finding import Finding, merged
from labeler.report.page import (
    Chart,
    DisclosureRows,
    FilterForm,
    FindingList,
    Page,
    PageBlock,
    PageSection,
    Paragraph,
    TableBlock,
)
from labeler.report.private import Private
from labeler.report.table import number_text

MOST_BYTES = 5_000_000
"""A page is smaller than that."""
TIED = 1e-9
CAPTIONS = {"scores": "Means over queries, with 95 % intervals"}
COLUMNS = (
    "w/t/l: the queries that a run wins, ties and loses. p: how often chance alone would set two "
    "equal systems so far apart. Judged@k: the share of the first k documents that has a grade."
)


def decision_page(result: SystemComparison) -> Page:
    """The fullest page of less than five megabytes."""
    return fitting(_DecisionPage(result).page, MOST_BYTES)


@dataclass(frozen=True, eq=False)
class _DecisionPage:
    """A comparison, and the texts that its page shows."""

    result: SystemComparison

    @cached_property
    def private(self) -> Private:
        """Hides the folders that the collection lies in."""
        return Private(self.result.systems.collection.folder)

    @cached_property
    def lists(self) -> QueryLists:
        """The rows of queries, with the documents that are shown and the reasons for their grades.

        Of several assessors whose grades count the first one that has a reason says it.
        """
        systems, pairs = self.result.systems, pairs_shown(self.result.queries)
        documents = documents_shown(systems.collection.corpus, pairs)
        reasons = reasons_in(systems.collection, systems.layers, pairs)
        choices = fact_choices(self.result.queries)
        return QueryLists(self.result.names, documents, reasons, LENGTHS[0], choices)

    def page(self, lengths: ShownLengths) -> Page:
        """The page, with texts of these lengths."""
        result = self.result
        rows = {"Wins": [], "Losses": [], "Ties": []}  # type: dict[str, list[ShownQuery]]
        for query in result.queries:
            size = result.gain(query)
            rows["Ties" if abs(size) < TIED else "Wins" if size > 0 else "Losses"].append(query)
        rows["Losses"].reverse()
        lists = replace(self.lists, lengths=lengths)
        sections = [
            self._section(f"{outcome} of {result.names[1]}", queries, lists)
            for outcome, queries in rows.items()
        ]
        lines = [Paragraph(self.private(text), lead=True) for text in result.sentences]
        chart = Chart(difference_drawing(result.report, "The difference, with its 95 % interval"))
        tables = [TableBlock(table, CAPTIONS.get(table.name, "")) for table in result.tables()]
        blocks = [
            PageSection("The decision", lines),
            PageSection("How large the difference is", [chart, *tables, Paragraph(COLUMNS)]),
            self._filters(),
            *sections,
            *self._behind(),
        ]
        title = f"{' or '.join(result.names)}?"
        queries = count_of(len(result.queries), "query")
        below = f"{result.measure} over {queries}, by {result.report.grades.giver}"
        return Page(title, blocks, below, filters=True)

    def _filters(self) -> PageBlock:
        old, new = self.result.names
        text = (
            f"A row opens to the first documents of {old} and {new}. A blue bar marks a document "
            "that only one of the two has, a grey one a document that moved, a red one that nobody "
            "judged. On paper stand the first ten of each list."
        )
        form = FilterForm(self.lists.choices, ["difference", old, new])
        return PageSection("Every query", [Paragraph(text), form])

    def _section(self, heading: str, queries: Sequence[ShownQuery], lists: QueryLists) -> PageBlock:
        rows = []
        for query in queries:
            gain = self.result.gain(query)
            scores = (number_text(query.scores[name], ".3f") for name in lists.systems)
            rows.append(lists.row(query, [number_text(gain, "+.3f"), *scores], size=abs(gain)))
        blocks = [DisclosureRows("query", ["difference", *lists.systems], rows)]
        return PageSection(f"{heading}: {len(queries):,}", blocks if rows else [])

    def _behind(self) -> Iterator[PageBlock]:
        findings = [
            Finding(text, level=finding.level)
            for finding in merged(self.result.findings)
            if (text := self.private(finding.without_advice().text))
        ]
        if findings:
            yield PageSection("What to know of these figures", [FindingList(findings)])
