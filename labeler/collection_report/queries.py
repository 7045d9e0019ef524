"""The queries of a report as rows that open: topic, what each system returned, and reasons."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from labeler.collection_report.figures import GROUPS, ReportedQuery, ShownDocument
from labeler.collection_report.gathered import GatheredReport
from labeler.data import Document, Query
from labeler.report.neutral import flat
from labeler.report.page import (
    Disclosure,
    DisclosureRows,
    Excerpt,
    PageBlock,
    PageSection,
    Paragraph,
    TableBlock,
)
from labeler.report.table import Cell, Column, Table, number_text

MOST_BYTES = 2_000_000
"""A page is smaller than that."""


@dataclass(frozen=True)
class Detail:
    """How many documents of each system are shown for a query, and how long their texts are.

    Of a query `most` documents are shown, those that systems rank highest. `title`, `reason` and
    `text` count characters; 0 leaves the text out.
    """

    top: int = 10
    most: int = 1000
    title: int = 100
    reason: int = 400
    text: int = 500

    def cuts(self, fullest: Detail) -> str:
        """What is not shown here that the fullest page has; empty where that is nothing."""
        if self == fullest:
            return ""
        few = f"of each query at most {self.most} documents, without reasons, "
        return f"{few if self.most < fullest.most else ''}texts beside far pairs alone"


def levels(top: int) -> Sequence[Detail]:
    """From the fullest page to the smallest."""
    small = Detail(top, 20, 60, 0, 0)
    return (Detail(top), Detail(top, text=0), small, Detail(min(top, 3), 4, 30, 0, 0))


NAMED = 4
"""So many systems have columns of their own; of more the best rank is shown."""
TEXT = 500
"""So many characters of a document stand beside pairs with grades far apart."""
_TOPIC = ("description", "narrative")


class QueryBlocks:
    """Makes the blocks of queries, with documents in some detail."""

    def __init__(
        self, report: GatheredReport, documents: Mapping[str, Document], detail: Detail
    ) -> None:
        self.report, self.documents, self.detail = report, documents, detail
        scores = report.scores
        self.systems = [run.name for run in scores.ranked] if scores else sorted(report.runs)
        self.measure = scores.measures[0] if scores else ""

    def section(self) -> PageSection:
        """The queries, a row each: the worst by the mean of the systems' scores first."""
        are_named = len(self.systems) <= NAMED
        shown = self.systems if are_named else self.systems[:1]
        columns = [f"{self.measure} of {name}" for name in shown] if self.measure else []
        columns += ["mean of systems"] if self.measure and not are_named else []
        columns += ["relevant", "unjudged"] if self.systems else ["relevant"]
        text = "There is no run: the documents with the highest grades are shown."
        if self.systems:
            top = min(self.detail.top, self.report.options.top)
            text = f"A row opens to the first {top} documents of each system, with their ranks. "
            text += "A document without a grade is marked as unjudged."
            text += " Queries that systems answer worst come first." if self.measure else ""
        rows = []
        for query in sorted(self.report.queries, key=_worst_first):
            scores = [query.scores.get(name) for name in shown]
            scores += [] if are_named else [query.mean]
            figures = [*map(_score, scores)] if self.measure else []
            figures.append(f"{query.relevant:,}")
            unjudged = sum(document.grade is None for document in query.documents)
            figures += [f"{unjudged:,}"] if self.systems else []
            rows.append(Disclosure(named(query.query), [*self.opened(query)], figures))
        return PageSection("Every query", [Paragraph(text), DisclosureRows("query", columns, rows)])

    def opened(self, query: ReportedQuery) -> Iterator[PageBlock]:
        """What a row shows when it is open."""
        yield from topic(query.query)
        top, length = self.detail.top, self.detail.text
        near = (d for d in query.documents if not d.ranks or min(d.ranks.values()) <= top)
        documents = list(islice(near, self.detail.most))
        if not documents:
            yield Paragraph("No system returned a document, and nobody judged one.")
            return
        yield TableBlock(self._table(documents), "Documents")
        if query.unseen and self.systems:
            yield Paragraph(f"Relevant, and among no system's first documents: {query.unseen:,}.")
        excerpts = [self.excerpt(document.id, length) for document in documents] if length else []
        if shown := [excerpt for excerpt in excerpts if excerpt is not None]:
            yield Disclosure("The documents' texts", shown)

    def excerpt(self, doc_id: str, length: int) -> Excerpt | None:
        """A document's text, cut; None where the corpus does not have it."""
        document = self.documents.get(doc_id)
        if document is None:
            return None
        return Excerpt(cut_text(document.text, length), flat(document.title), doc_id)

    def _table(self, documents: Sequence[ShownDocument]) -> Table:
        """The documents with their ids, grades, ranks and reasons; columns without a cell go."""
        reason = self.detail.reason
        ranks = [
            {name: rank for name, rank in document.ranks.items() if rank <= self.detail.top}
            for document in documents
        ]
        cells: dict[Column, list[Cell]] = {
            Column("document", align="left"): [self.title(d.id) for d in documents],
            Column("id", align="left"): [d.id if self._has_title(d.id) else "" for d in documents],
            Column("grade"): [grade_text(document) for document in documents],
            Column("people", undefined=""): [document.human for document in documents],
        }
        if len(self.systems) <= NAMED:
            for name in self.systems:
                cells[Column(name, undefined="")] = [own.get(name) for own in ranks]
        else:
            cells[Column("systems")] = [len(own) for own in ranks]
            cells[Column("best rank")] = [min(own.values(), default=None) for own in ranks]
        reasons = [cut_text(d.reason, reason) if reason else "" for d in documents]
        cells[Column("why", align="left")] = [*reasons]
        shown = {
            column: column_cells
            for column, column_cells in cells.items()
            if column.name not in {"id", "people", "why"}
            or any(cell not in (None, "") for cell in column_cells)
        }
        return Table("documents", list(shown), list(zip(*shown.values(), strict=True)))

    def _has_title(self, doc_id: str) -> bool:
        document = self.documents.get(doc_id)
        return document is not None and bool(document.title)

    def title(self, doc_id: str) -> str:
        """A document's title, else its id."""
        document = self.documents.get(doc_id)
        title = flat(document.title) if document else ""
        return cut_text(title or doc_id, self.detail.title)


def topic(query: Query) -> Iterator[PageBlock]:
    """The query's text, what is said of the need behind it, and where it is from."""
    for name in _TOPIC:
        value = query.metadata.get(name)
        if isinstance(value, str) and value.strip():
            yield Paragraph(cut_text(value, 600))
    facts = [f"{name}: {query.metadata[name]}" for name in GROUPS if query.metadata.get(name)]
    if facts:
        yield Paragraph(" · ".join(facts))


def grade_text(document: ShownDocument) -> str:
    """A grade; else which failure there is none for, or that nobody judged the pair."""
    if document.grade is not None:
        return str(document.grade)
    return document.failure.replace("_", " ") or "unjudged"


def named(query: Query) -> str:
    """A query's id and its text."""
    return " ".join([query.id, *cut_text(flat(query.text), 160).split()])


def cut_text(text: str, length: int) -> str:
    """A text of at most so many characters; a longer one ends with an ellipsis."""
    text = text.strip()
    return text if len(text) <= length else f"{text[: max(1, length - 1)].rstrip()}…"


def _worst_first(query: ReportedQuery) -> tuple[bool, float]:
    """Queries without a relevant document, of which no system could do better, come last."""
    has_score = query.mean is not None and query.relevant > 0
    return not has_score, query.mean or 0.0


def _score(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else number_text(value, ".3f")
