"""The page over real connections: a server on a port, slow clients, processes that are killed."""

import html
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import pytest
from browser import chromium

from labeler.annotate.annotate import AnnotateOptions, rating_sessions
from labeler.annotate.journal import read_journal
from labeler.annotate.serve import ServeOptions, served
from labeler.collection.layout import Collection
from labeler.data import Query
from labeler.errors import Misuse
from labeler.testing import small_collection
from labeler.trec.files import read_qrels
from labeler.trec.write import write_qrels, write_run

PAIRS = 20


@pytest.fixture
def coll(tmp_path: Path) -> Collection:
    queries = [Query(f"q{n:02}", f"where do cats sleep {n}") for n in range(PAIRS // 2)]
    return small_collection(tmp_path / "coll", queries)


class Client:
    """A browser of one rater, as far as requests go."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.path, self.origin = parts.path, f"http://{parts.netloc}"
        self.connection = http.client.HTTPConnection(parts.netloc, timeout=20)
        self.about = self.get("api/session")[1]
        self.csrf = self.about["csrf"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.connection.close()

    def get(self, path: str) -> tuple[int, Any]:
        self.connection.request("GET", self.path + path)
        return self._answer()

    def post(self, path: str, body: object) -> tuple[int, Any]:
        headers = {"X-CSRF": self.csrf, "Origin": self.origin, "Content-Type": "application/json"}
        self.connection.request("POST", self.path + path, json.dumps(body), headers)
        return self._answer()

    def _answer(self) -> tuple[int, Any]:
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())


def grade_until_done(address: str) -> list[str]:
    """Grade whatever is current; the items whose grade was confirmed."""
    confirmed = []
    with Client(address) as client:
        while (item := client.get("api/item")[1]["item"]) is not None:
            status, _ = client.post("api/answer", {"item": item["id"], "grade": 1})
            assert status in {200, 409}
            confirmed += [item["id"]] if status == 200 else []
    return confirmed


def test_two_servers_and_four_browsers_of_one_rater_grade_each_pair_once(coll: Collection) -> None:
    def sessions() -> Any:
        return rating_sessions(coll, AnnotateOptions(("anna",)))

    free = ServeOptions(port=0)
    with served(sessions(), free) as one, served(sessions(), free) as other:
        addresses = [*one.addresses, *other.addresses] * 2
        with ThreadPoolExecutor(4) as pool:
            by_client = list(pool.map(grade_until_done, addresses))
    confirmed = [item for items in by_client for item in items]
    rows = read_journal(coll.annotations / "anna.jsonl")
    assert sorted(confirmed) == sorted(row.item for row in rows)
    assert len(set(confirmed)) == len(confirmed) == PAIRS


def test_clients_that_say_nothing_or_half_keep_nobody_waiting(coll: Collection) -> None:
    sessions = rating_sessions(coll, AnnotateOptions(("anna",)))
    with served(sessions, ServeOptions(port=0)) as server, ExitStack() as stack:
        parts = urlsplit(server.addresses[0])
        where = (parts.hostname or "", parts.port or 0)
        for number in range(80):
            connection = stack.enter_context(socket.create_connection(where))
            if number % 2:
                half = f"GET {parts.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
                connection.sendall(half.encode())
        with Client(server.addresses[0]) as client:
            assert client.get("api/item")[0] == 200


def test_a_port_in_use_is_named_and_without_one_another_is_taken(coll: Collection) -> None:
    sessions = rating_sessions(coll, AnnotateOptions(("anna",)))
    with served(sessions, ServeOptions(port=0)) as server:
        port = urlsplit(server.addresses[0]).port
        with (
            pytest.raises(Misuse, match=f"cannot listen on port {port} of 127.0.0.1") as caught,
            served(sessions, ServeOptions(port=port)),
        ):
            pass
        assert caught.value.parameter == "port"
        with served(sessions, ServeOptions()) as one, served(sessions, ServeOptions()) as other:
            assert urlsplit(one.addresses[0]).port != urlsplit(other.addresses[0]).port


def test_each_rater_has_an_address_of_their_own(coll: Collection) -> None:
    sessions = rating_sessions(coll, AnnotateOptions(("anna", "ben")))
    with served(sessions, ServeOptions(port=0)) as server:
        for rater, address in zip(("anna", "ben"), server.addresses, strict=True):
            with Client(address) as client:
                assert client.about["rater"] == rater
        tokens = [urlsplit(address).path.strip("/") for address in server.addresses]
        assert len(set(tokens)) == 2
        assert min(map(len, tokens)) >= 32


@contextmanager
def command(coll: Collection, *words: str) -> Iterator[subprocess.Popen[str]]:
    own = words or ("annotate", str(coll.folder), "--rater", "anna")
    process = subprocess.Popen(
        [sys.executable, "-m", "labeler", *own, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def address_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_each_grade_that_was_confirmed_survives_the_end_of_the_process(coll: Collection) -> None:
    with command(coll) as process:
        address = address_of(process)
        with ThreadPoolExecutor(2) as pool:
            work = pool.submit(grading_until_it_dies, address)
            journal = coll.annotations / "anna.jsonl"
            while not journal.exists() or journal.read_bytes().count(b"\n") < 5:
                time.sleep(0.001)
            os.kill(process.pid, signal.SIGKILL)
            confirmed = work.result()
    rows = [row.item for row in read_journal(coll.annotations / "anna.jsonl")]
    assert rows[: len(confirmed)] == confirmed
    assert len(rows) - len(confirmed) in {0, 1}  # one may be written and not yet confirmed
    (session,) = rating_sessions(coll, AnnotateOptions(("anna",)))
    assert session.state()["progress"]["done"] == len(rows)


def grading_until_it_dies(address: str) -> list[str]:
    confirmed: list[str] = []
    with Client(address) as client, suppress(OSError, http.client.HTTPException):
        item = client.get("api/item")[1]["item"]["id"]
        while True:
            _, state = client.post("api/answer", {"item": item, "grade": 1})
            confirmed.append(item)
            item = state["item"]["id"]
    return confirmed


def test_ctrl_c_keeps_the_grades_as_qrels_and_says_in_one_line_how_to_go_on(
    coll: Collection,
) -> None:
    with command(coll) as process:
        address = address_of(process)
        with Client(address) as client:
            item = client.get("api/item")[1]["item"]
            client.post("api/answer", {"item": item["id"], "grade": 2})
        parts = urlsplit(address)
        with socket.create_connection((parts.hostname or "", parts.port or 0)) as stranger:
            stranger.sendall(b"\0\x1b[2J no request\r\n\r\n")
            stranger.recv(1000)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out == ""  # the address stood there once
    sample = client_sample(coll)
    shows, first, last = errors.splitlines()
    assert "people's grades will show an assessor's kappa to within" in shows
    assert first.startswith("open this address in a browser")
    assert last == (
        f"anna: 1 of {PAIRS} pairs graded, kept as the qrels anna; to go on: labeler annotate"
        f" {coll.folder} --rater anna --sample {sample}"
    )
    assert urlsplit(address).path.strip("/") not in errors
    grades = read_qrels(coll.qrels("anna"))
    assert grades == {item["query"]["id"]: {item["document"]["id"]: 2}}


def test_the_report_is_as_the_collection_is_at_each_look(coll: Collection) -> None:
    with command(coll, "view", str(coll.folder)) as process:
        parts = urlsplit(address_of(process))
        connection = http.client.HTTPConnection(parts.netloc, timeout=60)
        before, policy = looked_at(connection, parts.path)
        assert looked_at(connection, parts.path)[0] == before
        write_qrels(coll.qrels("made-now"), {"q00": {"d1": 2}})
        after, _ = looked_at(connection, parts.path)
        coll.qrels("made-now").write_text("q00 0\n")
        connection.request("GET", parts.path)
        broken = connection.getresponse()
        assert (broken.status, b"made-now.qrels:1" in broken.read()) == (500, True)
        connection.close()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert "<h2" in before
    assert "made-now" not in before
    assert "made-now" in after
    own = html.unescape(re.findall(r'Security-Policy" content="([^"]*)"', before)[0])
    assert set(own.split("; ")) <= set(policy.split("; "))  # the header forbids nothing it needs
    assert (process.returncode, errors.splitlines()[-1]) == (0, "ended")


def test_the_report_is_computed_at_the_first_look_and_names_are_checked_before(
    coll: Collection,
) -> None:
    coll.qrels("made-now").parent.mkdir(exist_ok=True)
    coll.qrels("made-now").write_text("q00 0\n")  # no report can be made of this
    with command(coll, "view", str(coll.folder)) as process:
        parts = urlsplit(address_of(process))
        connection = http.client.HTTPConnection(parts.netloc, timeout=60)
        connection.request("GET", parts.path)
        broken = connection.getresponse()
        assert (broken.status, b"made-now.qrels:1" in broken.read()) == (500, True)
        write_qrels(coll.qrels("made-now"), {"q00": {"d1": 2}})
        assert "made-now" in looked_at(connection, parts.path)[0]
        connection.close()
    for words, says in {
        ("one", "two"): "no run of",
        ("--run", "nobody"): "--run: no run 'nobody'",
        ("--qrels", "nobody"): "--qrels: ",
        ("--human", "nobody"): "--human: no qrels 'nobody'",
        ("--baseline", "nobody"): "--baseline: no run 'nobody'",
    }.items():
        with command(coll, "view", str(coll.folder), *words) as process:
            out, errors = process.communicate(timeout=30)
        assert (process.returncode, out, len(errors.splitlines())) == (2, "", 1)
        assert says in errors


def test_a_reader_of_the_report_chooses_two_systems_and_sees_their_comparison(
    coll: Collection,
) -> None:
    for name, docs in {"old": ("d1", "d2"), "new": ("d2", "d1")}.items():
        write_run(coll.run(name), {"q00": dict(zip(docs, (2.0, 1.0), strict=True))}, name)
    write_qrels(coll.qrels("human"), {"q00": {"d1": 2, "d2": 0}})
    with command(coll, "view", str(coll.folder)) as process, chromium() as browser:
        page = browser.new_context(java_script_enabled=False).new_page()
        page.goto(address_of(process))
        assert "report" in page.locator("h1").inner_text()
        first, second = page.locator("form.systems select").all()
        first.select_option("old")
        second.select_option("new")
        page.get_by_role("button").click()
        assert page.locator("h1").inner_text() == "old or new?"
        assert page.locator(".rows > details").count() == 1
        page.get_by_role("link", name="the whole collection").click()
        assert "report" in page.locator("h1").inner_text()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    with command(coll, "view", str(coll.folder), "new", "old") as process:
        parts = urlsplit(address_of(process))
        connection = http.client.HTTPConnection(parts.netloc, timeout=60)
        assert "<h1>new or old?</h1>" in looked_at(connection, parts.path)[0]
        connection.request("GET", f"{parts.path}?system=old&system=nobody")
        answer = connection.getresponse()
        assert (answer.status, b"no run 'nobody'" in answer.read()) == (400, True)
        connection.close()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


def looked_at(connection: http.client.HTTPConnection, path: str) -> tuple[str, str]:
    """The page, and what the browser is told of it."""
    connection.request("GET", path)
    answer = connection.getresponse()
    assert answer.status == 200
    return answer.read().decode(), answer.headers["Content-Security-Policy"]


def client_sample(coll: Collection) -> str:
    (path,) = (coll.folder / "samples").iterdir()
    return path.stem


def test_without_the_extra_one_line_says_what_to_install_and_nothing_is_drawn(
    coll: Collection,
) -> None:
    asked = ["annotate", str(coll.folder)]
    absent = "import sys; sys.modules['uvicorn'] = None"
    code = f"{absent}; from labeler.cli import execute; sys.exit(execute({asked!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (78, "")
    assert done.stderr == (
        "labeler: serving pages needs the 'annotate' extra: pip install 'ir-labeler[annotate]'\n"
    )
    assert not (coll.folder / "samples").exists()
