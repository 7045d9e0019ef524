"""The lock of a collection: who holds it, who waits, and what ends a wait."""

import asyncio
import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from forked import Forked
from running import environment, finish

from labeler.collection.card import read_card, update_card, update_card_entry
from labeler.collection.layout import (
    Collection,
    MadeFile,
    check_locked,
    claimed,
    locked,
    locked_in_loop,
)
from labeler.collection.pool import write_pool
from labeler.collection.queries import write_queries
from labeler.errors import FileProblem, Misuse, Stopped
from labeler.models.policies.call import StopSignal

ADD_TO_CARD = """
import sys
from pathlib import Path
from labeler.collection.card import update_card_entry
from labeler.collection.layout import Collection
from labeler.collection.layout import locked
collection = Collection(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
for number in range(20):
    with locked(collection):
        update_card_entry(collection, "samples", f"{sys.argv[2]}-{number}", {})
"""


def python(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_entries_that_several_processes_write_at_once_are_all_there(tmp_path: Path) -> None:
    processes = [python(ADD_TO_CARD, str(tmp_path), str(n)) for n in range(3)]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    assert [finish(process)[0] for process in processes] == [0, 0, 0]
    expected = {f"{n}-{number}" for n in range(3) for number in range(20)}
    assert set(read_card(Collection(tmp_path))["samples"]) == expected


def test_entries_that_several_threads_write_at_once_are_all_there(tmp_path: Path) -> None:
    collection = Collection(tmp_path)

    def add(name: str) -> None:
        for number in range(10):
            with locked(collection):
                update_card_entry(collection, "samples", f"{name}-{number}", {})

    threads = [threading.Thread(target=add, args=(str(n),)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_card(collection)["samples"]) == 30


@pytest.mark.parametrize(
    "write",
    [
        lambda c: update_card(c, "pool", {}),
        lambda c: write_pool(c.pool, []),
        lambda c: write_queries(c.queries, []),
    ],
    ids=["card", "pool", "queries"],
)
def test_what_writes_without_the_lock_is_a_mistake_in_the_code(tmp_path: Path, write: Any) -> None:
    collection = Collection(tmp_path)
    with pytest.raises(RuntimeError, match="without its lock"):
        write(collection)
    with locked(collection):
        write(collection)
        with locked(Collection(tmp_path / "." / "other" / "..")):
            write(collection)
    with pytest.raises(RuntimeError, match="without its lock"):
        check_locked(tmp_path)


HOLD = """
import sys, time
from pathlib import Path
from labeler.collection.layout import Collection
from labeler.collection.layout import locked
with locked(Collection(Path(sys.argv[1]))):
    print("held", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def held_elsewhere(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process holds the lock until it is told to end, or is killed."""
    process = python(HOLD, str(folder))
    try:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_wait_is_said_and_ends_with_the_process_that_is_waited_for(tmp_path: Path) -> None:
    lines: list[str] = []
    with held_elsewhere(tmp_path) as holder:

        def note(line: str) -> None:
            lines.append(line)
            holder.kill()

        with locked(Collection(tmp_path), note):
            pass
    assert lines == [f"waiting for another process, which is writing {tmp_path}"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_ends_a_wait(tmp_path: Path, number: int, code: int) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n\nText of it.\n")
    with held_elsewhere(tmp_path / "c"):
        process = Forked(["corpus", "ingest", "docs", "-o", "c"], environment(), cwd=tmp_path)
        assert process.stderr  # on a slow machine the progress of reading comes first
        assert any(line.startswith("waiting for another process") for line in process.stderr)
        process.send_signal(number)
        ended, said = finish(process)
    assert (ended, "Traceback" in said) == (code, False)
    assert not (tmp_path / "c" / "corpus.jsonl").exists()


def test_asynchronous_work_goes_on_while_it_waits_and_stops_when_it_is_told_to(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        stop = StopSignal()

        def note(_line: str) -> None:
            stop.set()

        async with locked_in_loop(Collection(tmp_path), stop, note):
            raise AssertionError

    with held_elsewhere(tmp_path), pytest.raises(Stopped):
        asyncio.run(work())


def test_two_tasks_of_one_loop_take_turns(tmp_path: Path) -> None:
    turns: list[str] = []

    async def work(name: str) -> None:
        async with locked_in_loop(Collection(tmp_path), StopSignal()):
            turns.append(f"{name} in")
            await asyncio.sleep(0.01)
            turns.append(f"{name} out")

    async def both() -> None:
        await asyncio.gather(work("a"), work("b"))

    asyncio.run(both())
    assert turns in (["a in", "a out", "b in", "b out"], ["b in", "b out", "a in", "a out"])


def no_locks(_descriptor: int, _how: int) -> None:
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


def unknown_locks(_descriptor: int, _how: int) -> None:
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))


@pytest.mark.parametrize("flock", [no_locks, unknown_locks])
def test_a_file_system_without_locks_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flock: Any
) -> None:
    monkeypatch.setattr(fcntl, "flock", flock)
    with (
        pytest.raises(FileProblem, match="cannot be locked") as caught,
        locked(Collection(tmp_path)),
    ):
        pass
    assert str(caught.value).startswith(f"{tmp_path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_something_else_in_the_lock_file_s_place_is_one_line(tmp_path: Path, kind: str) -> None:
    lock = tmp_path / "c" / ".lock"
    lock.parent.mkdir()
    lock.mkdir() if kind == "folder" else lock.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileProblem, match="cannot be locked"), locked(Collection(tmp_path / "c")):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_who_may_write_into_the_folder_may_lock_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o775)
    mask = os.umask(0o077)
    try:
        with locked(Collection(tmp_path)):
            pass
    finally:
        os.umask(mask)
    assert (tmp_path / ".lock").stat().st_mode & 0o777 == 0o664


def made(folder: Path, prompt: str) -> MadeFile:
    collection = Collection(folder)
    path = collection.judgements("a")
    return MadeFile(collection, path, {"prompt": prompt}, "give another name", "name")


CLAIM = """
import sys
from pathlib import Path
from labeler.collection.layout import MadeFile, claimed
from labeler.collection.layout import Collection
from labeler.collection.layout import locked
collection = Collection(Path(sys.argv[1]))
with locked(collection):
    claim = claimed(MadeFile(collection, collection.judgements("a"), {"prompt": "one"}, "wait"))
    claim.__enter__()
print("claimed", flush=True)
sys.stdin.readline()
"""


def test_a_name_that_is_being_made_is_shared_by_equals_and_refused_to_others(
    tmp_path: Path,
) -> None:
    process = python(CLAIM, str(tmp_path))
    try:
        assert process.stdout
        assert process.stdout.readline() == "claimed\n"
        with locked(Collection(tmp_path)), claimed(made(tmp_path, "one")):
            pass
        problem = f"process {process.pid} is making .*a.jsonl with prompt one, not two"
        with (
            locked(Collection(tmp_path)),
            pytest.raises(Misuse, match=problem) as caught,
            claimed(made(tmp_path, "two")),
        ):
            pass
        assert caught.value.parameter == "name"
    finally:
        process.kill()
        process.communicate()
    with locked(Collection(tmp_path)), claimed(made(tmp_path, "two")):
        pass
    assert list((tmp_path / "judgements").iterdir()) == []
