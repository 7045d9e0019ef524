"""Two sets of judgements of a collection, or two states of one, beside each other on a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from labeler.agreement.compare import StatisticOptions
from labeler.agreement.diff.diff import STATISTICS, Diff, DiffOptions, diff
from labeler.agreement.diff.plot import diff_drawings
from labeler.collection.corpus import distinct_documents
from labeler.collection.layout import Collection, open_collection
from labeler.collection.stale import hash_of
from labeler.collection_report.contents import (
    CollectionContents,
    ReportOptions,
    choose_sets,
    contents_of,
)
from labeler.collection_report.gathered import words_without_settings
from labeler.collection_report.page import first_findings
from labeler.collection_report.provenance import Private, reworded
from labeler.collection_report.queries import cut_text
from labeler.collection_report.report import WrittenReport
from labeler.errors import Misuse
from labeler.judging.changes import Move
from labeler.report.finding import Finding, merged
from labeler.report.page import (
    Chart,
    Disclosure,
    DisclosureRows,
    FindingList,
    Page,
    PageBlock,
    PageSection,
    Paragraph,
    TableBlock,
)
from labeler.report.table import Table, table_of

MOVES = 100
"""So many of the pairs that moved are shown."""
CAPTIONS = {
    "transitions": "What became of each grade",
    "queries": "Where most pairs moved",
    "agreement": "Agreement with people",
    "runs": "The systems by both, on what both judged",
    "cost": "Cost",
    "parts": "What changed in the collection",
}


@dataclass(frozen=True, eq=False)
class ComparedSide:
    """One side: a collection, and the set of its grades that is compared, where there is one."""

    label: str
    contents: CollectionContents
    scoring: str | None


class PartChange(NamedTuple):
    """How many of a part of a collection there are before and after, and what became of them."""

    part: str
    before: int
    after: int
    added: int
    gone: int
    changed: int


@dataclass(frozen=True, eq=False, repr=False)
class ComparedReports(WrittenReport):
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
    def sides(self) -> tuple[ComparedSide, ComparedSide]:
        """Both sides, the earlier one first."""
        return self.before, self.after

    @property
    def sentences(self) -> tuple[str, ...]:
        """How much moved, which side is closer to people, and whether systems change places."""
        if self.changes is None:
            return ("A side has no grade, so that no grades are compared.",)
        return tuple(map(self.worded, self.changes.sentences))

    def worded(self, text: str) -> str:
        """A text fit for others, with the labels of the sides in place of the names of files."""
        names = () if self.changes is None else self.changes.names
        for name, side in zip(names, self.sides, strict=False):
            if name.endswith((" (1)", " (2)")):  # so are two files of one name told apart
                text = text.replace(name, side.label)
        return self.private(text)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What a reader of the figures should know, warnings first."""
        every = merged(() if self.changes is None else self.changes.findings)
        return tuple(
            Finding(self.worded(words_without_settings(finding)), level=finding.level)
            for finding in sorted(every, key=lambda finding: finding.level != "warning")
        )

    def tables(self) -> list[Table]:
        """What `diff` shows of the grades, and what became of the parts of a collection."""
        tables = [] if self.changes is None else self.changes.tables()
        parts = [table_of("parts", PartChange, self.parts)] if self.parts else []
        return [*(reworded(table, self.worded) for table in tables if table.rows), *parts]

    def as_json(self) -> dict[str, Any]:
        """What changed, by name."""
        before, after = ({"label": side.label, "qrels": side.scoring} for side in self.sides)
        figures: dict[str, Any] = self.private.of_json(
            self.picked(
                *("sentences", "parts", "findings"),
                before=before,
                after=after,
                diff=self.changes,
            )
        )
        return figures

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders of the collections."""
        return tuple(dict.fromkeys(side.contents.collection.folder for side in self.sides))

    def __repr__(self) -> str:
        return f"ComparedReports({self.before.label!r}, {self.after.label!r})"

    def page(self) -> Page:
        """What changed, on a page."""
        drawings = [] if self.changes is None else diff_drawings(self.changes)
        summary = PageSection("Summary", [*first_findings(self.findings), *self._lines()])
        charts = [PageSection("Charts", list(map(Chart, drawings)))] if drawings else []
        return self._page([summary, *charts, *self._tables(), *self._moves()])

    def summary(self) -> Page:
        """Warnings, sentences and tables, for a pull request."""
        summary = PageSection("Summary", [FindingList(self.findings), *self._lines()])
        return self._page([summary, *self._tables()])

    def _page(self, blocks: Sequence[PageBlock]) -> Page:
        title = f"{self.after.contents.title}: from {self.before.label} to {self.after.label}"
        below = " · ".join(
            f"{side.label}: {f'graded by {side.scoring}' if side.scoring else 'no grades'}"
            for side in self.sides
        )
        same = all(side.label == side.scoring for side in self.sides)
        return Page(title, blocks, subtitle="" if same else below)

    def _lines(self) -> list[PageBlock]:
        lines = (line for sentence in self.sentences for line in sentence.split("\n") if line)
        return [Paragraph(line, lead=True) for line in lines]

    def _tables(self) -> list[PageBlock]:
        blocks = [TableBlock(table, CAPTIONS.get(table.name, "")) for table in self.tables()]
        return [PageSection("Grades", blocks)] if blocks else []

    def _moves(self) -> Iterator[PageBlock]:
        moved = self.changes.moved if self.changes else ()
        if not moved:
            return
        text = f"{len(moved):,} pairs moved"
        if len(moved) > MOVES:
            text += f"; the first {MOVES} are shown, those farthest apart first"
        names = [side.label for side in self.sides]
        rows = [self._move(move) for move in moved[:MOVES]]
        shown = DisclosureRows("query and document", names, rows)
        yield PageSection("Pairs that moved", [Paragraph(f"{text}."), shown])

    def _move(self, move: Move) -> Disclosure:
        query_id, doc_id = move.pair
        query = self.after.contents.queries.get(query_id)
        text = cut_text(move.query or (query.text if query else ""), 120)
        reasons = zip(self.sides, (move.reason_before, move.reason_after), strict=True)
        inner = [
            Paragraph(f"{s.label}: {cut_text(reason, 600)}") for s, reason in reasons if reason
        ]
        return Disclosure(
            f"{query_id} {text}: {doc_id}",
            inner or [Paragraph("No reason was given.")],
            [str(move.before), str(move.after)],
        )


def compared_report_of(
    first: Collection | Path | str,
    second: Collection | Path | str,
    collection: Collection | Path | str | None = None,
    options: ReportOptions | None = None,
) -> ComparedReports:
    """What changed from one set of judgements of a collection to another, or between collections.

    With a `collection`, `first` and `second` are names of sets in it; without one they are two
    collections, such as one as it was and as it is. What became of the grades, and of
    the order of the systems by both, is what `diff` says.

    >>> import labeler
    >>> from labeler.testing import fake_model, small_collection
    >>> collection = small_collection()
    >>> for grade in (1, 2):
    ...     model = fake_model(f'{{"grade": {grade}}}', f"model{grade}")
    ...     _ = labeler.judge(collection, model=model, name=f"set{grade}")
    >>> report = compared_report_of("set1", "set2", collection)
    >>> report.sentences[0][:65]
    'set2 gives another grade than set1 to 4 of the 4 pairs that both '
    """
    how = options or ReportOptions()
    if collection is None:
        return _of_collections(open_collection(first), open_collection(second), how)
    return _of_sets(open_collection(collection), (str(first), str(second)), how)


def _of_sets(collection: Collection, names: tuple[str, str], how: ReportOptions) -> ComparedReports:
    contents = contents_of(collection)
    for name in names:
        if name not in contents.qrels and name not in contents.ungraded:
            listed = ", ".join([*contents.qrels, *contents.ungraded]) or "none"
            problem = f"{collection.folder} has no set {name!r}; there are: {listed}"
            raise Misuse(problem, parameter="compare")
    before, after = (
        ComparedSide(name, contents, name if name in contents.qrels else None) for name in names
    )
    runs = [*contents.chosen_runs(how.runs).values()]
    changes = diff(collection, *names, runs=runs, options=_diff_options(how))
    return ComparedReports(before, after, changes, (), Private(collection.folder))


def _of_collections(before: Collection, after: Collection, how: ReportOptions) -> ComparedReports:
    both = [contents_of(collection) for collection in (before, after)]
    labels = [contents.name for contents in both]
    if labels[0] == labels[1]:
        labels = [f"{labels[0]} (1)", f"{labels[1]} (2)"]
    sets = [choose_sets(contents, how) for contents in both]
    sides = [
        ComparedSide(label, contents, choice.scoring)
        for contents, label, choice in zip(both, labels, sets, strict=True)
    ]
    changes, human = None, sets[1].human
    if all(side.scoring is not None for side in sides):
        runs = [*both[1].chosen_runs(how.runs).values()]
        # a side that is scored by people's grades is compared with nobody else's
        if human is None or any(side.scoring in side.contents.people for side in sides):
            people = None
        else:
            people = after.qrels(human)
        files = [_grades_file(side.contents.collection, side.scoring or "") for side in sides]
        changes = diff(*files, people=people, runs=runs, options=_diff_options(how))
    private = Private(before.folder, after.folder)
    return ComparedReports(sides[0], sides[1], changes, tuple(_parts(*both)), private)


def _diff_options(how: ReportOptions) -> DiffOptions:
    return DiffOptions(StatisticOptions(STATISTICS, seed=how.seed), str(how.measures[0]), how.stale)


def _grades_file(collection: Collection, name: str) -> Path:
    """The judgements, which hold reasons and failures; the qrels where there are none."""
    judgements = collection.judgements(name)
    return judgements if judgements.is_file() else collection.qrels(name)


def _parts(before: CollectionContents, after: CollectionContents) -> Iterator[PartChange]:
    """What became of documents, queries and runs, by their ids and their texts."""
    yield _change("documents", _texts(before), _texts(after))
    queries = ({i: q.text for i, q in side.queries.items()} for side in (before, after))
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
