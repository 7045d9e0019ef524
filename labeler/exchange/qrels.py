"""Qrels of any usual kind, told by their content, read as TREC's columns."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from labeler.errors import BadInput, SaysTooLittle
from labeler.exchange.contents import GRADES
from labeler.exchange.formats import held_by, rated_in
from labeler.exchange.queries import Queries, texts_by_id
from labeler.exchange.ratings import GradeRule, Grades, RatedFile, Rating, number_of, stripped
from labeler.exchange.responses import by_query
from labeler.exchange.tables import QUERY_TEXT, RANK, RATING, Rows, first_line, has_column, part_of
from labeler.files.boundary import reading
from labeler.files.read import numbered_lines, read_instead, rereadable
from labeler.messages import Note, count_of, squeezed, tell
from labeler.trec import files as trec
from labeler.trec.pairs import PairColumns
from labeler.trec.values import GRADE, SCORE

# The ids of queries that a file names by their text.

_LISTED = 5


class NamedByText(SaysTooLittle):
    """A file names queries by their text, and no queries are given that have ids."""

    def __init__(self, path: Path, where: str, text: str) -> None:
        super().__init__(
            f"{where}: names queries by their text ({text!r:.60}); give queries that have ids",
            path,
            {"queries": "COLL"},
        )


class QueryIds:
    """The ids of queries by their texts, which are given by id: as they stand, else normalised.

    Normalised texts differ neither in case nor in white space, in the form of their letters, nor in
    punctuation at the end. `unclear` collects the texts that match no query, or several, with
    the ids of these.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self.exact = _inverted(texts)
        self.alike = _inverted({id_: normalised(text) for id_, text in texts.items()})
        self.unclear: dict[str, Sequence[str]] = {}

    def ids_of(self, text: str) -> Sequence[str]:
        """The ids of the queries that have this text."""
        return self.exact.get(text) or self.alike.get(normalised(text), [])

    def id_of(self, text: str) -> str | None:
        """The id of the one query that has this text, or this id."""
        ids = self.ids_of(text)
        if text in self.texts and ids != [text]:
            ids = [text, *ids]
        if len(ids) == 1:
            return ids[0]
        self.unclear[text] = ids
        return None

    def problems(self) -> list[str]:
        """What matched no query or several, in lines."""
        none = [repr(text[:60]) for text, ids in self.unclear.items() if not ids]
        several = [f"{t[:60]!r} ({', '.join(ids)})" for t, ids in self.unclear.items() if ids]
        return [
            f"{count_of(len(texts), 'query matches', 'queries match')} {many} of yours, left out: "
            f"{_some(texts)}"
            for many, texts in (("none", none), ("several", several))
            if texts
        ]


def normalised(text: str) -> str:
    """A text without what people type one way or another."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return squeezed(plain).rstrip("?!. ") or plain


def _inverted(texts: Mapping[str, str]) -> dict[str, list[str]]:
    ids = defaultdict(list)
    for id_, text in texts.items():
        ids[text].append(id_)
    return ids


def _some(texts: Sequence[str]) -> str:
    more = len(texts) - _LISTED
    return ", ".join(texts[:_LISTED]) + (f" and {more:,} more" if more > 0 else "")


def ids_of_pair(
    path: Path, where: str, rating: Rating, by_text: bool, ids: QueryIds | None
) -> tuple[str | None, str]:
    """The ids of a row; of a query that is named by its text `None` where it is none of `ids`.

    Where queries may be named either way, what is neither an id nor a text stays as it is.
    """
    query = stripped(rating.query)
    if query and isinstance(query, str) and ids is not None:
        if by_text or (query not in ids.texts and ids.ids_of(query)):
            _, document = rating._replace(query="q").pair(where)
            return ids.id_of(query), document
    elif isinstance(query, str) and by_text and len(query.split()) > 1:
        raise NamedByText(path, where, query)
    return rating.pair(where)


_EXPECTED = (
    "expected TREC's columns, a table with columns such as query_id, doc_id and relevance, or JSON "
    "as {query: {document: grade}}"
)


class Meaning(NamedTuple):
    """What a person says of a file: which grades its ratings are, which ids its queries have."""

    rule: GradeRule | None = None
    texts: Mapping[str, str] | None = None

    @classmethod
    def of(cls, grade_map: str = "", scale: str = "", queries: Queries | None = None) -> Meaning:
        """The meaning in the words of `read_qrels`."""
        rule = GradeRule.of(grade_map, scale) if grade_map or scale else None
        return cls(rule, None if queries is None else texts_by_id(queries))


AS_IT_STANDS = Meaning()


def read_qrels(
    path: Path | str,
    warn: Note = lambda _message: None,
    *,
    grade_map: str = "",
    scale: str = "",
    queries: Queries | None = None,
) -> PairColumns[int]:
    """The grades of a file of qrels, `qrels[query][document]`, in the file's order.

    It is TREC's columns, BEIR's or another table with a header (CSV, TSV, Parquet, JSON Lines), or
    JSON of ranx, pytrec_eval, OpenSearch or Quepid, which its content tells. Ratings that are no
    small integers need a `grade_map`, as `0:0,0.5:1,1:2`, or the highest rating and its grade as
    `scale`, `100:3`. Queries that are named by their text get the ids of `queries`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "human.json"
    >>> _ = path.write_text('{"q1": {"d1": 2, "d2": 0}}')
    >>> read_qrels(path).as_dict()
    {'q1': {'d1': 2, 'd2': 0}}
    """
    return qrels_by_meaning(Path(path), Meaning.of(grade_map, scale, queries), warn)


def qrels_by_meaning(path: Path, meaning: Meaning, warn: Note) -> PairColumns[int]:
    """The same, with what a person says of the file."""
    with rereadable():
        hold_qrels(path, warn, meaning)
        return trec.read_qrels(path, warn)


def hold_qrels(
    path: Path,
    warn: Note = lambda _line: None,
    meaning: Meaning = AS_IT_STANDS,
    *,
    labels: bool = False,
) -> None:
    """Let qrels of any kind be read as TREC's columns, until the block of `rereadable` ends.

    TREC's own are left as they are, unless `meaning` says more of them. With `labels` what is no
    number stays as it is.
    """
    judged = judged_in(path)
    if judged is None and meaning.rule is not None:
        judged = _trec_ratings(path)
    if judged is not None:
        tell(path, judged.kind)
        read_instead(path, lambda copy: _write(path, judged, meaning, warn, copy, labels=labels))


def judged_in(path: Path) -> RatedFile | None:
    """The ratings of a file that is not in TREC's columns; `None` of one that may be."""
    held = held_by(path, by_query, part=GRADES)
    judged = rated_in(held, GRADES, _of_rows, (_EXPECTED, "query_id,doc_id,grade"))
    if judged is None and _LETOR.fullmatch(first_line(held.head)):
        return RatedFile("qrels from LETOR's lines (qid, docid)", _letor(path))
    return judged


_LETOR = re.compile(r"(\S+)\s+qid:(\S+)\s[^#]*#\s*docid\s*=\s*(\S+).*")
"""A line of features for learning to rank, with the id of its document behind them."""


def _letor(path: Path) -> Iterator[Rating]:
    for number, line in numbered_lines(path):
        row = _LETOR.fullmatch(line)
        if row is None and line.strip():
            raise BadInput.at(
                path,
                number,
                "expected a grade, qid:QUERY, features and # docid = DOCUMENT; found "
                f"{line[:60]!r}",
            )
        if row is not None:
            yield Rating(number, row[2], row[3], row[1])


def _of_rows(rows: Rows) -> RatedFile:
    names = rows.columns
    grade = part_of(names, GRADE, "grade")
    if grade is None and not has_column(names, RANK):
        grade = part_of(names, SCORE, "grade")
    hint = "; a run?" if has_column(names, RANK, SCORE) else ""
    parts = rows.pair_parts(grade, "qrels, as query_id, doc_id, grade", hint)
    ratings = (Rating(number, *cells) for number, cells in rows.cells(parts))
    query, _, grade = parts
    is_rating = has_column([grade.column], RATING)
    kind = rows.kind("qrels", (part.column for part in parts))
    return RatedFile(kind, ratings, query.names is QUERY_TEXT, is_rating)


def _trec_ratings(path: Path) -> RatedFile:
    from labeler.trec.rows import QRELS_COLUMNS, rows, texts

    ratings = (
        Rating(number, *texts(path, number, row[0], row[2], row[3]))
        for number, row in rows(path, QRELS_COLUMNS)
    )
    return RatedFile("qrels in TREC's columns", ratings)


def _write(  # noqa: PLR0913  a file, what it means, and what becomes of it
    path: Path, judged: RatedFile, meaning: Meaning, warn: Note, copy: Path, *, labels: bool
) -> None:
    """The grades of a file as TREC's lines, each where its row stands in the file."""
    grades = Grades(path, meaning.rule, is_rating=judged.is_rating)
    counts = Counter[bool]()

    def graded(where: str, value: Any) -> str | None:
        is_empty = stripped(value) in (None, "")
        if labels and number_of(value) is None:
            return "" if value is None else squeezed(str(value))
        counts[is_empty] += 1
        grade = None if is_empty else grades.grade(where, value)
        return None if grade is None else str(grade)

    def end() -> str:
        grades.check()
        rows = count_of(counts.total(), "row")
        return f"no grade in {rows}" if counts else "no pair in it"

    problems = write_pairs(path, judged, meaning, copy, graded, end)
    if counts[True]:
        problems.append(f"{count_of(counts[True], 'pair has', 'pairs have')} no grade, left out")
    for problem in problems:
        warn(f"{path}: {problem}")


def write_pairs(  # noqa: PLR0913, PLR0917  a file, what it means, and what becomes of its values
    path: Path,
    rated: RatedFile,
    meaning: Meaning,
    copy: Path,
    end_of: Callable[[str, Any], str | None],
    end: Callable[[], str],
) -> list[str]:
    """Write the pairs of a file as TREC's lines, each at the number that its row has in the file.

    So a message about the copy names the line of the file, as far as its numbers ascend. `end_of`
    makes the end of a line of where a value stands and of the value; None leaves it out. What
    queries match none or several of those given is returned. `BadInput` where no pair was written:
    by what became of its queries, else by what `end` says, which is called behind the last one.
    """
    ids = None if meaning.texts is None else QueryIds(meaning.texts)
    written, at = 0, 1
    with reading(path), copy.open("w", encoding="utf-8", newline="\n") as out:
        for rating in rated.ratings:
            where = f"{path}:{rating.line}"
            query, document = ids_of_pair(path, where, rating, rated.by_text, ids)
            ending = end_of(where, rating.value)
            if query is not None and ending is not None:
                out.write("\n" * max(rating.line - at, 0) + f"{query} Q0 {document} {ending}\n")
                written += 1
                at = max(rating.line, at) + 1
    nothing = end()
    problems = ids.problems() if ids else []
    if not written:
        raise BadInput(f"{path}: {'; '.join(problems) or nothing}")
    return problems
