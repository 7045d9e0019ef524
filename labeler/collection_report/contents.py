"""What a report is about: what a collection holds and lacks, and which sets of grades are shown."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from labeler.collection.annotations import (
    JournalRow,
    journal_names,
    journal_path,
    read_journal,
)
from labeler.collection.batches import WRITTEN, read_batches
from labeler.collection.card import card_section, read_card
from labeler.collection.corpus import distinct_documents
from labeler.collection.layout import Collection
from labeler.collection.people import read_people
from labeler.collection.pool import pool_pairs
from labeler.collection.queries import read_queries
from labeler.collection.whose import HUMAN, is_of_people
from labeler.data import Qrels, Query
from labeler.errors import Misuse
from labeler.evaluation.options import DEFAULT_MEASURES, Stale
from labeler.exchange.qrels import read_qrels
from labeler.files.paths import true_path
from labeler.messages import Progress, count_of, no_progress
from labeler.report.finding import Finding

TOP = 10
"""So many of the first documents of each system are shown for a query."""


@dataclass(frozen=True)
class ReportOptions:
    """Which grades score which systems, by which measures, and what is shown of each query.

    `qrels` names the set that scores the systems; without it these are people's grades, or, where
    another set holds more than twice as many, the set with most. `humans` are people's qrels:
    assessors are compared with the first, and the others add how far people agree among themselves.
    Without any that is `human`, else the first set of people's by name. `runs` are names of runs of
    the collection, all by default. Of each system the first `top` documents are shown.
    `stale` grades, of texts that have changed since, are left out (`drop`) or counted (`keep`).
    """

    qrels: str | None = None
    humans: tuple[str, ...] = ()
    measures: tuple[str, ...] = DEFAULT_MEASURES
    runs: tuple[str, ...] = ()
    baseline: str | None = None
    top: int = TOP
    seed: int = 0
    stale: Stale = "drop"
    progress: Progress = field(default=no_progress, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.top < 1:
            raise Misuse("the first documents count from 1", parameter="top")
        if not self.measures:
            raise Misuse("expected a measure, as nDCG@10", parameter="measures")


class NextStep(NamedTuple):
    """What a collection lacks, what that keeps from being known, and a command that mends it."""

    lacks: str
    command: str


def waiting_grades(collection: Collection) -> dict[str, int]:
    """How many grades of each rater no qrels hold yet; raters without such are left out."""
    alone = {rater: graded_alone(collection, rater) for rater in journal_names(collection)}
    return {rater: pairs for rater, pairs in alone.items() if pairs}


def unexported(grades: Mapping[str, int], folder: str) -> Iterator[NextStep]:
    """Of each rater whose grades no qrels hold yet, the command that writes them there.

    `folder` is what the collection is called in commands.
    """
    for rater, number in grades.items():
        graded = count_of(number, "pair", "pairs")
        text = f"{rater} graded {graded} on the page that no qrels hold yet."
        yield NextStep(text, f"labeler annotate {folder} (as rater {rater}, to export them)")


def uncollected(collection: Collection, folder: str) -> Iterator[NextStep]:
    """Of each set of judgements with open batches, the command that takes in their answers."""
    asked: Counter[tuple[str, bool]] = Counter()
    for batch in read_batches(collection):
        if batch.is_open:
            asked[batch.name, batch.status == WRITTEN] += batch.requests
    for (name, is_file), number in asked.items():
        requests = count_of(number, "request", "requests")
        text = f"{name}: the answers to {requests} in batches are not taken in yet."
        how = "batch read" if is_file else "batch collect"
        yield NextStep(text, f"labeler judge {folder} ({how})")


def graded_alone(collection: Collection, rater: str) -> int:
    """How many grades of a rater stand in the journal, and in no file of people's answers."""
    written = {
        (answer.pair.query_id, answer.time)
        for path in sorted((collection.folder / "people").glob("[!.]*.jsonl"))
        for answer in read_people(path)
        if answer.assessor == rater
    }
    rows = read_journal(journal_path(collection, rater))
    return sum((row.query_id, row.time) not in written for row in _standing(rows))


def _standing(rows: Sequence[JournalRow]) -> Iterator[JournalRow]:
    """The last answer to each pair that counts, without those that were taken back."""
    answers: dict[tuple[str, str], list[JournalRow]] = {}
    for row in rows:
        if row.task != "grade" or row.purpose == "gold":
            continue
        own = answers.setdefault((row.sample, row.item), [])
        if not row.undo:
            own.append(row)
        elif own:
            own.pop()
    for own in answers.values():
        last = next((row for row in reversed(own) if row.is_answer), None)
        if last is not None and last.grade is not None:
            yield last


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
            yield NextStep("There are no documents.", f"labeler ingest DOCUMENTS -o {folder}")
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


TIMES = 2
"""People's grades score the systems, unless another set holds more than so many times as many."""


@dataclass(frozen=True)
class ChosenSets:
    """The set that scores systems, people's sets, and the assessors, the main one first.

    `rule` says why this set scores the systems.
    """

    scoring: str | None
    human: str | None = None
    more_humans: tuple[str, ...] = ()
    assessors: tuple[str, ...] = ()
    rule: str = ""
    findings: tuple[Finding, ...] = ()


def choose_sets(contents: CollectionContents, options: ReportOptions) -> ChosenSets:
    """The sets that a report is about; `Misuse` where a name is none of the collection's."""
    for name in options.humans:
        _check(contents, name, "human")
    if options.qrels is not None:
        _check(contents, options.qrels, "qrels")
    people = options.humans or _people(contents)
    if not contents.qrels:
        return ChosenSets(None)
    scoring, rule = _scoring(contents, options, people)
    human = people[0] if people else None
    others = [name for name in contents.qrels if name not in (*contents.people, *people)]
    ordered = sorted(others, key=lambda name: (name != scoring, -contents.grades(name), name))
    findings = tuple(_findings(contents, options, people, scoring))
    return ChosenSets(scoring, human, tuple(people[1:]), tuple(ordered), rule, findings)


def _check(contents: CollectionContents, name: str, parameter: str) -> None:
    if name in contents.qrels:
        return
    listed = ", ".join(contents.qrels) or "none"
    problem = f"no qrels {name!r} with a grade in {contents.collection.folder}; there are: {listed}"
    raise Misuse(problem, parameter=parameter)


def _people(contents: CollectionContents) -> tuple[str, ...]:
    """`human`, else the first set of people's by name; nothing where nobody judged."""
    if HUMAN in contents.people:
        return (HUMAN,)
    return tuple(contents.people[:1])


def _scoring(
    contents: CollectionContents, options: ReportOptions, people: Sequence[str]
) -> tuple[str, str]:
    if options.qrels is not None:
        return options.qrels, "as asked for"
    if len(contents.qrels) == 1:
        return next(iter(contents.qrels)), "the only set of grades"
    first = min(contents.qrels, key=lambda name: _order(contents, people, name))
    if people and TIMES * contents.grades(people[0]) >= contents.grades(first):
        return people[0], f"people's, as no set holds more than {TIMES} times as many grades"
    return first, "the set with most grades"


def _order(contents: CollectionContents, people: Sequence[str], name: str) -> tuple[object, ...]:
    """The set with most grades first; of equally large ones people's, then the first by name."""
    return -contents.grades(name), name not in people, name not in contents.people, name


def _findings(
    contents: CollectionContents, options: ReportOptions, people: Sequence[str], scoring: str
) -> Iterator[Finding]:
    alike = [
        name
        for name in contents.qrels
        if name not in (*contents.people, *people)
        and contents.grades(name) == contents.grades(scoring)
    ]
    if options.qrels is None and scoring in alike and len(alike) > 1:
        listed = ", ".join(name for name in alike if name != scoring)
        text = (
            f"{scoring} scores the systems as the first by name of those with most grades: {listed}"
        )
        yield Finding(text, level="note")
    if not options.humans and HUMAN not in contents.people and len(contents.people) > 1:
        others = ", ".join(contents.people[1:])
        text = f"assessors are compared with {people[0]}, the first by name; there is also {others}"
        yield Finding(text, level="note")
