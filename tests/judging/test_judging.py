"""Judging a collection, against a real HTTP server on loopback."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from made import grade_in, make_collection, pair_calls, pair_of

from labeler.cli import execute
from labeler.collection.card import read_card
from labeler.collection.judgements import grades_of, read_judgements
from labeler.data import Document, Judged, Pair, Query
from labeler.errors import Stopped
from labeler.judging.assessor import Assessor, Texts
from labeler.judging.in_flight import PairOptions, judge_pairs
from labeler.judging.judge import JudgeOptions, ajudge_sample
from labeler.model import Reply, Request
from labeler.models.policies.call import StopSignal
from labeler.prompt import find_prompt
from labeler.testing import (
    Answer,
    Call,
    FakeServer,
    completion,
    fake_model,
    small_collection,
)
from labeler.trec.files import read_qrels
from labeler.wire.gate import trust


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """An API key that must turn up nowhere."""
    canary = "sk-canary-7d1f0a"
    monkeypatch.setenv("OPENAI_API_KEY", canary)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("LABELER_MODEL", raising=False)
    return canary


def judge(folder: Path, server: FakeServer, *more: str) -> int:
    return execute(["judge", str(folder), "--model", "fake", "--base-url", server.base_url, *more])


@pytest.mark.usefixtures("key")
def test_judgements_and_qrels_agree_pair_for_pair_with_what_the_server_said(tmp_path: Path) -> None:
    collection = make_collection(tmp_path, queries=3, documents=40)
    with FakeServer(grade_in) as server:
        assert judge(tmp_path, server, "--as", "a") == 0
    qrels = read_qrels(collection.qrels("a"))
    assert qrels == {f"q{q}": {f"d{d}": (q + d) % 4 for d in range(40)} for q in range(3)}
    rows = {(q, d): grade for q, d, grade in grades_of(collection.judgements("a"))}
    assert rows == {(q, d): grade for q, own in qrels.items() for d, grade in own.items()}


@pytest.mark.usefixtures("key")
def test_a_second_run_asks_nothing_and_writes_the_same_bytes(tmp_path: Path) -> None:
    collection = make_collection(tmp_path)
    with FakeServer(grade_in) as server:
        judge(tmp_path, server, "--as", "a")
        first = collection.judgements("a").read_bytes()
        assert judge(tmp_path, server, "--as", "a") == 0
        assert len(pair_calls(server)) == 10
    assert collection.judgements("a").read_bytes() == first


@pytest.mark.usefixtures("key")
def test_a_failure_is_counted_listed_and_never_in_the_qrels(tmp_path: Path) -> None:
    collection = make_collection(tmp_path)
    with FakeServer(lambda c: "no idea" if "about d3;" in str(c.body) else grade_in(c)) as server:
        assert judge(tmp_path, server, "--as", "a") == 3
        assert len(pair_calls(server)) == 8 + 2 * 3
        assert judge(tmp_path, server, "--as", "a") == 3
        assert len(pair_calls(server)) == 14
        server.answer = grade_in
        assert judge(tmp_path, server, "--as", "a", "--retry-failed") == 0
        assert len(pair_calls(server)) == 16
        assert judge(tmp_path, server, "--as", "a") == 0
        assert len(pair_calls(server)) == 16
    assert all(row.judged.outcome.pair for row in read_judgements(collection.judgements("a")))


def test_a_run_that_asks_nothing_can_be_stopped_too() -> None:
    stop, done = StopSignal(), list[Judged]()

    def recall(requests: Sequence[Request]) -> list[Reply]:
        return [Reply('{"grade": 1}', remembered=True) for _ in requests]

    async def main() -> None:
        model = replace(fake_model("never asked"), recall=recall)
        texts = Texts({"q": Query("q", "what")}, {"d": Document("d", "text")})
        assessor = Assessor(find_prompt("four-grades"), model)
        asyncio.get_running_loop().call_soon(stop.set)  # as the handler of a signal would
        async for judged in judge_pairs(
            [Pair("q", "d")] * 5000, texts, assessor, PairOptions(stop=stop)
        ):
            done.append(judged)

    with pytest.raises(Stopped):
        asyncio.run(main())
    assert len(done) < 1000


@pytest.mark.usefixtures("key")
def test_a_failed_call_is_asked_again_by_the_next_run(tmp_path: Path) -> None:
    make_collection(tmp_path)

    def too_long(call: Call) -> Answer | str:
        return Answer({"error": {"message": "too long"}}, 400) if pair_of(call) else "{}"

    with FakeServer(too_long) as server:
        assert judge(tmp_path, server, "--as", "a") == 3
        server.answer = grade_in
        assert judge(tmp_path, server, "--as", "a") == 0


@pytest.mark.usefixtures("key")
def test_a_refused_key_ends_the_run_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(tmp_path, queries=10, documents=20)
    with FakeServer(lambda c: Answer({"error": {"message": "bad key"}}, 401)) as server:
        assert judge(tmp_path, server, "--as", "a", "--concurrency", "4") == 78
        assert len(server.calls) <= 4
    assert "OPENAI_API_KEY" in capsys.readouterr().err


@pytest.mark.usefixtures("key")
def test_a_name_is_not_given_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_collection(tmp_path)
    with FakeServer(grade_in) as server:
        assert judge(tmp_path, server, "--as", "a") == 0
        assert judge(tmp_path, server, "--as", "a", "--prompt", "basic") == 2
    assert "four-grades@" in capsys.readouterr().err


@pytest.mark.usefixtures("key")
def test_a_dry_run_asks_nothing_and_shows_a_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(tmp_path)
    with FakeServer(grade_in) as server:
        assert judge(tmp_path, server, "--dry-run") == 0
        assert not list(tmp_path.rglob("replies.db*"))
        assert server.calls == []
    said = capsys.readouterr().out
    assert "what q0?" in said
    assert re.search(r"calls +10", said)


def test_the_key_is_in_no_file_and_no_output(
    tmp_path: Path, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make_collection(tmp_path)
    with FakeServer(grade_in) as server:
        judge(tmp_path, server, "--as", "a")
        assert server.calls[0].headers["authorization"] == f"Bearer {key}"
    assert all(key.encode() not in f.read_bytes() for f in tmp_path.rglob("*") if f.is_file())
    said = capsys.readouterr()
    assert key not in said.out + said.err


@pytest.mark.usefixtures("key")
def test_relabel_judges_the_same_pairs_with_another_prompt(tmp_path: Path) -> None:
    collection = make_collection(tmp_path)
    with FakeServer(grade_in) as server:
        judge(tmp_path, server, "--as", "a")
        where = ["--model", "fake", "--base-url", server.base_url]
        options = ["--from", "a", "--prompt", "basic", "--as", "b", *where]
        assert execute(["relabel", str(tmp_path), *options]) == 0
        assert len(pair_calls(server)) == 20
    assert read_qrels(collection.qrels("b")) == read_qrels(collection.qrels("a"))


@pytest.mark.usefixtures("key")
@pytest.mark.usefixtures("key")
def test_relabel_says_who_names_the_model_and_that_similarity_reads_no_prompt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = make_collection(tmp_path, 2, 2)
    again = ["relabel", str(tmp_path), "--prompt", "basic", "--as", "two", "--dry-run"]
    with FakeServer(grade_in) as server:
        judge(tmp_path, server, "--as", "one")
        trust(server.base_url, "OPENAI_API_KEY")
        assert execute([*again, "--from", "one"]) == 0
        address = server.base_url
    shown = capsys.readouterr()
    said = f"model: fake at {address} ({collection.judgements('one')} names it)"
    assert said in shown.err
    assert "--- user" in shown.out
    assert execute(["judge", str(tmp_path), "--model", "similarity", "--as", "three"]) == 0
    assert execute([*again, "--from", "three"]) == 0
    shown = capsys.readouterr()
    assert "similarity reads no prompt: basic gives it the scale alone" in shown.err
    assert "--- user" not in shown.out


def test_a_reply_that_was_cut_is_asked_again_with_more_room(tmp_path: Path) -> None:
    collection = make_collection(tmp_path)

    def long_winded(call: Call) -> Answer | str:
        if pair_of(call) and call.body["max_tokens"] < 200:
            return Answer(completion('{"grade"', finish_reason="length"))
        return grade_in(call)

    with FakeServer(long_winded) as server:
        assert judge(tmp_path, server, "--as", "a") == 0
        assert len(pair_calls(server)) == 30
        assert {call.body["max_tokens"] for call in server.calls[-30:]} == {64, 128, 256}
        assert judge(tmp_path, server, "--as", "b") == 0
        assert len(pair_calls(server)) == 30
    rows = list(read_judgements(collection.judgements("b")))
    assert {row.judged.attempts for row in rows} == {3}
    assert {row.judged.prompt_tokens for row in rows} == {300}


@pytest.mark.usefixtures("key")
def test_two_documents_of_one_text_are_one_question(tmp_path: Path) -> None:
    collection = make_collection(tmp_path, queries=2, documents=4)
    rows = [f'{{"_id": "d{n}", "title": "", "text": "about d0;"}}\n' for n in range(4)]
    collection.corpus.write_text("".join(rows))
    answers = iter(range(1000))
    with FakeServer(lambda _: f'{{"grade": {next(answers) % 4}}}') as server:
        assert judge(tmp_path, server, "--as", "a") == 0
        assert len(pair_calls(server)) == 2
    grades = read_qrels(collection.qrels("a"))
    assert [len(set(grades[query].values())) for query in ("q0", "q1")] == [1, 1]


@pytest.mark.usefixtures("key")
def test_a_pool_that_names_a_pair_twice_or_what_is_not_there_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection = make_collection(tmp_path)
    with FakeServer(grade_in) as server:
        pool = collection.pool.read_text()
        collection.pool.write_text(pool + pool.splitlines()[0] + "\n")
        assert judge(tmp_path, server) == 65
        assert "pool.jsonl:11" in capsys.readouterr().err
        collection.pool.write_text(pool + '{"query_id": "q0", "doc_id": "nowhere"}\n')
        assert judge(tmp_path, server) == 65
        assert "nowhere" in capsys.readouterr().err


@pytest.mark.usefixtures("key")
def test_the_card_and_the_readme_say_what_made_the_labels(tmp_path: Path) -> None:
    collection = make_collection(tmp_path)
    with FakeServer(lambda c: "no idea" if "about d3;" in str(c.body) else grade_in(c)) as server:
        assert judge(tmp_path, server, "--as", "a") == 3
        made = read_card(collection)["judge"]["a"]
        assert made["prompt"].startswith("four-grades@")
        assert made["model"] == f"{server.base_url} fake"
        assert made["served"] == ["fake-2026"]
        assert (made["pairs"], made["judged"], made["failed"]) == (10, 8, 2)
        assert made["failures"] == {"unparsable": 2}
        assert "| a | 10 | 8 | 2 | four-grades@" in collection.readme.read_text()
        collection.readme.write_text("# Ours\n")
        assert judge(tmp_path, server, "--as", "b") == 3
        assert collection.readme.read_text() == "# Ours\n"
        collection.readme.write_bytes(b"\xff\xfe not UTF-8")
        collection.card.write_text('{"judge": 3, "pool": {"runs": 7}, "ingest": []}')
        assert judge(tmp_path, server, "--as", "b") == 3
        collection.readme.unlink()
        assert judge(tmp_path, server, "--as", "b") == 3
    assert "| b | 10 | 8 | 2 |" in collection.readme.read_text()


def test_the_readme_says_how_far_an_embedded_judge_is_to_be_trusted(tmp_path: Path) -> None:
    collection = make_collection(tmp_path)
    assert execute(["judge", str(tmp_path), "--model", "similarity", "--quiet"]) == 0
    said = collection.readme.read_text()
    assert "not an LLM" in said
    assert "- queries by origin: 2 unknown" in said


@pytest.mark.parametrize(("asked", "judged"), [(1, 1), (3, 3), (9, 4)])
def test_a_sample_of_the_pool_is_judged_and_the_same_seed_draws_the_same(
    asked: int, judged: int
) -> None:
    collection = small_collection()
    for name in ("first", "second"):
        options = JudgeOptions(model=fake_model('{"grade": 2}'), name=name)
        result = asyncio.run(ajudge_sample(collection, asked, options))
        assert (result.tally.judged, result.tally.pairs) == (judged, judged)
    first, second = (read_qrels(collection.qrels(name)) for name in ("first", "second"))
    assert first == second
