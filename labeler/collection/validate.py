"""`validate`: whether the files of a collection fit together, and each what its format says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from labeler.collection.annotations import JournalRow, journal_names, journal_path, numbered_journal
from labeler.collection.card import SECTION, card_section, read_card
from labeler.collection.checks import (
    Contents,
    Problem,
    Problems,
    check_corpus,
    check_dropped,
    check_judgements,
    check_pool,
    check_qrels,
    check_queries,
    check_run,
    check_unanswerable,
)
from labeler.collection.corpus import CorpusParts
from labeler.collection.layout import FOLDERS, Collection, is_name, open_collection
from labeler.collection.monitoring import read_watch_run, watch_files
from labeler.collection.people import sample_path
from labeler.collection.scale import sample_grades
from labeler.errors import BadInput, LabelerError
from labeler.files.arrays import about_arrays
from labeler.files.atomic import partial_files
from labeler.files.cache import sha256_of
from labeler.files.read import numbered_bytes
from labeler.messages import count_of
from labeler.models.session import Control
from labeler.report.table import Column, Table
from labeler.store.vectors import VectorFile, encoder_of

# Whether raters' journals are whole, and of samples and scales that the collection has.


def check_annotations(
    collection: Collection, path: Path, seen: Contents, problems: Problems
) -> None:
    """Each line is an answer, of a sample that is there and by its scale.

    Pairs that left the collection stay in a journal, which is a record of what was answered.
    """
    scales: dict[str, frozenset[int] | None] = {}
    lines = 0
    for number, row in numbered_journal(path):
        lines = number
        if row.task != "grade":
            continue
        if row.sample not in scales:
            scales[row.sample] = _scale(collection, path, number, row, problems)
        scale = scales[row.sample]
        if scale is not None and row.grade is not None and row.grade not in scale:
            text = f"the grade {row.grade} is none of the sample's {sorted(scale)}"
            problems.add(path, number, "grades outside of the sample's scale", text)
    if lines < sum(1 for _ in numbered_bytes(path)):
        text = "the last line was cut short, and was confirmed to nobody; the next answer ends it"
        problems.add(path, 0, "answers cut short", text, "warning")
    del seen


def _scale(
    collection: Collection, path: Path, number: int, row: JournalRow, problems: Problems
) -> frozenset[int] | None:
    """The scale of an answer's sample; None where there is no such sample, which is noted."""
    is_there = is_name(row.sample) and sample_path(collection.folder, row.sample).exists()
    if not is_there:
        text = f"the sample {row.sample!r:.60} is not in the collection, so that no qrels take it"
        problems.add(path, number, "answers of samples that are gone", text, "warning")
        return None
    try:
        return frozenset(sample_grades(collection, row.sample))
    except BadInput as error:
        problems.add_text(collection.card, str(error))
        return None


# Whether the counts and hashes of a collection's card are those of its files.


def check_cards(collection: Collection, path: Path, seen: Contents, problems: Problems) -> None:
    """The counts and hashes of the card are those of the files."""
    card = read_card(collection)

    def count(
        section: Mapping[str, Any], name: str, value: int | None, what: str, beyond: int = 0
    ) -> None:
        recorded = section.get(name)
        values = (
            None,
            value,
            (value or 0) + beyond,
        )  # what left the pool counts until judged again
        if type(recorded) is int and value is not None and recorded not in values:
            problem = f"{what}: the card says {recorded:,}, there are {value:,}"
            problems.add(path, 0, "counts", problem)

    count(card_section(card, "ingest"), "documents", len(seen.documents), "documents")
    count(card_section(card, "pool"), "pairs", seen.pool, "pairs of the pool")
    for name, (pairs, judged) in seen.rows.items():
        section = card_section(card_section(card, "judge"), name)
        rows_beyond, grades_beyond = seen.rows_beyond[name]
        count(section, "judged", judged, f"grades of {name}", grades_beyond)
        if type(section.get("failed")) is int and type(section.get("judged")) is int:
            sums = {"sum": section["failed"] + section["judged"]}
            count(sums, "sum", pairs, f"rows of {name}", rows_beyond)
    _check_hashes(collection, card, problems)


def _check_hashes(collection: Collection, card: Mapping[str, Any], problems: Problems) -> None:
    for key, sha256 in card_section(card, SECTION).items():
        path = collection.folder / key
        if not sha256 or not isinstance(sha256, str):
            continue
        if not path.exists():
            problems.add(
                path, 0, "missing files", "the card knows it, and it is not there", "warning"
            )
        elif sha256_of(path) != sha256:
            text = "not as the command wrote it that made it"
            problems.add(path, 0, "changed files", text, "warning")


# Whether what is derived from a collection's texts is whole and of these texts.
#
# Nothing here is an error: indexes and vectors are made anew where they are missing. An index that
# is damaged, or of other documents, is never used; a damaged vector neither.

_ANEW = "it may be deleted, and is made anew where it is needed"


def check_indexes(collection: Collection, path: Path, _seen: Contents, problems: Problems) -> None:
    """Indexes are whole, and of the documents as they are."""
    warn = partial(problems.add, level="warning")
    current: set[str] = set()
    for index in sorted(path.glob("[!.]*")):
        about = about_arrays(index) if index.suffix == ".index" and index.is_file() else None
        if about is None:
            warn(index, 0, "damaged indexes", f"no index that is whole; {_ANEW}")
            continue
        current = current or _hashes_of(collection.corpus)
        if about.get("documents") not in current:
            warn(index, 0, "indexes of others", f"the index of other documents; {_ANEW}")


def _hashes_of(corpus: Path) -> set[str]:
    parts = CorpusParts.of(corpus)
    return {parts.sha256, *parts.parts}


def check_vectors(_collection: Collection, path: Path, _seen: Contents, problems: Problems) -> None:
    """Files of vectors hold whole records."""
    warn = partial(problems.add, level="warning")
    for file in sorted(path.glob("[!.]*")):
        try:
            encoder = encoder_of(file)
            vectors = None if encoder is None else VectorFile.read(file, encoder)
        except BadInput as error:
            warn(file, 0, "no vectors", str(error).removeprefix(f"{file}: "))
            continue
        if vectors is None:
            warn(file, 0, "vectors cut off", "its first line was cut off; no vector is in it")
        elif vectors.damaged:
            records = count_of(vectors.damaged, "vector is", "vectors are")
            text = f"{records} damaged; the texts are encoded again"
            warn(file, 0, "damaged vectors", text)


def check_monitoring(
    collection: Collection, _path: Path, _seen: Contents, problems: Problems
) -> None:
    """What runs of the watch said can be read; the next run passes over a file that cannot."""
    for file in watch_files(collection):
        try:
            read_watch_run(file)
        except BadInput as error:
            text = str(error).removeprefix(f"{file}: ")
            problems.add(file, 0, "runs of the watch", text, level="warning")


def check_left_over(
    collection: Collection, _path: Path, _seen: Contents, problems: Problems
) -> None:
    """No process that was killed has left a part of a file."""
    folders = (collection.folder / name for name in ("", *FOLDERS))
    for folder in folders:
        for path in partial_files(folder) if folder.is_dir() else ():
            text = "part of a file, left by a process that was killed; it may be deleted"
            problems.add(path, 0, "parts of files", text, "warning")
    for path in sorted((collection.folder / "history").glob(".*.partial")):
        text = "part of a copy, left by a process that was killed; it may be deleted"
        problems.add(path, 0, "parts of copies", text, "warning")


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
