"""The formats of runs: TREC's columns, BEIR's JSON, tables; read as lines of a TREC run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from labeler.errors import BadInput
from labeler.exchange.ratings import number_of, shown, write_lines
from labeler.exchange.shapes import JSON, TREC, head_of, shape_of
from labeler.exchange.tables import (
    QUERY_TEXT,
    RANK,
    Rows,
    first_line,
    has_column,
    in_words,
    json_value,
    part_of,
    rows_of_pairs,
)
from labeler.files.boundary import reading
from labeler.files.read import numbered_lines, read_instead, rereadable
from labeler.messages import tell
from labeler.trec import runs as trec_runs
from labeler.trec.index import RUN, Index, indexed
from labeler.trec.pairs import PairColumns
from labeler.trec.values import DOCUMENT_ID, GRADE, QUERY_ID, SCORE, ids_of, score_of

_SHAPE = "expected an object of query: {document: score}"


def read_json_run(path: Path) -> Iterator[tuple[str, str, float]]:
    """The query, document and score of each row of `{query: {document: score}}`."""
    value = json_value(path)
    if not isinstance(value, dict):
        raise BadInput(f"{path}: {_SHAPE}")
    for query_id, scores in value.items():
        where = f"{path}: query {query_id!r:.80}"
        if not isinstance(scores, dict):
            raise BadInput(f"{where}: {_SHAPE}")
        for doc_id, score in scores.items():
            yield *ids_of(where, query_id, doc_id), score_of(where, score)


@contextmanager
def indexed_run(path: Path, form: str = "") -> Iterator[Index]:
    """The index of a run of any kind, which its content tells unless `form` is `trec`."""
    with rereadable():
        if form != "trec":
            hold_run(path)
        with indexed(path, RUN) as index:
            yield index


def read_run(path: Path | str) -> PairColumns[float]:
    """The scores of a run, `run[query][document]`, in the file's order.

    It is TREC's columns, MS MARCO's three, a table with a header (CSV, TSV, Parquet, JSON Lines)
    or BEIR's JSON, which its content tells. Where a table has ranks and no scores, the score falls
    with the rank.

    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "bm25.csv"
    >>> _ = path.write_text("qid,docno,score\\nq1,d1,2.5\\nq1,d2,1\\n")
    >>> read_run(path).as_dict()
    {'q1': {'d1': 2.5, 'd2': 1.0}}
    """
    path = Path(path)
    with rereadable():
        hold_run(path)
        return trec_runs.read_run(path)


def hold_run(path: Path) -> None:
    """Let a run of any kind be read as TREC's columns, until the block of `rereadable` ends."""
    with reading(path):
        scored = scored_in(path)
    if scored is not None:
        tell(path, scored.kind)
        read_instead(path, lambda copy: _write(path, scored, copy))


class Scored(NamedTuple):
    """The rows of a run: line or number, query, document, score; and what it was taken for."""

    kind: str
    rows: Iterable[tuple[int, Any, Any, Any]]


def scored_in(path: Path) -> Scored | None:
    """The rows of a run that is not in TREC's columns; `None` of one that may be."""
    head = head_of(path)
    shape = shape_of(path, head)
    if shape == TREC:
        return None
    rows = rows_of_pairs(path, shape, head, "query_id,doc_id,score")
    if rows is not None:
        return _of_rows(path, rows)
    if shape == JSON:
        numbered = ((number, *row) for number, row in enumerate(read_json_run(path), start=1))
        return Scored("a run from JSON ({query: {document: score}})", numbered)
    cells = first_line(head).split()
    if len(cells) == len(_MS_MARCO) and cells[2].isascii() and cells[2].isdigit():
        return Scored("a run in MS MARCO's columns (query, document, rank)", _ms_marco(path))
    return None


_MS_MARCO = ("query", "document", "rank")


def _ms_marco(path: Path) -> Iterator[tuple[int, Any, Any, Any]]:
    """MS MARCO's three columns: the score falls with the rank."""
    for number, line in numbered_lines(path):
        cells = line.split()
        if not cells:
            continue
        if len(cells) != len(_MS_MARCO):
            problem = f"expected 3 columns ({' '.join(_MS_MARCO)}), found {len(cells)}"
            raise BadInput.at(path, number, problem)
        yield number, cells[0], cells[1], _of_rank(f"{path}:{number}", cells[2])


def _of_rows(path: Path, rows: Rows) -> Scored:
    names = rows.columns
    query = part_of(names, QUERY_ID, "query's id") or part_of(names, QUERY_TEXT, "query")
    document = part_of(names, DOCUMENT_ID, "document's id")
    score = part_of(names, SCORE, "score")
    rank = None if score else part_of(names, RANK, "rank")
    value = score or rank
    if query is None or document is None or value is None:
        hint = "; are these qrels?" if query and document and has_column(names, GRADE) else ""
        have = f"{rows.form} with the columns {in_words(names)}"
        raise BadInput(f"{path}: {have}; expected those of a run, as query_id, doc_id, score{hint}")
    triple = (query, document, value)
    kind = rows.kind("a run", (part.column for part in triple))
    return Scored(kind, _values(path, rows.cells(path, triple), by_rank=not score))


def _values(
    path: Path, cells: Iterable[tuple[int, tuple[Any, ...]]], *, by_rank: bool
) -> Iterator[tuple[int, Any, Any, Any]]:
    for number, (query, document, value) in cells:
        where = f"{path}:{number}"
        yield number, query, document, _of_rank(where, value) if by_rank else _number(value)


def _number(value: Any) -> Any:
    """A text as the number that it holds; as it stands where it holds none."""
    if not isinstance(value, str):
        return value
    number = number_of(value)
    return value if number is None else number


def _of_rank(where: str, value: Any) -> float:
    rank = number_of(value)
    if rank is None or rank < 0 or not rank.is_integer():
        raise BadInput(f"{where}: expected a rank, found {shown(value)}")
    return 1 / (rank + 1)  # ranks count from 0 or from 1


def _write(path: Path, scored: Scored, copy: Path) -> None:
    def lines() -> Iterator[tuple[int, str]]:
        for number, query, document, score in scored.rows:
            where = f"{path}:{number}"
            ids = (x.strip() if isinstance(x, str) else x for x in (query, document))
            query_id, doc_id = ids_of(where, *ids)
            yield number, f"{query_id} Q0 {doc_id} 1 {score_of(where, score)!r} -\n"

    if not write_lines(path, copy, lines()):
        raise BadInput(f"{path}: no query with a document in it")
