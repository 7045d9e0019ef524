"""The page of a comparison: the decision, one chart, and every query with both lists."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from labeler.collection.corpus import documents_of
from labeler.collection.judgements import read_judgements
from labeler.collection.user_files import Output
from labeler.data import Judgement, Pair
from labeler.files.atomic import replacing
from labeler.files.paths import true_path
from labeler.messages import count_of
from labeler.pipeline.compare import ComparedQuery, ListedDocument, SystemComparison
from labeler.report.charts import Axis, NamedValue, intervals
from labeler.report.finding import Finding, merged
from labeler.report.neutral import flat
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
    RankedItem,
    SideBySide,
    TableBlock,
)
from labeler.report.table import number_text

MOST_BYTES = 5_000_000
"""A page is smaller than that."""
FACTS = ("kind", "origin")
"""The fields of queries by which they may be filtered."""
TIED = 1e-9


@dataclass(frozen=True)
class TextLengths:
    """How many characters of a document's title, or of its text, and of a reason are shown."""

    title: int
    reason: int


LENGTHS = (TextLengths(110, 240), TextLengths(90, 100), TextLengths(70, 0), TextLengths(40, 0))
"""From the fullest page to the smallest."""


def decision_page(result: SystemComparison) -> Page:
    """The fullest page of less than five megabytes."""
    made = _DecisionPage(result)
    pages = (made.page(lengths) for lengths in LENGTHS)
    page = next(pages)
    while len(page.html().encode()) >= MOST_BYTES and (smaller := next(pages, None)):
        page = smaller
    return page


def write_decision(result: SystemComparison, output: Output) -> None:
    """Write the page to a file, whole or not at all."""
    text = decision_page(result).html()
    with output.writing(), replacing(output.path) as out:
        out.write(text)


@dataclass(frozen=True, eq=False)
class _DecisionPage:
    """A comparison, and the texts that its page shows."""

    result: SystemComparison

    @cached_property
    def shown(self) -> set[Pair]:
        """The pairs of a query and a document that stand in some list."""
        return {
            Pair(query.query.id, document.id)
            for query in self.result.queries
            for documents in query.lists
            for document in documents
        }

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Titles of the documents that are shown, or the beginnings of their texts."""
        path, ids = self.result.systems.collection.corpus, {pair.doc_id for pair in self.shown}
        if not path.is_file():
            return {}
        return {
            doc_id: flat((document.title or document.text)[: LENGTHS[0].title])
            for doc_id, document in documents_of(path, ids).items()
        }

    @cached_property
    def reasons(self) -> Mapping[Pair, str]:
        """Why the assessors among those whose grades count gave theirs."""
        collection, reasons = self.result.systems.collection, dict[Pair, str]()
        for name in reversed(self.result.systems.layers):
            path = collection.judgements(name)
            for row in read_judgements(path) if path.is_file() else ():
                outcome = row.judged.outcome
                if isinstance(outcome, Judgement) and outcome.reason and outcome.pair in self.shown:
                    reasons[outcome.pair] = flat(outcome.reason)
        return reasons

    def page(self, lengths: TextLengths) -> Page:
        """The page, with texts of these lengths."""
        result = self.result
        rows = {"Wins": [], "Losses": [], "Ties": []}  # type: dict[str, list[ComparedQuery]]
        for query in result.queries:
            size = query.difference
            rows["Ties" if abs(size) < TIED else "Wins" if size > 0 else "Losses"].append(query)
        rows["Losses"].reverse()
        sections = [
            self._section(f"{outcome} of {result.names[1]}", queries, lengths)
            for outcome, queries in rows.items()
        ]
        blocks = [self._decision(), *self._scores(), self._filters(), *sections, *self._behind()]
        title = f"{' or '.join(result.names)}?"
        queries = count_of(len(result.queries), "query", "queries")
        below = f"{result.measure} over {queries}, by {result.report.grades.giver}"
        return Page(title, blocks, below, filters=True)

    def _plain(self, text: str) -> str:
        """A text without the folders that the collection lies in."""
        folder = self.result.systems.collection.folder
        for spelling in {os.fspath(folder), os.path.abspath(folder)} - {"."}:
            text = text.replace(spelling, true_path(folder).name)
        return text

    def _decision(self) -> PageBlock:
        lines = [Paragraph(self._plain(text), lead=True) for text in self.result.sentences]
        return PageSection("The decision", lines)

    def _scores(self) -> Iterator[PageBlock]:
        result = self.result
        compared = result.report.compared()
        axis = Axis(f"{result.measure} less that of {result.names[0]}", "+.3f", reference=0.0)
        rows = [NamedValue(c.run, c.difference, c.low, c.high) for c in compared]
        chart = Chart(intervals("The difference, with its 95 % interval", rows, axis))
        tables = [TableBlock(table) for table in result.tables()]
        yield PageSection("How large the difference is", [chart, *tables])

    def _filters(self) -> PageBlock:
        values = {
            name: sorted({fact for query in self.result.queries if (fact := _fact(query, name))})
            for name in FACTS
        }
        choices = {name: texts for name, texts in values.items() if len(texts) > 1}
        old, new = self.result.names
        text = (
            f"A row opens to the first documents of {old} and {new}. A blue bar marks a document "
            "that only one of the two has, a grey one a document that moved, a red one that nobody "
            "judged."
        )
        return PageSection("Every query", [Paragraph(text), FilterForm(choices)])

    def _section(
        self, heading: str, queries: Sequence[ComparedQuery], lengths: TextLengths
    ) -> PageBlock:
        old, new = self.result.names
        rows = [self._row(query, lengths) for query in queries]
        blocks = [DisclosureRows("query", ["difference", old, new], rows, filtered=True)]
        return PageSection(f"{heading}: {len(queries):,}", blocks if rows else [])

    def _row(self, query: ComparedQuery, lengths: TextLengths) -> Disclosure:
        seen = {document.id for document in query.lists[0]}
        rankings = {
            name: [
                self._item(query, d, lengths, again=bool(at) and d.id in seen) for d in documents
            ]
            for at, (name, documents) in enumerate(zip(self.result.names, query.lists, strict=True))
        }
        facts = {name: fact for name in FACTS if (fact := _fact(query, name))}
        figures = [number_text(query.difference, "+.3f")]
        figures += [number_text(score, ".3f") for score in query.scores]
        words = f"{query.query.id} {flat(query.query.text)}"[:160]
        size = {"size": f"{abs(query.difference):.4f}"}
        return Disclosure(words, [SideBySide(rankings)], figures, facts=facts | size)

    def _item(
        self, query: ComparedQuery, document: ListedDocument, lengths: TextLengths, *, again: bool
    ) -> RankedItem:
        """A document of a list; its reason stands in the first list that has it."""
        title = self.titles.get(document.id, "")
        words = f"{title[: lengths.title]} {document.id}" if title else document.id
        grade = "unjudged" if document.grade is None else f"grade {document.grade}"
        giver = f" by {document.giver}" if document.giver else ""
        kind = "only" if not document.elsewhere else "moved"
        kind = "open" if document.grade is None else kind
        if document.elsewhere == document.rank and kind == "moved":
            kind = ""
        reason = "" if again else self.reasons.get(Pair(query.query.id, document.id), "")
        return RankedItem(
            words, f"{grade}{giver} · {document.mark}", kind, reason[: lengths.reason]
        )

    def _behind(self) -> Iterator[PageBlock]:
        findings = [
            Finding(self._plain(finding.without_advice().text), level=finding.level)
            for finding in merged(self.result.findings)
        ]
        if findings:
            yield PageSection("What to know of these figures", [FindingList(findings)])


def _fact(query: ComparedQuery, name: str) -> str:
    value = query.query.metadata.get(name)
    return str(value) if isinstance(value, str | int | float) else ""
