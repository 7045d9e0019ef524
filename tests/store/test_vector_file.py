"""Vectors in a file: what was added is there, whatever else happens."""

import asyncio
import errno
import os
import resource
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from labeler.errors import BadInput, FileProblem, Stopped
from labeler.models.policies.call import StopSignal
from labeler.models.session import run_to_end
from labeler.store.vectors import VectorFile, Vectors, key_of_text

KEYS = [key_of_text(text) for text in ("one", "two", "three")]
VECTORS: Vectors = np.arange(12, dtype=np.float32).reshape(3, 4)


def quiet(_line: str) -> None:
    return None


@contextmanager
def appending(file: VectorFile, note: Callable[[str], None] = quiet) -> Iterator[None]:
    """Have a file open to be added to, in a loop of its own."""
    with asyncio.Runner() as runner:
        opened = file.appending(note, lambda: False)
        runner.run(opened.__aenter__())
        try:
            yield
        finally:
            runner.run(opened.__aexit__(None, None, None))


def filled(path: Path, rows: int = 3) -> VectorFile:
    file = VectorFile.read(path, "server model")
    with appending(file, quiet):
        file.add(KEYS[:rows], VECTORS[:rows])
    return file


def test_what_was_added_is_read_again(tmp_path: Path) -> None:
    file = filled(tmp_path / "vectors" / "a.vectors")
    assert np.array_equal(file.of(KEYS), VECTORS)
    again = VectorFile.read(file.path, "server model")
    assert (len(again), again.dimensions) == (3, 4)
    assert np.array_equal(again.of([KEYS[2], KEYS[0]]), VECTORS[[2, 0]])
    assert [each.name for each in file.path.parent.glob("a.*")] == ["a.vectors"]


def test_what_a_killed_process_added_is_there(tmp_path: Path) -> None:
    child = os.fork()
    if not child:
        file = VectorFile.read(tmp_path / "a.vectors", "server model")
        try:
            with appending(file):
                file.add(KEYS[:2], VECTORS[:2])
                os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    os.waitpid(child, 0)
    file = VectorFile.read(tmp_path / "a.vectors", "server model")
    assert [key in file for key in KEYS] == [True, True, False]
    with appending(file):
        file.add(KEYS[2:], VECTORS[2:])
    assert np.array_equal(VectorFile.read(file.path, "server model").of(KEYS), VECTORS)


@pytest.mark.parametrize("size", [0, 4096])
def test_a_file_that_a_kill_left_empty_takes_vectors(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.vectors"
    if size:
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA journal_mode = WAL")
    else:
        path.touch()
    assert path.stat().st_size == size
    assert np.array_equal(filled(path).of(KEYS), VECTORS)


def test_a_file_that_may_only_be_read_is_read(tmp_path: Path) -> None:
    path = filled(tmp_path / "folder" / "a.vectors").path
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        assert np.array_equal(VectorFile.read(path, "server model").of(KEYS), VECTORS)
    finally:
        path.parent.chmod(0o700)


def test_a_text_without_a_vector_is_told(tmp_path: Path) -> None:
    file = filled(tmp_path / "a.vectors", rows=2)
    with pytest.raises(KeyError):
        file.of(KEYS)
    assert file.of([]).shape == (0, 4)


def test_what_another_process_added_meanwhile_is_seen(tmp_path: Path) -> None:
    early = VectorFile.read(tmp_path / "a.vectors", "server model")
    filled(tmp_path / "a.vectors", rows=2)
    with appending(early, quiet):
        assert KEYS[1] in early
        early.add(KEYS[2:], VECTORS[2:])
    assert np.array_equal(early.of(KEYS), VECTORS)


def test_who_reads_meanwhile_stops_nobody(tmp_path: Path) -> None:
    file = filled(tmp_path / "a.vectors", rows=2)
    with closing(sqlite3.connect(file.path)) as reader:
        with appending(file):
            file.add(KEYS[2:], VECTORS[2:])
            assert len(reader.execute("SELECT key FROM vectors").fetchmany(1)) == 1
        assert np.array_equal(VectorFile.read(file.path, "server model").of(KEYS), VECTORS)


def test_a_file_that_was_removed_meanwhile_is_begun_anew(tmp_path: Path) -> None:
    file = filled(tmp_path / "a.vectors", rows=2)
    file.path.unlink()
    with appending(file):
        assert KEYS[0] not in file
        file.add(KEYS[2:], VECTORS[2:])
    again = VectorFile.read(file.path, "server model")
    assert np.array_equal(again.of(KEYS[2:]), VECTORS[2:])


def test_vectors_of_another_length_are_not_mixed_in(tmp_path: Path) -> None:
    file = filled(tmp_path / "a.vectors", rows=1)
    with appending(file, quiet), pytest.raises(BadInput, match="have 4 numbers, new ones 7"):
        file.add(KEYS[1:2], np.ones((1, 7), dtype=np.float32))


@pytest.mark.parametrize(
    "content", [b"x" * 2000, b"{}" + b" " * 2000, b'{"dimensions": -1}' + b" " * 2000, b"\0" * 2000]
)
def test_a_file_of_something_else_is_refused_and_stays(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.vectors"
    path.write_bytes(content)
    with pytest.raises(BadInput, match="no vectors that labeler keeps"):
        VectorFile.read(path, "server model")
    assert path.read_bytes() == content


def test_vectors_of_another_encoder_are_refused(tmp_path: Path) -> None:
    path = filled(tmp_path / "a.vectors").path
    with pytest.raises(BadInput, match="the vectors of another encoder, 'server model'"):
        VectorFile.read(path, "server other")


def test_a_pipe_in_its_place_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.vectors")
    with pytest.raises(FileProblem):
        VectorFile.read(tmp_path / "a.vectors", "server model")


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """A write beyond so many bytes is cut short there, and the next one fails."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("rows", [0, 1])
def test_a_write_that_failed_leaves_nothing_and_later_vectors_are_kept(
    tmp_path: Path, rows: int
) -> None:
    file = VectorFile.read(tmp_path / "a.vectors", "server model")
    with appending(file, quiet):
        if rows:
            file.add(KEYS[:1], VECTORS[:1])
        with files_of_at_most(4096), pytest.raises(FileProblem, match=r"a\.vectors"):
            file.add(KEYS[1:2], VECTORS[1:2])
        file.add(KEYS[2:], VECTORS[2:])
    again = VectorFile.read(file.path, "server model")
    assert [key in again for key in KEYS] == [bool(rows), False, True]
    assert np.array_equal(again.of(KEYS[2:]), VECTORS[2:])
    assert np.array_equal(file.of(KEYS[2:]), VECTORS[2:])


@pytest.mark.parametrize("size", [0, 100, 4096, 9000])
def test_a_file_that_became_shorter_is_named(tmp_path: Path, size: int) -> None:
    file = filled(tmp_path / "a.vectors")
    os.truncate(file.path, size)
    with pytest.raises(BadInput, match=r"a\.vectors: no vectors that labeler keeps, or damaged"):
        file.of(KEYS)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP])
def test_on_a_file_system_without_locks_nobody_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    lock_fails_with(number, monkeypatch)
    notes: list[str] = []
    file = VectorFile.read(tmp_path / "a.vectors", "server model")
    with appending(file, notes.append):
        file.add(KEYS, VECTORS)
    assert np.array_equal(file.of(KEYS), VECTORS)
    assert not notes


def test_a_lock_that_cannot_be_had_at_all_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock_fails_with(errno.EIO, monkeypatch)
    file = VectorFile.read(tmp_path / "a.vectors", "server model")
    with pytest.raises(FileProblem, match=r"a\.vectors"), appending(file, quiet):
        pass


def lock_fails_with(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def fails(_descriptor: int, _mode: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", fails)


def test_ctrl_c_ends_the_wait_for_another_process(tmp_path: Path) -> None:
    held, file = filled(tmp_path / "a.vectors"), filled(tmp_path / "a.vectors")

    def interrupt(_line: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    async def wait() -> None:
        async with file.appending(interrupt, bool):
            pytest.fail("two had the file at once")

    with appending(held, quiet):
        with pytest.raises(KeyboardInterrupt):
            run_to_end(lambda _stop: wait())
        with pytest.raises(KeyboardInterrupt), appending(file, interrupt):
            pytest.fail("two had the file at once")


def test_a_stop_ends_the_wait_for_another_process(tmp_path: Path) -> None:
    held, file = filled(tmp_path / "a.vectors"), filled(tmp_path / "a.vectors")

    async def wait(stop: StopSignal) -> None:
        async with file.appending(lambda _line: stop.set(), stop.is_set):
            pytest.fail("two had the file at once")

    with appending(held, quiet), pytest.raises(Stopped, match="another process held"):
        run_to_end(wait)


def test_who_waits_goes_on_when_the_other_is_done(tmp_path: Path) -> None:
    held, file = filled(tmp_path / "a.vectors", rows=1), filled(tmp_path / "a.vectors", rows=1)
    notes: list[str] = []

    async def both(stop: StopSignal) -> None:
        waits = asyncio.Event()

        def note(line: str) -> None:
            notes.append(line)
            waits.set()

        async def wait() -> None:
            async with file.appending(note, stop.is_set):
                file.add(KEYS[2:], VECTORS[2:])

        async with held.appending(quiet, stop.is_set):
            waiting = asyncio.create_task(wait())
            await waits.wait()
            held.add(KEYS[1:2], VECTORS[1:2])
        await waiting

    run_to_end(both)
    assert np.array_equal(file.of(KEYS), VECTORS)
    assert [line.partition(" for ")[0] for line in notes] == ["another process encodes texts"]
