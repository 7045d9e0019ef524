"""A server that has answered nothing yet: a slow one is waited for, a mute one is not."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest
from made import grade_in, make_collection
from running import finish, start

from labeler.errors import NoAnswer
from labeler.model import Message, Reply, Request
from labeler.models.server.client import Calls, called_model
from labeler.testing import Answer, FakeServer, completion
from labeler.wire.gate import admit

ASKED = Request((Message("user", "grade this"),))
MUTE = Answer(fault="hang")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "LABELER_MODEL", "http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-7d1f0a")


def ask(server: FakeServer, notes: list[str], *, seconds: float = 30.0, times: int = 1) -> Reply:
    async def asked() -> Reply:
        calls = Calls(seconds, notes.append, quiet=0.1, mute=0.3)
        model = called_model("fake", admit(server.base_url), calls)
        try:
            for _ in range(times):
                reply = await model.ask(ASKED)
            return reply
        finally:
            await model.close()

    return asyncio.run(asked())


def test_a_server_that_answers_nothing_at_all_is_given_up() -> None:
    notes = list[str]()
    with FakeServer(lambda _: MUTE) as server:
        server.listing = MUTE
        began = time.monotonic()
        with pytest.raises(NoAnswer, match="takes connections, and answers nothing"):
            ask(server, notes)
        assert time.monotonic() - began < 30  # and not the longest that a call may take
    assert ["waiting up to 0.3 s" in note for note in notes] == [True]


def test_a_server_that_is_slow_at_first_is_waited_for_as_long_as_a_call_may_take() -> None:
    notes = list[str]()
    slow = Answer(completion("hello"), delay=0.7)
    with FakeServer(lambda _: slow) as server:
        assert ask(server, notes).text == "hello"
        assert ["answers another" in n or "answer another" in n for n in notes] == [False, True]
        notes.clear()
        with pytest.raises(NoAnswer, match="no answer in time"):
            ask(server, notes, seconds=0.5)


def test_nothing_is_said_of_a_server_that_answers_at_once_or_has_answered_before() -> None:
    notes = list[str]()
    with FakeServer("hello") as server:
        ask(server, notes)
        server.answer = lambda _: Answer(
            completion("hello"), delay=0.0 if len(server.calls) == 2 else 0.3
        )
        ask(server, notes, times=2)
    assert notes == []


@pytest.mark.slow
def test_the_first_interrupt_ends_the_wait_for_a_mute_server(tmp_path: Path) -> None:
    make_collection(tmp_path, 1, 2)
    with FakeServer(lambda _: MUTE) as server:
        server.listing = MUTE
        process = start(tmp_path, server)
        while not server.calls:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        code, said = finish(process, seconds=45)  # the call has a few of them
        assert code == 130
        assert "run the same command again" in said
        server.answer = grade_in
        assert finish(start(tmp_path, server))[0] == 0
