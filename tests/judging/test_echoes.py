"""What a server may put into a reply that must reach no file: half a character, or the key."""

import json
from base64 import b64encode
from pathlib import Path

import pytest
from made import grade_in, make_collection, pair_of

from labeler.cli import execute
from labeler.collection.corpus import write_corpus
from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection, locked
from labeler.collection.queries import read_queries
from labeler.data import Document, Failure, Judgement, Outcome, Pair
from labeler.judging.reply import parse_grade
from labeler.model import Reply
from labeler.models.server.answers import read_answer
from labeler.testing import Answer, Call, FakeServer, completion
from labeler.wire.masking import without_key

KEY = "sk-canary-7d1f0a"
ESCAPED = KEY.replace("-", "\\u002d")
HALF = "half \ud83d pair"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "LABELER_MODEL", "http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def judge(folder: Path, server: FakeServer) -> int:
    quick = ["--set", "model.tries=2", "--set", "model.timeout=2", "--quiet"]
    asked = ["--model", "fake", "--base-url", server.base_url, "--as", "a"]
    return execute(["judge", str(folder), *asked, *quick])


def outcomes(folder: Path) -> list[Outcome]:
    return [row.judged.outcome for row in read_judgements(folder / "judgements" / "a.jsonl")]


VERDICT = '{"reason": "half \\ud83d pair", "grade": 1}'  # JSON's own escape, in the reply's text
WITH_HALF = json.dumps({"reason": HALF, "grade": 1}, ensure_ascii=False)


@pytest.mark.parametrize(
    "body",
    [
        completion(VERDICT),
        completion(WITH_HALF),
        completion(VERDICT, model="fake\udc00"),
        json.dumps(completion(WITH_HALF), ensure_ascii=False).encode("utf-8", "surrogatepass"),
    ],
)
def test_half_a_character_ends_no_run(body: dict[str, object] | bytes, tmp_path: Path) -> None:
    make_collection(tmp_path, 1, 2)

    def answer(call: Call) -> Answer | str:
        return Answer(body) if pair_of(call) else grade_in(call)

    with FakeServer(answer) as server:
        assert judge(tmp_path, server) == 0
        assert judge(tmp_path, server) == 0
    expected = (1, "half \ufffd pair")
    found = [one for one in outcomes(tmp_path) if isinstance(one, Judgement)]
    assert [(one.grade, one.reason) for one in found] == [expected] * 2


def test_half_a_character_in_an_ending_makes_it_one_that_nobody_knows(tmp_path: Path) -> None:
    make_collection(tmp_path, 1, 2)
    ended = Answer(completion(VERDICT, finish_reason="stop\ud800"))
    with FakeServer(lambda call: ended if pair_of(call) else grade_in(call)) as server:
        assert judge(tmp_path, server) == 3
    found = [one for one in outcomes(tmp_path) if isinstance(one, Failure)]
    assert ["stop\ufffd" in one.detail for one in found] == [True, True]


def test_half_a_character_the_key_and_refusals_end_no_generating(tmp_path: Path) -> None:
    texts = [" ".join(f"word{n}x{i}" for i in range(60)) for n in range(6)]
    with locked(collection := Collection(tmp_path)):
        write_corpus(collection.corpus, [Document(f"d{n}", t) for n, t in enumerate(texts)])
    said = [HALF, f"what is {KEY}", "I'm sorry, I cannot help"]

    def answer(_call: Call) -> str:
        return said[len(server.calls) % 3]

    with FakeServer(answer) as server:
        asked = ["--model", "fake", "--base-url", server.base_url, "--queries", "3"]
        execute(["generate", str(tmp_path), *asked])
    texts = [query.text for query in read_queries(tmp_path / "queries.jsonl").values()]
    assert set(texts) == {"half \ufffd pair", "what is [key]"}
    assert "a refusal" in (tmp_path / "rejected.jsonl").read_text()


@pytest.mark.parametrize(
    "refused",
    [
        Answer({"error": {"message": HALF, "code": "bad\ud800"}}, 400),
        Answer(completion(VERDICT, finish_reason="stop\ud800")),  # which is no known ending
    ],
)
def test_a_failure_of_half_a_character_is_kept_as_a_failure(
    refused: Answer, tmp_path: Path
) -> None:
    make_collection(tmp_path, 1, 2)
    with FakeServer(lambda call: refused if pair_of(call) else grade_in(call)) as server:
        judge(tmp_path, server)
    assert [isinstance(one, Failure) for one in outcomes(tmp_path)] == [True, True]


@pytest.mark.parametrize(
    "reply",
    [Reply(VERDICT), Reply("no " + HALF), Reply("", refusal=HALF), Reply('{"grade" \ud800')],
)
def test_no_outcome_holds_half_a_character(reply: Reply) -> None:
    outcome = parse_grade(Pair("q", "d"), reply, (0, 1))
    said = outcome.reason if isinstance(outcome, Judgement) else outcome.detail
    assert "\ufffd" in (said or "")
    assert (said or "").encode("utf-8")


def test_whole_characters_stay_as_they_are() -> None:
    body = json.dumps(completion("\U0001f600 naïve 文")).encode()
    assert read_answer(body, "there", {}).text == "\U0001f600 naïve 文"


@pytest.mark.parametrize("spelled", [KEY, ESCAPED])
@pytest.mark.parametrize("status", [200, 400])
def test_an_echoed_key_reaches_no_file_and_no_screen(
    spelled: str, status: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    make_collection(tmp_path, 1, 2)
    said = json.dumps({"reason": "you sent KEY", "grade": 1})
    good = completion(said, model="fake KEY")
    bad = {"error": {"message": "x" * 290 + "KEY", "code": "content_filter"}}
    body = json.dumps(good if status == 200 else bad).replace("KEY", spelled).encode()
    answer = Answer(body, status)
    with FakeServer(lambda call: answer if pair_of(call) else grade_in(call)) as server:
        judge(tmp_path, server)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"[key]" in written
    assert b"sk-canary" not in written
    assert ESCAPED.encode() not in written
    assert "sk-canary" not in "".join(capfd.readouterr())


TWICE = KEY.replace("-", "\\\\u002D")
BASE64 = b64encode(KEY.encode()).decode()


@pytest.mark.parametrize("spelled", [KEY, ESCAPED, TWICE, BASE64, KEY.replace("a", "\\u0061")])
def test_however_it_is_spelled_no_reply_holds_the_key(spelled: str) -> None:
    said = json.dumps(completion('{"reason": "SPELLED", "grade": 1}')).replace("SPELLED", spelled)
    reply = read_answer(without_key(said.encode(), KEY), "there", {})
    outcome = parse_grade(Pair("q", "d"), reply, (0, 1))
    assert outcome == Judgement(Pair("q", "d"), 1, "[key]")
    assert b"canary" not in reply.body
    assert b"c2stY2FuYXJ5" not in reply.body


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-32", "utf-32-le"])
@pytest.mark.parametrize("status", [200, 400, 401])
def test_in_no_encoding_the_key_reaches_a_file_or_the_screen(
    encoding: str, status: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    make_collection(tmp_path, 1, 2)
    said = completion(json.dumps({"reason": f"you sent {KEY} é", "grade": 1}))
    body = json.dumps(said if status == 200 else {"error": {"message": f"bad {KEY}"}})
    pages = [body.encode(encoding), f"<html> no {KEY}".encode(encoding)]
    for page in pages:
        with FakeServer(grade_in) as server:
            answer = Answer(page, status)
            server.answer = lambda c, a=answer: a if pair_of(c) else grade_in(c)
            judge(tmp_path, server)
    shown = "".join(capfd.readouterr()).encode()
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for part in (written, shown):
        assert b"canary" not in part.replace(b"\0", b"")
    if status != 401:
        assert b"[key]" in written


def test_tokens_that_spell_the_key_are_not_kept() -> None:
    tokens = [{"token": part, "logprob": -0.1} for part in ("sk-can", "ary-7d", "1f0a")]
    said = json.dumps(completion(KEY, logprobs={"content": tokens}))
    reply = read_answer(without_key(said.encode(), KEY), "there", {})
    assert (reply.text, reply.top_tokens) == ("[key]", ())
    assert b"sk-can" not in reply.body


def test_a_placeholder_for_a_key_hides_no_word_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    make_collection(tmp_path, 1, 2)
    with FakeServer(lambda _: Answer({"error": {"message": "none of that"}}, 400)) as server:
        judge(tmp_path, server)
    assert "none of that" in capsys.readouterr().err


@pytest.mark.parametrize("status", [400, 401])
def test_a_short_key_is_masked_in_errors_where_it_stands_alone(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sho")
    make_collection(tmp_path, 1, 2)
    answer = Answer({"error": {"message": "Incorrect key: sho, should be longer"}}, status)
    with FakeServer(lambda call: answer if pair_of(call) else grade_in(call)) as server:
        judge(tmp_path, server)
        server.listing = answer
        execute(["judge", str(tmp_path), "--base-url", server.base_url, "--as", "b"])
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    shown = "".join(capfd.readouterr()).encode()
    assert b"Incorrect key: [key], should be longer" in written + shown
    assert b": sho," not in written + shown


@pytest.mark.parametrize(
    ("key", "code"),
    [
        (f"{KEY}\n", 0),
        (f" {KEY}\r\n", 0),
        ("sk-ab\ncd-12345", 78),
        ("sk-\u00e4\u00f6-12345", 78),
        ("sk-\u2028-12345", 78),
    ],
)
def test_a_key_that_no_header_can_hold_is_refused_in_one_line(
    key: str,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    make_collection(tmp_path, 1, 2)
    with FakeServer(grade_in) as server:
        assert judge(tmp_path, server) == code
        said = capsys.readouterr().err.splitlines()
        if code:
            assert server.calls == []
            assert "OPENAI_API_KEY" in said[-1]
            assert "12345" not in "".join(said)
        else:
            assert server.calls[-1].headers["authorization"] == f"Bearer {KEY}"


def test_a_short_key_changes_no_reply() -> None:
    assert without_key(b'{"a": "none"}', "none") == b'{"a": "none"}'


@pytest.mark.parametrize("body", [b"\\u not JSON sk-canary-7d1f0a", b"[" * 100_000 + b"\\u"])
def test_the_key_is_masked_in_what_is_no_json(body: bytes) -> None:
    assert KEY.encode() not in without_key(body, KEY)
