"""Judging by workers that Ray starts: what is killed goes on, and a budget is never exceeded.

Ray takes seconds to start, and more on a busy machine: `scripts/test -m slow` runs these.
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from made import grade_in, make_collection, pair_calls
from running import environment, finish

from labeler.cli import execute
from labeler.collection.layout import Collection
from labeler.judging.judge import judge
from labeler.testing import Answer, Call, FakeServer, completion

pytest.importorskip("ray", reason="an extra that `all` leaves out, as it is for clusters")
pytestmark = pytest.mark.slow

QUERIES, DOCUMENTS, WORKERS, AT_ONCE = 12, 20, 2, 4
PAIRS = QUERIES * DOCUMENTS
SECONDS = 400


def slowly(call: Call) -> Answer:
    return Answer(completion(grade_in(call)), delay=0.05)


def start(folder: Path, server: FakeServer, *more: str) -> subprocess.Popen[str]:
    """`parts work` with workers that Ray starts, on the partitions of a new collection."""
    collection, parts = folder / "coll", folder / "parts"
    if not parts.exists():
        make_collection(collection, QUERIES, DOCUMENTS)
        asked = ["--model", "fake", "--base-url", server.base_url, "--as", "a", "--rows", "40"]
        assert execute(["parts", "make", str(collection), str(parts), *asked]) == 0
    words = ["parts", "work", str(parts), "--workers", str(WORKERS), "--quiet", *more]
    return subprocess.Popen(
        [sys.executable, "-m", "labeler", *words, "--concurrency", str(WORKERS * AT_ONCE)],
        env=environment() | {"OPENAI_BASE_URL": server.base_url},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_driver_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    collection, other = Collection(tmp_path / "coll"), Collection(tmp_path / "other")
    with FakeServer(slowly) as server:
        process = start(tmp_path, server)
        deadline = time.monotonic() + SECONDS
        while len(pair_calls(server)) < PAIRS // 4:
            assert time.monotonic() < deadline
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.kill()
        process.communicate()
        code, errors = finish(start(tmp_path, server, "--wait"), SECONDS)
        assert code == 0, errors
        assert len(pair_calls(server)) <= PAIRS + WORKERS * AT_ONCE
        assert execute(["parts", "collect", str(collection.folder), str(tmp_path / "parts")]) == 0
        calls = len(server.calls)
        shutil.copytree(collection.folder, other.folder)
        for file in (other.judgements("a"), other.qrels("a")):
            file.unlink()
        judge(other, model="fake", base_url=server.base_url, name="a")
        assert len(server.calls) == calls
    for path in (Collection.judgements, Collection.qrels):
        assert path(collection, "a").read_bytes() == path(other, "a").read_bytes()


def test_a_budget_is_never_exceeded_and_ends_with_4(tmp_path: Path) -> None:
    with FakeServer(slowly) as server:
        code, errors = finish(start(tmp_path, server, "--max-calls", "90"), SECONDS)
        assert (code, len(pair_calls(server)) <= 90) == (4, True), errors
