"""`validate`: whether the files of a collection fit together, and each what its format says."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from labeler.collection.annotations import journal_names, journal_path, numbered_journal
from labeler.collection.card import SECTION, card_section, read_card
from labeler.collection.corpus import document_in
from labeler.collection.judgements import Origin, judged_lines, states_of
from labeler.collection.layout import AnyCollection, Collection, open_collection
from labeler.collection.pool import DROPS, read_pool
from labeler.collection.queries import query_in
from labeler.collection.rows import Record, Row
from labeler.collection.stale import stale_pairs
from labeler.data import Pair, Query
from labeler.errors import BadInput, LabelerError
from labeler.files.jsonl import RowIndex, read_rows
from labeler.files.read import numbered_bytes, sha256_of
from labeler.judging.relabel import unproven
from labeler.messages import count_of
from labeler.models.session import Control
from labeler.report.table import Column, Table, table_of
from labeler.trec.rows import QRELS_COLUMNS, RUN_COLUMNS, grade_of
from labeler.trec.rows import rows as trec_rows

Level = Literal["error", "warning"]

_NAMED = 5
"""How many problems of one kind in a file are named; the others are counted."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem; no `line` where it is the whole file's, `count` how many are told as one."""

    level: Level
    path: Annotated[str, Column(widest=None)]
    line: int | None
    problem: Annotated[str, Column(widest=None)]
    count: int = 1

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else self.path
        return f"{where}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Validation:
    """What is wrong with a collection, and how much was checked.

    `problems` are in the order of the files; of each kind in a file the first few are named, and
    the others counted. `stale` counts grades of texts that have changed since. `checked` counts
    files by kind, and among the grades those that stored replies give.
    """

    problems: tuple[Problem, ...] = ()
    checked: dict[str, int] = field(default_factory=dict)
    stale: int = 0

    @property
    def errors(self) -> int:
        """How many problems make figures wrong, or keep the collection from being used."""
        return sum(problem.count for problem in self.problems) - self.warnings

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
            "problems": self.table().as_json(),
            "checked": self.checked,
        }

    def table(self) -> Table:
        """The problems, a row each."""
        return table_of("problems", Problem, self.problems)

    def __repr__(self) -> str:
        return f"Validation({self.errors} errors, {self.warnings} warnings)"


def validate(collection: AnyCollection, *, control: Control | None = None) -> Validation:
    """Check every file of a collection, and what they say of one another; nothing is changed.

    >>> from labeler.testing import small_collection
    >>> validate(small_collection())
    Validation(0 errors, 0 warnings)
    """
    opened, control = open_collection(collection), control or Control()
    made, counts = _Validator(opened), Counter[str]()
    steps = list(made.steps())
    with control.progress("files checked") as advance:
        for number, (kind, check, path) in enumerate(steps, start=1):
            counts[kind] += 1
            try:
                check(path)
            except LabelerError as error:  # a reader's, which names the file and the line
                made.add_text(path, str(error))
            advance(number, len(steps))
    checked = {**counts, "documents": len(made.documents), "queries": len(made.queries)}
    checked["grades with their replies"] = made.proven
    return Validation(tuple(made.listed()), checked, made.stale)


_CUT_ID = re.compile(r":([0-9a-f]{10})\Z")
_LEFT = "left the pool, as dropped.jsonl says"


class _PairGrades:
    """The pairs of a file with their grades, some 30 bytes each; None of one without a grade."""

    def __init__(self) -> None:
        self._rows, self._grades = RowIndex(), array("q")

    def add(self, pair: Pair, grade: int | None = None) -> bool:
        """Keep the grade of a pair; whether the pair is new."""
        row = self._rows.add(" ".join(pair))
        is_new = row == len(self._grades)
        self._grades[row : row + 1] = array("q", [_NO_GRADE if grade is None else grade])
        return is_new

    def __contains__(self, pair: Pair) -> bool:
        return " ".join(pair) in self._rows

    def get(self, pair: Pair) -> int | None:
        """The grade of a pair; None where it has none."""
        row = self._rows.find(" ".join(pair))
        grade = _NO_GRADE if row is None else self._grades[row]
        return None if grade == _NO_GRADE else grade

    @property
    def graded(self) -> int:
        """How many pairs have a grade."""
        return len(self._grades) - self._grades.count(_NO_GRADE)


_NO_GRADE = -(2**63)


class _Validator:
    """What the files that were checked hold, and what is wrong with them, the first of each kind.

    `grades` are those of each set of judgements; a pair that left the pool has none.
    """

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.documents, self.queries = RowIndex(), set[str]()
        self.dropped = set[Pair]()
        self.grades = dict[str, _PairGrades]()
        self.stale = self.proven = 0
        self._counts = Counter[tuple[Path, str, Level]]()
        self._named = defaultdict[tuple[Path, str, Level], list[Problem]](list)

    def steps(self) -> Iterator[tuple[str, Callable[[Path], None], Path]]:
        """The files to check, those first whose ids the others name."""
        of = self.collection
        yield "corpus", self._corpus, of.corpus
        parts = (
            ("queries", self._queries, of.queries),
            ("pool", self._pool, of.pool),
            ("dropped", self._dropped, of.dropped),
        )
        yield from (step for step in parts if step[2].exists())
        yield from (("judgements", self._set, of.judgements(n)) for n in of.judgement_names())
        yield from (("qrels", self._qrels, of.qrels(name)) for name in of.qrels_names())
        yield from (("runs", self._run, path) for path in of.run_files().values())
        raters = journal_names(of)
        yield from (("annotations", self._journal, journal_path(of, name)) for name in raters)
        if of.card.exists():
            yield "card", self._card, of.card

    def add(self, path: Path, line: int, kind: str, text: str, level: Level = "error") -> None:
        """Note a problem; `kind` says in words what those of its kind have in common."""
        self._counts[path, kind, level] += 1
        if self._counts[path, kind, level] <= _NAMED:
            self._named[path, kind, level].append(Problem(level, str(path), line or None, text))

    def warn(self, path: Path, line: int, kind: str, text: str) -> None:
        """Note what a person should look at."""
        self.add(path, line, kind, text, "warning")

    def add_text(self, path: Path, text: str) -> None:
        """Note what a reader says, which names the file and mostly the line itself."""
        match = re.match(rf"{re.escape(str(path))}(?::(\d+))?: (.*)", text, re.DOTALL)
        line, problem = (int(match[1] or 0), match[2]) if match else (0, text)
        self.add(path, line, "lines that cannot be read", problem)

    def listed(self) -> Iterator[Problem]:
        """The problems by file and kind, in the order in which the first of each came."""
        for (path, kind, level), named in self._named.items():
            yield from named
            if more := self._counts[path, kind, level] - len(named):
                yield Problem(level, str(path), None, f"… and {more:,} more: {kind}", more)

    def _good_rows(self, path: Path, of: Callable[[Row], Record]) -> Iterator[tuple[int, Record]]:
        """What the rows of a file are, with their lines; others are noted."""
        for number, values in read_rows(path, lambda error: self.add_text(path, str(error))):
            try:
                yield number, of(Row(path, number, values))
            except BadInput as error:
                self.add_text(path, str(error))

    def _ids(
        self, path: Path, number: int, pair: Pair, advice: str = "", of_query: Level = "error"
    ) -> None:
        """Both ids of a pair are in the collection; `of_query` is the level of the query's."""
        if pair.query_id not in self.queries:
            text = f"the query {pair.query_id!r:.100} is not in the collection{advice}"
            self.add(path, number, "queries that are not in the collection", text, of_query)
        if pair.doc_id not in self.documents:
            text = f"the document {pair.doc_id!r:.100} is not in the corpus{advice}"
            self.add(path, number, "documents that are not in the corpus", text)

    def _once(self, path: Path, number: int, pair: Pair, *, is_new: bool) -> None:
        if not is_new:
            self.add(path, number, "repeated pairs", f"the pair {' '.join(pair)} again")

    def _corpus(self, path: Path) -> None:
        """Ids stand once, passages have texts, and a text is the one that its id was made of."""
        for number, document in self._good_rows(path, document_in):
            id_ = document.id
            if id_ in self.documents:
                self.add(path, number, "repeated ids", f"the id {id_!r} stands twice")
            self.documents.add(id_)
            if not (document.text + document.title).strip():
                text = f"the document {id_!r} has neither text nor title"
                self.warn(path, number, "documents without text", text)
            match = _CUT_ID.search(id_) if "headings" in document.metadata else None
            content = f"{document.title}\0{document.text}".encode()
            if match and hashlib.sha256(content).hexdigest()[:10] != match[1]:
                text = f"the text of {id_!r} is not the one that its id was made of"
                self.add(path, number, "changed texts", text)

    def _queries(self, path: Path) -> None:
        """Ids and texts stand once, and sources are passages of the corpus."""
        first_line = dict[str, int]()
        for number, query in self._good_rows(path, query_in):
            if query.id in self.queries:
                self.add(path, number, "repeated ids", f"the id {query.id!r} stands twice")
            self.queries.add(query.id)
            words = " ".join(query.text.casefold().split())
            first = first_line.setdefault(words, number)
            if not words:
                text = f"the query {query.id!r} has no text"
                self.add(path, number, "queries without text", text)
            elif first != number:
                text = f"the query {query.id!r} has the same text as that in line {first}"
                self.warn(path, number, "queries that stand twice", text)
            self._sources(path, number, query)

    def _sources(self, path: Path, number: int, query: Query) -> None:
        listed = query.metadata.get("source")
        sources = [s for s in listed if isinstance(s, dict)] if isinstance(listed, list) else []
        for source in (s for s in sources if s.get("doc_id") not in self.documents):
            if source.get("state") == "gone":
                text = f"the passage that {query.id!r} was written for is gone"
                self.warn(path, number, "sources that are gone", text)
            else:
                text = (
                    f"the source {source.get('doc_id')!r:.100} of {query.id!r} is not in the corpus"
                )
                self.add(path, number, "sources that are not in the corpus", text)

    def _pool(self, path: Path) -> None:
        """Pairs stand once, and both ids are in the collection."""
        pairs = _PairGrades()
        for number, pair in self._good_rows(path, lambda row: row.pair):
            self._ids(path, number, pair, f"; next: {DROPS.format(path.parent)}")
            self._once(path, number, pair, is_new=pairs.add(pair))

    def _dropped(self, path: Path) -> None:
        """Pairs that left the pool, as their query or document is gone."""
        self.dropped = set(read_pool(path).pairs)

    def _set(self, path: Path) -> None:
        """Pairs stand once, ids are in the collection, and all rows are of one origin."""
        grades, origins = _PairGrades(), list[Origin]()
        beyond = 0
        for number, pair, state, rest in judged_lines(path):
            is_dropped = pair in self.dropped
            if not is_dropped:
                self._ids(path, number, pair)
            is_new = grades.add(pair, None if is_dropped else state.grade)
            self._once(path, number, pair, is_new=is_new)
            beyond += is_dropped and is_new
            if origins and rest.origin not in origins:
                text = "made by another prompt, model or parameters than the rows above"
                self.add(path, number, "rows of another origin", text)
            origins += [rest.origin] if rest.origin not in origins[:1] else []
        self.grades[path.stem] = grades
        stale = stale_pairs(self.collection, path.stem)
        wrong, proven = unproven(self.collection, path.stem, stale)
        for each in wrong:
            self.add(path, each.line, "grades that no reply gave", str(each))
        self.proven += proven
        if beyond:
            those = count_of(beyond, "row is of a pair", "rows are of pairs")
            text = f"{those} that {_LEFT}; no score counts them"
            self.warn(path, 0, "rows of pairs that left the pool", text)
        if stale:
            text = (
                f"{count_of(len(stale), 'grade is', 'grades are')} of texts that have changed since"
            )
            next_ = f"next: labeler judge {self.collection.folder}"
            self.warn(path, 0, "grades of changed texts", f"{text}; {next_}")
            self.stale += len(stale)

    def _qrels(self, path: Path) -> None:
        """Ids are in the collection, pairs stand once, and grades are those of the judgements."""
        judged, pairs = self.grades.get(path.stem), _PairGrades()
        missing = judged.graded if judged else 0
        if judged and not missing and not path.stat().st_size:
            return  # no pair of the set has a grade
        for number, columns in trec_rows(path, QRELS_COLUMNS):
            pair, grade = _pair_of(columns), grade_of(path, number, columns[3])
            if pair in self.dropped:
                text = f"{' '.join(pair)} {_LEFT}, and counts in scores"
                self.add(path, number, "grades of pairs that left the pool", text)
                continue
            self._ids(path, number, pair)
            is_new, earlier = pairs.add(pair), judged.get(pair) if judged else None
            self._once(path, number, pair, is_new=is_new)
            missing -= is_new and earlier is not None
            if judged and earlier != grade:
                has = "has no grade" if earlier is None else f"has {earlier}"
                text = f"{' '.join(pair)} has the grade {grade}, and {has} in {path.stem}.jsonl"
                self.add(path, number, "grades that judgements do not have", text)
        if judged and missing:
            every = states_of(self.collection.judgements(path.stem))
            first = min(p for p, _ in every if p not in pairs and judged.get(p) is not None)
            text = f"{missing:,} judged pairs are not in it, as {' '.join(first)}"
            self.add(path, 0, "judgements without a line", text)

    def _run(self, path: Path) -> None:
        """The documents and the queries of a run are in the collection."""
        for number, columns in trec_rows(path, RUN_COLUMNS):
            self._ids(path, number, _pair_of(columns), of_query="warning")

    def _journal(self, path: Path) -> None:
        """Each line is an answer."""
        lines = [0, *(number for number, _ in numbered_journal(path))]
        if lines[-1] < sum(1 for _ in numbered_bytes(path)):
            text = "the last line was cut short, and was confirmed to nobody"
            self.warn(path, 0, "answers cut short", f"{text}; the next answer ends it")

    def _card(self, _path: Path) -> None:
        """The hashes of the card are those of the files."""
        for key, sha256 in card_section(read_card(self.collection), SECTION).items():
            file = self.collection.folder / key
            if sha256 and not file.exists():
                self.warn(file, 0, "missing files", "the card knows it, and it is not there")
            elif sha256 and sha256_of(file) != sha256:
                self.warn(file, 0, "changed files", "not as the command wrote it that made it")


def _pair_of(columns: list[bytes]) -> Pair:
    """The query and the document of a line of TREC's, which may be no UTF-8."""
    return Pair(*(text.decode("utf-8", "replace") for text in (columns[0], columns[2])))
