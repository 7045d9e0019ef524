"""The queries of a report as rows that open: the topic, what each system returned, grades and reasons."""

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
    Block,
    Disclosure,
    DisclosureRows,
    Excerpt,
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
    `text` count characters; 0 leaves the text out. `ids` says whether documents are shown with
    their ids beside their titles.
    """

    top: int = 10
    most: int = 1000
    title: int = 100
    reason: int = 400
    text: int = 500
    ids: bool = True

    def cuts(self, fullest: Detail) -> Iterator[str]:
        """What is not shown here that the fullest page has."""
        if self.top < fullest.top:
            yield f"of each system the first {self.top} documents are shown, not {fullest.top}"
        if self.most < fullest.most:
            yield f"of each query at most {self.most} documents, those that systems rank highest"
        if self.text < fullest.text:
            yield "texts of documents stand only beside the best and worst queries and far pairs"
        if not self.reason:
            yield "reasons stand only there, too"
        elif self.reason < fullest.reason:
            yield f"reasons are cut after {self.reason} characters"
        if self.title < fullest.title:
            yield f"titles are cut after {self.title} characters"
        if not self.ids:
            yield "ids stand only where a document has no title"


def levels(top: int) -> tuple[Detail, ...]:
    """From the fullest page to the smallest."""
    return (
        Detail(top),
        Detail(top, text=0),
        Detail(top, reason=140, text=0),
        Detail(top, title=80, reason=80, text=0),
        Detail(top, title=80, reason=0, text=0),
        Detail(top, title=60, reason=0, text=0, ids=False),
        Detail(top, 20, 60, 0, 0, ids=False),
        Detail(min(top, 5), 20, 60, 0, 0, ids=False),
        Detail(min(top, 5), 12, 50, 0, 0, ids=False),
        Detail(min(top, 3), 8, 40, 0, 0, ids=False),
        Detail(min(top, 3), 4, 30, 0, 0, ids=False),
        Detail(1, 1, 30, 0, 0, ids=False),
    )


NAMED = 4
"""So many systems have columns with their names; of more, they are numbered."""
NUMBERED = 12
"""So many systems are numbered; of more it is counted how many returned a document."""
EXTREMES = 3
"""So many of the best and of the worst queries are shown with their documents."""
MOST_BESIDE = 10
"""So many documents of each of these are shown, with their texts."""
TEXT = 500
"""So many characters of a document stand beside these."""
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

    def section(self, queries: Sequence[ReportedQuery]) -> PageSection:
        """These queries, a row each."""
        shown = self.systems[:NAMED] if len(self.systems) <= NAMED else self.systems[:1]
        columns = [f"{self.measure} of {name}" for name in shown] if self.measure else []
        if self.measure and len(self.systems) > NAMED:
            columns.append("mean of systems")
        columns += ["relevant", "unjudged"] if self.systems else ["relevant"]
        rows = [self._row(query, shown) for query in queries]
        return PageSection(
            "Every query",
            [*self._legend(), DisclosureRows("query", columns, rows)],
        )

    def _legend(self) -> Iterator[Block]:
        if not self.systems:
            yield Paragraph("There is no run: the documents with the highest grades are shown.")
            return
        top = min(self.detail.top, self.report.options.top)
        text = f"A row opens to the first {top} documents of each system, with their ranks."
        if NAMED < len(self.systems) <= NUMBERED:
            numbered = ", ".join(f"{n} {name}" for n, name in enumerate(self.systems, start=1))
            text += (
                f" Systems are numbered: {numbered}. So “2 in 1, 3” is rank 2 in systems 1 and 3."
            )
        yield Paragraph(f"{text} A document without a grade is marked as unjudged.")

    def _row(self, query: ReportedQuery, shown: Sequence[str]) -> Disclosure:
        figures = []
        if self.measure:
            figures = [_score(query.scores.get(name)) for name in shown]
            figures += [_score(query.mean)] if len(self.systems) > NAMED else []
        figures.append(f"{query.relevant:,}")
        figures += [f"{self._unjudged(query):,}"] if self.systems else []
        return Disclosure(named(query.query), [*self.opened(query)], figures)

    def _unjudged(self, query: ReportedQuery) -> int:
        return sum(document.grade is None for document in query.documents)

    def opened(self, query: ReportedQuery, text: int | None = None) -> Iterator[Block]:
        """What a row shows when it is open."""
        length = self.detail.text if text is None else text
        yield from topic(query.query)
        documents = [*self._within(query.documents)]
        if text is not None and len(documents) > MOST_BESIDE:
            documents = documents[:MOST_BESIDE]
            yield Paragraph(f"The {MOST_BESIDE} documents that systems rank highest:")
        if not documents:
            yield Paragraph("No system returned a document, and nobody judged one.")
            return
        yield TableBlock(self._table(documents, full=text is not None), "Documents")
        if query.unseen and self.systems:
            yield Paragraph(f"Relevant, and among no system's first documents: {query.unseen:,}.")
        if length:
            yield from self._texts(documents, length)

    def _within(self, documents: Sequence[ShownDocument]) -> Iterator[ShownDocument]:
        """The documents that some system has among as many as are shown."""
        near = (d for d in documents if not d.ranks or min(d.ranks.values()) <= self.detail.top)
        return islice(near, self.detail.most)

    def _texts(self, documents: Sequence[ShownDocument], length: int) -> Iterator[Block]:
        excerpts = [self.excerpt(document.id, length) for document in documents]
        shown = [excerpt for excerpt in excerpts if excerpt is not None]
        if shown:
            yield Disclosure("The documents' texts", shown)

    def excerpt(self, doc_id: str, length: int) -> Excerpt | None:
        """A document's text, cut; None where the corpus does not have it."""
        document = self.documents.get(doc_id)
        if document is None:
            return None
        return Excerpt(cut_text(document.text, length), flat(document.title), doc_id)

    def _table(self, documents: Sequence[ShownDocument], *, full: bool) -> Table:
        reason = 400 if full else self.detail.reason
        with_human = any(document.human is not None for document in documents)
        with_reason = bool(reason) and any(document.reason for document in documents)
        with_id = (full or self.detail.ids) and any(
            (d := self.documents.get(document.id)) and d.title for document in documents
        )
        columns = [Column("document", align="left")]
        columns += [Column("id", align="left")] if with_id else []
        columns += [Column("grade")] + ([Column("people")] if with_human else [])
        columns += self._rank_columns()
        columns += [Column("why", align="left")] if with_reason else []
        rows: list[list[Cell]] = []
        for document in documents:
            row: list[Cell] = [self.title(document.id)]
            row += [document.id] if with_id else []
            row += [grade_text(document)] + ([document.human] if with_human else [])
            row += self._ranks(document)
            row += [cut_text(document.reason, reason)] if with_reason else []
            rows.append(row)
        return Table("documents", columns, rows)

    def title(self, doc_id: str) -> str:
        """A document's title, else its id."""
        document = self.documents.get(doc_id)
        title = flat(document.title) if document else ""
        return cut_text(title or doc_id, self.detail.title)

    def _rank_columns(self) -> list[Column]:
        if len(self.systems) <= NAMED:
            return [Column(name, undefined="") for name in self.systems]
        if len(self.systems) <= NUMBERED:
            return [Column("rank in systems", align="left")]
        return [Column("systems"), Column("best rank"), Column("by", align="left")]

    def _ranks(self, document: ShownDocument) -> list[Cell]:
        ranks = {name: rank for name, rank in document.ranks.items() if rank <= self.detail.top}
        if len(self.systems) <= NAMED:
            return [ranks.get(name) for name in self.systems]
        if len(self.systems) <= NUMBERED:
            return [self._numbered(ranks)]
        best = min(ranks, key=lambda name: ranks[name], default="")
        return [len(ranks), ranks.get(best), best]

    def _numbered(self, ranks: Mapping[str, int]) -> str:
        """Each rank with the numbers of the systems that have the document there."""
        systems: dict[int, list[str]] = {}
        for number, name in enumerate(self.systems, start=1):
            if name in ranks:
                systems.setdefault(ranks[name], []).append(str(number))
        return "; ".join(f"{rank} in {', '.join(systems[rank])}" for rank in sorted(systems))


def topic(query: Query) -> Iterator[Block]:
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


def _score(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else number_text(value, ".3f")


def extremes(blocks: QueryBlocks) -> PageSection | None:
    """The best and the worst queries with their documents; None where no system is scored."""
    scored = [q for q in blocks.report.queries if q.mean is not None and q.relevant]
    if len(scored) < 2 or not blocks.measure:
        return None
    ordered = sorted(scored, key=lambda query: (query.mean or 0.0, query.query.id))
    count = min(EXTREMES, len(ordered) // 2)
    barren = sum(q.mean is not None and not q.relevant for q in blocks.report.queries)
    of = "the mean of all systems" if len(blocks.systems) > 1 else blocks.systems[0]
    text = f"By {blocks.measure}, {of}."
    if barren:
        left = "1 query has" if barren == 1 else f"{barren:,} queries have"
        text += f" {left} no relevant document, so that no system could do better: left out here."
    parts: list[Block] = [Paragraph(text)]
    for title, part in (("Worst", ordered[:count]), ("Best", ordered[::-1][:count])):
        rows = [
            Disclosure(named(query.query), [*blocks.opened(query, TEXT)], [_score(query.mean)])
            for query in part
        ]
        parts.append(PageSection(title, [DisclosureRows("query", [blocks.measure], rows)]))
    return PageSection("Best and worst queries", parts)
