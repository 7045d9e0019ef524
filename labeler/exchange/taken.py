"""Which kind of file a file was taken for: told to whoever listens, once a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

Listener = Callable[[str], None]
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def told_what_files_are(listener: Listener) -> Iterator[None]:
    """Tell `listener` of each file that is read, in one line, what it was taken for.

    Of TREC's own columns and of a collection's own files it is not told.

    >>> from tempfile import TemporaryDirectory
    >>> from labeler.exchange.qrels import read_qrels
    >>> with TemporaryDirectory() as folder, told_what_files_are(lambda line: print(line[-53:])):
    ...     path = Path(folder, "human.csv")
    ...     _ = path.write_text("query_id,doc_id,grade\\nq1,d1,2\\n")
    ...     read_qrels(path)
    : qrels from CSV (columns query_id, doc_id, grade)
    {'q1': {'d1': 2}}
    """
    seen: set[str] = set()

    def once(line: str) -> None:
        if line not in seen:
            seen.add(line)
            listener(line)

    token = _LISTENER.set(once)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def tell(path: Path | str, kind: str) -> None:
    """Tell the listener what a file was taken for."""
    pass_on(f"{path}: {kind}")


def pass_on(line: str) -> None:
    """Tell the listener a line that another process heard of a file."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(line)
