"""Killing, interrupting and sharing: what is paid once is kept, and nothing is paid twice."""

import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kept import Kept, either
from made import (
    grade_in,
    grade_of,
    make_collection,
    pair_calls,
    pair_of,
    stored_pairs,
    wait_for_calls,
)
from running import environment, finish, judge_words, start, with_little_room

from labeler.data import Pair
from labeler.errors import LabelerError
from labeler.model import Message, Reply, Request
from labeler.store import open_store
from labeler.store.base import KeyedReply, WriteBatch
from labeler.store.keys import Canon
from labeler.testing import Answer, Call, FakeServer, completion
from labeler.trec.files import read_qrels

CONCURRENCY = 8
OPEN_BATCH = 2 * CONCURRENCY
"""Pairs that may wait for the store beside those that wait for the server."""


def slowly(call: Call) -> Answer:
    return Answer(completion(grade_in(call)), delay=0.02)


def expected(queries: int, documents: int) -> dict[str, dict[str, int]]:
    return {
        f"q{q}": {f"d{d}": grade_of(Pair(f"q{q}", f"d{d}")) for d in range(documents)}
        for q in range(queries)
    }


@pytest.mark.sweep
@either()
@pytest.mark.parametrize(
    ("kills", "documents"), [(2, 60), pytest.param(20, 400, marks=pytest.mark.slow)]
)
def test_killed_at_random_moments_it_pays_only_for_what_was_in_flight(
    tmp_path: Path, kept: Kept, kills: int, documents: int
) -> None:
    collection = make_collection(tmp_path, queries=3, documents=documents)
    pairs, chance = 3 * documents, random.Random(7)
    options = ("--concurrency", str(CONCURRENCY), *kept.words)
    with FakeServer(slowly) as server:
        for _ in range(kills):
            process = start(tmp_path, server, *options)
            wanted = len(pair_calls(server)) + chance.randrange(pairs // kills // 2 + 2)
            wait_for_calls(server, min(wanted, pairs - 1), process)
            process.kill()
            process.communicate()
        assert finish(start(tmp_path, server, *options))[0] == 0
        assert len(pair_calls(server)) <= pairs + kills * (CONCURRENCY + OPEN_BATCH)
    assert read_qrels(collection.qrels("a")) == expected(3, documents)
    assert len(set(stored_pairs(collection, kept))) == pairs


@either(database_is_slow=True)
def test_the_first_ctrl_c_keeps_every_reply_that_was_paid_for(tmp_path: Path, kept: Kept) -> None:
    collection = make_collection(tmp_path, queries=2, documents=60)
    with FakeServer(slowly) as server:
        process = start(tmp_path, server, "--concurrency", str(CONCURRENCY), *kept.words)
        wait_for_calls(server, 20, process)
        process.send_signal(signal.SIGINT)
        code, said = finish(process)
        paid = len(pair_calls(server))
        assert (code, paid < 120) == (130, True)
        assert "run the same command again" in said
        assert "Traceback" not in said
        assert len(stored_pairs(collection, kept)) == paid
        assert not collection.judgements("a").exists()
        assert finish(start(tmp_path, server, *kept.words))[0] == 0
        assert Counter(pair_calls(server)).most_common(1)[0][1] == 1
    assert read_qrels(collection.qrels("a")) == expected(2, 60)


def test_the_second_ctrl_c_stops_now(tmp_path: Path) -> None:
    make_collection(tmp_path, queries=1, documents=20)
    with FakeServer() as server:
        server.answer = lambda c: Answer(fault="hang") if len(server.calls) > 1 else grade_in(c)
        process = start(tmp_path, server)
        wait_for_calls(server, 5, process)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        code, said = finish(process, 10)
    assert code == 130
    assert "Traceback" not in said


@either(database_is_slow=True)
def test_sigterm_ends_it_like_ctrl_c_with_its_own_code(tmp_path: Path, kept: Kept) -> None:
    collection = make_collection(tmp_path, queries=2, documents=60)
    with FakeServer(slowly) as server:
        process = start(tmp_path, server, "--concurrency", str(CONCURRENCY), *kept.words)
        wait_for_calls(server, 20, process)
        process.send_signal(signal.SIGTERM)
        code, said = finish(process)
        assert (code, "Traceback" in said) == (143, False)
        assert len(stored_pairs(collection, kept)) == len(pair_calls(server))


@either(database_is_slow=True)
@pytest.mark.parametrize("processes", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_processes_share_the_work_and_ask_nothing_twice(
    tmp_path: Path, kept: Kept, processes: int
) -> None:
    collection = make_collection(tmp_path, queries=3, documents=100)
    options = ("--concurrency", str(CONCURRENCY), *kept.words)
    with FakeServer(slowly) as server:
        started = [start(tmp_path, server, *options) for _ in range(processes)]
        for process in started:
            code, said = finish(process, 120)
            assert code == 0, said
        assert sorted(pair_calls(server)) == sorted(
            Pair(f"q{q}", f"d{d}") for q in range(3) for d in range(100)
        )
    assert len(stored_pairs(collection, kept)) == 300
    assert read_qrels(collection.qrels("a")) == expected(3, 100)


@either()
@pytest.mark.slow
def test_processes_ask_for_a_pair_that_fails_once(tmp_path: Path, kept: Kept) -> None:
    make_collection(tmp_path, queries=1, documents=60)

    def answer(call: Call) -> Answer:
        pair = pair_of(call)
        if pair and int(pair.doc_id[1:]) % 10 == 3:
            error = {"error": {"code": "context_length_exceeded", "message": "too long"}}
            return Answer(error, status=400, delay=0.02)
        return slowly(call)

    with FakeServer(answer) as server:
        started = [start(tmp_path, server, "--concurrency", "4", *kept.words) for _ in range(3)]
        assert {finish(process, 120)[0] for process in started} == {3}
        assert max(Counter(pair_calls(server)).values()) == 1
        assert finish(start(tmp_path, server, *kept.words))[0] == 3
        assert sorted(Counter(pair_calls(server)).values()) == [1] * 54 + [2] * 6


@either()
@pytest.mark.slow
def test_the_leases_of_a_killed_process_hold_nobody_up(tmp_path: Path, kept: Kept) -> None:
    make_collection(tmp_path, queries=1, documents=30)
    with FakeServer(slowly) as server:
        victim = start(tmp_path, server, "--concurrency", str(CONCURRENCY), *kept.words)
        wait_for_calls(server, 10, victim)
        victim.kill()
        victim.communicate()
        began = time.monotonic()
        assert finish(start(tmp_path, server, *kept.words))[0] == 0
    assert time.monotonic() - began < 20


def judged_on_a_full_disk(folder: Path, server: FakeServer) -> str:
    """What a run says that may write no file of more than 300 kB, neither here nor elsewhere."""
    code, said = with_little_room(judge_words(folder, server), 300_000)
    assert (code, "Traceback" in said) == (74, False), said
    return said


def test_on_a_full_disk_replies_are_saved_elsewhere_and_the_run_ends(
    tmp_path: Path,
) -> None:
    collection = make_collection(tmp_path, queries=3, documents=100)
    with FakeServer(grade_in) as server:
        said = judged_on_a_full_disk(tmp_path, server)
        (line,) = (line for line in said.splitlines() if line.startswith("labeler: "))
        assert "is the disk full?" in line
        files = re.findall(r"repl(?:y is|ies are) saved in ([^;\n]+)", said)
        saved = [Path(file) for file in files[:-1]]  # a line each, and then what went wrong
        rescued = 0
        for file in saved:
            with open_store(file, reading=True) as store:
                assert said.count(f"{len(store)} replies are saved in {file}") == 1
                rescued += len(store)
        assert rescued + len(stored_pairs(collection)) == len(pair_calls(server))
        for file in saved:
            if file.parent != tmp_path:
                assert said.count(f"; move {file} into {tmp_path}") >= 1
                shutil.move(file, tmp_path)
        assert finish(start(tmp_path, server))[0] == 0
        assert len(pair_calls(server)) == 300
    assert read_qrels(collection.qrels("a")) == expected(3, 100)


def test_where_there_is_no_room_anywhere_it_is_said_how_many_paid_replies_are_lost(
    tmp_path: Path,
) -> None:
    collection = make_collection(tmp_path, queries=3, documents=100)

    def answer_at_length(call: Call) -> Answer:
        return Answer({**completion(grade_in(call)), "id": "x" * 40_000})

    with FakeServer(answer_at_length) as server:
        said = judged_on_a_full_disk(tmp_path, server)
        lost = sum(map(int, re.findall(r"(\d+) repl(?:y is|ies are) lost", said)))
        saved = sum(map(int, re.findall(r"(\d+) repl(?:y is|ies are) saved in", said)))
        asked = len(pair_calls(server))
        assert lost > 0
        assert lost + saved + len(stored_pairs(collection)) == asked
        assert finish(start(tmp_path, server))[0] == 0
        assert len(pair_calls(server)) <= 300 + lost + saved
    assert read_qrels(collection.qrels("a")) == expected(3, 100)


def request(number: int) -> Request:
    return Request((Message("user", f"number {number}"),))


def reply(number: int) -> Reply:
    return Reply(f"answer {number}", body=b"x" * (number % 700))


def valid_frames(log: bytes) -> int:
    """The bytes of a write-ahead log up to its last frame of the current salt, after SQLite's
    file format document, section 4.
    """
    if len(log) < 32:
        return 0
    page, salt = struct.unpack(">I", log[8:12])[0], log[16:24]
    at = 32
    while at + 24 + page <= len(log) and log[at + 8 : at + 16] == salt:
        at += 24 + page
    return at


@contextmanager
def filled(path: Path, batches: int) -> Iterator[list[tuple[int, bytes, bytes]]]:
    """A store's file and log as they lay on the disk after each of some commits."""
    states = []
    with open_store(path) as store:
        for batch in range(batches):
            numbers = range(10 * batch, 10 * batch + 10)
            rows = [
                KeyedReply(Canon("m").keyed(request(n)).key, "m", "", reply(n)) for n in numbers
            ]
            store.write(WriteBatch(rows))
            log = Path(f"{path}-wal").read_bytes()
            states.append((10 * batch + 10, path.read_bytes(), log[: valid_frames(log)]))
        yield states


def found_after(folder: Path, file: bytes, log: bytes) -> set[int] | None:
    """The numbers whose replies are there, each as it was written; None where it is refused."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = folder / "replies.db"
    path.write_bytes(file)
    Path(f"{path}-wal").write_bytes(log)
    try:
        with open_store(path) as store:
            keys = {Canon("m").keyed(request(n)).key: n for n in range(200)}
            there = store.replies(list(keys))
            assert all(kept.text == reply(keys[key]).text for key, kept in there.items())
            return {keys[key] for key in there}
    except LabelerError:
        return None


@pytest.mark.parametrize("offsets", [25, pytest.param(100, marks=pytest.mark.slow)])
def test_after_a_power_loss_every_returned_commit_is_there(tmp_path: Path, offsets: int) -> None:
    chance = random.Random(11)
    with filled(tmp_path / "replies.db", 20) as states:
        for _ in range(offsets):
            index = chance.randrange(len(states) - 1)
            count, file, log = states[index]
            _, _, later = states[index + 1]
            beyond = bytearray(later[len(log) :] if later.startswith(log) else b"")
            cut = chance.randrange(len(beyond) + 1)
            if chance.random() < 0.5:
                beyond = beyond[:cut]
            elif beyond:
                beyond[cut % len(beyond)] ^= 0xFF
            there = found_after(tmp_path / "copy", file, log + bytes(beyond))
            assert there is not None
            assert there >= set(range(count))


@pytest.mark.parametrize("offsets", [25, pytest.param(100, marks=pytest.mark.slow)])
def test_damage_before_the_last_commit_gives_an_earlier_one_or_is_refused(
    tmp_path: Path, offsets: int
) -> None:
    chance = random.Random(13)
    with filled(tmp_path / "replies.db", 20) as states:
        for _ in range(offsets):
            count, file, log = states[chance.randrange(len(states))]
            whole = bytearray(file + log)
            whole[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
            damaged = bytes(whole)
            there = found_after(tmp_path / "copy", damaged[: len(file)], damaged[len(file) :])
            if there is not None:
                assert there <= set(range(count))
                assert len(there) % 10 == 0 or there == set(range(count))


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [1_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_many_open_pairs_need_few_files(tmp_path: Path, pairs: int) -> None:
    collection = make_collection(tmp_path, queries=10, documents=pairs // 10)
    limited = (
        "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64));"
        "sys.argv = ['labeler', *sys.argv[1:]]; runpy.run_module('labeler', run_name='__main__')"
    )
    with FakeServer(grade_in) as server:
        options = judge_words(tmp_path, server, "--concurrency", "256", "--quiet")
        done = subprocess.run(
            [sys.executable, "-c", limited, *options],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert server.most_under_way <= 64
        assert len(pair_calls(server)) == pairs
    assert read_qrels(collection.qrels("a")) == expected(10, pairs // 10)
