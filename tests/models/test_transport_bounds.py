"""What a server, an address or an environment may not do to the process that asks."""

import asyncio
import json
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from made import grade_in, make_collection, pair_calls, pair_of

from labeler.cli import execute
from labeler.collection.judgements import read_judgements
from labeler.data import Failure
from labeler.errors import Misconfigured, NoAnswer
from labeler.model import Message, Reply, Request
from labeler.models.server.answers import read_answer
from labeler.models.server.client import server_model
from labeler.testing import Answer, Call, FakeServer, completion
from labeler.wire.http import LARGE_AT_ONCE, LARGEST_ANSWER
from labeler.wire.masking import without_key

KEY = "sk-canary-7d1f0a"
ASKED = Request((Message("user", "grade this"),))


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "LABELER_MODEL", "http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def judge(folder: Path, url: str, *more: str) -> int:
    quick = ["--set", "model.tries=2", "--set", "model.timeout=3", "--quiet"]
    asked = ["--model", "fake", "--base-url", url, "--as", "a"]
    return execute(["judge", str(folder), *asked, *quick, *more])


def ask(url: str, times: int = 1) -> list[Reply]:
    async def asked() -> list[Reply]:
        model = server_model("fake", url, KEY, seconds=60)
        try:
            return list(await asyncio.gather(*(model.ask(ASKED) for _ in range(times))))
        finally:
            await model.close()

    return asyncio.run(asked())


def padded(size: int) -> bytes:
    return json.dumps(completion("hello")).encode() + b" " * size


@pytest.mark.sweep
def test_large_answers_are_read_a_few_at_a_time_and_kept_without_their_padding() -> None:
    times, size = 40, LARGEST_ANSWER - 10_000
    with FakeServer(lambda _: Answer(padded(size))) as server:
        ask(server.base_url)
        tracemalloc.start()
        replies = ask(server.base_url, times)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    # the server, which is in this process too, holds the padding of its answers while it sends them
    assert [reply.text for reply in replies] == ["hello"] * times
    assert max(len(reply.body) for reply in replies) < 2_000
    assert times > LARGE_AT_ONCE
    assert peak < 2.2 * times * size


def test_an_answer_that_is_too_large_is_none() -> None:
    too_large = Answer(padded(LARGEST_ANSWER))
    with FakeServer(lambda _: too_large) as server, pytest.raises(NoAnswer, match="more than"):
        ask(server.base_url)


def seconds_for(body: bytes) -> float:
    def once() -> float:
        began = time.process_time()
        without_key(body, KEY)
        return time.process_time() - began

    return min(once() for _ in range(5))


@pytest.mark.parametrize(
    "of_size",
    [
        lambda size: b"\\" * size + b"\\u2019",
        lambda size: (b"s" + b"\\" * 400) * (size // 400) + b"\\u2019",
        lambda size: b"\\u2019" + b"s\\\\\\k" * (size // 5),
        lambda size: b"\\u2019" + b"\\u0073\\u006b" * (size // 12),
    ],
)
def test_the_work_of_masking_grows_no_faster_than_the_answer(
    of_size: Callable[[int], bytes],
) -> None:
    small, large = seconds_for(of_size(20_000)), seconds_for(of_size(160_000))
    assert large < 30 * max(small, 1e-4)  # eight times, and 64 times were it quadratic


def test_the_environments_passwords_are_not_sent_and_spoil_no_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_collection(tmp_path / "c", 1, 2)
    (tmp_path / ".netrc").write_text("default login someone password hunter2\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    with FakeServer(grade_in) as server:
        proxy = server.base_url.removesuffix("/v1")
        assert judge(tmp_path / "c", server.base_url.replace("127.0.0.1", "0x7f000001")) == 0
        monkeypatch.setenv("http_proxy", proxy)
        assert judge(tmp_path / "c", "http://model.invalid/v1", "--as", "b") == 0
        monkeypatch.setenv("http_proxy", proxy.replace("://", "://someone:hunter3@"))
        assert judge(tmp_path / "c", "http://other.invalid/v1", "--as", "d") == 0
    assert {call.headers["authorization"] for call in server.calls} == {f"Bearer {KEY}"}
    sent = [call.headers.get("proxy-authorization", "") for call in server.calls]
    assert set(sent) == {"", "Basic c29tZW9uZTpodW50ZXIz"}  # the proxy's own, from its address


@pytest.mark.parametrize(
    "proxy", ["foo", "http://[::1", "socks5://127.0.0.1:9", "http://:9", "http://a%3Ab@127.0.0.1:9"]
)
def test_a_proxy_that_is_none_is_said_in_one_line(
    proxy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(tmp_path, 1, 2)
    monkeypatch.setenv("http_proxy", proxy)
    assert judge(tmp_path, "http://model.invalid/v1") == 78
    assert "http_proxy" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("option", "value", "codes"),
    [
        *(
            ("--set", f"model.timeout={value}", {2})
            for value in ("inf", "nan", "-1", "0", "1e300", "x", "")
        ),
        *(
            ("--model", value, {2})
            for value in ("\udcff", "a\x1b[31m", "a\nb", "\u202e", "a" * 999)
        ),
        ("--base-url", "http://\u24db\u24de\u24d2\u24d0\u24db/", {69, 78}),
        ("--base-url", "http://lo\x1b[31mcal/", {78}),
        ("--base-url", "http://127.0.0.1:9/v1\x1b[31m", {78}),
        ("--base-url", "http://127.0.0.1:9/v1\u202e", {78}),
        ("--base-url", "http://a..b/", {78}),
        ("--base-url", "http://.:9/", {78}),
        ("--base-url", "http://\udcff/", {2}),
        ("--base-url", f"http://{'a' * 300}/", {78}),
        ("--base-url", "http://999.1.1.1:9/", {78}),
        ("--base-url", "http://127.1:9/", {78}),
        ("--base-url", "http://xn--/", {78}),
    ],
)
def test_an_odd_value_is_refused_in_one_line(
    option: str, value: str, codes: set[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(tmp_path, 1, 2)
    usual = {"--model": "fake", "--base-url": "http://127.0.0.1:9/v1", "--set": "model.timeout=1"}
    asked = [part for pair in {**usual, option: value}.items() for part in pair]
    for command in (
        ["judge", str(tmp_path), "--as", "a", "--quiet", "--set", "model.tries=1"],
        ["doctor"],
    ):
        assert execute([*command, *asked]) in codes
        said = capsys.readouterr().err
        assert "Traceback" not in said
        assert "\x1b" not in said
        assert len([line for line in said.splitlines() if "model: fake at" not in line]) == 1


PARTS = [{"type": "text", "text": '{"gra'}, {"type": "text", "text": 'de": 2}'}]


def test_a_text_in_parts_is_joined() -> None:
    body = completion("")
    body["choices"][0]["message"]["content"] = [*PARTS, {"type": "image_url", "image_url": {}}]
    assert read_answer(json.dumps(body).encode(), "here", {}).text == '{"grade": 2}'


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "tool_calls": [{"id": "c", "type": "function"}]},
        {"content": "", "function_call": {"name": "grade"}},
        {"content": [{"type": "image_url", "image_url": {"url": "x"}}]},
        {"content": {"grade": 1}},
    ],
)
def test_what_holds_no_text_is_asked_for_once_and_again_where_told_to(
    message: dict[str, object], tmp_path: Path
) -> None:
    make_collection(tmp_path, 1, 2)

    def answer(call: Call) -> Answer | str:
        body = completion("")
        body["choices"][0]["message"] = {"role": "assistant", **message}
        return Answer(body) if pair_of(call) else grade_in(call)

    with FakeServer(answer) as server:
        assert judge(tmp_path, server.base_url) == 3
        assert judge(tmp_path, server.base_url) == 3
        assert len(pair_calls(server)) == 2
        server.answer = grade_in
        assert judge(tmp_path, server.base_url, "--retry-failed") == 0
    assert Failure not in map(type, outcomes(tmp_path))


def outcomes(folder: Path) -> list[object]:
    return [row.judged.outcome for row in read_judgements(folder / "judgements" / "a.jsonl")]


def test_an_address_is_checked_before_anything_is_sent() -> None:
    with pytest.raises(Misconfigured):
        server_model("fake", "http://127.0.0.1:9/v1\x07", KEY)
