"""`validate`: whether the files of a collection fit together, and each what its format says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from labeler.collection.annotations import journal_names, journal_path
from labeler.collection.check_annotations import check_annotations
from labeler.collection.check_card import check_cards
from labeler.collection.check_derived import (
    check_indexes,
    check_left_over,
    check_monitoring,
    check_vectors,
)
from labeler.collection.checks import (
    check_corpus,
    check_dropped,
    check_judgements,
    check_pool,
    check_qrels,
    check_queries,
    check_run,
    check_unanswerable,
)
from labeler.collection.layout import Collection, open_collection
from labeler.collection.problems import Contents, Problem, Problems
from labeler.errors import LabelerError
from labeler.models.control import Control
from labeler.report.table import Column, Table


@dataclass(frozen=True, slots=True)
class Validation:
    """What is wrong with a collection, and how much was checked.

    `problems` are in the order of the files; of each kind in a file the first few are named, and
    `more` counts the others. `stale` counts grades of texts that have changed since.
    """

    problems: tuple[Problem, ...] = ()
    more: int = 0
    checked: dict[str, int] = field(default_factory=dict)
    stale: int = 0

    @property
    def errors(self) -> int:
        """How many problems make figures wrong, or keep the collection from being used."""
        return sum(problem.count for problem in self.problems if problem.level == "error")

    @property
    def warnings(self) -> int:
        """How many problems a person should look at."""
        return sum(problem.count for problem in self.problems if problem.level == "warning")

    def is_valid(self, *, strict: bool = False) -> bool:
        """Whether there is no error, and with `strict` no warning either."""
        return not self.errors and not (strict and self.warnings)

    def as_json(self) -> dict[str, Any]:
        """The problems, and how much was checked."""
        return {
            "errors": self.errors,
            "warnings": self.warnings,
            "stale": self.stale,
            "problems": [problem.as_json() for problem in self.problems],
            "checked": self.checked,
        }

    def table(self) -> Table:
        """The problems, a row each."""
        names = ("level", "path", "line", "problem", "count")
        columns = [Column(name, align="left") for name in names]
        rows = [[p.level, str(p.path), p.line or None, p.text, p.count] for p in self.problems]
        return Table("problems", columns, rows)

    def __repr__(self) -> str:
        return f"Validation({self.errors} errors, {self.warnings} warnings)"


def validate(collection: Collection | Path | str, *, control: Control | None = None) -> Validation:
    """Check every file of a collection, and what they say of one another; nothing is changed.

    >>> from labeler.testing import small_collection
    >>> validate(small_collection())
    Validation(0 errors, 0 warnings)
    """
    opened, control = open_collection(collection), control or Control()
    problems, seen = Problems(), Contents()
    steps = list(_steps(opened))
    with control.progress("files checked") as advance:
        for number, (kind, path) in enumerate(steps, start=1):
            try:
                _CHECKS[kind](opened, path, seen, problems)
            except LabelerError as error:  # a reader's, which names the file and the line
                problems.add_text(path, str(error))
            advance(number, len(steps))
    counts: Counter[str] = Counter(kind for kind, _ in steps)
    checked = {**counts, "documents": len(seen.documents), "queries": len(seen.queries)}
    return Validation(tuple(problems.listed()), problems.unnamed, checked, seen.stale)


Kind = Literal[
    "corpus",
    "queries",
    "unanswerable",
    "pool",
    "dropped",
    "judgements",
    "qrels",
    "runs",
    "annotations",
    "card",
    "indexes",
    "vectors",
    "monitoring",
    "parts",
]

_CHECKS: dict[Kind, Callable[[Collection, Path, Contents, Problems], None]] = {
    "corpus": check_corpus,
    "queries": check_queries,
    "unanswerable": check_unanswerable,
    "pool": check_pool,
    "dropped": check_dropped,
    "judgements": check_judgements,
    "qrels": check_qrels,
    "runs": check_run,
    "annotations": check_annotations,
    "card": check_cards,
    "indexes": check_indexes,
    "vectors": check_vectors,
    "monitoring": check_monitoring,
    "parts": check_left_over,
}


def _steps(collection: Collection) -> Iterator[tuple[Kind, Path]]:
    """The files to check, those first whose ids the others name."""
    yield "corpus", collection.corpus
    parts: tuple[tuple[Kind, Path], ...] = (
        ("queries", collection.queries),
        ("unanswerable", collection.unanswerable),
        ("pool", collection.pool),
        ("dropped", collection.dropped),
    )
    yield from ((kind, path) for kind, path in parts if path.exists())
    for name in collection.judgement_names():
        yield "judgements", collection.judgements(name)
    for name in collection.qrels_names():
        yield "qrels", collection.qrels(name)
    for path in collection.run_files().values():
        yield "runs", path
    for rater in journal_names(collection):
        yield "annotations", journal_path(collection, rater)
    if collection.card.exists():
        yield "card", collection.card
    derived: tuple[tuple[Kind, Path], ...] = (
        ("indexes", collection.indexes),
        ("vectors", collection.vectors),
        ("monitoring", collection.monitoring),
        ("parts", collection.folder),
    )
    yield from ((kind, path) for kind, path in derived if path.is_dir())
