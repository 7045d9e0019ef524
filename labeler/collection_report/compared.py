"""Two sets of judgements of a collection, or two states of one, beside each other on a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from labeler.agreement.compare import StatisticOptions
from labeler.agreement.diff.diff import STATISTICS, Diff, DiffOptions, diff
from labeler.collection.corpus import distinct_documents
from labeler.collection.layout import Collection, open_collection
from labeler.collection.stale import hash_of
from labeler.collection_report.chosen import choose_sets
from labeler.collection_report.contents import CollectionContents, contents_of
from labeler.collection_report.gathered import words_without_settings
from labeler.collection_report.options import ReportOptions
from labeler.collection_report.private import Private
from labeler.collection_report.systems import runs_to_report, scores_of_systems
from labeler.errors import Misuse
from labeler.evaluation.score_report import Report
from labeler.report.finding import Finding, merged
from labeler.report.table import Cell, Column, Interval, Table


@dataclass(frozen=True, eq=False)
class ComparedSide:
    """One side: a collection, the set of its grades that scores systems, and the scores."""

    label: str
    contents: CollectionContents
    scoring: str | None
    scores: Report | None


class PartChange(NamedTuple):
    """How many of a part of a collection there are before and after, and what became of them."""

    part: str
    before: int
    after: int
    added: int
    gone: int
    changed: int


@dataclass(frozen=True, eq=False)
class ReportComparison:
    """What changed from one side to the other: grades, the order of systems, scores, contents.

    `changes` is what `diff` says of the grades, None where a side has none; `parts` are of two
    collections, empty of two sets of one.
    """

    before: ComparedSide
    after: ComparedSide
    changes: Diff | None
    parts: tuple[PartChange, ...]
    private: Private

    @property
    def sentences(self) -> tuple[str, ...]:
        """How much moved, which side is closer to people, and whether systems change places."""
        if self.changes is None:
            return ("A side has no grade, so that no grades are compared.",)
        return tuple(map(self.worded, self.changes.sentences))

    def worded(self, text: str) -> str:
        """A text fit for others, with the labels of the sides in place of the names of files."""
        names = () if self.changes is None else self.changes.names
        for name, side in zip(names, (self.before, self.after), strict=False):
            if name.endswith((" (1)", " (2)")):  # so are two files of one name told apart
                text = text.replace(name, side.label)
        return self.private(text)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What a reader of the figures should know, warnings first."""
        every = list(merged(() if self.changes is None else self.changes.findings))
        ordered = sorted(every, key=lambda finding: finding.level != "warning")
        return tuple(
            Finding(self.worded(words_without_settings(finding)), level=finding.level)
            for finding in ordered
        )

    def system_table(self) -> Table:
        """A row for each system: its score on both sides by the first measure, and its places."""
        sides = [self._scores(side) for side in (self.before, self.after)]
        names = [side.label for side in (self.before, self.after)]
        columns = [Column("run", align="left")]
        for key, name in zip(("before", "after"), names, strict=True):
            columns += [Column(key, f"by {name}", ends=".3f"), Column(f"{key} rank", "place")]
        columns.append(Column("change", format="+.4f"))
        rows: list[list[Cell]] = []
        for run in dict.fromkeys([*sides[1], *sides[0]]):
            cells: list[Cell] = [run]
            for side in sides:
                rank, score = side.get(run, (None, Interval(None, None, None)))
                cells += [score, rank]
            values = [side[run][1].value for side in sides if run in side]
            both = len(values) == 2 and None not in values
            cells.append((values[1] or 0.0) - (values[0] or 0.0) if both else None)
            rows.append(cells)
        return Table("systems", columns, rows)

    def _scores(self, side: ComparedSide) -> dict[str, tuple[int | None, Interval]]:
        """Each run's place and score by the first measure."""
        if side.scores is None:
            return {}
        measure = side.scores.measures[0]
        return {
            run.name: (rank, run.means()[measure])
            for rank, run in enumerate(side.scores.ranked, start=1)
        }

    def parts_table(self) -> Table:
        """A row for each part of the collection."""
        columns = [Column("part", align="left"), *map(Column, PartChange._fields[1:])]
        return Table("parts", columns, [list(part) for part in self.parts])

    def as_json(self) -> dict[str, Any]:
        """What changed, by name."""
        whole = {
            "before": {"label": self.before.label, "qrels": self.before.scoring},
            "after": {"label": self.after.label, "qrels": self.after.scoring},
            "sentences": list(self.sentences),
            "warnings": [f.text for f in self.findings if f.level == "warning"],
            "parts": [part._asdict() for part in self.parts],
            "systems": self.system_table().records(),
            "diff": None if self.changes is None else self.changes.as_json(),
        }
        return (
            whole
            if self.changes is None
            else {**whole, "diff": self.private.of_json(whole["diff"])}
        )


def compared_reports(
    first: Collection | Path | str,
    second: Collection | Path | str,
    collection: Collection | Path | str | None = None,
    options: ReportOptions | None = None,
) -> ReportComparison:
    """Two sets of judgements of `collection`, by their names; or two collections.

    Scores of each side are those of `evaluate` by its own grades; what became of the grades, and of
    the order of the systems by both, is what `diff` says.
    """
    how = options or ReportOptions()
    if collection is None:
        return _of_collections(open_collection(first), open_collection(second), how)
    return _of_sets(open_collection(collection), (str(first), str(second)), how)


def _of_sets(
    collection: Collection, names: tuple[str, str], how: ReportOptions
) -> ReportComparison:
    contents = contents_of(collection)
    for name in names:
        if name not in contents.qrels and name not in contents.ungraded:
            listed = ", ".join([*contents.qrels, *contents.ungraded]) or "none"
            problem = f"{collection.folder} has no set {name!r}; there are: {listed}"
            raise Misuse(problem, parameter="compare")
    sides = [_side(contents, name, name if name in contents.qrels else None, how) for name in names]
    runs = [*runs_to_report(contents, how.runs).values()]
    changes = diff(collection, *names, runs=runs, options=_diff_options(how))
    return ReportComparison(sides[0], sides[1], changes, (), Private(collection.folder))


def _of_collections(before: Collection, after: Collection, how: ReportOptions) -> ReportComparison:
    held = [contents_of(collection) for collection in (before, after)]
    labels = [contents.name for contents in held]
    if labels[0] == labels[1]:
        labels = [f"{labels[0]} (1)", f"{labels[1]} (2)"]
    sides = [
        _side(contents, label, choose_sets(contents, how).scoring, how)
        for contents, label in zip(held, labels, strict=True)
    ]
    changes = None
    if sides[0].scoring is not None and sides[1].scoring is not None:
        runs = [*runs_to_report(held[1], how.runs).values()]
        files = [_grades_file(side.contents.collection, side.scoring or "") for side in sides]
        people = _people_beside(sides, how)
        changes = diff(*files, people=people, runs=runs, options=_diff_options(how))
    private = Private(before.folder, after.folder)
    return ReportComparison(sides[0], sides[1], changes, tuple(_parts(*held)), private)


def _people_beside(sides: list[ComparedSide], how: ReportOptions) -> Path | None:
    """People's grades of the later collection, where neither side is scored by people's."""
    if any(side.scoring in side.contents.people for side in sides):
        return None
    later = sides[1].contents
    human = choose_sets(later, how).human
    return None if human is None else later.collection.qrels(human)


def _side(
    contents: CollectionContents, label: str, scoring: str | None, how: ReportOptions
) -> ComparedSide:
    return ComparedSide(label, contents, scoring, scores_of_systems(contents, scoring, how))


def _diff_options(how: ReportOptions) -> DiffOptions:
    return DiffOptions(StatisticOptions(STATISTICS, seed=how.seed), str(how.measures[0]), how.stale)


def _grades_file(collection: Collection, name: str) -> Path:
    """The judgements, which hold reasons and failures; the qrels where there are none."""
    judgements = collection.judgements(name)
    return judgements if judgements.is_file() else collection.qrels(name)


def _parts(before: CollectionContents, after: CollectionContents) -> Iterator[PartChange]:
    """What became of documents, queries and graded pairs, by their ids and their texts."""
    yield _change("documents", _texts(before), _texts(after))
    queries = ({i: q.text for i, q in held.queries.items()} for held in (before, after))
    yield _change("queries", *queries)
    yield _change("runs", dict.fromkeys(before.runs, ""), dict.fromkeys(after.runs, ""))


def _texts(contents: CollectionContents) -> dict[str, str]:
    """A hash of each document's text and title."""
    if not contents.collection.corpus.is_file():
        return {}
    documents = distinct_documents(contents.collection.corpus)
    return {document.id: hash_of(document.title, document.text) for document in documents}


def _change(part: str, before: Mapping[str, object], after: Mapping[str, object]) -> PartChange:
    added, gone = len(after.keys() - before.keys()), len(before.keys() - after.keys())
    changed = sum(before[key] != after[key] for key in before.keys() & after.keys())
    return PartChange(part, len(before), len(after), added, gone, changed)
