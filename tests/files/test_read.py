"""What can be read only once is read as often as any file, from one copy."""

import os
import threading
from pathlib import Path

from labeler.files.read import file_of, numbered_bytes, rereadable
from labeler.trec.index import RUN, indexed

LINES = b"q Q0 a 1 2 t\nq Q0 b 2 1 t\n"


def pipe(folder: Path) -> Path:
    """A named pipe into which two lines of a run are written, once."""
    path = folder / "pipe"
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=(LINES,), daemon=True).start()
    return path


def test_a_pipe_is_copied_once_whoever_reads_it(tmp_path: Path) -> None:
    path = pipe(tmp_path)
    with rereadable():
        assert b"".join(line for _, line in numbered_bytes(path)) == LINES
        copy = file_of(path)
        with indexed(path, RUN) as index:
            assert file_of(path) == copy
            assert b"".join(index.text(slice(None))) == LINES
        assert copy.read_bytes() == LINES
    assert not copy.exists()


def test_the_index_of_a_pipe_needs_nobody_to_copy_it_first(tmp_path: Path) -> None:
    with indexed(pipe(tmp_path), RUN) as index:
        assert index.names == [b"q"]


def test_a_file_is_its_own_copy(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(LINES)
    with rereadable():
        assert file_of(tmp_path / "a") == tmp_path / "a"
