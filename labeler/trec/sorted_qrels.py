"""Qrels that are too many for the memory: written as `trec` would, a part at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from hashlib import blake2b
from heapq import merge
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from labeler.errors import BadInput
from labeler.files.atomic import replacing
from labeler.trec.files import QRELS_COLUMNS, grade_of, rows

ROWS_OF_A_PART = 25_000


def write_sorted_qrels(path: Path, grades: Iterable[tuple[str, str, int]]) -> None:
    """Write `(query, document, grade)` as four columns, sorted by query and document.

    No pair may stand there twice; the file reads back as the same lines, or is not put in place.
    """
    source = iter(grades)
    with TemporaryDirectory(prefix="labeler-qrels-") as folder:
        parts: list[Path] = []
        while part := sorted(islice(source, ROWS_OF_A_PART)):
            parts.append(Path(folder) / str(len(parts)))
            lines = (f"{query}\t{document}\t{grade}\n" for query, document, grade in part)
            parts[-1].write_text("".join(lines), encoding="utf-8", newline="\n")
        meant = blake2b()
        with replacing(path, lambda written: _check(written, meant.digest(), path)) as out:
            for line in _merged(parts):
                meant.update(line.encode())
                out.write(line)


def _merged(parts: Sequence[Path]) -> Iterator[str]:
    """The lines of sorted parts, in the order of their rows."""
    with ExitStack() as stack:
        files = [stack.enter_context(part.open(encoding="utf-8", newline="\n")) for part in parts]
        split = ((line[:-1].split("\t") for line in file) for file in files)
        for query, document, grade in merge(*split, key=lambda row: row[:2]):
            yield f"{query} 0 {document} {grade}\n"


def _check(written: Path, meant: bytes, path: Path) -> None:
    """Refuse a file whose rows, written anew, are not the lines of this digest."""
    found = blake2b()
    there = rows(written, QRELS_COLUMNS) if written.stat().st_size else ()
    for number, (query, _, document, grade) in there:
        found.update(b"%s 0 %s %d\n" % (query, document, grade_of(written, number, grade)))
    if found.digest() != meant:
        problem = "would not read back as it was written; an id with white space or a leading #?"
        raise BadInput(f"{path}: {problem}")
