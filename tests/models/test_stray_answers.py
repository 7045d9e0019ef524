"""Servers that answer more often than they are asked: no pair gets another pair's grade."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import aiohttp
import pytest
from examples import tiers
from made import grade_of, make_collection, pair_of

from labeler.cli import execute
from labeler.collection.judgements import read_judgements
from labeler.data import Judgement
from labeler.errors import NoAnswer
from labeler.models.server.client import RequestIds
from labeler.testing import Call, completion
from labeler.testing.fake_server import _read_call
from labeler.wire.http import Connection, Connections, Keeping

Send = Callable[[bytes], None]
Straying = Callable[[int, bytes, Send], Awaitable[None]]
"""Sends the answer, and whatever else; the number counts the requests that came on connections
which were used before.
"""

LATE = 0.02
SECONDS = 0.004
"""How long the server takes for an answer: fast enough that connections are used again."""


def http(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


async def once_late(number: int, answer: bytes, send: Send) -> None:
    send(answer)
    if number == 20:
        await asyncio.sleep(LATE)
        send(answer)


async def doubled_at_once(_number: int, answer: bytes, send: Send) -> None:
    send(answer + answer)


async def doubled_late(_number: int, answer: bytes, send: Send) -> None:
    send(answer)
    asyncio.get_running_loop().call_later(LATE, send, answer)


STRAY = http(json.dumps(completion('{"grade": 3}')).encode())


async def followed_by_another(_number: int, answer: bytes, send: Send) -> None:
    send(answer)
    asyncio.get_running_loop().call_later(SECONDS / 2, send, STRAY)


async def followed_by_no_http(number: int, answer: bytes, send: Send) -> None:
    send(answer)
    if number % 10 == 1:
        asyncio.get_running_loop().call_later(SECONDS / 2, send, b'{"grade": 3}')


async def before_its_own(number: int, answer: bytes, send: Send) -> None:
    """A stray answer just after the request has left, and the right one when it is due."""
    if number % 10 == 1:
        send(STRAY)
        await asyncio.sleep(SECONDS)
    send(answer)


async def new_before_its_own(number: int, answer: bytes, send: Send) -> None:
    """The same, where no id tells that another request was answered."""
    if number % 10 == 1:
        body = {**completion('{"grade": 3}'), "id": f"stray-{number}"}
        send(http(json.dumps(body).encode()))
        await asyncio.sleep(SECONDS)
    send(answer)


class StrayingServer:
    """A server with a fault; `ids` gives the id of each completion."""

    def __init__(self, straying: Straying, ids: Callable[[Call], str]) -> None:
        self.straying, self.ids = straying, ids
        self.calls = self.later = 0
        self.base_url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_first = True
        try:
            while call := await _read_call(reader):
                pair = pair_of(call)
                body = completion(json.dumps({"grade": grade_of(pair) if pair else 1}))
                await asyncio.sleep(SECONDS)
                self.calls += 1
                self.later += not is_first
                sent = http(json.dumps({**body, "id": self.ids(call)}).encode())
                await self.straying(0 if is_first else self.later, sent, writer.write)
                is_first = False
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


@contextmanager
def served(
    straying: Straying, ids: Callable[[Call], str] | None = None
) -> Iterator[StrayingServer]:
    numbers = count()
    server = StrayingServer(straying, ids or (lambda _: f"chatcmpl-{next(numbers)}"))
    loop, started, ended = asyncio.new_event_loop(), threading.Event(), asyncio.Event()

    async def run() -> None:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        server.base_url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
        started.set()
        await ended.wait()
        listening.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    started.wait()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
        loop.close()


def judge(folder: Path, server: StrayingServer) -> int:
    asked = [
        "--model",
        "fake",
        "--base-url",
        server.base_url,
        "--as",
        "a",
        "--set",
        "model.timeout=5",
    ]
    return execute(["judge", str(folder), *asked])


def wrong_grades(folder: Path) -> int:
    rows = read_judgements(folder / "judgements" / "a.jsonl")
    outcomes = [row.judged.outcome for row in rows]
    return sum(isinstance(one, Judgement) and one.grade != grade_of(one.pair) for one in outcomes)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "LABELER_MODEL", "http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-7d1f0a")


@pytest.mark.parametrize(
    "straying",
    tiers(
        [
            once_late,
            doubled_at_once,
            doubled_late,
            followed_by_another,
            followed_by_no_http,
            before_its_own,
            new_before_its_own,
        ],
        *(once_late, doubled_at_once, followed_by_another, before_its_own),
    ),
)
def test_no_stray_answer_becomes_a_pairs_grade(
    straying: Straying, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(tmp_path, queries=10, documents=20)
    with served(straying) as server:
        code = judge(tmp_path, server)
    assert wrong_grades(tmp_path) == 0
    assert code == 0
    assert "an answer that nobody asked for" in capsys.readouterr().err


async def is_bound_though_held_up() -> bool:
    """Whether an answer counts, after which another came while the loop was held up."""
    loop, keeping = asyncio.get_running_loop(), Keeping(is_encrypted=True)
    keeping.answered(SECONDS)
    connections, (ours, theirs) = Connections(keeping, 4, "a server"), socket.socketpair()
    key = aiohttp.client_reqrep.ConnectionKey("a server", 80, False, True, None, None, None)
    transport, connection = await loop.create_connection(
        lambda: Connection(keeping, loop), sock=ours
    )
    connection.set_response_params()
    connection.set_response_params()
    connection.data_received(http(b"its own"))
    assert connection.is_bound is not None

    def hold_up() -> None:
        connections._release(key, connection)
        theirs.send(STRAY)
        time.sleep(2 * keeping.watch)

    connections._resting.append((loop.time(), key, Connection(keeping, loop)))
    connections._look_at_the_end()
    loop.call_at(connections._resting[0][0] + keeping.watch / 10 - 1e-6, hold_up)
    try:
        return await connection.is_bound
    finally:
        theirs.close()
        transport.close()
        await connections.close()


def test_an_answer_that_came_while_the_loop_was_held_up_is_seen_before_the_last_one_counts() -> (
    None
):
    assert not asyncio.run(is_bound_though_held_up())


async def nothing_else(_number: int, answer: bytes, send: Send) -> None:
    send(answer)


@pytest.mark.sweep
@pytest.mark.parametrize(
    "ids",
    [
        lambda _: "chatcmpl-0",
        lambda _: "",
        lambda call: f"chatcmpl-{hash(str(call.body)) % 99}",
        lambda call: f"chatcmpl-{call.headers['x-request-id']}",
    ],
)
def test_whatever_ids_a_server_gives_each_pair_is_graded_and_hardly_one_asked_twice(
    ids: Callable[[Call], str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(tmp_path, queries=10, documents=40)
    with served(nothing_else, ids) as server:
        assert judge(tmp_path, server) == 0
    assert wrong_grades(tmp_path) == 0
    assert server.later > 0
    assert server.calls <= 1 + 400 + 16
    assert "nobody asked for" not in capsys.readouterr().err


def test_an_answer_that_names_another_request_is_none() -> None:
    ids = RequestIds()
    first, second = ids.next(), ids.next()
    assert first != second
    for mine, other in ((first, second), (second, first)):
        ids.check_echo(mine, {"x-request-id": mine}, f"chatcmpl-{mine}")
        ids.check_echo(mine, {}, "chatcmpl-of-the-servers-own")
        for headers, completed in (({"x-request-id": other}, ""), ({}, f"chatcmpl-{other}")):
            with pytest.raises(NoAnswer):
                ids.check_echo(mine, headers, completed)


def test_a_completion_that_came_before_is_none_unless_ids_repeat_where_nothing_can_stray() -> None:
    ids = RequestIds()
    ids.check_repeated("a", is_bound=True)
    ids.check_repeated("b", is_bound=False)
    for repeated in ("a", "b", ""):
        with pytest.raises(NoAnswer):
            ids.check_repeated(repeated, is_bound=False)
    ids.check_repeated("a", is_bound=True)
    for repeated in ("a", "b", "", "a"):
        ids.check_repeated(repeated, is_bound=False)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("is_encrypted", "gap", "seconds", "is_kept"),
    [
        (True, 0.1, 0.5, True),  # a handshake takes long
        (True, 0.1, 5.0, False),  # beside such a call it does not
        (False, 0.1, 0.5, False),
        (False, 0.001, 0.1, True),  # so many connections would cost
    ],
)
def test_a_connection_is_kept_where_opening_another_costs_much_beside_a_call(
    is_encrypted: bool, gap: float, seconds: float, is_kept: bool
) -> None:
    clock, strayed = Clock(), list[str]()
    keeping = Keeping(is_encrypted, lambda: strayed.append("strayed"), clock)
    assert keeping.rest is None
    for _ in range(60):
        clock.now += gap
        keeping.answered(seconds)
    assert (keeping.rest is not None) == is_kept
    assert keeping.rest is None or seconds <= keeping.rest <= 2
    for _ in range(2):
        keeping.stray()
    assert (keeping.rest, strayed) == (None, ["strayed"])


def test_a_pause_does_not_end_the_use_of_connections() -> None:
    clock = Clock()
    keeping = Keeping(is_encrypted=False, clock=clock)
    for number in range(300):
        clock.now += 0.001 if number % 32 else 0.2  # all calls wait for what is written
        keeping.answered(0.01)
        assert (keeping.rest is not None) == (number >= 31), number
    clock.now += 30
    keeping.answered(0.01)
    assert keeping.rest is None
