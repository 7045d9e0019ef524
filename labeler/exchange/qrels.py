"""Qrels of any usual kind, told by their content, read as TREC's columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labeler.data import Qrels
from labeler.errors import BadInput
from labeler.exchange import columns as usual
from labeler.exchange.by_text import NamedByText, QueryIds
from labeler.exchange.json_files import described, json_value
from labeler.exchange.judged import RatedFile, Rating
from labeler.exchange.nested_json import nested_qrels
from labeler.exchange.opensearch import ranking_evaluation, workbench_judgements
from labeler.exchange.pairs import json_rows, rows_of_pairs
from labeler.exchange.quepid import book_judgements, rated_ranking
from labeler.exchange.ratings import GradeRule, Grades, number_of
from labeler.exchange.shapes import JSON, head_of, shape_of
from labeler.exchange.tables import Rows
from labeler.exchange.taken import tell
from labeler.files.boundary import reading
from labeler.files.read import read_instead, rereadable
from labeler.messages import count_of
from labeler.trec import qrels as trec_qrels
from labeler.trec.index import QRELS, Index, indexed
from labeler.trec.values import ids_of

Warn = Callable[[str], None]
Queries = str | os.PathLike[str] | Mapping[str, str]
"""A collection's folder, a file of queries, or the texts of queries by id."""

_JSON_KINDS: tuple[Callable[[Any], RatedFile | None], ...] = (
    workbench_judgements,
    ranking_evaluation,
    book_judgements,
    rated_ranking,
    nested_qrels,
)
"""What a JSON file may be; the first that knows it reads it."""

_EXPECTED = (
    "expected TREC's columns, a table with columns such as query_id, doc_id and relevance, or JSON "
    "as {query: {document: grade}}"
)


@dataclass(frozen=True)
class Meaning:
    """What a person says of a file: which grades its ratings are, which ids its queries have."""

    rule: GradeRule | None = None
    texts: Mapping[str, str] | None = None

    @classmethod
    def of(cls, grade_map: str = "", scale: str = "", queries: Queries | None = None) -> Meaning:
        """The meaning in the words of `read_qrels`."""
        from labeler.exchange.queries import texts_by_id

        texts = None if queries is None else texts_by_id(queries)
        return cls(GradeRule.of(grade_map, scale), texts)


_AS_IT_STANDS = Meaning()


def read_qrels(
    path: Path | str,
    warn: Warn = lambda _message: None,
    *,
    grade_map: str = "",
    scale: str = "",
    queries: Queries | None = None,
) -> Qrels:
    """Read a file of qrels as `{query: {document: grade}}`, in the file's order.

    It is TREC's columns, BEIR's or another table with a header (CSV, TSV, Parquet, JSON Lines), or
    JSON of ranx, pytrec_eval, OpenSearch or Quepid, which its content tells. Ratings that are no
    small integers need a `grade_map`, as `0:0,0.5:1,1:2`, or the highest rating and its grade as
    `scale`, `100:3`. Queries that are named by their text get the ids of `queries`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "human.json"
    >>> _ = path.write_text('{"q1": {"d1": 2, "d2": 0}}')
    >>> read_qrels(path)
    {'q1': {'d1': 2, 'd2': 0}}
    """
    path = Path(path)
    meaning = Meaning.of(grade_map, scale, queries)
    with rereadable():
        hold_qrels(path, warn, meaning)
        return trec_qrels.read_qrels(path, warn)


@contextmanager
def indexed_qrels(path: Path, warn: Warn = lambda _message: None) -> Iterator[Index]:
    """The index of qrels of any kind."""
    with rereadable():
        hold_qrels(path, warn)
        with indexed(path, QRELS) as index:
            yield index


def hold_qrels(
    path: Path, warn: Warn = lambda _message: None, meaning: Meaning = _AS_IT_STANDS
) -> None:
    """Let qrels of any kind be read as TREC's columns, until the block of `rereadable` ends.

    TREC's own are left as they are, unless `meaning` says more of them.
    """
    judged = judged_in(path)
    if judged is None and meaning.rule is not None:
        judged = _trec_ratings(path)
    if judged is not None:
        tell(path, judged.kind)
        read_instead(path, lambda copy: _write(path, judged, meaning, warn, copy))


def hold_labels(path: Path) -> None:
    """The same of labels, of which those that are no numbers stay as they are."""
    judged = judged_in(path)
    if judged is not None:
        tell(path, judged.kind)
        read_instead(path, lambda copy: _write_labels(path, judged, copy))


def judged_in(path: Path) -> RatedFile | None:
    """The ratings of a file that is not in TREC's columns; `None` of one that may be."""
    with reading(path):
        head = head_of(path)
        shape = shape_of(path, head)
        if shape == JSON:
            return _of_json(path, json_value(path))
        rows = rows_of_pairs(path, shape, head, "query_id,doc_id,grade")
        return None if rows is None else _of_rows(path, rows)


def _of_json(path: Path, value: Any) -> RatedFile:
    for kind in _JSON_KINDS:
        judged = kind(value)
        if judged is not None and not (kind is nested_qrels and json_rows(path, value)):
            return judged
    rows = json_rows(path, value)
    if rows is None:
        raise BadInput(f"{path}: {described(value)}; {_EXPECTED}")
    return _of_rows(path, rows)


def _of_rows(path: Path, rows: Rows) -> RatedFile:
    names = rows.columns
    by_id = usual.part_of(names, usual.QUERY_ID, "query's id")
    query = by_id or usual.part_of(names, usual.QUERY_TEXT, "query")
    document = usual.part_of(names, usual.DOCUMENT_ID, "document's id")
    grade = usual.part_of(names, usual.GRADE, "grade")
    if grade is None and not usual.has_column(names, usual.RANK):
        grade = usual.part_of(names, usual.SCORE, "grade")
    if query is None or document is None or grade is None:
        is_run = usual.has_column(names, usual.RANK, usual.SCORE)
        hint = "; a run?" if is_run and query and document else ""
        have = f"{rows.form} with the columns {usual.in_words(names)}"
        raise BadInput(f"{path}: {have}; expected those of qrels, as query_id, doc_id, grade{hint}")
    triple = (query, document, grade)
    ratings = (Rating(number, *cells) for number, cells in rows.cells(path, triple))
    is_rating = usual.has_column([grade.column], usual.RATING)
    kind = rows.kind("qrels", (part.column for part in triple))
    return RatedFile(kind, ratings, by_text=by_id is None, is_rating=is_rating)


def _trec_ratings(path: Path) -> RatedFile:
    from labeler.trec.rows import QRELS_COLUMNS, rows, texts

    ratings = (
        Rating(number, *texts(path, number, row[0], row[2], row[3]))
        for number, row in rows(path, QRELS_COLUMNS)
    )
    return RatedFile("qrels in TREC's columns", ratings)


def _write(path: Path, judged: RatedFile, meaning: Meaning, warn: Warn, copy: Path) -> None:
    """The grades of a file as TREC's lines, each where its row stands in the file."""
    grades = Grades(path, meaning.rule, is_rating=judged.is_rating)
    ids = None if meaning.texts is None else QueryIds(meaning.texts)
    counts = {"rows": 0, "empty": 0}

    def lines() -> Iterator[tuple[int, str]]:
        for rating in judged.ratings:
            where = f"{path}:{rating.line}"
            counts["rows"] += 1
            query, document = _ids_of(path, where, rating, judged.by_text, ids)
            if _is_empty(rating.value):
                counts["empty"] += 1
                continue
            grade = grades.grade(where, rating.value)
            if query is not None and grade is not None:
                yield rating.line, f"{query} 0 {document} {grade}\n"

    written = _write_lines(path, copy, lines())
    grades.check()
    problems = ids.problems() if ids else []
    if not written:
        rows = f"no grade in {count_of(counts['rows'], 'row', 'rows')}"
        rows = rows if counts["rows"] else "no pair in it"
        raise BadInput(f"{path}: {'; '.join(problems) or rows}")
    if counts["empty"]:
        problems.append(f"{count_of(counts['empty'], 'pair has', 'pairs have')} no grade, left out")
    for problem in problems:
        warn(f"{path}: {problem}")


def _ids_of(
    path: Path, where: str, rating: Rating, by_text: bool, ids: QueryIds | None
) -> tuple[str | None, str]:
    """The ids of a row; of a query that is named by its text `None` where it is none of `ids`."""
    query, document = _stripped(rating.query), _stripped(rating.document)
    if not by_text or (ids is None and not _has_space(query)):
        return ids_of(where, query, document)
    if not isinstance(query, str):
        return ids_of(where, query, document)
    if ids is None:
        raise NamedByText(path, where, query)
    _, document = ids_of(where, "q", document)
    return ids.id_of(query, may_be_id=True), document


def _stripped(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def _has_space(value: Any) -> bool:
    return isinstance(value, str) and len(value.split()) > 1


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _write_lines(path: Path, copy: Path, lines: Iterable[tuple[int, str]]) -> int:
    """Write lines at their numbers, as far as these ascend; how many there are."""
    written, at = 0, 1
    with reading(path), copy.open("w", encoding="utf-8", newline="\n") as out:
        for number, line in lines:
            out.write("\n" * max(number - at, 0) + line)
            at = max(number, at) + 1
            written += 1
    return written


def _write_labels(path: Path, judged: RatedFile, copy: Path) -> None:
    grades = Grades(path, None, is_rating=judged.is_rating)

    def lines() -> Iterator[tuple[int, str]]:
        for rating in judged.ratings:
            where = f"{path}:{rating.line}"
            query, document = _ids_of(path, where, rating, judged.by_text, None)
            if number_of(rating.value) is not None:
                grades.grade(where, rating.value)
            label = "" if rating.value is None else " ".join(str(rating.value).split())
            yield rating.line, f"{query} 0 {document} {label}\n"

    written = _write_lines(path, copy, lines())
    grades.check()
    if not written:
        raise BadInput(f"{path}: no label in it")
