"""What a report is about: what a collection holds and lacks, and which sets of grades are shown."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from labeler.collection.card import card_section, read_card
from labeler.collection.corpus import distinct_documents
from labeler.collection.layout import HUMAN, Collection
from labeler.collection.pool import standing_pool
from labeler.collection.queries import read_queries
from labeler.collection.user_files import collection_qrels, unread_in
from labeler.collection.whose import is_of_people
from labeler.data import Qrels, Query
from labeler.errors import Misuse, check_known
from labeler.evaluation.options import (
    BASELINE,
    DEFAULT_MEASURES,
    MEASURES,
    SCORING,
    STALE_GRADES,
    Stale,
)
from labeler.exchange.qrels import read_qrels
from labeler.files.paths import true_path
from labeler.messages import Progress, count_of, no_progress
from labeler.options import COUNT, SEED, check_options, option
from labeler.report.finding import Finding

TOP = 10
"""So many of the first documents of each system are shown for a query."""


@dataclass(frozen=True)
class ReportOptions:
    """Which grades score which systems, by which measures, and what is shown of each query.

    `qrels` names the set that scores the systems, by default people's `human`. `humans` are
    people's qrels: assessors are compared with the first, and the others add how far people agree
    among themselves. Without any that is `human`, else the first set of people's by name. `runs`
    are names of runs of the collection, all by default. Of each system the first `top` documents
    are shown.
    `stale` grades, of texts that have changed since, are left out (`drop`) or counted (`keep`).
    """

    qrels: str | None = option(
        None,
        "The grades that score systems (default: human).",
        metavar="NAME",
        panel=SCORING,
    )
    humans: tuple[str, ...] = option(
        (),
        "People's qrels to compare assessors with (default: human); repeatable.",
        flags="--human",
        metavar="NAME",
        panel=SCORING,
    )
    measures: tuple[str, ...] = option(DEFAULT_MEASURES, MEASURES)
    runs: tuple[str, ...] = option(
        (),
        "A run of the collection to report (default: all); repeatable.",
        flags="--run",
        metavar="NAME",
        panel=SCORING,
    )
    baseline: str | None = option(None, BASELINE)
    top: int = option(TOP, "Show so many documents of each system.", COUNT)
    seed: int = option(0, "Of the resampling.", SEED, rare=True)
    stale: Stale = option("drop", STALE_GRADES)
    progress: Progress = field(default=no_progress, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_options(self)
        if not self.measures:
            raise Misuse("expected a measure, as nDCG@10", parameter="measures")


class NextStep(NamedTuple):
    """What a collection lacks, what that keeps from being known, and a command that mends it."""

    lacks: str
    command: str


@dataclass(frozen=True, eq=False)
class CollectionContents:
    """The parts of a collection: how many documents and pairs, its queries, runs and grades.

    `qrels` are the sets that hold a grade, by name; `people` names those of people, `ungraded` the
    sets of judgements in which no pair has a grade.
    """

    collection: Collection
    card: Mapping[str, Any]
    documents: int
    queries: Mapping[str, Query]
    pool: int
    runs: Mapping[str, Path]
    qrels: Mapping[str, Qrels]
    people: Sequence[str]
    ungraded: Sequence[str]
    findings: Sequence[Finding] = ()

    @property
    def title(self) -> str:
        """What the collection is called: by its recipe, else as its folder."""
        title = card_section(self.card, "fetch").get("title")
        return title if isinstance(title, str) and title else self.name

    @property
    def name(self) -> str:
        """The name of the collection's folder, without the folders that it lies in."""
        return true_path(self.collection.folder).name or "collection"

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
            yield NextStep("There are no queries.", f"labeler generate {folder}")
        if not self.runs:
            yield NextStep(
                "There is no run, so that no system can be scored.", f"labeler pool {folder}"
            )
        elif not self.pool and not self.qrels:
            yield NextStep("There is no pool of pairs to judge.", f"labeler pool {folder}")
        if not self.qrels:
            yield NextStep("No pair has a grade.", f"labeler judge {folder}")
        elif not judged_by_people:
            yield NextStep("No person has judged a pair.", f"labeler annotate {folder}")

    def chosen_runs(self, names: Sequence[str]) -> Mapping[str, Path]:
        """The runs of these names, by default all; `Misuse` lists those there are."""
        for name in names:
            check_known("run", name, self.runs, "runs")
        return {name: self.runs[name] for name in names} if names else self.runs


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
    has_corpus, unread = collection.corpus.is_file(), unread_in(collection.folder)
    not_read = f"{count_of(len(unread), 'file')} among the runs not read as runs"
    return CollectionContents(
        collection,
        read_card(collection),
        sum(1 for _ in distinct_documents(collection.corpus)) if has_corpus else 0,
        read_queries(collection.queries) if collection.queries.is_file() else {},
        len(standing_pool(collection.pool)),
        collection.run_files(),
        qrels,
        tuple(name for name in qrels if is_of_people(collection, name)),
        tuple(ungraded),
        tuple(Finding(f"{not_read}, as {path.name}") for path in unread[:1]),
    )


@dataclass(frozen=True)
class ChosenSets:
    """The set that scores systems, people's sets, and the assessors, the main one first."""

    scoring: str | None
    human: str | None = None
    more_humans: Sequence[str] = ()
    assessors: Sequence[str] = ()


def choose_sets(contents: CollectionContents, options: ReportOptions) -> ChosenSets:
    """The sets that a report is about; `Misuse` where a name is none of the collection's.

    People's set is `human`, else the first by name. Without a choice people's `human` scores the
    systems, else the set that `humans` names first, else the only one; `Misuse` of several others.
    """
    asked = [(name, "human") for name in options.humans]
    for name, parameter in [*asked, *([(options.qrels, "qrels")] if options.qrels else [])]:
        check_known("qrels", name, contents.qrels, parameter)
    if not contents.qrels:
        return ChosenSets(None)
    people = options.humans or ((HUMAN,) if HUMAN in contents.people else contents.people[:1])
    sizes = {name: contents.grades(name) for name in contents.qrels}
    scoring = options.qrels or next(iter([*({HUMAN} & sizes.keys()), *options.humans]), "")
    if not scoring:
        scoring = collection_qrels(contents.collection.folder, None).stem
    models = [name for name in sizes if name not in (*contents.people, *people)]
    ordered = sorted(models, key=lambda name: (name != scoring, -sizes[name], name))
    return ChosenSets(scoring, people[0] if people else None, tuple(people[1:]), tuple(ordered))
