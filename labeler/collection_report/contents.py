"""What a collection holds so far, and by which commands it would get what it lacks."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labeler.collection.card import card_section, read_card
from labeler.collection.corpus import distinct_documents
from labeler.collection.layout import Collection
from labeler.collection.pool import pool_pairs
from labeler.collection.queries import read_queries
from labeler.collection.whose import is_of_people
from labeler.collection_report.waiting import (
    NextStep,
    uncollected,
    unexported,
    waiting_grades,
)
from labeler.data import Qrels, Query
from labeler.exchange.qrels import read_qrels
from labeler.files.paths import true_path
from labeler.messages import count_of
from labeler.report.finding import Finding


@dataclass(frozen=True, eq=False)
class CollectionContents:
    """The parts of a collection: how many documents and pairs, its queries, runs and grades.

    `qrels` are the sets that hold a grade, by name; `people` names those of people, `ungraded` the
    sets of judgements in which no pair has a grade. `waiting` counts each rater's grades that no
    qrels hold yet.
    """

    collection: Collection
    card: Mapping[str, Any]
    documents: int
    queries: Mapping[str, Query]
    pool: int
    runs: Mapping[str, Path]
    qrels: Mapping[str, Qrels]
    people: tuple[str, ...]
    ungraded: tuple[str, ...]
    waiting: Mapping[str, int]
    findings: tuple[Finding, ...] = ()

    @property
    def title(self) -> str:
        """What the collection is called: by its recipe, else as its folder."""
        title = card_section(self.card, "fetch").get("title")
        return title if isinstance(title, str) and title else self.name

    @property
    def name(self) -> str:
        """The name of the collection's folder, without the folders that it lies in."""
        return true_path(self.collection.folder).name or "collection"

    @property
    def assessors(self) -> tuple[str, ...]:
        """The sets of grades that are not people's."""
        return tuple(name for name in self.qrels if name not in self.people)

    def grades(self, name: str) -> int:
        """How many pairs of a set have a grade; negative ones say that nobody judged the pair."""
        return sum(grade >= 0 for row in self.qrels[name].values() for grade in row.values())

    def missing(self, *, judged_by_people: bool) -> Iterator[NextStep]:
        """What the collection lacks, in the order in which its parts need each other.

        `judged_by_people` says that some of its grades are people's.
        """
        folder = shlex.quote(f"{self.name}/")
        if not self.documents:
            yield NextStep(
                "There are no documents.", f"labeler corpus ingest DOCUMENTS -o {folder}"
            )
        if not self.queries:
            text = "There are no queries."
            yield NextStep(text, f"labeler generate {folder}")
        if not self.runs:
            text = "There is no run, so that no system can be scored."
            yield NextStep(text, f"labeler pool {folder}")
        elif not self.pool and not self.qrels:
            yield NextStep("There is no pool of pairs to judge.", f"labeler pool {folder}")
        yield from uncollected(self.collection, folder)
        if not self.qrels and not self.waiting:
            yield NextStep("No pair has a grade.", f"labeler judge {folder}")
        elif not judged_by_people and not self.waiting:
            yield NextStep("No person has judged a pair.", f"labeler annotate {folder}")
        yield from unexported(self.waiting, folder)


def contents_of(collection: Collection) -> CollectionContents:
    """What a collection holds; what is not there is empty."""
    qrels: dict[str, Qrels] = {}
    ungraded = dict.fromkeys(collection.judgement_names())
    for name in collection.qrels_names():
        path = collection.qrels(name)
        grades = read_qrels(path) if path.stat().st_size else {}
        if any(grade >= 0 for row in grades.values() for grade in row.values()):
            qrels[name] = grades
            ungraded.pop(name, None)
    queries = read_queries(collection.queries) if collection.queries.is_file() else {}
    return CollectionContents(
        collection,
        read_card(collection),
        _documents(collection),
        queries,
        len(pool_pairs(collection.pool)) if collection.pool.is_file() else 0,
        collection.run_files(),
        qrels,
        tuple(name for name in qrels if is_of_people(collection, name)),
        tuple(ungraded),
        waiting_grades(collection),
        tuple(_unread(collection)),
    )


def _unread(collection: Collection) -> Iterator[Finding]:
    """The files among the runs whose names do not say that they are runs."""
    if unread := collection.unread_runs():
        files = count_of(len(unread), "file", "files")
        yield Finding(f"{files} among the runs not read as runs, as {unread[0].name}")


def _documents(collection: Collection) -> int:
    if not collection.corpus.is_file():
        return 0
    return sum(1 for _ in distinct_documents(collection.corpus))
