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
from labeler.collection_report.contents import (
    CollectionContents,
    ReportOptions,
    choose_sets,
    contents_of,
)
from labeler.collection_report.figures import runs_to_report, scores_of_systems
from labeler.collection_report.gathered import words_without_settings
from labeler.collection_report.page import first_findings
from labeler.collection_report.provenance import Private, reworded
from labeler.collection_report.queries import cut_text
from labeler.errors import Misuse
from labeler.evaluation.score_report import Report
from labeler.judging.changes import Move
from labeler.report.charts import Axis, Drawing, NamedValue, intervals
from labeler.report.finding import Finding, merged
from labeler.report.page import (
    Block,
    Chart,
    Disclosure,
    DisclosureRows,
    FindingList,
    Page,
    PageSection,
    Paragraph,
    TableBlock,
)
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
            run.name: (rank, Interval(**run.values()[measure]))
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


MOVES = 100
"""So many of the pairs that moved are shown."""
CAPTIONS = {
    "transitions": "What became of each grade",
    "queries": "Where most pairs moved",
    "agreement": "Agreement with people",
    "runs": "The systems by both, on what both judged",
    "cost": "Cost",
}


def comparison_page(compared: ReportComparison) -> Page:
    """What changed, on a page."""
    blocks = [*comparison_blocks(compared)]
    if compared.changes is not None:
        blocks += [_grades(compared), *_moves(compared)]
    return Page(_title(compared), blocks, subtitle=_subtitle(compared))


def comparison_summary(compared: ReportComparison) -> Page:
    """Warnings, sentences and the systems, for a pull request."""
    blocks = [*comparison_blocks(compared, charts=False)]
    return Page(_title(compared), blocks, subtitle=_subtitle(compared))


def _title(compared: ReportComparison) -> str:
    title = compared.after.contents.title
    return f"{title}: from {compared.before.label} to {compared.after.label}"


def _subtitle(compared: ReportComparison) -> str:
    sides = compared.before, compared.after
    if all(side.label == side.scoring for side in sides):
        return ""
    return " · ".join(
        f"{side.label}: {f'graded by {side.scoring}' if side.scoring else 'no grades'}"
        for side in sides
    )


def comparison_blocks(compared: ReportComparison, *, charts: bool = True) -> Iterator[Block]:
    """The summary, what changed in the collection, and the systems."""
    findings = [*first_findings(compared.findings)] if charts else [FindingList(compared.findings)]
    lines = [line for sentence in compared.sentences for line in sentence.split("\n") if line]
    yield PageSection("Summary", [*findings, *(Paragraph(line, lead=True) for line in lines)])
    if compared.parts:
        yield PageSection("What changed in the collection", [TableBlock(compared.parts_table())])
    table = compared.system_table()
    if not table.rows:
        return
    text = (
        "Here each side is scored by all of its own grades, and the sentence on the systems' order "
        "is of the pairs that both judged. That a score changed is not tested."
    )
    blocks: list[Block] = [Paragraph(text)]
    if charts:
        blocks.append(Chart(_chart(compared)))
    yield PageSection("Systems", [*blocks, TableBlock(table, "Scores and places")])


def _chart(compared: ReportComparison) -> Drawing:
    side = compared.after.scores or compared.before.scores
    measure = side.measures[0] if side else ""
    names = compared.before.label, compared.after.label
    rows = []
    for row in compared.system_table().rows:
        before, after = row[1], row[3]
        if isinstance(before, Interval) and isinstance(after, Interval):
            rows.append(
                NamedValue(str(row[0]), before.value, before.low, before.high, other=after.value)
            )
    return intervals(
        f"{measure} by {names[0]} and by {names[1]}", rows, Axis(measure), second=names
    )


def _grades(compared: ReportComparison) -> PageSection:
    tables = compared.changes.tables() if compared.changes else []
    blocks = [
        TableBlock(reworded(table, compared.worded), CAPTIONS.get(table.name, ""))
        for table in tables
        if table.rows
    ]
    return PageSection("Grades", blocks)


def _moves(compared: ReportComparison) -> Iterator[Block]:
    moved = compared.changes.moved if compared.changes else ()
    if not moved:
        return
    text = f"{len(moved):,} pairs moved"
    if len(moved) > MOVES:
        text += f"; the first {MOVES} are shown, those farthest apart first"
    names = [compared.before.label, compared.after.label]
    rows = DisclosureRows("query and document", names, [_move(compared, m) for m in moved[:MOVES]])
    yield PageSection("Pairs that moved", [Paragraph(f"{text}."), rows])


def _move(compared: ReportComparison, move: Move) -> Disclosure:
    query_id, doc_id = move.pair
    query = compared.after.contents.queries.get(query_id)
    text = move.query or (query.text if query else "")
    inner: list[Block] = [
        Paragraph(f"{label}: {cut_text(reason, 600)}")
        for label, reason in (
            (compared.before.label, move.reason_before),
            (compared.after.label, move.reason_after),
        )
        if reason
    ]
    words = f"{query_id} {cut_text(text, 120)}: {doc_id}"
    return Disclosure(
        words, inner or [Paragraph("No reason was given.")], [str(move.before), str(move.after)]
    )
