"""Judging on Ray, with real workers: killed ones, killed drivers, and what is paid for.

Ray takes seconds to start, and more on a busy machine: `scripts/test -m slow` runs these.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from made import grade_in, make_collection, pair_calls
from running import environment, finish, judge_words

from labeler.collection.layout import Collection
from labeler.errors import Misconfigured
from labeler.judging.judge import judge
from labeler.scale.partitions.on_ray import RayOptions, started_ray
from labeler.testing import Answer, Call, FakeServer, completion

pytest.importorskip("ray", reason="an extra that `all` leaves out, as it is for clusters")
pytestmark = pytest.mark.slow

QUERIES, DOCUMENTS, WORKERS, AT_ONCE = 12, 20, 2, 4
PAIRS = QUERIES * DOCUMENTS
IN_FLIGHT = WORKERS * AT_ONCE
SECONDS = 400


def slowly(call: Call) -> Answer:
    return Answer(completion(grade_in(call)), delay=0.05)


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return make_collection(tmp_path / "coll", QUERIES, DOCUMENTS)


def start(
    collection: Collection, server: FakeServer, *more: str, workers: int = WORKERS
) -> subprocess.Popen[str]:
    folder = collection.folder.parent / "parts"
    on_ray = ["--ray", str(collection.folder), "--workers", str(workers), "--rows", "40"]
    at_once = ["--concurrency", str(IN_FLIGHT), "--quiet", *more]
    judging = judge_words(collection.folder, server)[2:]
    words = ["parts", "work", str(folder), *on_ray, *judging, *at_once]
    command = [sys.executable, "-m", "labeler", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment(), stdout=pipe, stderr=pipe, text=True)


def wait_for(server: FakeServer, count: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + SECONDS
    while len(pair_calls(server)) < count:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """The processes of Ray's workers that judge, among the descendants of a process."""
    parents, names = dict[int, int](), dict[int, str]()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            number = int(folder.name)
            parents[number] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            names[number] = (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue

    def is_below(number: int) -> bool:
        while number > 1:
            if number == process.pid:
                return True
            number = parents.get(number, 0)
        return False

    return [n for n, name in names.items() if "MapWorker" in name and is_below(n)]


def check_equals_one_machine(collection: Collection, server: FakeServer, tmp_path: Path) -> None:
    """The files are those that `judge` writes, and the store holds all that it asks."""
    other, calls = Collection(tmp_path / "other"), len(server.calls)
    shutil.copytree(collection.folder, other.folder)
    for file in (other.judgements("a"), other.qrels("a")):
        file.unlink()
    os.environ["OPENAI_API_KEY"] = "sk-canary-7d1f0a"
    judge(other, model="fake", base_url=server.base_url, name="a")
    assert len(server.calls) == calls
    for path in (Collection.judgements, Collection.qrels):
        assert path(collection, "a").read_bytes() == path(other, "a").read_bytes()


def test_a_worker_that_is_killed_costs_what_was_in_flight_and_no_grade(
    collection: Collection, tmp_path: Path
) -> None:
    with FakeServer(slowly) as server:
        process = start(collection, server)
        wait_for(server, PAIRS // 3, process)
        os.kill(workers_of(process)[0], signal.SIGKILL)
        code, errors = finish(process, SECONDS)
        assert (code, "Traceback" in errors) == (0, False), errors
        assert PAIRS <= len(pair_calls(server)) <= PAIRS + 3 * AT_ONCE
        check_equals_one_machine(collection, server, tmp_path)
    text = "".join(
        path.read_text(errors="replace")
        for path in (collection.folder.parent / "parts").rglob("*")
        if path.is_file()
    )
    assert "sk-canary" not in text + errors


def test_a_driver_that_is_killed_goes_on_where_it_was_and_ctrl_c_keeps_all(
    collection: Collection, tmp_path: Path
) -> None:
    with FakeServer(slowly) as server:
        process = start(collection, server)
        wait_for(server, PAIRS // 4, process)
        process.kill()
        process.communicate()
        time.sleep(3)
        killed_at = len(pair_calls(server))
        process = start(collection, server)
        wait_for(server, killed_at + PAIRS // 4, process)
        process.send_signal(signal.SIGTERM)
        code, errors = finish(process, SECONDS)
        assert (code, "Traceback" in errors) == (143, False), errors
        stopped_at = len(pair_calls(server))
        process = start(collection, server)
        assert finish(process, SECONDS)[0] == 0
        # what the killed driver's workers were asking may be asked again; all else is asked once
        assert len(pair_calls(server)) <= PAIRS + 3 * IN_FLIGHT
        assert stopped_at < PAIRS
        check_equals_one_machine(collection, server, tmp_path)


def test_a_budget_is_that_of_all_workers_and_ends_with_4(collection: Collection) -> None:
    with FakeServer(slowly) as server:
        process = start(collection, server, "--max-calls", "90", "--json")
        out, errors = process.communicate(timeout=SECONDS)
        assert process.returncode == 4, errors
        assert "stopped at 90 calls" in errors
        assert len(server.calls) == 90
        assert json.loads(out)["calls"] == 90
        assert max(Counter(pair_calls(server)).values()) == 1


def test_a_key_that_is_refused_ends_all_workers_with_78(collection: Collection) -> None:
    def refused(call: Call) -> Answer:
        probing = len(server.calls) <= 1
        return slowly(call) if probing else Answer('{"error": {"message": "no"}}', status=401)

    with FakeServer(refused) as server:
        code, errors = finish(start(collection, server), SECONDS)
        assert code == 78, errors
        assert len(errors.splitlines()) <= 3


def test_an_address_at_which_nothing_answers_is_refused_at_once() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(Misconfigured, match=rf"no Ray cluster answers at {address}"):
            started_ray(RayOptions(address=address))
