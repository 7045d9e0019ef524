"""What can be read only once is read as often as any file, from one copy."""

import os
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

from labeler.errors import BadInput
from labeler.files.read import file_of, numbered_bytes, rereadable
from labeler.trec.blocks import Batch
from labeler.trec.files import through_run

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
        assert through_run(path, queries_in) == [b"q"]
        assert file_of(path) == copy
        assert copy.read_bytes() == LINES
    assert not copy.exists()


def queries_in(parts: Iterable[Batch]) -> list[bytes]:
    return [name for batch in parts for name in batch.names]


def test_the_lines_of_a_pipe_need_nobody_to_copy_it_first(tmp_path: Path) -> None:
    assert through_run(pipe(tmp_path), queries_in) == [b"q"]
    (tmp_path / "pipe").unlink()
    assert through_run(pipe(tmp_path), queries_in, by_id=True) == [b"q"]


def test_a_file_is_its_own_copy(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(LINES)
    with rereadable():
        assert file_of(tmp_path / "a") == tmp_path / "a"


def test_a_device_without_an_end_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "zero.txt"
    link.symlink_to("/dev/zero")
    with rereadable(), pytest.raises(BadInput, match=r"zero\.txt: a device, not a file"):
        file_of(link)
