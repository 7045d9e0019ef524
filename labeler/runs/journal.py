"""What a search system answered so far, kept beside the runs until the run is whole.

One row a query, appended and flushed when its answer has come, so that after a kill the same
command asks for the others alone. Rows hold the system's own ids, under a hash of the query's text
and of how the system was asked: a changed query, depth or address meets no old answer.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from labeler.collection.layout import Collection
from labeler.collection.lock import is_acquired, lock_file
from labeler.errors import BadInput, Misuse
from labeler.files.boundary import reading
from labeler.files.jsonl import read_rows
from labeler.files.read import file_problems
from labeler.files.shared import file_to_append
from labeler.runs.engines.answers import Hit


def journal_path(collection: Collection, name: str) -> Path:
    """The file that keeps the answers for a run that is not whole yet."""
    return collection.folder / "runs" / f".{name}.part"


def key_of(identity: str, depth: int, text: str) -> str:
    """What an answer is kept under."""
    parts = json.dumps([identity, depth, text]).encode()
    return hashlib.sha256(parts).hexdigest()[:32]


class Journal:
    """The answers that were kept, and a file to which more are appended."""

    def __init__(self, answers: dict[str, list[Hit]], file: IO[bytes]) -> None:
        self.answers = answers
        self._file = file

    def add(self, key: str, hits: Sequence[Hit]) -> None:
        """Keep an answer; it is on its way to the disk when this returns."""
        self.answers[key] = list(hits)
        row = json.dumps({"key": key, "hits": hits}, ensure_ascii=True)
        self._file.write(f"{row}\n".encode())
        self._file.flush()


@contextmanager
def opened_journal(collection: Collection, name: str) -> Iterator[Journal]:
    """The journal of a run; `Misuse` where another process retrieves that run now."""
    path = journal_path(collection, name)
    with file_problems(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = lock_file(path.with_suffix(".lock"))
        if not is_acquired(lock):
            raise Misuse(f"another process is retrieving the run {name!r} of this collection")
        try:
            answers = read_journal(path) if path.exists() else {}
            with file_to_append(path) as file:
                if file.tell() and not _ends_with_a_line(path):
                    file.write(b"\n")
                yield Journal(answers, file)
        finally:
            lock.release()
            path.with_suffix(".lock").unlink(missing_ok=True)


def _ends_with_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) == b"\n"


def read_journal(path: Path) -> dict[str, list[Hit]]:
    """The answers in a journal; a row that a kill cut off, or that is none, is left out.

    What is left out is asked for again.
    """
    answers: dict[str, list[Hit]] = {}
    with reading(path) as position:
        for _, row in position.follow(read_rows(path, _leave_out)):
            hits = _hits(row.get("hits"))
            if isinstance(row.get("key"), str) and hits is not None:
                answers[row["key"]] = hits
    return answers


def _leave_out(_error: BadInput) -> None:
    return None


def _hits(rows: Any) -> list[Hit] | None:
    if not isinstance(rows, list) or not all(isinstance(r, list) and len(r) == 2 for r in rows):
        return None
    if not all(isinstance(name, str) and name and _is_score(score) for name, score in rows):
        return None
    return [Hit(name, None if score is None else float(score)) for name, score in rows]


def _is_score(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and math.isfinite(value))
