"""The formats of runs: TREC's columns, BEIR's JSON, tables; read as lines of a TREC run."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from labeler.errors import BadInput, SaysTooLittle
from labeler.exchange.contents import RANKINGS
from labeler.exchange.formats import held_by, rated_in
from labeler.exchange.qrels import AS_IT_STANDS, Meaning, write_pairs
from labeler.exchange.queries import Queries
from labeler.exchange.ratings import RatedFile, Rating, number_of
from labeler.exchange.responses import by_query, ranked_lists
from labeler.exchange.shapes import TEXT
from labeler.exchange.tables import QUERY_TEXT, RANK, Rows, first_line, has_column, part_of
from labeler.files.boundary import reading
from labeler.files.read import numbered_lines, read_instead, rereadable
from labeler.messages import Note, tell
from labeler.trec import files as trec
from labeler.trec.pairs import PairColumns
from labeler.trec.values import GRADE, SCORE, score_of, shown

_LOOKED_AT = 50
_EXPECTED = "expected a run, as {query: {document: score}}, or rows as query_id, doc_id and score"


def read_run(
    path: Path | str, *, queries: Queries | None = None, warn: Note = lambda _line: None
) -> PairColumns[float]:
    """The scores of a run, `run[query][document]`, in the file's order.

    It is TREC's columns, MS MARCO's three, a table with a header (CSV, TSV, Parquet, JSON Lines),
    JSON by query, or what a search engine answered, which its content tells. Where there are ranks
    and no scores, the score falls with the rank. Queries that are named by their text get the ids
    of `queries`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "bm25.csv"
    >>> _ = path.write_text("qid,docno,score\\nq1,d1,2.5\\nq1,d2,1\\n")
    >>> read_run(path).as_dict()
    {'q1': {'d1': 2.5, 'd2': 1.0}}
    """
    path = Path(path)
    with rereadable():
        hold_run(path, Meaning.of(queries=queries), warn)
        return trec.read_run(path)


def hold_run(path: Path, meaning: Meaning = AS_IT_STANDS, warn: Note = lambda _line: None) -> None:
    """Let a run of any kind be read as TREC's columns, until the block of `rereadable` ends.

    Queries that it names by their text get the ids of the texts of `meaning`.
    """
    scored = scored_in(path)
    if scored is not None:
        tell(path, scored.kind)
        read_instead(path, lambda copy: _write(path, scored, meaning, warn, copy))


def names_texts(path: Path) -> bool:
    """Whether a run names queries by their text, or may do so."""
    with rereadable(), reading(path):
        scored = scored_in(path)
        if scored is None:
            return False
        names = (str(rating.query) for rating in islice(scored.ratings, _LOOKED_AT))
        return scored.by_text or any(len(name.split()) > 1 for name in names)


def scored_in(path: Path) -> RatedFile | None:
    """The scores of a run that is not in TREC's columns; `None` of one that may be."""
    held = held_by(path, ranked_lists, by_query, part=RANKINGS)
    scored = rated_in(held, RANKINGS, _of_rows, (_EXPECTED, "query_id,doc_id,score"))
    if scored is not None or held.shape != TEXT:
        return scored
    cells = first_line(held.head).split()
    is_ranked = len(cells) in _RANKED and cells[2].isascii() and cells[2].isdigit()
    if is_ranked and (len(cells) == len(_MS_MARCO) or number_of(cells[3]) is not None):
        columns = _RANKED[len(cells)]
        kind = f"a run in {columns[0]}'s columns ({', '.join(columns[1])})"
        return RatedFile(kind, _ranked(path, columns[1]))
    return None


_MS_MARCO = ("query", "document", "rank")
_RANKED = {3: ("MS MARCO", _MS_MARCO), 4: ("ColBERT", (*_MS_MARCO, "score"))}


def _ranked(path: Path, columns: Sequence[str]) -> Iterator[Rating]:
    """Three columns as MS MARCO's, or a fourth: the score falls with the rank.

    `BadInput` where a query's numbers are not 1, 2, 3 and so on: they may be grades.
    """
    ranks: dict[str, array[int]] = defaultdict(lambda: array("q"))
    for number, line in numbered_lines(path):
        cells = line.split()
        if len(cells) not in (0, len(columns)):
            raise BadInput.at(
                path,
                number,
                f"expected {len(columns)} columns ({' '.join(columns)}), found {len(cells)}",
            )
        if cells:
            yield Rating(number, cells[0], cells[1], _of_rank(f"{path}:{number}", cells[2]))
            ranks[cells[0]].append(int(float(cells[2])))
    for query, of_query in ranks.items():
        if max(of_query) - min(of_query) + 1 != len(of_query) or min(of_query) > 1:
            raise BadInput(
                f"{path}: the ranks of {query:.60} are not 1, 2, 3 and so on; are these grades?"
            )


def _of_rows(rows: Rows) -> RatedFile:
    score = part_of(rows.columns, SCORE, "score")
    distance = None if score else part_of(rows.columns, ("distance",), "distance")
    hint = "; are these qrels?" if has_column(rows.columns, GRADE) else ""
    value = score or distance or part_of(rows.columns, RANK, "rank")
    parts = rows.pair_parts(value, "a run, as query_id, doc_id, score", hint)

    def ratings() -> Iterator[Rating]:
        for number, (query, document, cell) in rows.cells(parts):
            read = number_of(cell) if isinstance(cell, str) else None
            scored = cell if read is None else read
            where = f"{rows.path}:{number}"
            value = -score_of(where, scored) if distance else scored
            value = value if score or distance else _of_rank(where, cell)
            yield Rating(number, query, document, value)

    by_text = parts[0].names is QUERY_TEXT
    return RatedFile(rows.kind("a run", (part.column for part in parts)), ratings(), by_text)


def _of_rank(where: str, value: Any) -> float:
    rank = number_of(value)
    if rank is None or rank < 0 or not rank.is_integer():
        raise BadInput(f"{where}: expected a rank, found {shown(value)}")
    return 1 / (rank + 1)  # ranks count from 0 or from 1


def _write(path: Path, scored: RatedFile, meaning: Meaning, warn: Note, copy: Path) -> None:
    try:
        nothing = "no query with a document in it"
        for problem in write_pairs(path, scored, meaning, copy, _end_of, lambda: nothing):
            warn(f"{path}: {problem}")
    except SaysTooLittle as error:
        error.is_run = True
        raise


def _end_of(where: str, value: Any) -> str:
    return f"1 {score_of(where, value)!r} -"
