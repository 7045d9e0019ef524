"""TREC's qrels (four columns) and runs (six), plain or gzip, read strictly."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from labeler.data import Qrels, Run
from labeler.errors import BadInput
from labeler.files.atomic import replacing
from labeler.files.read import numbered_bytes
from labeler.messages import count_of
from labeler.trec.order import ranking

QRELS_COLUMNS = "query iteration document grade"
RUN_COLUMNS = "query Q0 document rank score tag"
BEIR_HEADER = [b"query-id", b"corpus-id", b"score"]
LARGEST_GRADE = 2**31 - 1

_GRADE = re.compile(rb"[+-]?[0-9]{1,10}")
_SCORE = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_BYTE_ORDER_MARKS = {
    b"\xef\xbb\xbf": "a byte-order mark",
    b"\xff\xfe": "a byte-order mark of UTF-16",
    b"\xfe\xff": "a byte-order mark of UTF-16",
}
SHOWN = 3
VERDICTS = dict.fromkeys((b"yes", b"pass", b"true", b"1"), True) | dict.fromkeys(
    (b"no", b"fail", b"false", b"0"), False
)


def _silent(_message: str) -> None:
    """Where nobody asked for warnings."""


def read_qrels(path: Path, warn: Callable[[str], None] = _silent) -> Qrels:
    """The grades of a qrels file, queries and documents in the file's order.

    A pair that stands there twice with one grade is counted in a warning; with two grades it is
    `BadInput`, which names the pairs. Lines that begin with `#` are comments.
    """
    qrels: Qrels = {}
    repeated = 0
    conflicts: list[str] = []
    for number, columns in rows(path, QRELS_COLUMNS):
        query_id, doc_id = _texts(path, number, columns[0], columns[2])
        grade = grade_of(path, number, columns[3])
        grades = qrels.setdefault(query_id, {})
        if doc_id not in grades:
            grades[doc_id] = grade
        elif grades[doc_id] == grade:
            repeated += 1
        else:
            problem = f"{query_id} {doc_id} has {grades[doc_id]} and {grade}"
            conflicts.append(f"{path}:{number}: {problem}")
    if conflicts:
        raise BadInput(two_grades(conflicts, len(conflicts)))
    if repeated:
        warn(same_grade(path, repeated))
    return qrels


def two_grades(conflicts: list[str], total: int) -> str:
    """What to say of lines that contradict earlier ones."""
    more = total - len(conflicts[:SHOWN])
    listed = "; ".join(conflicts[:SHOWN]) + (f"; and {more:,} more" if more > 0 else "")
    return f"{listed} (two grades for one pair)"


def same_grade(path: Path | str, repeated: int) -> str:
    """What to say of lines that only repeat earlier ones."""
    lines = count_of(repeated, "repeated line", "repeated lines")
    return f"{path}: {lines}, the same pair with the same grade"


def read_run(path: Path) -> Run:
    """The scores of a run, queries and documents in the file's order; the rank is not read."""
    run: Run = {}
    for number, columns in rows(path, RUN_COLUMNS):
        query_id, doc_id = _texts(path, number, columns[0], columns[2])
        score = score_of(path, number, columns[4])
        scores = run.setdefault(query_id, {})
        if doc_id in scores:
            raise BadInput.at(path, number, f"{query_id} retrieves {doc_id} a second time")
        scores[doc_id] = score
    return run


def read_loose_run(path: Path) -> tuple[Run, str]:
    """The scores of a run and its tag, as trec_eval reads them.

    Columns after the sixth are ignored, and the last line's tag is the run's.
    """
    run: Run = {}
    tag = b""
    for number, columns in rows(path, RUN_COLUMNS, more=True):
        query_id, doc_id = _texts(path, number, columns[0], columns[2])
        scores = run.setdefault(query_id, {})
        if doc_id in scores:
            raise BadInput.at(path, number, f"{query_id} retrieves {doc_id} a second time")
        scores[doc_id] = score_of(path, number, columns[4])
        tag = columns[5]
    return run, tag.decode("utf-8", "replace")


def read_verdicts(path: Path) -> dict[str, bool]:
    """Whether a person passed each query that they looked at: `yes` or `no` after its id."""
    found: dict[str, bool] = {}
    for number, columns in rows(path, "query verdict"):
        (query_id,) = _texts(path, number, columns[0])
        verdict = VERDICTS.get(columns[1].lower())
        if verdict is None:
            raise BadInput.at(path, number, f"expected yes or no, found {shown(columns[1])}")
        if query_id in found:
            raise BadInput.at(path, number, f"the query {query_id} stands in an earlier line too")
        found[query_id] = verdict
    return found


def write_qrels(path: Path, qrels: Qrels) -> None:
    """Write a qrels file, sorted by query and document; it reads back as the same grades."""
    lines = (
        f"{query_id} 0 {doc_id} {grade}\n"
        for query_id, grades in sorted(qrels.items())
        for doc_id, grade in sorted(grades.items())
    )
    with replacing(path, lambda written: _check(read_qrels, written, path, qrels)) as out:
        out.writelines(lines)


def write_run(path: Path, run: Run, tag: str) -> None:
    """Write a run in trec_eval's order, gzip where `path` ends in `.gz`; it reads back exactly."""
    lines = (
        f"{query_id} Q0 {doc_id} {rank} {float(scores[doc_id])!r} {tag}\n"
        for query_id, scores in run.items()
        for rank, doc_id in enumerate(ranking(scores), start=1)
    )
    with replacing(path, lambda written: _check(read_run, written, path, run)) as out:
        out.writelines(lines)


def _check(read: Callable[[Path], object], written: Path, path: Path, meant: Qrels | Run) -> None:
    """Refuse a file that does not read back as what it was written from."""
    kept = {query_id: documents for query_id, documents in meant.items() if documents}
    if kept and read(written) != kept:
        raise BadInput(
            f"{path}: would not read back as it was written; an id with white space or a leading #?"
        )


def grade_of(path: Path, number: int, text: bytes) -> int:
    """A grade: an integer, nothing else."""
    if not _GRADE.fullmatch(text) or abs(int(text)) > LARGEST_GRADE:
        raise BadInput.at(path, number, f"expected an integer grade, found {shown(text)}")
    return int(text)


def score_of(path: Path, number: int, text: bytes) -> float:
    """A score: a finite decimal number, read as a double."""
    score = float(text) if _SCORE.fullmatch(text) else math.nan
    if not math.isfinite(score):
        raise BadInput.at(path, number, f"expected a finite number as score, found {shown(text)}")
    return score


def shown(text: bytes) -> str:
    """A piece of a file as an error message quotes it."""
    return repr(text[:40].decode("utf-8", "replace"))


def rows(
    path: Path,
    names: str,
    lines: Iterable[tuple[int, bytes]] | None = None,
    *,
    more: bool = False,
) -> Iterator[tuple[int, list[bytes]]]:
    """The columns of every line that is neither blank nor a comment, with its number.

    `lines` are some of the file's, where they have been read already; `more` allows more columns.
    """
    wanted = len(names.split())
    number = found = 0
    for number, line in numbered_bytes(path) if lines is None else lines:
        if number == 1:
            refuse_byte_order_mark(path, line)
        columns = line.split()
        if not columns or columns[0].startswith(b"#"):
            continue
        if b"\0" in line:
            raise BadInput.at(path, number, _why_nul(line) + _hint(path, names, columns))
        if len(columns) != wanted and not (more and len(columns) > wanted):
            problem = f"expected {wanted} columns ({names}), found {len(columns)}"
            raise BadInput.at(path, number, problem + _hint(path, names, columns))
        found += 1
        yield number, columns
    if not found and lines is None:
        raise BadInput.at(path, max(number, 1), f"no line in it; expected {names}")


def _hint(path: Path, names: str, columns: list[bytes]) -> str:
    """What a file of another format may be, and what would make it one of this."""
    if names == RUN_COLUMNS and path.suffix.casefold() in (".json", ".parquet"):
        return f"; labeler run convert {path} -o {path.stem}.trec makes TREC's columns of it"
    if columns == BEIR_HEADER:
        return "; these are BEIR's three, with a header"
    kinds = {len(QRELS_COLUMNS.split()): "are these qrels?", len(RUN_COLUMNS.split()): "a run?"}
    return f"; {kinds[len(columns)]}" if len(columns) in kinds else ""


def _why_nul(line: bytes) -> str:
    """What a line with NUL bytes probably is: in UTF-16, every other byte of plain text is one."""
    if 3 * line.count(b"\0") > len(line):
        return "a NUL byte beside each letter, as in UTF-16; save the file as UTF-8"
    return "a NUL byte; is this a binary file?"


def refuse_byte_order_mark(path: Path, line: bytes) -> None:
    """Stop at a file that begins with one: its first query id would silently be another."""
    for mark, name in _BYTE_ORDER_MARKS.items():
        if line.startswith(mark):
            raise BadInput.at(path, 1, f"{name}; save the file as UTF-8 without one")


def _texts(path: Path, number: int, *columns: bytes) -> list[str]:
    try:
        return [column.decode("utf-8") for column in columns]
    except UnicodeDecodeError as error:
        raise BadInput.at(
            path, number, f"an id that is not UTF-8: {shown(error.object)}"
        ) from error
