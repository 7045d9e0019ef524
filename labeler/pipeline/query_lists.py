"""Queries as rows of a page, which open to what systems ranked first, side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from labeler.collection.corpus import distinct_documents
from labeler.collection.judged_set import judged_in
from labeler.collection.layout import Collection
from labeler.data import Document, Pair, Query
from labeler.exchange.runs import read_run
from labeler.report.neutral import cut, flat
from labeler.report.page import (
    Disclosure,
    Page,
    PageBlock,
    Paragraph,
    RankedItem,
    SideBySide,
)
from labeler.trec.files import ranking
from labeler.trec.pairs import NONE, PairColumns

SYSTEMS_NAMED = 4
"""So many systems have a list of their own; of more, one list says how many have a document."""
TOPIC = ("description", "narrative")
MOST_CHOICES = 30
"""By a field with more values than that queries are not filtered."""

Tops = Mapping[str, Mapping[str, Sequence[str]]]
"""System to query to the first documents that it returned."""


@dataclass(frozen=True)
class ShownDocument:
    """A document of a query: its rank by system (1 is first), its grade, and who gave that.

    `grade` is None where nobody judged the pair, or where judging failed, which `failure` says.
    `human` is people's grade, where `grade` is an assessor's.
    """

    id: str
    ranks: Mapping[str, int] = field(default_factory=dict)
    grade: int | None = None
    giver: str = ""
    human: int | None = None
    failure: str = ""

    @property
    def figures(self) -> str:
        """Its grades in words."""
        words = self.failure.replace("_", " ") or "unjudged"
        if self.grade is not None:
            words = f"grade {self.grade}" + (f" by {self.giver}" if self.giver else "")
        return words if self.human is None else f"{words} · people {self.human}"

    def elsewhere(self, system: str) -> str:
        """How its rank in the list of one system stands to those in the lists of others."""
        others = {name: rank for name, rank in self.ranks.items() if name != system}
        if not others:
            return "only here"
        if {*others.values()} == {self.ranks[system]}:
            return "same rank"
        return ", ".join(f"rank {rank} in {name}" for name, rank in others.items())


@dataclass(frozen=True)
class ShownQuery:
    """A query with each system's score by the first measure, and the documents that are shown.

    `relevant` counts documents with a grade above 0, `unseen` those of them that no system has
    among the documents shown.
    """

    query: Query
    scores: Mapping[str, float]
    documents: Sequence[ShownDocument]
    relevant: int = 0
    unseen: int = 0

    @property
    def mean(self) -> float | None:
        """The mean of the systems' scores; None where no system is scored."""
        return sum(self._defined) / len(self._defined) if self._defined else None

    @property
    def spread(self) -> float:
        """How far the systems' scores lie apart; 0 of fewer than two."""
        return max(self._defined, default=0.0) - min(self._defined, default=0.0)

    @property
    def _defined(self) -> list[float]:
        return [score for score in self.scores.values() if not math.isnan(score)]

    def fact(self, name: str) -> str:
        """A single value of the query's metadata as text; empty where it has none."""
        value = self.query.metadata.get(name)
        return str(value) if isinstance(value, str | int | float) else ""


def first_documents(runs: Mapping[str, Any], depth: int) -> dict[str, dict[str, list[str]]]:
    """System to query to the first documents, of runs or their files, one in memory at a time."""
    tops = {}
    for name, run in runs.items():
        rows = (read_run(run) if isinstance(run, Path) else run).items()
        tops[name] = {query: ranking(scores)[:depth] for query, scores in rows}
    return tops


def fact_choices(queries: Iterable[ShownQuery]) -> dict[str, list[str]]:
    """The values of each field of metadata by which queries can be filtered: several, not many."""
    values = dict[str, set[str]]()
    for query in queries:
        for name in query.query.metadata:
            values.setdefault(name, set()).add(query.fact(name))
    every = {name: sorted(texts - {""}) for name, texts in values.items() if name not in TOPIC}
    return {name: texts for name, texts in every.items() if 1 < len(texts) <= MOST_CHOICES}


def ranks_of(tops: Tops, query_id: str) -> dict[str, dict[str, int]]:
    """The ranks of each document by system; documents that most systems rank high come first."""
    ranks: dict[str, dict[str, int]] = {}
    for name, by_query in tops.items():
        for rank, doc_id in enumerate(by_query.get(query_id, ()), start=1):
            ranks.setdefault(doc_id, {})[name] = rank
    weights = {doc_id: sum(1 / rank for rank in own.values()) for doc_id, own in ranks.items()}
    return {doc_id: ranks[doc_id] for doc_id in sorted(ranks, key=lambda d: (-weights[d], d))}


def pairs_shown(queries: Iterable[ShownQuery]) -> list[Pair]:
    """The pairs of queries and their documents."""
    return [Pair(shown.query.id, document.id) for shown in queries for document in shown.documents]


def reasons_in(
    collection: Collection, names: Iterable[str], pairs: Iterable[Pair]
) -> dict[Pair, str]:
    """Why assessors gave some pairs their grades, as the first set says that has a reason."""
    asked = PairColumns.of_pairs(dict.fromkeys(pairs, 0), np.int8)
    reasons = dict[Pair, str]()
    for path in map(collection.judgements, names):
        if path.is_file():
            judged = judged_in(path)
            rows = judged.is_graded & (judged.states.rows_in(asked) != NONE)
            given = judged.reasons_of(np.flatnonzero(rows))
            texts = zip(judged.states.keep(rows).pairs(), given, strict=True)
            reasons = {pair: text for pair, text in texts if text} | reasons
    return reasons


def documents_shown(corpus: Path, pairs: Iterable[Pair]) -> dict[str, Document]:
    """The documents of some pairs, with their texts cut to what the fullest page shows."""
    needed = {pair.doc_id for pair in pairs}
    return {
        document.id: Document(document.id, document.text[: LENGTHS[0].title], document.title)
        for document in (distinct_documents(corpus) if corpus.is_file() else ())
        if document.id in needed
    }


@dataclass(frozen=True)
class ShownLengths:
    """How many characters of a title and of a reason are shown, and documents of a list."""

    title: int
    reason: int
    documents: int


LENGTHS = (
    ShownLengths(110, 240, 1000),
    ShownLengths(90, 100, 1000),
    ShownLengths(70, 0, 20),
    ShownLengths(40, 0, 4),
)
"""From the fullest page to the smallest."""


def fitting(page_of: Callable[[ShownLengths], Page], most: int) -> Page:
    """The fullest page of less than so many bytes, or the smallest there is."""
    pages = map(page_of, LENGTHS)
    page = next(pages)
    while len(page.html().encode()) >= most and (smaller := next(pages, None)):
        page = smaller
    return page


@dataclass(frozen=True, eq=False)
class QueryLists:
    """Makes the rows of queries, with texts of some lengths.

    `documents` have the titles, and `reasons` say why assessors gave their grades. By the
    values of the fields in `choices` a reader filters the rows.
    """

    systems: Sequence[str]
    documents: Mapping[str, Document]
    reasons: Mapping[Pair, str]
    lengths: ShownLengths
    choices: Mapping[str, Sequence[str]]

    def row(self, query: ShownQuery, figures: Sequence[str], *, size: float) -> Disclosure:
        """A row: the query's id and text, and figures beside it; systems differ by `size`."""
        words = cut(f"{query.query.id} {flat(query.query.text)}", 160)
        facts = [query.fact(name) for name in self.choices]
        return Disclosure(words, [*self._opened(query)], figures, facts=facts, size=size)

    def _opened(self, query: ShownQuery) -> Iterator[PageBlock]:
        """The need behind the query, and the lists of documents."""
        for name in TOPIC:
            if value := query.fact(name).strip():
                yield Paragraph(cut(value, 600))
        facts = [f"{name}: {fact}" for name in self.choices if (fact := query.fact(name))]
        if facts:
            yield Paragraph(" · ".join(facts))
        if query.documents:
            yield SideBySide(self._lists(query))
        else:
            yield Paragraph("No system returned a document, and nobody judged one.")
        if query.unseen and self.systems:
            yield Paragraph(f"Relevant, and among no system's first documents: {query.unseen:,}.")

    def _lists(self, query: ShownQuery) -> dict[str, list[RankedItem]]:
        """A list for each system; one of all together where these are too many, or none."""
        most = self.lengths.documents
        many, seen = len(self.systems), set[str]()
        if not 0 < many <= SYSTEMS_NAMED:
            title = f"{many} systems together" if many else "Highest grades"
            return {title: [self._item(query, d, "") for d in query.documents[:most]]}
        lists = dict[str, list[RankedItem]]()
        for name in self.systems:
            own = [document for document in query.documents if name in document.ranks]
            own.sort(key=lambda d: d.ranks[name])
            lists[name] = [self._item(query, d, name, again=d.id in seen) for d in own[:most]]
            seen |= {document.id for document in own}
        return lists

    def _item(
        self, query: ShownQuery, document: ShownDocument, system: str, *, again: bool = False
    ) -> RankedItem:
        """A document of a list; its reason stands in the first list that has it."""
        ranks = document.elsewhere(system) if system else ""
        if not system and document.ranks:
            best = min(document.ranks.values())
            ranks = f"in {len(document.ranks):,} of them, best rank {best:,}"
        kind = {"only here": "only", "same rank": ""}.get(ranks, "moved" if system else "")
        reason = "" if again else self.reasons.get(Pair(query.query.id, document.id), "")
        return RankedItem(
            self.words(document.id),
            " · ".join(filter(None, (document.figures, ranks))),
            "open" if document.grade is None else kind,
            cut(flat(reason), self.lengths.reason) if self.lengths.reason else "",
        )

    def words(self, doc_id: str) -> str:
        """A document's title, or the beginning of its text, then its id."""
        document = self.documents.get(doc_id)
        title = flat(document.title or document.text) if document else ""
        return f"{cut(title, self.lengths.title)} {doc_id}".strip()
