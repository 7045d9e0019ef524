"""Judging by batches: what a batch answers is what live calls would have been answered."""

import asyncio
import json
import os
import signal
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from forked import Forked
from running import environment

from labeler.collection.batches import WaitingRequests, read_batches, write_batch
from labeler.collection.layout import Collection
from labeler.data import Query
from labeler.errors import BadInput, Locked, Misuse, NotFound, ProviderError
from labeler.judging.judge import JudgeOptions, judge
from labeler.models.batch.answers import FileBounds
from labeler.models.cost import Price, batch_price
from labeler.models.session import Control
from labeler.models.settings import Limits
from labeler.scale.batch.collect import CollectedBatches, acollect, aread_answers, await_batches
from labeler.scale.batch.look import abatches, acancel
from labeler.scale.batch.submit import Submitted, asubmit, awrite_requests
from labeler.testing import small_collection
from labeler.testing.fake_server import completion
from tests.batch_server import BatchServer, Line, answered, with_error, with_status

KEY = "sk-secret-0123456789"


T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def collection() -> Collection:
    return small_collection()


def options(server: BatchServer, **more: Any) -> JudgeOptions:
    return replace(JudgeOptions("four-grades", "fake", server.base_url, "one"), **more)


def submit(collection: Collection, server: BatchServer, **more: Any) -> Submitted:
    return run(asubmit(collection, options(server, **more)))


def collect(collection: Collection) -> CollectedBatches:
    return run(acollect(collection))


def rows(collection: Collection, name: str = "one") -> list[dict[str, Any]]:
    lines = collection.judgements(name).read_text().splitlines()
    return [json.loads(line) for line in lines]


def live(collection: Collection, server: BatchServer) -> Any:
    return judge(collection, model="fake", base_url=server.base_url, name="one")


@pytest.mark.sweep
def test_a_batch_gives_what_live_calls_give_byte_for_byte(collection: Collection) -> None:
    other = small_collection()
    with BatchServer() as server:
        server.answering = lambda requests: (
            [with_status(r, 200, completion('{"grade": 1}')) for r in requests],
            [],
        )
        submit(collection, server)
        collect(collection)
        live(other, server)
        asked = {row["custom_id"] for row in server.requests}
    of_batch = collection.judgements("one").read_text()
    assert of_batch == other.judgements("one").read_text()
    assert len(asked) == 4


def test_nothing_that_waits_is_asked_again_by_a_batch_or_live(collection: Collection) -> None:
    with BatchServer() as server:
        assert submit(collection, server).requests == 4
        again = submit(collection, server)
        assert (again.requests, again.waiting) == (0, 4)
        result = live(collection, server)
        assert result.failures == {"call_failed": 4}
        assert rows(collection)[0]["detail"] == "waits in batch 1"
        assert collect(collection).results[0].judged == 4
        assert live(collection, server).judged == 4
        assert (len(server.requests), server.live_calls) == (4, 1)


def test_lines_may_come_in_any_order_twice_not_at_all_or_be_strangers(
    collection: Collection,
) -> None:
    def muddled(requests: list[Line]) -> tuple[list[Line], list[Line]]:
        first, second, third, _ = requests
        stranger = {**answered(first), "custom_id": "0" * 64}
        nameless = {**answered(first), "custom_id": "mine"}
        twice = answered(third)
        return [answered(third), stranger, nameless, answered(first), twice], [answered(second)]

    with BatchServer(muddled) as server:
        submit(collection, server)
        taken = collect(collection)
    counts = taken.as_json()
    assert [counts[name] for name in ("replies", "repeated", "strange", "unanswered")] == [
        3,
        1,
        2,
        1,
    ]
    assert [row.get("grade") for row in rows(collection)] == [2, 2, 2, None]


@pytest.mark.parametrize("grades", [(0, 3), (3, 0), (3, 3, 0)])
def test_answers_to_one_request_that_contradict_each_other_are_no_grade(
    collection: Collection, grades: tuple[int, ...]
) -> None:
    def lying(requests: list[Line]) -> tuple[list[Line], list[Line]]:
        first, *others = requests
        lines = [with_status(first, 200, completion(f'{{"grade": {grade}}}')) for grade in grades]
        return [lines[0], *map(answered, others), *lines[1:]], []

    with BatchServer(lying) as server:
        submit(collection, server)
        taken = collect(collection)
    assert taken.as_json()["repeated"] == len(grades) - 1
    assert [row.get("grade") for row in rows(collection)] == [None, 2, 2, 2]
    assert rows(collection)[0]["status"] == "conflict"
    assert "contradict each other" in rows(collection)[0]["detail"]


@pytest.mark.parametrize(
    ("line", "status", "is_asked_again"),
    [
        (lambda r: with_status(r, 400, {"error": {"message": "too long"}}), "call_failed", True),
        (
            lambda r: with_status(r, 400, {"error": {"message": "no", "code": "content_filter"}}),
            "filtered",
            False,
        ),
        (lambda r: with_status(r, 200, completion("", refusal="I will not")), "refused", False),
        (lambda r: with_status(r, 429, {"error": {"message": "busy"}}), "call_failed", True),
        (lambda r: with_status(r, 500, {"error": {"message": "oh"}}), "call_failed", True),
        (lambda r: with_status(r, 200, {"nothing": 1}), "call_failed", True),
        (lambda r: with_error(r, "batch_expired"), "call_failed", True),
        (lambda r: with_error(r, "batch_cancelled"), "call_failed", True),
        (lambda r: with_error(r, "odd"), "call_failed", True),
    ],
)
def test_an_error_of_a_line_is_the_failure_that_a_call_would_have_been(
    collection: Collection, line: Any, status: str, is_asked_again: bool
) -> None:
    def one_fails(requests: list[Line]) -> tuple[list[Line], list[Line]]:
        return [answered(request) for request in requests[1:]], [line(requests[0])]

    with BatchServer(one_fails) as server:
        submit(collection, server)
        result = collect(collection).results[0]
        assert (result.judged, result.failures) == (3, {status: 1})
        assert submit(collection, server).requests == int(is_asked_again)


def test_what_is_cut_short_is_asked_again_with_more_room(collection: Collection) -> None:
    def short(requests: list[Line]) -> tuple[list[Line], list[Line]]:
        cut = completion('{"gra', finish_reason="length")
        return [with_status(request, 200, cut) for request in requests], []

    with BatchServer(short) as server:
        submit(collection, server)
        collect(collection)
        server.answering = BatchServer().answering
        submit(collection, server)
        assert collect(collection).results[0].judged == 4
        most = [row["body"]["max_tokens"] for row in server.requests]
        assert most[4:] == [2 * tokens for tokens in most[:4]]


def test_an_expired_batch_keeps_what_came_and_the_rest_is_asked_again(
    collection: Collection,
) -> None:
    def half(requests: list[Line]) -> tuple[list[Line], list[Line]]:
        late = [with_error(request, "batch_expired") for request in requests[2:]]
        return [answered(request) for request in requests[:2]], late

    with BatchServer(half, status="expired") as server:
        submit(collection, server)
        assert collect(collection).results[0].judged == 2
        server.answering, server.status = BatchServer().answering, "completed"
        assert submit(collection, server).requests == 2
        assert collect(collection).results[0].judged == 4


def test_cancelling_keeps_what_came_and_live_calls_do_the_rest(collection: Collection) -> None:
    with BatchServer(lambda requests: ([answered(requests[0])], []), ends=False) as server:
        submit(collection, server)
        assert collect(collection).open == 1
        assert run(acancel(collection)).records[0].status == "cancelling"
        assert collect(collection).results[0].judged == 1
        assert live(collection, server).judged == 4
        assert server.live_calls == 1 + 3


def test_a_batch_of_which_nobody_heard_is_found_again_and_not_paid_twice(
    collection: Collection,
) -> None:
    with BatchServer(forget_answer_to_begin=True) as server:
        with pytest.raises(ProviderError):
            submit(collection, server)
        server.forget_answer_to_begin = False
        assert submit(collection, server).requests == 0
        assert collect(collection).results[0].judged == 4
        assert len(server.batches) == 1


def test_what_the_service_refuses_is_free_to_be_asked(collection: Collection) -> None:
    with BatchServer(refuse_batches=1) as server:
        with pytest.raises(ProviderError, match="limit of the organization"):
            submit(collection, server)
        assert submit(collection, server).requests == 4


def test_files_are_split_at_the_limits_of_the_service(collection: Collection) -> None:
    with BatchServer() as server:
        submitted = run(asubmit(collection, options(server), bounds=FileBounds(lines=3)))
        assert [batch.requests for batch in submitted.batches] == [3, 1]
        assert collect(collection).results[0].judged == 4
    with BatchServer() as server:
        size = len(json.dumps(small_request(small_collection())))
        submitted = run(asubmit(small_collection(), options(server), bounds=FileBounds(size=size)))
        assert [batch.requests for batch in submitted.batches] == [1, 1, 1, 1]


def small_request(collection: Collection) -> Line:
    with BatchServer() as server:
        submit(collection, server)
        return server.requests[0]


def test_a_budget_bounds_what_is_handed_over(collection: Collection) -> None:
    with BatchServer() as server:
        submitted = submit(collection, server, limits=Limits(max_calls=3))
        assert submitted.stopped is not None
        assert submitted.requests == 2  # and a call that finds out what the server accepts


def test_what_is_handed_over_during_a_live_run_is_not_asked_by_it_and_the_other_way_round() -> None:
    collection = small_collection(queries=[Query(f"q{n}", f"where is {n}") for n in range(10)])
    with BatchServer() as server:
        submitted: list[Submitted] = []
        notes: list[str] = []

        def submit_meanwhile(when: str) -> None:
            if when == "after" and server.live_calls == 3 and not submitted:
                server.on_call = lambda _when: None
                submitted.append(
                    run(asubmit(collection, options(server), Control(note=notes.append)))
                )

        server.on_call = submit_meanwhile
        first = judge(collection, model="fake", base_url=server.base_url, name="one", concurrency=1)
        handed_over = submitted[0].requests
        assert 0 < handed_over <= 17
        assert first.judged + handed_over == 20
        assert any("asked by another process at this moment" in note for note in notes)
        assert server.live_calls == first.judged
        assert collect(collection).results[0].judged == 20


def test_two_processes_do_not_hand_over_at_once(collection: Collection) -> None:
    with BatchServer() as server:

        async def both() -> list[object]:
            each = (asubmit(collection, options(server)) for _ in range(2))
            return await asyncio.gather(*each, return_exceptions=True)

        outcomes = run(both())
        assert sum(isinstance(outcome, Locked) for outcome in outcomes) == 1
        assert len(server.requests) == 4


def test_requests_go_into_a_file_and_answers_come_from_one(
    collection: Collection, tmp_path: Path
) -> None:
    with BatchServer() as server:
        asked, requests = options(server), tmp_path / "requests.jsonl"
        run(awrite_requests(collection, asked, requests))
        lines = [json.loads(line) for line in requests.read_text().splitlines()]
        assert {line["url"] for line in lines} == {"/v1/chat/completions"}
        answers = tmp_path / "answers.jsonl"
        answers.write_text("\n".join(json.dumps(answered(line)) for line in reversed(lines)))
        assert len(WaitingRequests(collection)) == 4
        assert run(aread_answers(collection, answers)).results[0].judged == 4
        assert server.live_calls == 0
        with pytest.raises(Misuse, match="no batch was written"):
            run(aread_answers(collection, answers))


def test_nobody_waits_at_a_server_for_what_was_written_into_a_file(
    collection: Collection, tmp_path: Path
) -> None:
    with BatchServer() as server:
        run(awrite_requests(collection, options(server), tmp_path / "requests.jsonl"))
        waited = run(await_batches(collection, options(server), every=0.0))
        assert (waited.open, waited.in_files, len(server.batches)) == (1, 1, 0)
        other = run(await_batches(collection, options(server, name="two", prompt="basic"), every=0))
        assert (other.results[0].judged, other.open) == (4, 1)


def test_a_file_that_answers_nothing_changes_nothing(
    collection: Collection, tmp_path: Path
) -> None:
    with BatchServer() as server:
        run(awrite_requests(collection, options(server), tmp_path / "requests.jsonl"))
    with pytest.raises(BadInput, match="answers a request that was written"):
        run(aread_answers(collection, tmp_path / "requests.jsonl"))
    assert len(WaitingRequests(collection)) == 4


def test_methods_of_several_requests_take_a_batch_a_round(collection: Collection) -> None:
    def by_part(requests: list[Line]) -> tuple[list[Line], list[Line]]:
        return [with_status(r, 200, completion(reply_to(r))) for r in requests], []

    with BatchServer(by_part) as server:
        asked = options(server, prompt="facts")
        done = run(await_batches(collection, asked, every=0.0))
        assert done.results[0].judged == 4
        assert len(server.batches) == 2
        assert server.live_calls == 1


def reply_to(request: Line) -> str:
    """Two facts where they are asked for, else that a passage states both."""
    asked = request["body"]["messages"][-1]["content"]
    if "List up to" in asked:
        return '{"questions": ["cats sleep anywhere", "on a table"]}'
    return '{"grades": [{"number": 1, "grade": 2}, {"number": 2, "grade": 2}]}'


def test_no_key_is_kept_where_a_server_echoes_it(collection: Collection) -> None:
    def echo(requests: list[Line]) -> tuple[list[Line], list[Line]]:
        said = {"error": {"message": f"key {KEY} is over its limit of length"}}
        return [with_status(request, 400, said) for request in requests], []

    with BatchServer(echo) as server:
        submit(collection, server)
        collect(collection)
    for path in collection.folder.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_redacted_requests_leave_no_text_once_they_are_handed_over(
    collection: Collection,
) -> None:
    with BatchServer() as server:
        submit(collection, server, redact=True)
        for path in (collection.folder / "batches").glob("*"):
            assert b"cats" not in path.read_bytes()
        assert collect(collection).results[0].judged == 4


def test_the_texts_of_collected_requests_are_kept_by_the_store_alone(
    collection: Collection,
) -> None:
    with BatchServer() as server:
        submit(collection, server)
        collect(collection)
        names = sorted(path.name for path in (collection.folder / "batches").glob("[!.]*"))
        assert names == ["1.json"]
        assert run(abatches(collection)).open == 0
    assert read_batches(collection)[0].status == "collected"


def test_a_look_while_a_batch_is_begun_takes_nothing_from_it(collection: Collection) -> None:
    with BatchServer() as server:
        looks: list[object] = []

        def look(content: bytes) -> None:
            looks.append(run(abatches(collection)))
            with pytest.raises(Locked, match="another process"):
                collect(collection)

        server.on_upload = look
        submit(collection, server)
        assert (len(looks), len(WaitingRequests(collection))) == (1, 4)
        assert collect(collection).results[0].judged == 4


def test_a_batch_begun_at_another_server_is_left_to_that_one(collection: Collection) -> None:
    with BatchServer(forget_answer_to_begin=True) as first, BatchServer() as second:
        with pytest.raises(ProviderError):
            submit(collection, first)
        submit(collection, second, name="two")
        first.forget_answer_to_begin = False
        assert read_batches(collection)[0].status == "prepared"
        with pytest.raises(Misuse, match="name one"):
            collect(collection)
        assert run(acollect(collection, second.base_url)).open == 1
        assert run(acollect(collection, first.base_url)).results[0].judged == 4
        assert len(first.batches) == 1


def test_what_the_service_refuses_does_not_wait(collection: Collection) -> None:
    with BatchServer(refuse_batches=1) as server:
        with pytest.raises(ProviderError):
            submit(collection, server)
        assert WaitingRequests(collection) == {}
        assert live(collection, server).judged == 4


@pytest.mark.parametrize("breaks", [1, 3, 4])
def test_a_download_that_breaks_off_loses_no_answer(collection: Collection, breaks: int) -> None:
    with BatchServer(break_downloads=breaks) as server:
        submit(collection, server)
        if breaks > 3:
            with pytest.raises(ProviderError):
                collect(collection)
        assert collect(collection).results[0].judged == 4
        assert len(server.batches) == 1


def test_a_process_that_ends_before_its_set_is_judged_leaves_that_to_the_next(
    collection: Collection,
) -> None:
    with BatchServer() as server:
        submit(collection, server)
        collect(collection)
        record = read_batches(collection)[0]
        write_batch(collection, replace(record, status="stored"))
        collection.judgements("one").unlink()
        collection.qrels("one").unlink()
        assert collect(collection).results[0].judged == 4
        assert collect(collection).results == ()


def test_a_set_that_cannot_be_judged_keeps_its_replies(collection: Collection) -> None:
    with BatchServer() as server:
        submit(collection, server)
        judge(collection, model="similarity", name="one")
        with pytest.raises(Misuse, match="are in the store"):
            collect(collection)
        judged = judge(collection, model="fake", base_url=server.base_url, name="two")
        assert (judged.judged, server.live_calls) == (4, 1)
        run(acancel(collection))
        assert collect(collection).results == ()


def test_what_a_killed_process_left_is_removed(collection: Collection) -> None:
    folder = collection.folder / "batches"
    (folder / ".partial-x").mkdir(parents=True)
    (folder / ".partial-x" / "texts.1.jsonl").write_text("text")
    (folder / "7.requests.jsonl").write_text("text")
    with BatchServer() as server:
        submit(collection, server)
    names = {path.name for path in folder.iterdir()} - {".lock"}
    assert names == {"1.json", "1.keys", "1.requests.jsonl"}


def test_answers_come_in_several_files(collection: Collection, tmp_path: Path) -> None:
    with BatchServer() as server:
        run(awrite_requests(collection, options(server), tmp_path / "requests.jsonl"))
        lines = [
            json.loads(line) for line in (tmp_path / "requests.jsonl").read_text().splitlines()
        ]
        for number, part in enumerate((lines[:3], lines[3:])):
            answers = tmp_path / f"answers.{number}.jsonl"
            answers.write_text("\n".join(json.dumps(answered(line)) for line in part))
        some = run(aread_answers(collection, tmp_path / "answers.0.jsonl"))
        assert (some.results[0].judged, some.open) == (3, 1)
        assert "read them" in some.advice()
        assert any("read the others" in sentence for sentence in some.sentences)
        assert len(WaitingRequests(collection)) == 1
        rest = run(aread_answers(collection, tmp_path / "answers.1.jsonl"))
        assert (rest.results[0].judged, rest.open) == (4, 0)


def test_a_batch_that_its_server_does_not_know_can_be_forgotten(collection: Collection) -> None:
    with BatchServer() as server:
        submit(collection, server)
        server.batches.clear()
        with pytest.raises(NotFound, match=r"batch 1: .*cancel forgets it"):
            collect(collection)
        assert run(acancel(collection)).records == ()
        assert submit(collection, server).requests == 4


def test_answers_that_the_server_counts_and_leaves_out_are_fetched_again(
    collection: Collection,
) -> None:
    with BatchServer(hide_answers=2) as server:
        submit(collection, server)
        assert collect(collection).results[0].judged == 4
        assert len(server.batches) == 1


def test_what_was_paid_for_is_not_asked_again_until_it_is_given_up(collection: Collection) -> None:
    with BatchServer(hide_answers=4) as server:
        submit(collection, server)
        with pytest.raises(ProviderError, match=r"counts 4 answers, and its file holds 3 of them"):
            collect(collection)
        assert submit(collection, server).requests == 0
        assert collect(collection).results[0].judged == 4
    other = small_collection()
    with BatchServer(hide_answers=10**6) as server:
        submit(other, server)
        notes: list[str] = []
        waited = run(await_batches(other, options(server), Control(note=notes.append), 0.0))
        assert (len(waited.problems), len(server.batches)) == (1, 1)
        run(acancel(other))
        assert collect(other).results[0].judged == 3
        assert submit(other, server).requests == 1


def test_a_batch_that_is_not_known_or_lost_its_answers_holds_up_no_other(
    collection: Collection,
) -> None:
    with BatchServer() as server:
        run(asubmit(collection, options(server), bounds=FileBounds(lines=1)))
        del server.batches["batch-0"]
        run(abatches(collection))
        server.files.pop("batch-1-output_file_id")
        taken = collect(collection)
        assert (taken.results[0].judged, taken.open, taken.lost) == (2, 2, 2)
        assert "batch 1: " in str(taken.problems[0])
        assert "its file of answers is not there any more" in str(taken.problems[1])
        assert [row["status"] for row in run(abatches(collection)).as_json()["batches"][:2]] == [
            "not known there",
            "completed",
        ]
        waited = run(await_batches(collection, options(server), every=0.0))
        assert (waited.open, len(server.batches)) == (2, 3)
        assert run(acancel(collection)).open == 0
        assert submit(collection, server).requests == 2
        assert collect(collection).results[0].judged == 4


def test_who_gives_up_a_server_that_is_gone_is_told_which_file_to_remove(
    collection: Collection,
) -> None:
    with BatchServer() as server:
        submit(collection, server)
    with pytest.raises(ProviderError, match=r"gone for good, remove \S+batches/N.json"):
        run(acancel(collection))
    (collection.folder / "batches/1.json").unlink()
    assert run(acancel(collection)).records == ()
    with BatchServer() as server:
        assert submit(collection, server).requests == 4


def test_requests_leave_the_server_once_their_answers_are_in_the_store(
    collection: Collection,
) -> None:
    with BatchServer(hide_answers=3) as server:
        submit(collection, server)
        with pytest.raises(ProviderError):
            collect(collection)
        assert "file-0" in server.files
        server.refuse_removal = True
        notes: list[str] = []
        run(acollect(collection, control=Control(note=notes.append)))
        assert any("its requests are still at the server" in note for note in notes)
        server.refuse_removal = False
        submit(collection, server, name="two", prompt="basic")
        collect(collection)
        assert sorted(server.files) == ["batch-0-output_file_id", "batch-1-output_file_id"]
        assert collect(collection).results == ()
        assert submit(collection, server).requests == 0


def test_a_batch_that_could_not_begin_leaves_no_requests_at_the_server(
    collection: Collection,
) -> None:
    with BatchServer(refuse_batches=1) as server:
        with pytest.raises(ProviderError):
            submit(collection, server)
        assert server.files == {}


def test_a_wait_outlasts_a_server_that_is_away_for_a_moment(collection: Collection) -> None:
    with BatchServer(break_downloads=5) as server:
        notes: list[str] = []
        done = run(await_batches(collection, options(server), Control(note=notes.append), 0.0))
        assert done.results[0].judged == 4
        assert any("another look follows" in note for note in notes)


def test_a_damaged_record_is_named(collection: Collection) -> None:
    (collection.folder / "batches").mkdir()
    (collection.folder / "batches" / "1.json").write_text('{"number": 1}')
    with pytest.raises(BadInput, match=r"1\.json: no record of a batch"):
        read_batches(collection)


def test_no_embedded_model_is_asked_by_batches(collection: Collection) -> None:
    with BatchServer() as server, pytest.raises(Misuse, match="no server"):
        submit(collection, server, model="similarity", base_url=None)


def test_a_batch_costs_half_at_openai_and_no_less_elsewhere() -> None:
    price = Price(2.0, 8.0, "2026-01-01")
    assert batch_price(price, None).of(10**6, 10**6) == 5.0
    assert batch_price(price, "http://127.0.0.1:1/v1").of(10**6, 10**6) == 10.0


KILLS = [
    (act, when, number)
    for act, calls, renames in (("submit", 3, 6), ("collect", 3, 6))
    for when, most in (("before", calls), ("after", calls), ("rename", renames))
    for number in range(most)
]


@pytest.mark.sweep
@pytest.mark.parametrize(
    "kill",
    [
        kill if number % 4 == 0 else pytest.param(kill, marks=pytest.mark.slow)
        for number, kill in enumerate(KILLS)
    ],
    ids=str,
)
def test_killed_anywhere_it_loses_nothing_and_pays_nothing_twice(
    collection: Collection, kill: tuple[str, str, int]
) -> None:
    with BatchServer() as server:
        if kill[0] == "collect":
            submit(collection, server)
        be_killed(collection, server, kill)
        submit(collection, server)
        collect(collection)
        assert live(collection, server).judged == 4
        asked = [row["custom_id"] for row in server.requests]
        assert (len(asked), len(set(asked))) == (4, 4)
        assert not any(name.startswith("file-") for name in server.files)
    assert WaitingRequests(collection) == {}


def be_killed(collection: Collection, server: BatchServer, kill: tuple[str, str, int]) -> None:
    """Run a command that is killed at a call to the server, or before it renames a file."""
    act, when, number = kill
    calls: list[str] = []

    def count(moment: str) -> None:
        calls.extend([moment] if moment == when else [])
        if len(calls) > number:
            os.kill(process.pid, signal.SIGKILL)

    where = [
        "--model",
        "fake",
        "--base-url",
        server.base_url,
        "--as",
        "one",
        "--prompt",
        "four-grades",
    ]
    words = ["batch", act, str(collection.folder), *(where if act == "submit" else where[2:4])]
    renames = number if when == "rename" else None
    server.on_call = count if when != "rename" else lambda _when: None
    process = Forked(words, environment(OPENAI_API_KEY=KEY), renames=renames)
    process.communicate(30)
    server.on_call = lambda _when: None
    assert process.wait() in {-9, 0}
